"""A demo as one page that needs nothing else: images, style and script are inside."""

import base64
import json
import os
import platform
import re
from html import escape
from pathlib import Path
from string import Template

import torch
from PIL import Image
from torch import nn

from unmask import __version__
from unmask.demo.story import Demo, Figure, ToldChapter


def page(demo: Demo) -> str:
    """The whole page as HTML, as far as the demo has come."""
    paths = (Path(__file__).with_name("static") / f"page.{kind}" for kind in ("html", "css", "js"))
    html, style, script = (path.read_text(encoding="utf-8") for path in paths)
    model, numbered = demo.pipeline, list(enumerate(demo.told, start=1))
    return Template(html).substitute(
        style=style,
        script=script,
        total=duration(demo.seconds),
        hero="\n".join(f'<img src="{inline(path)}" alt="">' for path in sorted(demo.samples.glob("*.png"))),
        contents="\n".join(_entry(number, told) for number, told in numbered),
        chapters="\n".join(section(number, told) for number, told in numbered),
        size=model.image_size,
        grid="×".join(map(str, model.prior.grid)),
        kinds=model.prior.mask_id,
        codec=_size(model.codec),
        prior=_size(model.prior),
        name=escape(demo.model),
        quoted=escape(json.dumps(demo.model, ensure_ascii=False)),
        machine=escape(
            f"Unmask {__version__}, torch {torch.__version__}, Python {platform.python_version()}; "
            f"{os.cpu_count()} CPU cores, computed on {model.device.type}"
        ),
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: 4.2 s, 37 s, 2 min 5 s."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def inline(path: Path) -> str:
    """An image file as an address that holds it."""
    return f"data:image/{path.suffix[1:]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def section(number: int, told: ToldChapter) -> str:
    """A chapter as HTML: words, figures, commands, and what these answered."""
    chapter = told.chapter
    text = re.sub("`(.+?)`", r"<code>\1</code>", escape(chapter.text))
    figures = "\n".join(map(_figure, told.figures))
    commands = "\n".join(
        f'<pre class="shell"><code>{escape(command.line)}</code></pre>' for command in told.commands
    )
    answers = escape("\n".join(command.answer for command in told.commands))
    return f"""<section id="{chapter.folder}" aria-labelledby="{chapter.folder}-title">
<header><span class="number">{number}</span>
<h2 id="{chapter.folder}-title">{escape(chapter.title)}</h2>
<time>{duration(told.seconds)}</time></header>
<p class="text">{text}</p>
<div class="figure">
<div class="pictures" style="--columns: {chapter.columns}">
{figures}
</div>
<div class="ways">
{commands}
<details{" open" * chapter.telling}><summary>Answers</summary><pre><samp>{answers}</samp></pre></details>
</div>
</div>
</section>"""


def _figure(figure: Figure) -> str:
    with Image.open(figure.path) as image:
        width, height = (edge * figure.zoom for edge in image.size)
    shown = f'<img src="{inline(figure.path)}" width="{width}" height="{height}" alt="{escape(figure.alt)}">'
    if figure.still:
        calm = f'<source media="(prefers-reduced-motion: reduce)" srcset="{inline(figure.still)}">'
        shown = f"<picture>{calm}{shown}</picture>"
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<figure>{shown}{caption}</figure>"


def _entry(number: int, told: ToldChapter) -> str:
    title, time = escape(told.chapter.title), duration(told.seconds)
    return (
        f'<li><a href="#{told.chapter.folder}"><span class="number">{number}</span> <span>{title}</span> '
        f"<time>{time}</time></a></li>"
    )


def _size(network: nn.Module) -> str:
    return f"{sum(weight.numel() for weight in network.parameters()) / 1e6:.2g}M weights"
