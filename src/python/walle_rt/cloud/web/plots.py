"""Plots as SVG text: lines over time, and bars. No library: these are two shapes and a few labels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 180, 56, 22, 10
_LETTER = 6.4  # width of one of the legend's, at most of those in names of series
_COLOURS = ("c0", "c1", "c2", "c3", "c4", "c5")  # classes of style.css, so that a dark page has its own

Point = tuple[float, float]


def lines(
    series: Mapping[str, Sequence[Point]],
    unit: str,
    title: str,
    most: float | None = None,
    marks: Mapping[str, float] | None = None,
    *,
    steps: bool = False,
) -> str:
    """Series of (seconds since 1970, value) below their legend; ``most`` fixes the top of the scale,
    ``marks`` are moments with a name; ``steps``: a value holds until the next one, and then jumps."""
    points = [point for each in series.values() for point in each]
    if not points:
        return _empty(title)
    first, last = min(p[0] for p in points), max(p[0] for p in points)
    last = max(last, first + 60)
    top = most or nice(max(p[1] for p in points))
    inner, height = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - _TOP
    legend, above = _legend(list(series))

    def place(point: Point) -> str:
        x = _LEFT + inner * (point[0] - first) / (last - first)
        y = _TOP + height * (1 - min(point[1], top) / top)
        return f"{x:.1f},{y:.1f}"

    out = [_open(title, above), *legend, *_scale(top, unit), *_times(first, last)]
    for number, (name, each) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(place(point) for point in (stairs(each) if steps else sorted(each)))
        out.append(
            f'<polyline class="line {colour}" points="{path}"><title>{escape(name)}</title></polyline>'
        )
        if len(each) == 1:  # a line of one point is not to be seen
            x, y = place(each[0]).split(",")
            out.append(f'<circle class="bar {colour}" cx="{x}" cy="{y}" r="2"/>')
    for name, at in (marks or {}).items():
        x = place((min(max(at, first), last), 0.0)).split(",")[0]
        side = "end" if float(x) > _WIDTH / 2 else "start"
        away = -5 if side == "end" else 5
        kind = f"mark {escape(name.partition(' ')[0], quote=True)}"
        out.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
        text = f'x="{float(x) + away:.1f}" y="{_TOP + 12}" text-anchor="{side}"'
        out.append(f'<text class="{kind}" {text}>{escape(name)}</text>')
    return "".join([*out, "</svg>"])


def stairs(points: Sequence[Point]) -> list[Point]:
    """Points with the corners of their steps."""
    out: list[Point] = []
    for at, value in sorted(points):
        if out and out[-1][1] != value:
            out.append((at, out[-1][1]))
        out.append((at, value))
    return out


def _legend(names: list[str]) -> tuple[list[str], int]:
    """Names in rows above the plot, where no line runs through them, and the height that takes."""
    out, x, row = [], _LEFT, 0
    for number, name in enumerate(names):
        width = 24 + round(_LETTER * len(name))
        if x > _LEFT and x + width > _WIDTH:
            x, row = _LEFT, row + 1
        colour, y = _COLOURS[number % len(_COLOURS)], 16 * row
        out.append(f'<rect class="bar {colour}" x="{x}" y="{y - 3}" width="10" height="3"/>')
        out.append(f'<text class="name" x="{x + 14}" y="{y + 3}">{escape(name)}</text>')
        x += width + 8
    above = 16 * (row + 1) + 4
    moved = f'<g transform="translate(0 {12 - above})">'
    return [moved, *out, "</g>"], above


def bars(values: Mapping[str, float], title: str) -> str:
    """One bar per name, the longest first, at most twenty."""
    rows = sorted(values.items(), key=lambda item: -item[1])[:20]
    if not rows:
        return _empty(title)
    top = rows[0][1] or 1
    height = 20 * len(rows) + 8
    out = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}">'
    ]
    for number, (name, value) in enumerate(rows):
        y = 4 + 20 * number
        width = max(1.0, (_WIDTH - 260) * value / top)
        out.append(f'<text class="label" x="190" y="{y + 13}" text-anchor="end">{escape(name[:32])}</text>')
        out.append(f'<rect class="bar c0" x="198" y="{y}" width="{width:.1f}" height="16"/>')
        out.append(f'<text class="label" x="{204 + width:.1f}" y="{y + 13}">{value:g}</text>')
    return "".join([*out, "</svg>"])


def nice(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is not below."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power < value:
        power *= 10
    while power / 10 >= value:
        power /= 10
    return next(step for step in (power / 5, power / 2, power) if step >= value)


def _open(title: str, above: int) -> str:
    """The picture of a plot; so much space is above its own."""
    label, box = escape(title, quote=True), f"0 {-above} {_WIDTH} {_HEIGHT + above}"
    return f'<svg class="plot" viewBox="{box}" role="img" aria-label="{label}">'


def _scale(top: float, unit: str) -> list[str]:
    out = []
    for part in (0.0, 0.5, 1.0):
        y = _TOP + (_HEIGHT - _BOTTOM - _TOP) * (1 - part)
        out.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
        text = f"{top * part:g}{escape(unit)}"
        out.append(f'<text class="label" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    return out


def _times(first: float, last: float) -> list[str]:
    shown = "%H:%M:%S" if last - first < 600 else "%H:%M" if last - first < 86400 else "%d %b %H:%M"
    out = []
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = _LEFT + (_WIDTH - _LEFT - 8) * part
        text = time.strftime(shown, time.gmtime(first + (last - first) * part))
        out.append(f'<text class="label" x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{text}</text>')
    return out


def _empty(title: str) -> str:
    return f'<p class="none" role="img" aria-label="{escape(title, quote=True)}">nothing yet</p>'
