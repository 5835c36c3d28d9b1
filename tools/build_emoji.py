# /// script
# requires-python = ">=3.11"
# dependencies = ["emoji==2.16.0", "pillow==13.0.0"]
# ///
"""Build the data set ``emoji`` again, byte for byte: src/unmask/data/builtin/emoji.zip.

    uv run tools/build_emoji.py            fetch the sources, build, write
    uv run tools/build_emoji.py --check    build, write nothing, compare with the shipped file

Without uv: install the two packages named above into an environment of their own and run this file with
its Python. ``npm`` fetches the pictures: Microsoft's Fluent Emoji in the 3D style, as packed by LobeHub.
"""

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import emoji
from emoji_groups import EMOJI_STYLE, group_of, plain
from PIL import Image, ImageStat

TARGET = Path(__file__).parents[1] / "src" / "unmask" / "images" / "builtin" / "emoji.zip"
TARGET_SHA256 = "5d1d92229a337c8ef76b8619e0af374059f59c3780ba8b637523228e8d9ba063"
BUILT_WITH = {"emoji": "2.16.0", "pillow": "13.0.0"}  # another libwebp may write other bytes
SOURCE_SHA256 = {
    "@lobehub/fluent-emoji-3d@1.1.0": "c1bb7eee7de090205a232518a9ab4adb3df458bfbe8a1f78232991194c8b2e58",
    "unicode-emoji-json@0.9.0": "ae7efacb55533385bf8767d613dbd36c71226669759d95919a6e9059f5e4c401",
}
SOURCE_PX, SIZE_PX = 256, 64

# Four pictures are 264 px tall: the first of the 256 rows that line up with their siblings.
FIRST_ROW = {
    "0035-fe0f-20e3": 1,
    "1f487-1f3fc-200d-2642-fe0f": 8,
    "1f926-1f3fd-200d-2640-fe0f": 7,
    "1fa90": 8,
}
SKIN_TONES = {
    "1f3fb": "light",
    "1f3fc": "medium-light",
    "1f3fd": "medium",
    "1f3fe": "medium-dark",
    "1f3ff": "dark",
}
# Where the package's file names err: the tone in the name -> the tone in the picture.
MEDIUMS_SWAPPED = {"1f3fc": "1f3fd", "1f3fd": "1f3fc"}
MOUNTAIN_BIKER = {"1f3fb": "1f3ff", "1f3fc": "1f3fd", "1f3fd": "1f3fe", "1f3fe": "1f3fc", "1f3ff": "1f3fb"}
DEAF_PERSON = "1f9cf"  # man and woman are swapped
MEN = set("♂👨👦👴🤴🎅🕺👬🫃")
WOMEN = set("♀👩👧👵👸🤶💃👭🤰🧕")
PEOPLE = "People & Body"


def main() -> None:
    """Build, compare with the expected checksum, and write or check the shipped file."""
    parser = argparse.ArgumentParser(description="Build the built-in data set `emoji` again.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the shipped file")
    check_only = parser.parse_args().check
    for package, wanted in BUILT_WITH.items():
        if version(package) != wanted:
            sys.exit(f"built with {package} {wanted}; this environment has {version(package)}")
    data = build()
    if check_only and data != TARGET.read_bytes():
        sys.exit(f"{TARGET.name} is not what its sources give")
    if not check_only:
        TARGET.write_bytes(data)
    found = hashlib.sha256(data).hexdigest()
    if found != TARGET_SHA256:
        sys.exit(f"built {found}, expected {TARGET_SHA256}")
    print("as expected:", found)


def build() -> bytes:
    """The bytes of the zip: lossless pictures in the order of their names, then index.json."""
    pictures = read_pictures()
    labelled = sorted((true_stem(stem, pictures), picture) for stem, picture in pictures.items())
    index = describe([stem for stem, _ in labelled])
    report(index)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for entry, (_, picture) in zip(index, labelled, strict=True):
            add(archive, entry["file"], as_webp(picture))
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in index)
        add(archive, "index.json", f"[\n{lines}\n]\n".encode())
    return buffer.getvalue()


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


def read_pictures() -> dict[str, Image.Image]:
    """The package's file stem -> the small picture; files that repeat another's bytes are left out."""
    files = fetch("@lobehub/fluent-emoji-3d@1.1.0")
    distinct: dict[bytes, str] = {}
    for path in sorted(path for path in files if path.endswith(".webp")):
        distinct.setdefault(files[path], Path(path).stem)
    return {stem: shrink(stem, data) for data, stem in distinct.items()}


