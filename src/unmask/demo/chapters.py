"""The stops of the tour. Each types its commands and returns its pictures with the ways to make them."""

from collections.abc import Sequence

from PIL import Image, ImageDraw

from unmask.demo.bits import bits_of_pictures
from unmask.demo.story import STEPS, Chapter, Figure, Picture, Tour, keep, quoted
from unmask.demo.training import train_tiny

# Counts are chosen so that the whole tour takes under three minutes on two cores.
COUNT = 9
TEMPERATURES = (0.6, 0.9, 1.2)
# A small model draws better with these than with the paper's chain, which is what commands do unless told.
COSINE = ("--schedule", "cosine")
REMASKED = ("--remask", 1)
CAREFUL = ("--temperature", 0.8)


def reconstructions(tour: Tour) -> list[Figure]:
    """Held-out pictures above what the codec keeps of them."""
    sheet = tour.out / "reconstructions" / "held-out.png"
    done = tour.unmask("reconstruct", tour.model, tour.data, "--count", 16, "--no-fid", "--out", sheet)
    python = (
        "originals = [Image.fromarray(pixels) for pixels in held_out.read(held_out.spread(16))]\n"
        "copies = model.reconstruct(originals)"
    )
    alt = "Rows of held-out pictures, and below each row the same pictures after the codec"
    return [Figure(pictures=[Picture(path=sheet, alt=alt)], commands=[done], python=python, telling=True)]


def samples(tour: Tour) -> list[Figure]:
    """The same seed in many steps, in some, in few."""
    pictures, commands, lines = [], [], []
    for steps in STEPS:
        folder = tour.drawn_in(steps)
        sheet = folder.with_suffix(".png")
        words = ("--count", COUNT, "--steps", steps, *COSINE, *REMASKED, "--temperature", 0.9)
        done = tour.unmask("sample", tour.model, *words, "--out", folder, "--grid", sheet)
        alt = f"{COUNT} new pictures, drawn in {steps} steps"
        caption = f"{steps} steps · {done.seconds / COUNT:.2g} s a picture"
        pictures.append(Picture(path=sheet, alt=alt, caption=caption))
        commands.append(done)
        settings = f'steps={steps}, schedule="cosine", remask=1, temperature=0.9'
        lines.append(f"pictures_{steps} = model.sample({COUNT}, {settings})")
    return [Figure(pictures=pictures, commands=commands, python="\n".join(lines), columns=3)]


def remasking(tour: Tour) -> list[Figure]:
    """The same seed with codes that stay as they were drawn, and with codes that are taken back."""
    pictures, commands = [], []
    for share, caption in ((0, "each code drawn once"), (1, "codes taken back and drawn again")):
        folder = tour.out / "remasking" / f"{share}"
        sheet = folder.with_suffix(".png")
        words = ("--count", COUNT, "--steps", 64, "--remask", share, "--temperature", 0.9)
        commands.append(tour.unmask("sample", tour.model, *words, "--out", folder, "--grid", sheet))
        pictures.append(Picture(path=sheet, alt=f"{COUNT} new pictures, {caption}", caption=caption))
    python = (
        f"once, again = (model.sample({COUNT}, steps=64, remask=share, temperature=0.9) for share in (0, 1))"
    )
    return [Figure(pictures=pictures, commands=commands, python=python, columns=3)]


def temperatures(tour: Tour) -> list[Figure]:
    """The same seed from careful to bold."""
    pictures, commands = [], []
    for temperature in TEMPERATURES:
        folder = tour.out / "temperature" / f"{temperature}"
        sheet = folder.with_name(f"{temperature}.png")
        words = ("--count", 4, "--steps", 64, *COSINE, *REMASKED, "--temperature", temperature)
        commands.append(tour.unmask("sample", tour.model, *words, "--out", folder, "--grid", sheet))
        alt = f"Four new pictures at temperature {temperature}"
        pictures.append(Picture(path=sheet, alt=alt, caption=f"{temperature}"))
    values = ", ".join(map(str, TEMPERATURES))
    python = (
        'settings = dict(steps=64, schedule="cosine", remask=1)\n'
        f"strip = {{T: model.sample(4, **settings, temperature=T) for T in ({values})}}"
    )
    return [Figure(pictures=pictures, commands=commands, python=python, columns=3)]


