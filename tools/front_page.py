"""The pictures of README.md and the edits of docs/results.md, not chosen: seed 0, whatever comes.

python tools/front_page.py avatars photos/avatars fruit
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

import unmask

PICTURES = Path(__file__).parents[1] / "docs/pictures"
BOX = (8, 0, 48, 32)
PROMPTS = (  # written before anything was drawn by them
    "long red hair, light skin, blue background",
    "black afro, glasses, style open peeps",
    "bald, beard, smiling, style micah",
    "green mohawk, angry",
    "purple bob, dark skin, style big smile",
    "short blond hair, sunglasses, orange shirt",
)
ROW, EDITED = 8, 6
EDITS = {  # what is redrawn: left, top, width, height, and a prompt
    "mouth": ((16, 36, 32, 16), ""),
    "eyes": ((12, 22, 40, 14), ""),
    "top": ((4, 0, 56, 24), "black beanie"),
    "right half": ((32, 0, 32, 64), ""),
}


def save(name: str, pictures: Sequence[Image.Image], columns: int) -> None:
    """Write a sheet to where the page looks for it."""
    unmask.contact_sheet(pictures, columns).save(PICTURES / f"{name}.webp", lossless=True)
    print(PICTURES / f"{name}.webp", flush=True)


def boxed(picture: Image.Image, box: tuple[int, int, int, int] = BOX) -> Image.Image:
    """The picture, grey where it is to be drawn again."""
    left, top, width, height = box
    picture = picture.copy()
    ImageDraw.Draw(picture).rectangle((left, top, left + width - 1, top + height - 1), fill="grey")
    return picture


def main(name: str, data: str, wide: str) -> None:
    """Draw all: six by the model ``name`` of that data, two by ``wide``, which goes on and on."""
    model = unmask.load(name, device="cpu")
    save("samples", model.sample(48), 12)
    save("prompts", [picture for prompt in PROMPTS for picture in model.sample(ROW, prompt)], ROW)
    stages: list[Image.Image] = []
    model.sample(1, on_step=lambda codes: stages.append(model.preview(codes)[0]))
    save("front-unmasked", [stages[len(stages) * n // 16] for n in range(1, 16)] + stages[-1:], 4)
    save("front-reconstructed", reconstructed(model, data), 4)
    new = model.sample(16)
    save("front-sampled", new, 4)
    inpainted = [[boxed(one), *model.inpaint(one, BOX, count=3)] for one in new[:4]]
    save("front-inpainted", [picture for row in inpainted for picture in row], 4)
    save(f"{name}-edits", [picture for row in edits(model, data) for picture in row], 3 * EDITED)
    model = unmask.load(wide, device="cpu")
    around = {"left": 32, "top": 32, "right": 32, "bottom": 32}
    save("front-extended", [model.extend(one, **around, count=1)[0] for one in model.sample(4)], 2)
    save("front-canvas", [model.canvas((256, 128), seed=seed) for seed in range(2)], 1)


def edits(model: unmask.Pipeline, data: str) -> Iterator[list[Image.Image]]:
    """A row for each kind of edit: an original, its part in grey, and the result, for six portraits."""
    real = [Image.fromarray(pixels) for pixels in model.open(data, "validation").read(range(24))]
    for number, (box, prompt) in enumerate(EDITS.values()):
        chosen = real[EDITED * number : EDITED * (number + 1)]
        guided = {"guidance": 3.0} if prompt else {}
        yield [
            each
            for one in chosen
            for each in (one, boxed(one, box), *model.inpaint(one, box, prompt, count=1, **guided))
        ]


def reconstructed(model: unmask.Pipeline, data: str) -> list[Image.Image]:
    """Pictures that the model was not trained on, above their reconstructions."""
    real = [Image.fromarray(pixels) for pixels in model.open(data, "validation").read(range(4))]
    return real + model.reconstruct(real)


if __name__ == "__main__":
    main(*sys.argv[1:])
