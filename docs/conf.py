"""How Sphinx makes a site of the pages: they stay where they are, and readable on a code host.

The tree itself is the source, so that links between pages hold there and here. What a code host does not
need, the order of pages, is added below.
"""

from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

import unmask

project, author = "Unmask", "The Unmask developers"
version = release = unmask.__version__
copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/*.rst",
    "docs/decisions/*.md",
    "docs/gallery/*.rst",
    "recipes/*.md",
    "src/unmask/builtin/*/README.md",
]
exclude_patterns = [".*", "runs", "demo", "dist", "site", "tests", "benchmarks", "tools", "src/unmask/[!b]*"]

NAVIGATION = {
    "README": {
        "Use": "/docs/gallery/index /docs/data /docs/training /docs/sampling /docs/captions /docs/editing "
        "/docs/studio /docs/evaluation /docs/models /docs/scaling /docs/faq",
        "Look up": "/docs/commands /docs/python /docs/api /docs/glossary /docs/weights /recipes/README",
        "Models and results": "/src/unmask/builtin/*/README /docs/results /docs/paper /docs/experiments "
        "/docs/speed",
        "Develop": "/CONTRIBUTING /docs/architecture /docs/decisions/README /docs/reliability "
        "/docs/releasing /CHANGELOG",
    },
    "docs/decisions/README": {"Decisions": "0*"},
}

myst_heading_anchors = 4  # as a code host names them
highlight_language = "text"  # of blocks that name no language: mostly commands and what they print
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"

suppress_warnings = ["config.cache"]  # a function among the settings of the gallery

html_theme = "furo"
html_title = f"Unmask {release}"
html_additional_pages = {"index": "index.html"}  # the front page is README.html
templates_path = ["site"]
html_copy_source = False


def picture(block: tuple[str, str, int], block_vars: dict, gallery_conf: dict) -> str:
    """The picture that a block of an example ends with, as a notebook would show it."""
    shown = block_vars["example_globals"].get("___")
    if not hasattr(shown, "_repr_png_"):
        return ""
    path = next(block_vars["image_path_iterator"])
    Path(path).write_bytes(shown._repr_png_())
    return figure_rst([path], gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "docs/examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": "first_pictures|editing|captions",  # the other trains: a test runs it, briefly
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (picture,),
    "ignore_repr_types": "Image",
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "backreferences_dir": None,
}


def add_navigation(app: object, name: str, source: list[str]) -> None:
    """Append the tables of contents that a code host has no use for."""
    for caption, pages in NAVIGATION.get(name, {}).items():
        entries = "\n".join(pages.split())
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{entries}\n```\n"


def setup(app: object) -> None:
    """Sphinx calls this once."""
    app.connect("source-read", add_navigation)