def animation(tour: Tour) -> list[Figure]:
    """Codes becoming known, from none to all."""
    folder = tour.out / "animation"
    film, last = folder / "unmasking.gif", folder / "last.png"
    words = ("--count", 4, "--steps", 32, *COSINE, *CAREFUL, "--seed", 1, "--out", folder / "pictures")
    done = tour.unmask("sample", tour.model, *words, "--grid", last, "--gif", film)
    python = (
        "frames = []\n"
        'model.sample(4, steps=32, schedule="cosine", temperature=0.8, seed=1,\n'
        "             on_step=lambda codes: frames.append(model.preview(codes)))"
    )
    alt = "Four pictures appear patch by patch out of a grey square"
    picture = Picture(path=film, alt=alt, zoom=3, still=last)
    return [Figure(pictures=[picture], commands=[done], python=python)]


def inpainting(tour: Tour) -> list[Figure]:
    """A part of a held-out picture, drawn anew in four ways."""
    folder, number = tour.out / "inpainting", tour.number("grinning face")
    original = Image.fromarray(tour.held_out.read([number])[0])
    picture, mask = keep(original, folder / "picture.png"), keep(_mask(original.width), folder / "mask.png")
    out = folder / "version.png"
    words = (picture, "--mask", mask, "--count", 4, "--steps", 32, *CAREFUL, "--rank", "--out", out)
    done = tour.unmask("inpaint", tour.model, *words)
    name = tour.held_out.names[number]
    shown = [
        Picture(path=picture, alt=f"A held-out picture: {name}", caption=name),
        Picture(path=mask, alt="The mask, white over a part of it", caption="mask"),
        *(
            Picture(
                path=out.with_stem(f"version-{i}"), alt=f"Version {i} of the masked part", caption=f"{i}."
            )
            for i in range(1, 5)
        ),
    ]
    python = (
        f"picture = Image.fromarray(held_out.read([{number}])[0])\n"
        f"mask = Image.open({quoted(mask)})\n"
        "versions = model.inpaint(picture, mask, count=4, steps=32, temperature=0.8, rank=True)"
    )
    return [Figure(pictures=shown, commands=[done], python=python, columns=6)]


def outpainting(tour: Tour) -> list[Figure]:
    """The left half of a held-out picture, and four ways to go on."""
    folder, number = tour.out / "outpainting", tour.number("koala")
    original = Image.fromarray(tour.held_out.read([number])[0])
    size, middle = original.width, original.width // 2
    half, out = keep(original.crop((0, 0, middle, size)), folder / "half.png"), folder / "version.png"
    words = (half, "--right", size - middle, "--count", 4, "--steps", 32, *CAREFUL, "--rank", "--out", out)
    done = tour.unmask("extend", tour.model, *words)
    name = tour.held_out.names[number]
    shown = [
        Picture(path=half, alt=f"The left half of a held-out picture: {name}", caption=f"half of: {name}"),
        *(
            Picture(path=out.with_stem(f"version-{i}"), alt=f"Version {i} of the whole", caption=f"{i}.")
            for i in range(1, 5)
        ),
    ]
    python = (
        f"half = Image.fromarray(held_out.read([{number}])[0]).crop((0, 0, {middle}, {size}))\n"
        f"versions = model.extend(half, right={size - middle}, count=4, steps=32, temperature=0.8, rank=True)"
    )
    return [Figure(pictures=shown, commands=[done], python=python, columns=5)]


