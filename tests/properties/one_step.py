"""One step of each stage: python one_step.py CODEC DATA OUT BATCH."""

import sys

from unmask.training.train import train_codec, train_prior

codec, data, out, batch = sys.argv[1:]
common = {
    "preset": "tiny",
    "loop": {"steps": 1},
    "optim": {"batch": int(batch), "warmup": 0},
    "engine": {"device": "cpu", "threads": 1},
}
images = {"size": 16, "validation": 0.2}
quantizer = {"kmeans_batches": 0, "recycle_after": 0}  # both look at each process's own latents
train_codec(data, out=f"{out}/codec", images=images, codec={"quantizer": quantizer}, **common)
for kind in ("absorbing", "autoregressive"):
    train_prior(codec, data, out=f"{out}/{kind}", prior={"kind": kind}, **common)
