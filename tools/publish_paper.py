"""docs/paper.md, its numbers and its plots, from the folder of an ``unmask reproduce``.

python tools/publish_paper.py runs/reproduce
"""

import sys
from pathlib import Path

from unmask.reading import parse_json
from unmask.reproduce.page import RESULTS, page
from unmask.reproduce.plots import plot
from unmask.storage.files import write_bytes, write_json

DOCS = Path(__file__).parents[1] / "docs"


def main(out: Path) -> None:
    """Write what the documentation shows of the results."""
    results = parse_json((out / RESULTS).read_text().replace(str(out.resolve()), "OUT"))  # wherever it was
    write_json(DOCS / "paper.json", results)
    write_bytes(DOCS / "paper.md", page(results, "paper.json", "pictures/").encode())
    plot(results, DOCS / "pictures")


main(Path(sys.argv[1]))
