"""Judge samples of a captioned model by a small classifier that was trained on real images.

    python tools/judge_samples.py MODEL DATA WEIGHTS SAMPLES ...

DATA are real images with labels, of which one in twenty is kept to test the classifier. It is trained once,
in a minute or two, and kept in the file WEIGHTS. Reconstructions of these images tell what samples could
reach. SAMPLES are folders of samples that were drawn without a prompt, so with captions of the training: how
often is the label that the classifier gives the one asked for? A sheet beside each shows the first eight
samples of each label.
"""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unmask.data.batches import batch_indices
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import Pixels8, contact_sheet, to_tensor
from unmask.evaluation.compare import reconstructed
from unmask.evaluation.estimate import mean_of
from unmask.pipeline import Pipeline, load
from unmask.rng import generator, initialise
from unmask.samples import STAMP

STEPS, BATCH, RATE = 2000, 64, 2e-3
ROWS = 8  # of a sheet


def classifier(size_px: int, num_labels: int) -> nn.Sequential:
    """(B, 1, S, S) grey images to (B, labels) logits."""
    layers: list[nn.Module] = []
    for width, wider in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(width, wider, 3, padding=1), nn.BatchNorm2d(wider), nn.ReLU(), nn.MaxPool2d(2)]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * (size_px // 8) ** 2, num_labels))
    initialise(network, generator(0, "classifier"))
    return network


def grey(pixels: Pixels8) -> Tensor:
    """(B, S, S, 3) pixels as (B, 1, S, S) images, black 0 and white 1."""
    return to_tensor(pixels).mean(1, keepdim=True)


def train(network: nn.Sequential, pixels: PixelSet, labels: Tensor) -> None:
    """Adam, its rate falling to nothing."""
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        numbers = batch_indices(step, count=len(pixels), batch=BATCH, seed=0)
        loss = F.cross_entropy(network(grey(pixels.read(numbers))), labels[numbers])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


@torch.no_grad()
def judged(network: nn.Sequential, pixels: PixelSet) -> Tensor:
    """(n,) the label of each picture."""
    return torch.cat([network(grey(part)).argmax(1) for part in pixels.batches(BATCH)])


def report(name: str, wanted: Tensor, found: Tensor, names: list[str]) -> None:
    """Print the share of right labels, of all and of each."""
    right = (wanted == found).double()
    share = mean_of(right)
    each = " ".join(f"{names[i]} {right[wanted == i].mean():.0%}" for i in wanted.unique().tolist())
    print(f"{name}: {share.value:.1%} ± {share.standard_error:.1%} of {len(wanted):,}: {each}")


def sheet(samples: PixelSet, asked: Tensor) -> Image.Image:
    """The first samples of each label, a column each."""
    columns = [(asked == label).nonzero()[:ROWS, 0] for label in asked.unique()]
    rows = zip(*(column.tolist() for column in columns), strict=False)  # as many as the rarest label has
    pictures = [Image.fromarray(samples.read([number])[0]) for row in rows for number in row]
    return contact_sheet(pictures, len(columns))


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
    own = numbered([*map(str, test.captions)], names)
    report("real images", own, judged(network, test), names)
    again = reconstructed(model.codec, model.fingerprint, test)
    report("reconstructions", own, judged(network, again), names)
    for folder in folders:
        samples = model.open(str(folder), keep=False)
        seed = json.loads((folder / STAMP).read_text())["seed"]
        asked = numbered(model.words.drawn(range(len(samples)), seed), names)
        report(folder.name, asked, judged(network, samples), names)
        sheet(samples, asked).save(f"{folder}.png")


if __name__ == "__main__":
    main(load(sys.argv[1], "cpu"), sys.argv[2], Path(sys.argv[3]), [Path(word) for word in sys.argv[4:]])
