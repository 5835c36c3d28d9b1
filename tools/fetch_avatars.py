# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow", "resvg-py==0.5.0"]
# ///
"""Make a folder of drawn portraits, with captions, for the model ``avatars``.

    uv run tools/fetch_avatars.py photos/avatars

20,000 random portraits of 64×64 in six styles of DiceBear: Personas by Draftbit, the Avatar Illustration
System by Micah Lanier, Toon Head by Johan Melin, Custom Avatar by Ashley Seo and Miniavs by Webpixels (CC BY
4.0), and Open Peeps by Pablo Stanley (CC0). ``draw_avatars.mjs`` chooses the parts and says them in words.
Needs Node.js and npm. Without uv: install resvg-py into an environment of its own and run this file with its
Python.
"""

import argparse
import io
import json
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import resvg_py
from PIL import Image

PACKAGES = ("@dicebear/core@9.4.3", "@dicebear/collection@9.4.3")
DRAW = Path(__file__).with_name("draw_avatars.mjs")
SIZE = 64


def main() -> None:
    """Draw the portraits as SVG, and write each as PNG."""
    parser = argparse.ArgumentParser(description="Make a folder of drawn portraits, with captions.")
    parser.add_argument("out", type=Path, help="the folder to be made")
    parser.add_argument("--count", type=int, default=20_000, help="how many (20000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other portraits (0)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        portraits = draw(Path(folder), asked.count, asked.seed)
    asked.out.mkdir(parents=True, exist_ok=True)
    lines = [{"file_name": f"{i:05}.png", "text": portrait["text"]} for i, portrait in enumerate(portraits)]
    files = [asked.out / line["file_name"] for line in lines]
    with ProcessPoolExecutor() as pool:
        list(pool.map(render, [portrait["svg"] for portrait in portraits], files, chunksize=64))
    (asked.out / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(f"{len(lines)} portraits in {asked.out}; look at them:  unmask data {asked.out}")


def draw(folder: Path, count: int, seed: int) -> list[dict[str, str]]:
    """Portraits as SVG, and their captions."""
    subprocess.run(["npm", "install", "--silent", "--prefix", folder, *PACKAGES], check=True)
    script = folder / DRAW.name
    script.write_bytes(DRAW.read_bytes())  # beside the packages, where Node looks for them
    drawn = subprocess.run(["node", script, str(count), str(seed)], check=True, capture_output=True)
    return [json.loads(line) for line in drawn.stdout.splitlines()]


def render(svg: str, file: Path) -> None:
    """Write a portrait on white."""
    png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=SIZE, height=SIZE))
    drawn = Image.open(io.BytesIO(png)).convert("RGBA")
    white = Image.new("RGBA", drawn.size, "white")
    white.alpha_composite(drawn)
    white.convert("RGB").save(file)


if __name__ == "__main__":
    main()
