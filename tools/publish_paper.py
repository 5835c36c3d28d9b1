"""docs/paper.md, its numbers and its plots, from the folder of an ``unmask reproduce``.

python tools/publish_paper.py runs/reproduce

Claims that the folder does not tell of stay as they were published.
"""

import sys
from pathlib import Path
from typing import Any

from unmask.reading import parse_json
from unmask.reproduce.page import RESULTS, page
from unmask.reproduce.plots import plot
from unmask.storage.files import write_bytes, write_json

DOCS = Path(__file__).parents[1] / "docs"


def main(out: Path) -> None:
    """Write what the documentation shows of the results."""
    found = parse_json((out / RESULTS).read_text().replace(str(out.resolve()), "OUT"))  # wherever it was
    results = joined(parse_json((DOCS / "paper.json").read_text()), found)
    write_json(DOCS / "paper.json", results)
    write_bytes(DOCS / "paper.md", page(results, "paper.json", "pictures/").encode())
    plot(results, DOCS / "pictures")


def joined(published: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What was published, with what was found of the claims that were run now; the steps that these take."""
    if published["scale"] != found["scale"]:
        return found
    arms = published["arms"] | found["arms"]
    steps = published["steps"] | found["steps"]
    taken = {key for seeds in arms.values() for seed in seeds.values() for key in seed.values()}
    while more := {key for taker in taken for key in steps[taker]["inputs"]} - taken:
        taken |= more
    return found | {"arms": arms, "steps": {key: step for key, step in steps.items() if key in taken}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