def canvas(tour: Tour) -> list[Figure]:
    """A picture four times as wide as those of the training."""
    size, stride = tour.pipeline.image_size, max(1, tour.pipeline.prior.grid[1] // 2)
    out = tour.out / "canvas" / "wide.png"
    words = ("--size", f"{4 * size}x{size}", "--steps", 48, "--stride", stride, "--out", out)
    done = tour.unmask("canvas", tour.model, *words)
    python = f"wide = model.canvas(({4 * size}, {size}), steps=48, stride={stride})"
    alt = f"One new picture of {4 * size}×{size} pixels"
    picture = Picture(path=out, alt=alt, caption=f"{4 * size}×{size} pixels", zoom=3)
    return [Figure(pictures=[picture], commands=[done], python=python)]


def neighbours(tour: Tour) -> list[Figure]:
    """The samples of the most steps beside the training pictures nearest to them."""
    out = tour.out / "neighbours" / "nearest.png"
    words = ("--pictures", tour.samples, "--by", "pixels", "--count", 8, "--out", out)
    done = tour.unmask("neighbours", tour.model, tour.data, *words)
    python = (
        "from unmask.evaluation.neighbours import nearest_pictures\n\n"
        f'training = model.open({quoted(tour.data)}, "train")\n'
        f'nearest = nearest_pictures(pictures_{STEPS[0]}, training, count=8, by="pixels")'
    )
    alt = "Samples in the first column, and to the right of each the eight training pictures nearest to it"
    caption = "left the samples; below each neighbour its distance, pixel by pixel, from 0 to 1"
    picture = Picture(path=out, alt=alt, caption=caption, zoom=1)
    return [Figure(pictures=[picture], commands=[done], python=python, telling=True)]


def _mask(size: int) -> Image.Image:
    """White over what is a mouth in a face."""
    mask = Image.new("RGB", (size, size), "black")
    ImageDraw.Draw(mask).rectangle((size // 8, 7 * size // 16, 7 * size // 8 - 1, 7 * size // 8 - 1), "white")
    return mask


CHAPTERS: Sequence[Chapter] = (
    Chapter(
        title="There and back",
        folder="reconstructions",
        text="The codec turns a picture into a small grid of codes, each one of a few hundred words for a "
        "patch, and back. What it loses here, no sample can have. These pictures were held out of the "
        "training; below each row is what came back.",
        make=reconstructions,
    ),
    Chapter(
        title="New pictures",
        folder="samples",
        text="The prior starts from a grid on which every code is masked, and reveals them in random order. "
        "In few steps it has to reveal many codes at once, which then do not know of each other: faster, and "
        "less coherent. The schedule `cosine` reveals few at first, when little is known. The seed is the "
        "same in all three, so the same pictures set out.",
        make=samples,
    ),
    Chapter(
        title="Second thoughts",
        folder="remasking",
        text="A code that is drawn early is drawn with little to go by. With `--remask` some are taken back "
        "in every step and drawn again, now that more is known. Both sheets have the same seed and as many "
        "steps.",
        make=remasking,
    ),
    Chapter(
        title="Temperature",
        folder="temperature",
        text="Below 1 the likelier codes are preferred: cleaner pictures and less variety. Above 1 it is the "
        "other way round. The best value depends on the number of steps.",
        make=temperatures,
    ),
    Chapter(
        title="Unmasking, step by step",
        folder="animation",
        text="What is grey is not known yet. There is no order from left to right: any code may come next, "
        "and looks at all that are known by then.",
        make=animation,
    ),
    Chapter(
        title="A part, drawn anew",
        folder="inpainting",
        text="What is white in the mask is forgotten and drawn again to fit the rest, in as many versions as "
        "you like. With `--rank` the likeliest comes first. All other pixels stay as they are, bit for bit, "
        "but for a narrow seam.",
        make=inpainting,
    ),
    Chapter(
        title="Beyond the edge",
        folder="outpainting",
        text="The same with what lies outside: half a picture that the model has never seen, and some ways "
        "to go on.",
        make=outpainting,
    ),
    Chapter(
        title="A wide canvas",
        folder="canvas",
        text="Larger than any picture of the training. Windows of the trained size slide over the canvas, "
        "and what a code could be is the mean of what all windows say that hold it. They agree on what they "
        "share, and have no plan for the whole.",
        make=canvas,
    ),
    Chapter(
        title="What surprises it",
        folder="bits",
        text="A prior can also be asked how many bits it needs for the codes of a picture: few for what it "
        "expects, many for what it finds strange. A mirrored picture should cost as much as the original, "
        "since it was trained on both; what was broken should cost more, and the more so the worse.",
        make=bits_of_pictures,
    ),
    Chapter(
        title="Are they copies?",
        folder="neighbours",
        text=f"Every sample of {STEPS[0]} steps beside the training pictures nearest to it, pixel by pixel "
        "(`--by lpips` measures as eyes do, once `unmask weights get lpips-alex` has fetched a network). A "
        "model that copies would be much nearer to the training pictures than held-out ones are.",
        make=neighbours,
    ),
    Chapter(
        title="Learning, from nothing",
        folder="training",
        text="Both stages of a model so small that it learns something in a minute: pictures of 32×32 "
        "pixels, 8×8 codes of 64, a Transformer of two layers. It stays blurry. The commands for a real one "
        "are the same, with another `--preset` and patience.",
        make=train_tiny,
    ),
)
