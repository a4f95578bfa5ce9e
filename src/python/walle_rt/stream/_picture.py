"""The trie of triggers as an SVG picture, drawn from its text form: one box per node,
shared prefixes once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

# Pixels: a letter's width, the height of a leaf, between columns, inside boxes.
_CHAR, _ROW, _GAP, _PAD = 7.2, 34, 36, 10

_STYLE = """<style>
text { font: 12px monospace }
rect { fill: #fff; stroke: #345 }
rect.end { fill: #eef4ea }
path { fill: none; stroke: #89a }
</style>"""


@dataclass
class _Node:
    label: str
    end: bool = False
    children: list[_Node] = field(default_factory=list)
    y: float = 0.0


def svg(text: str) -> str:
    """Draw what ``explain`` says: ends of triggers as rounded boxes, to the right of their last step."""
    root = _tree(text)
    widths: list[float] = []
    rows = _place(root, 0, 0, widths)
    lefts = [0.0]
    for width in widths:
        lefts.append(lefts[-1] + width + _GAP)
    parts: list[str] = []
    _draw(root, 0, lefts, parts)
    size = f'width="{lefts[-1]:.0f}" height="{rows * _ROW + _PAD:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{_STYLE}\n' + "\n".join(parts) + "\n</svg>\n"


def _tree(text: str) -> _Node:
    """Indentation to nesting; a line that begins with "=> " is the end of a trigger."""
    root = _Node("event")
    path = [root]
    for line in text.splitlines():
        label = line.lstrip(" ")
        depth = (len(line) - len(label)) // 2
        node = _Node(label.removeprefix("=> "), label.startswith("=> "))
        del path[depth + 1 :]
        path[-1].children.append(node)
        if not node.end:
            path.append(node)
    return root


def _width(node: _Node) -> float:
    return len(node.label) * _CHAR + 2 * _PAD


def _place(node: _Node, depth: int, row: float, widths: list[float]) -> float:
    """Leaves below each other, parents in the middle of their children; returns the next free row."""
    if len(widths) == depth:
        widths.append(0.0)
    widths[depth] = max(widths[depth], _width(node))
    after = row
    for child in node.children:
        after = _place(child, depth + 1, after, widths)
    if not node.children:
        after = row + 1
    node.y = (row + after) / 2 * _ROW
    return after


def _draw(node: _Node, depth: int, lefts: list[float], out: list[str]) -> None:
    x, width = lefts[depth] + _PAD / 2, _width(node)
    shape = ' rx="9" class="end"' if node.end else ""
    out.append(f'<rect x="{x:.1f}" y="{node.y - 12:.1f}" width="{width:.1f}" height="24"{shape}/>')
    out.append(f'<text x="{x + _PAD:.1f}" y="{node.y + 4:.1f}">{escape(node.label)}</text>')
    for child in node.children:
        to, middle = lefts[depth + 1] + _PAD / 2, lefts[depth + 1] - _GAP / 2
        out.append(f'<path d="M{x + width:.1f} {node.y:.1f} H{middle:.1f} V{child.y:.1f} H{to:.1f}"/>')
        _draw(child, depth + 1, lefts, out)
