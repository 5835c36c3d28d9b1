"""The tree is the data's path: a module imports only what stands to its left (docs/architecture.md)."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unmask"
RANKS = [
    {"errors", "progress", "rng"},
    {"reading"},
    {"config", "devices"},
    {"distributed"},
    {"storage"},
    {"codec", "prior", "presets", "third_party"},
    {"data", "diffusion"},
    {"evaluation", "onnx"},
    {"models"},
    {"generation", "importers", "training"},
    {"pipeline"},
    {"samples"},
    {"demo", "studio", "sweeps"},
    {"reproduce"},
    {"cli"},
]
RANK_OF = {name: rank for rank, names in enumerate(RANKS) for name in names}
DOORS = {SOURCE / "__init__.py", SOURCE / "__main__.py"}  # what opens the package knows its face
MODULES = sorted(set(SOURCE.rglob("*.py")) - DOORS)


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of unmask that a file imports, at the top or inside functions."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where things live"
            parts.add(node.module)
            parts.update(f"unmask.{alias.name}" for alias in node.names if node.module == "unmask")
        elif isinstance(node, ast.Import):
            parts.update(alias.name for alias in node.names)
    names = {name.split(".")[1] for name in parts if name.startswith("unmask.") and not is_settings(name)}
    return names - {"__version__"}


def is_settings(name: str) -> bool:
    """Settings stand below everything: a ``config.py`` of a part imports nothing but ``errors``."""
    return name.count(".") > 1 and name.endswith((".config", ".settings"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_to_its_left(path):
    own = part_of(path)
    wrong = {other for other in imported_parts(path) if other != own and RANK_OF[other] >= RANK_OF[own]}
    assert not wrong, f"{own} must not import {sorted(wrong)}"


def test_the_map_shows_every_file_of_the_parts_that_it_opens():
    lines = (SOURCE.parents[1] / "docs/architecture.md").read_text().split("```")[1].splitlines()[2:]
    shown, part = {}, "."
    for line in lines:
        words = line.strip("│├└─ ").split()
        if not line.startswith("│   "):
            part = words[0].strip("/") if words[0].endswith("/") else "."
        shown.setdefault(part, set()).update(word for word in words if word.endswith(".py"))
    for part, names in shown.items():
        files = {path.name for path in (SOURCE / part).glob("*.py")} - {
            "__init__.py",
            "__main__.py",
            "config.py",
        }
        assert not names or names - {"config.py"} == files, part


def test_samplers_know_no_network():
    """Any denoiser will do: a canvas, guidance or another back-end takes the prior's place."""
    files = [path for path in MODULES if part_of(path) == "diffusion" and path.stem != "likelihood"]
    assert files
    assert not [path for path in files if "prior" in imported_parts(path)]


@pytest.mark.parametrize(
    "phrase",
    ["torch.manual_seed", "np.random.", "import random", "import torchvision", "from torchvision", ".cuda("],
)
def test_what_the_source_never_says(phrase):
    assert not [str(path) for path in MODULES if phrase in path.read_text()]


def test_help_does_not_wait_for_torch():
    code = "import sys, unmask.cli.main as m; m.main(['--help']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_walks_name_functions_that_are_where_they_say():
    page = (SOURCE.parents[1] / "docs/architecture.md").read_text()
    walks = page.split("## Two call graphs")[1].split("## Contracts")[0].split("```")[1::2]
    steps = [
        re.match(r" *([\w/]+\.py) +(\S+)((?:, \w+)*)", line) for walk in walks for line in walk.splitlines()
    ]
    named = [(step[1], name) for step in steps if step for name in [step[2], *step[3].split(", ")[1:]]]
    assert len(named) > 30
    for path, name in named:
        source = (SOURCE / path).read_text()
        for part in name.strip(",").split("."):
            assert re.search(rf"\b(def|class) {part}\b", source), f"{path} has no {part}"
