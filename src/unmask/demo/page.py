"""A tour as one page that needs nothing else: pictures, style and script are inside."""

import base64
import os
import platform
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

import torch
from PIL import Image
from torch import nn

from unmask import __version__
from unmask.demo.story import Chapter, Figure, Picture, Tour

FILES = Path(__file__).with_name("static")
TYPES = {".png": "image/png", ".gif": "image/gif"}


class Told(NamedTuple):
    """A chapter, what it showed, and how long it took."""

    chapter: Chapter
    figures: list[Figure]
    seconds: float


def page(tour: Tour, told: Sequence[Told]) -> str:
    """The whole page as HTML."""
    template = Template(_file("page.html"))
    samples = sorted(tour.samples.glob("*.png"))
    return template.substitute(
        style=_file("page.css"),
        script=_file("page.js"),
        facts=_facts(tour),
        contents="\n".join(_entry(number, part) for number, part in enumerate(told, start=1)),
        total=duration(sum(part.seconds for part in told)),
        preamble=_code(tour.python),
        hero="\n".join(f'<img src="{inline(path)}" alt="">' for path in samples),
        chapters="\n".join(_section(number, part) for number, part in enumerate(told, start=1)),
        machine=escape(_machine(tour)),
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: 4.2 s, 37 s, 2 min 5 s."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def inline(path: Path) -> str:
    """A picture file as an address that holds it."""
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _file(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def _facts(tour: Tour) -> str:
    model = tour.pipeline
    h, w = model.prior.grid
    facts = {
        "model": tour.model,
        "pictures": f"{model.image_size}×{model.image_size} pixels",
        "codes": f"{h}×{w}, of {model.prior.mask_id} kinds",
        "codec": _size(model.codec),
        "prior": _size(model.prior),
    }
    return "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items()
    )


def _size(network: nn.Module) -> str:
    return f"{sum(weight.numel() for weight in network.parameters()) / 1e6:.2g}M weights"


def _machine(tour: Tour) -> str:
    return (
        f"Unmask {__version__}, torch {torch.__version__}, Python {platform.python_version()}; "
        f"{os.cpu_count()} CPU cores, computed on {tour.pipeline.device.type}"
    )


def _entry(number: int, part: Told) -> str:
    title, folder = escape(part.chapter.title), part.chapter.folder
    return (
        f'<li><a href="#{folder}"><span class="number">{number}</span> <span>{title}</span> '
        f"<time>{duration(part.seconds)}</time></a></li>"
    )


def _section(number: int, part: Told) -> str:
    chapter, figures, seconds = part
    parts = [
        f'<section id="{chapter.folder}" aria-labelledby="{chapter.folder}-title">',
        f'<header><span class="number">{number}</span>',
        f'<h2 id="{chapter.folder}-title">{escape(chapter.title)}</h2>',
        f"<time>{duration(seconds)}</time></header>",
        f'<p class="text">{prose(chapter.text)}</p>',
        *map(block, figures),
        "</section>",
    ]
    return "\n".join(parts)


def prose(text: str) -> str:
    """Text with what stands between backticks as code."""
    return re.sub("`(.+?)`", r"<code>\1</code>", escape(text))


def block(figure: Figure) -> str:
    """A figure as HTML: pictures, below them commands, below them Python."""
    shown = "\n".join(map(_picture, figure.pictures))
    commands = "\n".join(f'<pre class="shell">{_code(typed.line)}</pre>' for typed in figure.commands)
    return (
        f'<div class="figure">\n<div class="pictures" style="--columns: {figure.columns}">\n{shown}\n</div>\n'
        f'<div class="ways">\n{commands}\n{_answers(figure)}\n</div>\n'
        f'<div class="ways">\n<pre class="python">{_code(figure.python)}</pre>\n</div>\n</div>'
    )


def _answers(figure: Figure) -> str:
    said = "".join(typed.said for typed in figure.commands).rstrip()
    if not said:
        return ""
    state, word = " open" if figure.telling else "", "Answer" if len(figure.commands) == 1 else "Answers"
    return f"<details{state}><summary>{word}</summary><pre><samp>{escape(said)}</samp></pre></details>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _picture(picture: Picture) -> str:
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    if picture.path.suffix == ".svg":
        chart = picture.path.read_text(encoding="utf-8")
        shown = chart.replace("<svg ", f'<svg role="img" aria-label="{escape(picture.alt)}" ', 1)
        return f'<figure class="chart">{shown}{caption}</figure>'
    with Image.open(picture.path) as image:
        width, height = (edge * picture.zoom for edge in image.size)
    shown = (
        f'<img src="{inline(picture.path)}" width="{width}" height="{height}" alt="{escape(picture.alt)}">'
    )
    if picture.still:
        calm = f'<source media="(prefers-reduced-motion: reduce)" srcset="{inline(picture.still)}">'
        shown = f"<picture>{calm}{shown}</picture>"
    return f"<figure>{shown}{caption}</figure>"
