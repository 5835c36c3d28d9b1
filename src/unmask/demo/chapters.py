"""The chapters of the demo. Each types its commands and yields the figures to show.

Sampling settings are the model's own, save where a chapter is about one. Counts and steps are chosen so that
the whole takes about six minutes on two cores.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from einops import rearrange
from PIL import Image

from unmask.data.transforms import Pixels8, contact_sheet
from unmask.demo.story import STEPS, Chapter, Demo, Figure, Make
from unmask.rng import generator
from unmask.training.runs import Run

TRAINING_STEPS, VALIDATIONS = 400, 8  # of each stage: a minute in all
PROMPTS = ("long red hair, sunglasses", "black afro, laughing", "green mohawk, beard")
CHANGE, HEAD = "pink mohawk", "4,0,56,28"
CHAPTERS: list[Chapter] = []


def _chapter(title: str, *, columns: int = 1, telling: bool = False) -> Callable[[Make], Make]:
    """Put a function among the chapters. Its docstring is the text on the page."""

    def put(make: Make) -> Make:
        CHAPTERS.append(Chapter(title, make, columns, telling))
        return make

    return put


@_chapter("Images to codes and back", telling=True)
def reconstructions(demo: Demo) -> Iterator[Figure]:
    """The codec encodes an image to a small grid of codes, each one of a few hundred for a patch, and decodes
    them. Samples are never sharper than these reconstructions. These are validation images, which were not
    trained on; below each row are their reconstructions."""
    sheet = demo.folder / "validation.png"
    demo.unmask("reconstruct MODEL DATA --count 16 --no-fid --out OUT", OUT=sheet)
    yield Figure(path=sheet, alt="Rows of images, and below each row the same images after the codec")


@_chapter("New images", columns=3)
def samples(demo: Demo) -> Iterator[Figure]:
    """The prior starts from a fully masked grid and reveals codes in random order. With few steps it reveals
    many codes at once, independently of each other: faster, and less coherent. The seed is the same in all
    three."""
    captions = {f"--steps {steps}": f"{steps} steps · {{:.2g}} s an image" for steps in STEPS}
    return _compared(demo, 9, captions)


@_chapter("Remasking", columns=3)
def remasking(demo: Demo) -> Iterator[Figure]:
    """A code that is drawn early is drawn with little context. With `--remask`, every step masks some codes
    again and redraws them, now that more is known. Both sheets have the same seed and number of steps."""
    captions = {"--remask 0": "each code drawn once", "--remask 1": "some codes redrawn in every step"}
    return _compared(demo, 9, captions)


@_chapter("Temperature", columns=3)
def temperatures(demo: Demo) -> Iterator[Figure]:
    """Below 1, more likely codes are preferred: cleaner images, less diversity. Above 1, the opposite. The
    best value depends on the number of steps."""
    return _compared(demo, 4, {f"--temperature {T}": f"temperature {T}" for T in (0.6, 0.9, 1.2)})


def _compared(demo: Demo, count: int, captions: Mapping[str, str]) -> Iterator[Figure]:
    """Sheets of one seed, by option and value; a caption may say the seconds that an image took."""
    for option, caption in captions.items():
        folder = demo.folder / option.split()[1]
        sheet = folder.with_name(f"{folder.name}.png")
        line = f"sample MODEL --count {count} {option} --out OUT --grid GRID"
        command = demo.unmask(line, OUT=folder, GRID=sheet)
        caption = caption.format(command.seconds / count)
        yield Figure(path=sheet, alt=f"{count} new images: {caption}", caption=caption)


@_chapter("Unmasking, step by step")
def animation(demo: Demo) -> Iterator[Figure]:
    """Grey codes are still masked. The order is random: each code is predicted from all codes known so
    far, wherever they are."""
    film, last = demo.folder / "unmasking.gif", demo.folder / "last.png"
    line = "sample MODEL --count 4 --steps 32 --remask 0 --seed 1 --out OUT --grid GRID --gif GIF"
    demo.unmask(line, OUT=demo.folder / "images", GRID=last, GIF=film)
    yield Figure(path=film, alt="Four images appear patch by patch out of grey", zoom=3, still=last)


@_chapter("Inpainting", columns=6)
def inpainting(demo: Demo) -> Iterator[Figure]:
    """The box is masked and redrawn to fit the rest, in as many versions as you like. With `--rank` the most
    likely version comes first. All other pixels stay the same, bit for bit, except for a narrow seam."""
    name, pixels = _named(demo, "grinning face")
    original, size = _keep(pixels, demo.folder / "original.png"), len(pixels)
    box = (size // 8, 7 * size // 16, 3 * size // 4, 7 * size // 16)  # the mouth of a face
    boxed = pixels.copy()
    boxed[box[1] : box[1] + box[3], box[0] : box[0] + box[2]] = 128
    yield Figure(path=original, alt=f"An image: {name}", caption=name)
    yield Figure(path=_keep(boxed, demo.folder / "box.png"), alt="A part of it in grey", caption="the box")
    line = "inpaint MODEL IMAGE --box BOX --steps 32 --count 4 --rank --out OUT"
    yield from _versions(demo, line, IMAGE=original, BOX=",".join(map(str, box)))


@_chapter("Prompts", columns=4)
def prompts(demo: Demo) -> Iterator[Figure]:
    """A prior that was trained with captions draws what a prompt says, and samples what it leaves open. The
    built-in model of drawn portraits knows hair, skin, mood, clothes, glasses, beards and six styles. With a
    prompt for a box, only that part changes: here the hair of a portrait drawn without a prompt."""
    line = "sample avatars PROMPT --count 4 --out OUT --grid GRID"
    for number, prompt in enumerate(PROMPTS):
        folder, sheet = demo.folder / str(number), demo.folder / f"{number}.png"
        demo.unmask(line, PROMPT=prompt, OUT=folder, GRID=sheet)
        yield Figure(path=sheet, alt=f"Four portraits: {prompt}", caption=prompt)
    any_one, out = demo.folder / "any", demo.folder / "changed.png"
    demo.unmask("sample avatars --count 1 --out OUT", OUT=any_one)
    line = "inpaint avatars IMAGE PROMPT --box BOX --guidance 3 --count 1 --out OUT"
    demo.unmask(line, IMAGE=any_one / "000000.png", PROMPT=CHANGE, BOX=HEAD, OUT=out)
    sheet = out.with_stem("changed-sheet")
    yield Figure(path=sheet, alt=f"A portrait, and with a {CHANGE}", caption=f"a portrait, and: {CHANGE}")


@_chapter("Outpainting", columns=5)
def outpainting(demo: Demo) -> Iterator[Figure]:
    """The same beyond the edges: half a validation image, and versions of the other half."""
    name, pixels = _named(demo, "koala")
    middle = len(pixels) // 2
    half = _keep(pixels[:, :middle], demo.folder / "half.png")
    yield Figure(path=half, alt=f"The left half of an image: {name}", caption=f"half of: {name}")
    line = "extend MODEL IMAGE --right PIXELS --steps 32 --count 4 --rank --out OUT"
    yield from _versions(demo, line, IMAGE=half, PIXELS=len(pixels) - middle)


def _versions(demo: Demo, line: str, **values: object) -> Iterator[Figure]:
    out = demo.folder / "version.png"
    demo.unmask(line, OUT=out, **values)
    for number in range(1, 5):
        path = out.with_stem(f"version-{number}")
        yield Figure(path=path, alt=f"Version {number}", caption=f"{number}.")


@_chapter("A wide canvas")
def canvas(demo: Demo) -> Iterator[Figure]:
    """Larger than any training image, by the built-in model `fruit`, with two prompts along the canvas. The
    model sees the canvas through windows of its training size. For each code, the predictions of the windows
    that contain it are averaged."""
    out, prompts = demo.folder / "wide.png", ("granny smith apples", "oranges")
    line = "canvas fruit FIRST SECOND --size 384x96 --guidance 2 --out OUT"
    demo.unmask(line, FIRST=prompts[0], SECOND=prompts[1], OUT=out)
    yield Figure(path=out, alt="One wide new image", caption=" → ".join(prompts), zoom=2)


@_chapter("How likely is it?", columns=2)
def likelihood(demo: Demo) -> Iterator[Figure]:
    """The prior also measures likelihood: the bits that it needs for the codes of an image, few for what it
    expects, many for what it does not. A mirrored image should cost as much as the original, since the model
    was trained on both. A corrupted one should cost more, the more it is corrupted."""
    folders: dict[str, Path] = {}
    for number, pixels in enumerate(demo.validation.read(demo.validation.spread(6))):
        for name, changed in broken(pixels, generator(0, "demo", number)).items():
            folders[name] = demo.folder / name
            _keep(changed, folders[name] / f"{number:06d}.png")
    folders["sampled"] = demo.samples
    for name, folder in folders.items():
        command = demo.unmask("score MODEL FOLDER --split all --draws 8", FOLDER=folder)
        (bits,) = re.findall(r"(\S+)(?: ± \S+)? bits per code", command.answer)
        strip = demo.folder / f"{name}.png"
        contact_sheet([Image.open(path) for path in sorted(folder.glob("*.png"))[:6]], 6).save(strip)
        yield Figure(path=strip, alt=f"Images: {name}", caption=f"{name} · {bits} bits per code", zoom=1)


def broken(pixels: Pixels8, rng: torch.Generator) -> dict[str, Pixels8]:
    """An image, (H, W, 3), as it is and in ways that make it ever less likely."""
    squares = rearrange(pixels, "(a h) (b w) C -> (a b) h w C", a=4, b=4)
    order = torch.randperm(len(squares), generator=rng).numpy()
    noise = torch.randint(256, pixels.shape, generator=rng, dtype=torch.uint8)
    return {
        "validation": pixels,
        "mirrored": pixels[:, ::-1],
        "upside-down": pixels[::-1],
        "shuffled": rearrange(squares[order], "(a b) h w C -> (a h) (b w) C", a=4, b=4),
        "noise": noise.numpy(),
    }


@_chapter("Are they copies?", telling=True)
def neighbours(demo: Demo) -> Iterator[Figure]:
    """Every sample of 128 steps beside its nearest training images, pixel by pixel. (`--by lpips` compares
    appearance; it needs `unmask weights get lpips-alex` once.) The samples of a model that copies would be
    much nearer to the training images than validation images are."""
    out = demo.folder / "nearest.png"
    line = "neighbours MODEL DATA --pictures IMAGES --by pixels --count 8 --out OUT"
    demo.unmask(line, IMAGES=demo.samples, OUT=out)
    alt = "Samples in the first column, and right of each the eight training images nearest to it"
    caption = "left the samples; below each neighbour its distance, pixel by pixel, from 0 to 1"
    yield Figure(path=out, alt=alt, caption=caption, zoom=1)


@_chapter("Training from scratch", columns=2)
def training(demo: Demo) -> Iterator[Figure]:
    """Both stages of a model so small that it learns something in a minute: images of 32×32 pixels, 8×8
    codes of 64, a Transformer of two layers. It stays blurry. A real model takes the same commands, another
    `--preset` and more time."""
    codec, prior = demo.folder / "codec", demo.folder / "prior"
    every = TRAINING_STEPS // VALIDATIONS
    options = f"--preset tiny --loop.steps {TRAINING_STEPS} --loop.validate-every {every} --out OUT"
    demo.unmask(f"train codec DATA {options}", OUT=codec)
    first = _looks(codec, "reconstructions", "l1", "L1 error")
    demo.unmask(f"train prior CODEC DATA {options}", CODEC=codec / "best", OUT=prior)
    second = _looks(prior, "samples", "bits", "bits per code")
    for pair in zip(first, second, strict=True):
        yield from pair


def _looks(folder: Path, name: str, metric: str, meaning: str) -> list[Figure]:
    """What a run drew early, half-way and at the end, with its validation metric."""
    run = Run.open(folder)
    values = {line["step"]: line[metric] for line in run.read_log() if line["kind"] == "validation"}
    figures = []
    for part in (1, VALIDATIONS // 2, VALIDATIONS):
        step = TRAINING_STEPS * part // VALIDATIONS
        caption = f"step {step} · {meaning} {values[step]:.3g}"
        path = folder / "samples" / f"{name}-{step:08d}.png"
        figures.append(Figure(path=path, alt=f"{name.capitalize()}, {caption}", caption=caption))
    return figures


def _named(demo: Demo, wish: str) -> tuple[str, Pixels8]:
    """The validation image of that name, or the first one: its name and pixels."""
    names = demo.validation.names
    number = names.index(wish) if wish in names else 0
    return names[number], demo.validation.read([number])[0]


def _keep(pixels: Pixels8, path: Path) -> Path:
    """Write pixels to a PNG file of the demo."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path
