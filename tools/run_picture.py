"""Draws docs/pictures/run.svg for the README: one run of ShuffleNet v2, and the copies that merging saves.

python tools/run_picture.py [FILE]

The times are this machine's; the counts of copies are the same everywhere. Run it again when either changes.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from walle_rt import Explanation, Model, _core, load
from walle_rt.bench import zoo

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "run.svg"
NETWORK = "shufflenet_v2"
RUNS = 100
WIDTH, MARGIN, LINE = 760, 20, 22
# Okabe and Ito's colours, which colour-blind readers tell apart; the last is for all beyond the others.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"]


def measured(model: Model, debug: str = "") -> Explanation:
    """What the plan says after RUNS profiled runs on one thread."""
    session = model.session(threads=1, debug=debug)
    feeds = zoo.feeds(zoo.build(NETWORK))
    session.run(feeds)
    with session.profile():
        for _ in range(RUNS):
            session.run(feeds)
    return session.explain()


def copies(found: Explanation) -> tuple[int, float]:
    """How many steps move data, and the MB they read and write."""
    moves = [row for row in found.rows if row.op.lower() in ("raster", "loop")]
    return len(moves), sum(row.bytes for row in moves) / 1e6


def text(x: float, y: float, content: str, *, bold: bool = False) -> str:
    """One line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}"{weight}>{escape(content)}</text>'


def bar(x: float, y: float, width: float, colour: str, tip: str = "") -> str:
    """A box of one line's height, with a text that shows under the pointer."""
    title = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="16" fill="{colour}">{title}</rect>'


def strip(found: Explanation, colours: dict[str, str], y: float) -> list[str]:
    """Every step, as wide as its time."""
    scale = (WIDTH - 2 * MARGIN) / found.measured_ms
    parts, x = [], float(MARGIN)
    for row in found.rows:
        tip = f"{row.node}: {row.algorithm}, {row.ms * 1e3:.0f} us"
        parts.append(bar(x, y, max(row.ms * scale - 0.5, 0.3), colours[row.algorithm], tip))
        x += row.ms * scale
    return parts


def shares(found: Explanation, colours: dict[str, str], y: float) -> list[str]:
    """One line per algorithm: its share, its time, its name."""
    parts = []
    total = found.measured_ms
    listed = found.by_algorithm()[: len(COLOURS) - 1]
    rest = total - sum(ms for _, ms in listed)
    for name, ms in [*listed, *([("all others", rest)] if rest > 0 else [])]:
        parts.append(bar(MARGIN, y, 220 * ms / total, colours.get(name, COLOURS[-1])))
        parts.append(text(MARGIN + 232, y + 13, f"{ms / total:>4.0%}  {ms:.2f} ms  {name}"))
        y += LINE
    return parts


def picture(merged: Explanation, plain: Explanation, machine: str) -> str:
    """The whole SVG."""
    names = [name for name, _ in merged.by_algorithm()]
    colours = {name: COLOURS[min(n, len(COLOURS) - 1)] for n, name in enumerate(names)}
    head = f"ShuffleNet v2 on one thread: {len(merged.rows)} steps in {merged.measured_ms:.2f} ms"
    parts = [text(MARGIN, 28, head, bold=True), text(MARGIN, 46, f"mean of {RUNS} runs; {machine}")]
    parts += strip(merged, colours, 56)
    lines = shares(merged, colours, 84)
    y = 84 + LINE * (len(lines) // 2) + 24
    parts += [*lines, text(MARGIN, y, "Data that is only moved, per run", bold=True)]
    most = copies(plain)[1] or 1.0
    for what, found in (("as the model says", plain), ("rasters merged", merged)):
        count, mega = copies(found)
        y += LINE
        parts.append(bar(MARGIN, y - 13, 220 * mega / most, COLOURS[0]))
        parts.append(text(MARGIN + 232, y, f"{count} copies, {mega:.1f} MB  {what}"))
    height = y + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" role="img" '
        f'viewBox="0 0 {WIDTH} {height:g}" font-family="sans-serif" font-size="13">'
        f'<title>{escape(head)}</title><rect width="100%" height="100%" fill="#fff"/>'
        + "\n".join(parts)
        + "</svg>\n"
    )


def main() -> None:
    """Measure and write."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    model = load(zoo.build(NETWORK))
    machine = ", ".join(f"{name} ({isa})" for name, isa in _core.machine()["backends"].items())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(picture(measured(model), measured(model, debug="merge=off"), machine))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
