"""Pages stay true where a machine can tell: links lead somewhere, pictures are shown, defaults are real."""

import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
import yaml

import unmask
from unmask.diffusion.settings import SETTINGS
from unmask.models import builtin_names, open_model

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("recipes/*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)]*))?\)")


def anchors(page):
    """What headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        if not target.startswith("http"):
            place = page.parent / target
            assert place.is_file(), f"{page.name} links to {target}"  # of a folder the site has no page
            assert not anchor or anchor in anchors(place), f"{page.name} links to {target}#{anchor}"


def test_every_picture_is_shown():
    shown = {
        (page.parent / target).resolve() for page in PAGES for target, _ in LINK.findall(page.read_text())
    }
    assert set((ROOT / "docs/pictures").iterdir()) <= shown


def test_the_citation_is_of_this_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == unmask.__version__


def table(heading):
    """Rows of the first table below a heading of docs/python.md, cells without their quotes."""
    text = (ROOT / "docs/python.md").read_text().split(f"## {heading}", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", text, re.M)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def written(parameter):
    """A default as a page writes it."""
    return "" if parameter.default is parameter.empty else repr(parameter.default).replace("'", '"')


def arguments(function):
    return {name: written(parameter) for name, parameter in signature(function).parameters.items()}


@pytest.mark.parametrize(
    ("function", "heading", "column", "elsewhere"),
    [
        (unmask.load, "`unmask.load", 1, ()),
        (unmask.Pipeline.sample, "New images", 1, ("self", *SETTINGS)),
        (unmask.Pipeline.canvas, "Larger images", 1, ("self", "size", *SETTINGS)),
        (
            unmask.Pipeline.inpaint,
            "Larger images",
            2,
            ("self", "image", "mask", "strength", "unlikely", *SETTINGS),
        ),
        (
            unmask.Pipeline.extend,
            "Larger images",
            2,
            ("self", "image", "left", "top", "right", "bottom", *SETTINGS),
        ),
    ],
)
def test_arguments_and_defaults_are_those_of_the_code(function, heading, column, elsewhere):
    page = {row[0]: row[column].strip("`") for row in table(heading)}
    single = {"changes": ""} if "changes" in page else {}
    apart = (*elsewhere, *SETTINGS)
    code = {name: default for name, default in arguments(function).items() if name not in apart} | single
    if heading == "Larger images":
        page = {name: default for name, default in page.items() if default}
    assert page == code


def test_the_page_on_python_has_every_setting_with_its_default_and_choices():
    page = {name: (default, uses, meaning) for name, default, uses, meaning in table("Settings")}
    assert list(page) == list(SETTINGS)
    for setting in SETTINGS.values():
        default, uses, meaning = page[setting.name]
        assert default == repr(setting.default).replace("'", '"')
        assert uses == ("all" if len(setting.uses) == 3 else ", ".join(setting.uses))
        assert all(f'"{choice}"' in meaning for choice in setting.choices or ())


def test_the_pages_on_sampling_and_editing_speak_of_every_choice():
    text = "\n".join((ROOT / f"docs/{page}.md").read_text() for page in ("sampling", "editing"))
    for setting in SETTINGS.values():
        for choice in setting.choices or ():
            assert re.search(rf"^\| `{choice}` \|", text, re.M), choice


@pytest.mark.parametrize("model", builtin_names())
def test_the_page_on_sampling_tells_what_built_in_models_recommend(model):
    """Every number but those of a switch that is fully on; what is the same stands once."""
    row = re.search(rf"^\| `{model}`.*$", (ROOT / "docs/sampling.md").read_text(), re.M)
    new, other = row[0].split(" | ")[1:]
    recommended = open_model(model).sampling["recommended"]
    for use in recommended.keys() - {"budgets"}:  # what was tuned for other numbers of steps
        settings = recommended[use]
        cell = new if use == "sample" else other.replace("the same", new)
        told = {float(number) for number in re.findall(r"\d[\d.]*", cell)}
        assert {value for value in settings.values() if not isinstance(value, str)} - {1} <= told, use


CODE = [block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)]


def test_examples_take_what_they_need_from_the_public_face_alone():
    """And the page on Python speaks of all of that face."""
    assert len(CODE) > 5
    used = {name for block in CODE for name in re.findall(r"\bunmask\.(\w+)", block)}
    assert used <= set(unmask.__all__)
    assert not [block for block in CODE if re.search(r"^(from|import) unmask\.", block, re.M)]
    text = (ROOT / "docs/python.md").read_text()
    assert [name for name in unmask.__all__ if not re.search(rf"`(unmask\.)?{name}\b", text)] == []


def test_the_public_face_is_there_and_does_not_wait_for_torch():
    assert unmask.__all__ == sorted(unmask.__all__)
    for name in unmask.__all__:
        assert getattr(unmask, name) is not None
    code = (
        "import sys, unmask; unmask.Settings, unmask.UnmaskError; "
        "assert {'load', 'Settings'} <= {*dir(unmask)}; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_reference_lists_the_public_face():
    listed = re.findall(r"^\.\. auto\w+:: (\w+)$", (ROOT / "docs/api.rst").read_text(), re.M)
    assert sorted([*listed, "__version__"]) == unmask.__all__


def test_the_page_on_python_speaks_of_every_public_method():
    text = (ROOT / "docs/python.md").read_text()
    for name in dir(unmask.Pipeline):
        assert name.startswith("_") or re.search(rf"`model\.{name}\b|`{name}`", text), name
