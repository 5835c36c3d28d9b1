"""Run every benchmark, or those that are named."""

import sys
from importlib import import_module
from pathlib import Path

TOOLS = {"__init__", "__main__", "against", "measure"}


def main(names: list[str]) -> None:
    known = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - TOOLS)
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    for name in names or known:
        import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
