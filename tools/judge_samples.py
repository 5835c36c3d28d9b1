"""Judge samples of a captioned model by a small classifier that was trained on real pictures.

    python tools/judge_samples.py MODEL DATA WEIGHTS SAMPLES ...

DATA are real pictures with labels, of which one in twenty is kept to test the classifier. It is trained once,
in a minute, and kept in the file WEIGHTS. SAMPLES are folders of samples that were drawn without a
prompt, so with captions of the training: how often is the label that the classifier gives the one asked for?
"""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import to_tensor
from unmask.evaluation.estimate import mean_of
from unmask.pipeline import Pipeline, load
from unmask.rng import generator, initialise
from unmask.samples import STAMP

EPOCHS, BATCH, RATE = 8, 64, 2e-3


def classifier(size_px: int, num_labels: int) -> nn.Sequential:
    """(B, 1, S, S) grey images to (B, labels) logits."""
    layers: list[nn.Module] = []
    for width, wider in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(width, wider, 3, padding=1), nn.BatchNorm2d(wider), nn.ReLU(), nn.MaxPool2d(2)]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * (size_px // 8) ** 2, num_labels))
    initialise(network, generator(0, "classifier"))
    return network


def images_of(pixels: PixelSet, numbers: Tensor) -> Tensor:
    """(B, 1, S, S) grey images, black 0 and white 1."""
    return to_tensor(pixels.read(numbers.numpy())).mean(1, keepdim=True)


def train(network: nn.Sequential, pixels: PixelSet, labels: Tensor) -> None:
    """Adam, its rate falling to nothing."""
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    steps = EPOCHS * (len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(EPOCHS):
        order = torch.randperm(len(labels), generator=generator(0, "epoch", epoch))
        for numbers in torch.split(order, BATCH)[: steps // EPOCHS]:
            loss = F.cross_entropy(network(images_of(pixels, numbers)), labels[numbers])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


@torch.no_grad()
def judged(network: nn.Sequential, pixels: PixelSet) -> Tensor:
    """(n,) the label of each picture."""
    parts = torch.split(torch.arange(len(pixels)), BATCH)
    return torch.cat([network(images_of(pixels, numbers)).argmax(1) for numbers in parts])


def report(name: str, wanted: Tensor, found: Tensor, names: list[str]) -> None:
    """Print the share of right labels, of all and of each."""
    right = (wanted == found).double()
    share = mean_of(right)
    each = " ".join(f"{names[i]} {right[wanted == i].mean():.0%}" for i in wanted.unique().tolist())
    print(f"{name}: {share.value:.1%} ± {share.standard_error:.1%} of {len(wanted):,}: {each}")


def numbered(captions: list[str], names: list[str]) -> Tensor:
    """(n,) the number of each caption."""
    return torch.tensor([names.index(caption) for caption in captions])


def main(model: Pipeline, data: str, weights: Path, folders: list[Path]) -> None:
    """Train or load the classifier, test it, then judge."""
    pixels = open_pixels(open_source(data), ImagesConfig(size=model.image_size, captions="auto"))
    real, test = pixels.split("train"), pixels.split("validation")
    names = sorted({str(caption) for caption in real.captions})
    network = classifier(model.image_size, len(names))
    if weights.exists():
        network.load_state_dict(load_file(weights))
    else:
        train(network, real, numbered([*map(str, real.captions)], names))
        save_file(network.state_dict(), weights)
    network.eval()
    report("real pictures", numbered([*map(str, test.captions)], names), judged(network, test), names)
    for folder in folders:
        samples = model.open(str(folder), keep=False)
        seed = json.loads((folder / STAMP).read_text())["seed"]
        asked = model.words.drawn(range(len(samples)), seed)
        report(folder.name, numbered(asked, names), judged(network, samples), names)


if __name__ == "__main__":
    main(load(sys.argv[1], "cpu"), sys.argv[2], Path(sys.argv[3]), [Path(word) for word in sys.argv[4:]])
