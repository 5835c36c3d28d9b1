"""Charts as SVG, in the colours of the page they are put into."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH = 460
INK, SOFT, LINE = "var(--ink, #1d1c1a)", "var(--soft, #67645e)", "var(--line, #e4e1da)"
ACCENT, SECOND = "var(--accent, #5646d6)", "var(--second, #c2703d)"
FONT = 'font-family="system-ui, sans-serif" font-size="13"'


class Bar(NamedTuple):
    """A value with its standard error."""

    label: str
    value: float
    error: float


class Series(NamedTuple):
    """A line of a curve."""

    label: str
    points: list[tuple[float, float]]


def bars(rows: Sequence[Bar], unit: str) -> str:
    """Horizontal bars from 0, with their errors and values."""
    left, right, step = 92, 56, 34
    scale = (WIDTH - left - right) / max(row.value + row.error for row in rows)
    parts = []
    for place, (label, value, error) in enumerate(rows):
        y = place * step + 6
        end, low, high = (left + scale * x for x in (value, value - error, value + error))
        parts += [
            _text(left - 10, y + 15, label, INK, "end"),
            f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="22" rx="5" fill="{ACCENT}"/>',
            f'<path d="M{low:.1f} {y + 11}H{high:.1f}" stroke="{INK}" stroke-width="1.5"/>',
            _text(high + 8, y + 15, f"{value:.2f}", INK, "start"),
        ]
    height = len(rows) * step + 26
    return _svg(height, [*parts, _text(left, height - 6, unit, SOFT, "start")])


def curve(lines: Sequence[Series], x_name: str, y_name: str) -> str:
    """Lines over steps, with a grid of round numbers and their names at the upper right."""
    left, right, top, bottom, height = 44, 12, 30, 36, 250
    xs, ys = zip(*(point for line in lines for point in line.points), strict=True)
    x_ticks, y_ticks = ticks(0, max(xs)), ticks(min(ys), max(ys))
    x_low, x_high = 0, max(xs)
    y_low, y_high = min(*y_ticks, *ys), max(*y_ticks, *ys)

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (x - x_low) / (x_high - x_low), (y - y_low) / ((y_high - y_low) or 1)
        return left + across * (WIDTH - left - right), height - bottom - up * (height - top - bottom)

    parts = [_text(left, 16, y_name, SOFT, "start"), _text(WIDTH - right, height - 4, x_name, SOFT, "end")]
    for y in y_ticks:
        at = place(0, y)[1]
        parts.append(f'<path d="M{left} {at:.1f}H{WIDTH - right}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, at + 4, f"{y:g}", SOFT, "end"))
    parts += [_text(place(x, 0)[0], height - bottom + 18, f"{x:g}", SOFT, "middle") for x in x_ticks]
    for number, (line, colour) in enumerate(zip(lines, (ACCENT, SECOND), strict=True)):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(WIDTH - right - 70 * (len(lines) - 1 - number), 16, line.label, colour, "end"))
    return _svg(height, parts)


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers from ``low`` to ``high``."""
    rough = (high - low) / 5 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * unit for unit in (1, 2, 2.5, 5, 10) if power * unit >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {FONT}>'
    return "\n".join([head, *parts, "</svg>\n"])
