# /// script
# requires-python = ">=3.11"
# dependencies = ["emoji==2.16.0", "pillow==13.0.0", "resvg-py==0.5.0"]
# ///
"""Build the data set ``emoji`` again, byte for byte: src/unmask/data/builtin/emoji.zip.

    uv run tools/build_emoji.py            fetch the sources, build, write
    uv run tools/build_emoji.py --check    build, write nothing, compare with the shipped file

Without uv: install the three packages named above into an environment of their own and run this file with
its Python. ``npm`` fetches the drawings, six styles by five vendors.
"""

import argparse
import hashlib
import io
import json
import sys
import zipfile
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emoji_captions import caption
from emoji_groups import group_of
from emoji_names import Unicode, gender_of, tone_of
from emoji_pictures import CREDITS, STYLES, drawn_as_vectors, fetch, fluent_3d, text_of
from PIL import Image

TARGET = Path(__file__).parents[1] / "src" / "unmask" / "data" / "builtin" / "emoji.zip"
TARGET_SHA256 = "dd15aaae34325a47836ac302dfd07f054fb4818bef266d71541cc21b6a8cb41a"
BUILT_WITH = {"emoji": "2.16.0", "pillow": "13.0.0", "resvg-py": "0.5.0"}  # another may write other bytes
PAIRS_SHARE = 0.35  # of the groups that qualify


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
    """The bytes of the zip: lossless pictures, style after style, then styles.json and index.json."""
    unicode = Unicode(fetch("unicode-emoji-json@0.9.0")["package/data-by-emoji.json"])
    index, pictures = [], []
    for style in ("3d", *STYLES):
        for stem, picture in fluent_3d() if style == "3d" else drawn_as_vectors(style, unicode):
            index.append(describe(stem, style, unicode))
            pictures.append(picture)
    mark_pairs(index)
    report(index)
    return pack(index, pictures)


def describe(stem: str, style: str, unicode: Unicode) -> dict[str, Any]:
    """What the index says about one picture."""
    text = unicode.qualified(text_of(stem))
    category, skin_tone = unicode.category(text), tone_of(text)
    gender = gender_of(text, category)
    return {
        "file": f"{style}/{stem}.webp",
        "style": style,
        "codepoints": " ".join(f"{ord(character):04X}" for character in text),
        "name": unicode.name(text),
        "group": "-".join(f"{ord(character):x}" for character in group_of(text)),
        "category": category,
        "skin_tone": skin_tone,
        "gender": gender,
        "caption": caption(unicode.base_name(text), category, skin_tone, gender, style),
    }


def mark_pairs(index: list[dict[str, Any]]) -> None:
    """Mark what is to be held out in one style while its concept is learnt from others.

    Of the groups that three styles or more show, in no more than two pictures each and without skin tones,
    a share is picked by hash, and for each of them one style, whose pictures of the group are marked.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in index:
        counts[entry["group"]][entry["style"]] += 1
    toned = {entry["group"] for entry in index if entry["skin_tone"]}
    pairs = set()
    for group, styles in counts.items():
        qualifies = group not in toned and len(styles) >= 3 and max(styles.values()) <= 2
        place = hashlib.blake2b(f"pair/{group}".encode(), digest_size=12).digest()
        share, choice = int.from_bytes(place[:6]) / 2**48, int.from_bytes(place[6:])
        if qualifies and share < PAIRS_SHARE:
            pairs.add((group, sorted(styles)[choice % len(styles)]))
    for entry in index:
        entry["pair"] = (entry["group"], entry["style"]) in pairs


def pack(index: list[dict[str, Any]], pictures: list[Image.Image]) -> bytes:
    """The zip. The index is compressed; pictures, which are already, are not."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry, picture in zip(index, pictures, strict=True):
            add(archive, entry["file"], as_webp(picture), zipfile.ZIP_STORED)
        add(archive, "styles.json", json.dumps(CREDITS, indent=1).encode(), zipfile.ZIP_STORED)
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in index)
        add(archive, "index.json", f"[\n{lines}\n]\n".encode(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def as_webp(picture: Image.Image) -> bytes:
    """The picture, losslessly."""
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", lossless=True, quality=100, method=4)
    return buffer.getvalue()


def add(archive: zipfile.ZipFile, name: str, data: bytes, compression: int) -> None:
    """Store a file under a fixed date and fixed rights, so that the zip depends on its content alone."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, data, compression)


def report(index: list[dict[str, Any]]) -> None:
    """Print what a person should look at: counts, words and the largest groups."""
    groups = Counter(entry["group"] for entry in index)
    words = {word for entry in index for word in entry["caption"].replace(",", "").split()}
    longest = max((entry["caption"] for entry in index), key=lambda text: len(text.split()))
    print(f"{len(index)} pictures in {len(groups)} groups, {sum(entry['pair'] for entry in index)} of pairs")
    print(f"{len(words)} words; the longest caption: {longest}")
    for group, count in groups.most_common(12):
        names = [entry["name"] for entry in index if entry["group"] == group]
        print(f"{count:5} {group:24} {', '.join(names[:: max(1, count // 4)])}")


if __name__ == "__main__":
    main()
