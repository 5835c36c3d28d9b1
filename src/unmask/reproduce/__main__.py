"""``python -m unmask.reproduce METHOD …``: what a claim takes besides the commands of ``unmask``."""

import json
import sys

from unmask.reproduce.methods import METHODS, run_method

if not sys.argv[1:] or sys.argv[1] not in METHODS:
    sys.exit(f"one of {', '.join(METHODS)}; each has --help")
print(json.dumps(run_method(sys.argv[1:])))
