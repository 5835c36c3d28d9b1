"""What no command of ``unmask`` measures of a model: speed against others, edits, windows of canvases.

    python -m unmask.reproduce PROBE …        one JSON object on standard output

Each is a function of its arguments; what it finds has standard errors beside it.
"""

from collections.abc import Callable
from itertools import product
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image

from unmask.data.pixels import PixelSet
from unmask.data.transforms import Pixels8
from unmask.evaluation.compare import Comparison
from unmask.evaluation.config import Metric
from unmask.evaluation.estimate import mean_of
from unmask.evaluation.features import features_of, inception_features
from unmask.evaluation.results import plain
from unmask.pipeline import load
from unmask.progress import bar, took
from unmask.reproduce.arms import OURS, SLOWER
from unmask.reproduce.ddpm import denoise, unet
from unmask.rng import derive, generator

Found = dict[str, Any]
METRICS: tuple[Metric, ...] = ("fid", "kid", "prdc")
BATCH = 16
ROUNDS = 5
TIMED = 20  # of a DDPM's thousand steps


def speed(absorbing: str, autoregressive: str, /, *, steps: int, count: int = BATCH) -> Found:
    """How many times as long a DDPM and an autoregressive prior take for a picture, and the seconds of all.

    They take turns, so that ratios are of one time. Of a DDPM, whose weights do not matter here, some steps
    are timed.
    """
    model, other = load(absorbing, "cpu"), load(autoregressive, "cpu")
    size, rng = model.image_size, generator(0, "speed")
    network, noise = unet(size, rng), torch.randn(count, 3, size, size, generator=rng)
    seconds = take_turns(
        {
            "all_steps": lambda: model.sample(count, settings="paper", seed=0),
            "few_steps": lambda: model.sample(count, settings="paper", steps=steps, seed=0),
            "autoregressive": lambda: other.sample(count, settings="paper", seed=0),
            "ddpm": lambda: denoise(network, noise, TIMED),
        }
    )
    seconds["ddpm"] = [each * 1000 / TIMED for each in seconds["ddpm"]]
    found: Found = {f"seconds_{name}": fmean(each) / count for name, each in seconds.items()}
    for ours, slower in product(OURS, SLOWER):
        ratios = [b / a for a, b in zip(seconds[ours], seconds[slower], strict=True)]
        found[f"{slower}_by_{ours}"] = fmean(ratios)
        found[f"{slower}_by_{ours}_error"] = stdev(ratios) / ROUNDS**0.5
    return found


def take_turns(ways: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Seconds of each in every round but the first, which warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with bar("timing", unit="rounds") as report:
        for turn in range(1 + ROUNDS):
            report(turn, 1 + ROUNDS)
            for name, act in ways.items():
                seconds[name].append(took(act))
    return {name: each[1:] for name, each in seconds.items()}


def inpainting(
    model: str, data: str, /, *, known: Literal["around", "above"], count: int = 64, seed: int = 0
) -> Found:
    """How far boxes that are drawn again are from the originals: L1 of their pixels, in [0, 1].

    Known is all that is around a box, or all but what lies below it, which is no less than a prior that goes
    row by row could know.
    """
    pipeline = load(model, "cpu")
    pixels, size = pipeline.open(data, "validation"), pipeline.image_size
    errors = []
    with bar("inpainting") as report:
        for number, picture in enumerate(pixels.read(pixels.spread(count))):
            report(number, count)
            left, top, edge = box(number, size)
            rows, columns = slice(top, top + edge), slice(left, left + edge)
            mask = np.zeros((size, size), np.uint8)
            mask[rows, columns] = 255
            if known == "above":
                mask[top + edge :] = 255
            [drawn] = pipeline.inpaint(
                picture,
                Image.fromarray(mask),
                count=1,
                settings="paper",
                seam=0,
                seed=derive(seed, number) >> 10,
            )
            difference = np.asarray(drawn, np.float64)[rows, columns] - picture[rows, columns]
            errors.append(np.abs(difference).mean() / 255)
    return dict(plain({"l1": mean_of(torch.tensor(errors))}))


def box(number: int, size_px: int) -> tuple[int, int, int]:
    """Left, top and edge of a box of half the picture's edge: above, left, right, in the middle, in turn."""
    half, quarter = size_px // 2, size_px // 4
    return (*((quarter, 0), (0, quarter), (half, quarter), (quarter, quarter))[number % 4], half)


def windows(
    model: str, data: str, /, *, count: int, seed: int = 0, stride: int = 1, some: int | None = None
) -> Found:
    """FID, KID and PRDC of windows cut out of canvases three times as wide, against validation pictures.

    Of each canvas two, side by side at a random place. ``some`` random windows a pass may make the canvas.
    """
    pipeline, cut = load(model, "cpu"), []
    size = pipeline.image_size
    with bar("drawing canvases") as report:
        for number in range(0, count, 2):
            report(number, count)
            canvas = np.asarray(
                pipeline.canvas(
                    (3 * size, size),
                    settings="paper",
                    stride=stride,
                    windows=some,
                    seed=derive(seed, "canvas", number) >> 10,  # as large as seeds may be
                )
            )
            left = derive(seed, "window", number) % (size + 1)
            cut += [canvas[:, x : x + size] for x in (left, left + size)]
    return metrics(np.stack(cut[:count]), pipeline.open(data, "validation"))


def metrics(pictures: Pixels8, real: PixelSet) -> Found:
    """FID, KID and PRDC of (n, S, S, 3) pictures against real ones."""
    extractor = inception_features(torch.device("cpu"))
    with bar("looking at real images") as report:
        comparison = Comparison(features_of(real, extractor, report=report))
    parts = []
    with bar("measuring") as report:
        for first in range(0, len(pictures), BATCH):
            report(first, len(pictures))
            parts.append(extractor(pictures[first : first + BATCH]))
    fake = torch.cat(parts)
    found = (comparison.measure(metric, fake) for metric in METRICS)
    return dict(plain({name: value for each in found for name, value in each.items()}))