def shrink(stem: str, data: bytes) -> Image.Image:
    """The picture on white, every pixel the mean of a 4×4 block: sharp, and unlike Lanczos without halos."""
    top = FIRST_ROW.get(stem, 0)
    picture = Image.open(io.BytesIO(data)).crop((0, top, SOURCE_PX, top + SOURCE_PX))
    white = Image.new("RGBA", picture.size, "white")
    on_white = Image.alpha_composite(white, picture).convert("RGB")
    return on_white.resize((SIZE_PX, SIZE_PX), Image.Resampling.BOX)


def true_stem(stem: str, pictures: dict[str, Image.Image]) -> str:
    """The code points of what the picture shows, which its file name does not always say."""
    parts = stem.split("-")
    if parts[0] == DEAF_PERSON:
        parts = [{"2640": "2642", "2642": "2640"}.get(part, part) for part in parts]
    for tone in SKIN_TONES:
        if tone in parts:
            shown = true_tone(stem, tone, pictures)
            return "-".join(shown if part == tone else part for part in parts)
    return "-".join(parts)


def true_tone(stem: str, tone: str, pictures: dict[str, Image.Image]) -> str:
    """The tone that is painted. Of the two middle tones the brighter picture is the lighter one."""
    if stem == f"1f6b5-{tone}":
        return MOUNTAIN_BIKER[tone]
    medium_light, medium = (pictures[stem.replace(tone, other)] for other in MEDIUMS_SWAPPED)
    swapped = brightness(medium) > brightness(medium_light)
    return MEDIUMS_SWAPPED.get(tone, tone) if swapped else tone


def brightness(picture: Image.Image) -> float:
    """The sum over all pixels and colours."""
    return sum(ImageStat.Stat(picture).sum)


def describe(stems: list[str]) -> list[dict[str, Any]]:
    """One entry of the index for each picture, in the same order."""
    names = {text.replace(EMOJI_STYLE, ""): data["en"] for text, data in emoji.EMOJI_DATA.items()}
    by_emoji = json.loads(fetch("unicode-emoji-json@0.9.0")["package/data-by-emoji.json"])
    categories = {plain(text): data["group"] for text, data in by_emoji.items()}
    return [entry(stem, names, categories) for stem in stems]


def entry(stem: str, names: dict[str, str], categories: dict[str, str]) -> dict[str, Any]:
    """What the index says about one picture."""
    text = text_of(stem)
    category = categories[plain(text)]
    return {
        "file": f"{stem}.webp",
        "codepoints": " ".join(f"{ord(character):04X}" for character in text),
        "name": names[text.replace(EMOJI_STYLE, "")].strip(":").replace("_", " "),
        "group": "-".join(f"{ord(character):x}" for character in group_of(text)),
        "category": category,
        "skin_tone": next((name for tone, name in SKIN_TONES.items() if tone in stem), None),
        "gender": gender_of(text) if category == PEOPLE else None,
    }


def text_of(stem: str) -> str:
    """The emoji itself. The package joins the tags of a subdivision's flag by _ and leaves out the last."""
    text = "".join(chr(int(part, 16)) for part in stem.replace("_", "-").split("-"))
    return text + "\U000e007f" if "_" in stem else text


def gender_of(text: str) -> str | None:
    """``man`` or ``woman`` where everyone shown is one, else None."""
    man, woman = not MEN.isdisjoint(text), not WOMEN.isdisjoint(text)
    if man == woman:
        return None
    return "man" if man else "woman"


def as_webp(picture: Image.Image) -> bytes:
    """The picture, losslessly."""
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", lossless=True, quality=100, method=4)
    return buffer.getvalue()


def add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Store a file under a fixed date and fixed rights, so that the zip depends on its content alone."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def report(index: list[dict[str, Any]]) -> None:
    """Print what a person should look at: counts and the largest groups."""
    groups = Counter(entry["group"] for entry in index)
    print(f"{len(index)} pictures in {len(groups)} groups")
    for group, count in groups.most_common(12):
        names = [entry["name"] for entry in index if entry["group"] == group]
        print(f"{count:5} {group:24} {', '.join(names[:: max(1, count // 4)])}")


if __name__ == "__main__":
    main()
