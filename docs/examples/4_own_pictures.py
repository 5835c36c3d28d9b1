"""
Your own images, and captions
=============================

This example fine-tunes the built-in model on a folder of other images. The codec stays as it is; the prior
learns how their codes fit together, and their captions. The folder is generated here. Use the path of your
own instead.

Fifty steps take about a minute on one core and show how it is done. They teach the model the colours of
these images, but not yet their outlines and words: train longer for those.
"""

import random
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

import unmask

folder = Path(tempfile.mkdtemp())
random.seed(0)


def shape(colour, kind):
    """An image of one shape at a random position."""
    picture = Image.new("RGB", (64, 64), "white")
    edge = random.randint(28, 40)
    left, top = random.randint(2, 62 - edge), random.randint(2, 62 - edge)
    draw = ImageDraw.Draw(picture)
    paint = draw.ellipse if kind == "disc" else draw.rectangle
    paint((left, top, left + edge, top + edge), fill=colour)
    return picture


for colour in ("red", "gold", "green", "blue"):
    for kind in ("disc", "square"):
        place = folder / "shapes" / f"{colour} {kind}"  # one folder per class: its name is the caption
        place.mkdir(parents=True)
        for number in range(24):
            shape(colour, kind).save(place / f"{number}.png")

unmask.contact_sheet([shape("red", "disc"), shape("gold", "square"), shape("blue", "disc")], columns=3)

# %%
# Training encodes every image once. You can stop it at any moment and continue with ``resume=True``.

run = unmask.train_prior(
    "emoji",  # the model whose codec is used
    str(folder / "shapes"),
    init="emoji",  # the model whose prior it starts from
    out=folder / "run",
    optim={"batch": 8, "lr": 5e-4, "warmup": 5, "cooldown": 15, "ema_decay": 0.8, "ema_every": 1},
    loop={"steps": 50, "validate_every": 50, "save_every": 50, "log_every": 10},
    diffusion={"validation_draws": 1},
)
for line in run.read_log():
    print(line["kind"], line["step"], f"{line['bits']:.2f} bits per code")

# %%
# New images without a prompt.

model = unmask.load(folder / "run", device="cpu")
unmask.contact_sheet(model.sample(8, steps=32, temperature=0.8), columns=8)

# %%
# With prompts: four different ones, then the same one four times. Guidance above 1 follows a prompt more
# closely, once the model has learnt its words.

prompts = ["red disc", "red square", "gold disc", "gold square", *["blue square"] * 4]
unmask.contact_sheet(model.sample(8, prompts, steps=32, temperature=0.8, guidance=2), columns=8)

# %%
# Image to caption: captions for an image, and how often each came up.

model.caption([shape("red", "disc")])
