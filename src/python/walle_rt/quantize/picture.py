"""Signal to noise of every layer as an SVG picture: a bar per layer, in the order of the model."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import LayerReport, Report

_ROW, _LEFT, _RIGHT, _TOP, _CHAR = 16, 300, 90, 40, 6.6
_WIDTH = 480  # of the longest bar
_STYLE = """<style>
text { font: 11px monospace; fill: #222 }
line { stroke: #ccc }
rect.result { fill: #4a7ab0 }
rect.weights { fill: none; stroke: #a0662a }
rect.float { fill: #c8c8c8 }
</style>"""


def svg(report: Report) -> str:
    """Filled: the layer's result beside float32; outlined: its weights alone; grey: left in float32."""
    numbers = [x for each in report.layers for x in (each.snr_db, each.weights_db) if x and math.isfinite(x)]
    most = 10 * math.ceil(max([*numbers, 10.0]) / 10)
    height = _TOP + _ROW * len(report.layers) + 10
    parts = ['<text x="4" y="14">signal to noise in dB: filled result, outlined weights, '
             "grey left in float32</text>"]  # fmt: skip
    for mark in range(0, most + 1, 10):
        x = _LEFT + _WIDTH * mark / most
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 6}" y2="{height - 8}"/>')
        parts.append(f'<text x="{x - 6:.0f}" y="{_TOP - 10}">{mark}</text>')
    for i, layer in enumerate(report.layers):
        parts += _bars(layer, _TOP + _ROW * i, most)
    size = f'width="{_LEFT + _WIDTH + _RIGHT}" height="{height}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{_STYLE}\n{body}\n</svg>\n'


def _bars(layer: LayerReport, y: int, most: int) -> list[str]:
    letters = int(_LEFT / _CHAR) - 2
    name = layer.name if len(layer.name) <= letters else "..." + layer.name[3 - letters :]
    parts = [f'<text x="4" y="{y + 11}">{escape(name)}<title>{escape(layer.name)}</title></text>']
    for kind, value, inset in (("result", layer.snr_db, 2), ("weights", layer.weights_db, 5)):
        if value is None:
            continue
        shown = min(max(value, 0.0), most)
        drawn = "float" if layer.form == "float32" and kind == "result" else kind
        box = f'width="{_WIDTH * shown / most:.1f}" height="{_ROW - 2 * inset}"'
        parts.append(f'<rect class="{drawn}" x="{_LEFT}" y="{y + inset}" {box}/>')
    if layer.snr_db is not None and math.isfinite(layer.snr_db):
        parts.append(f'<text x="{_LEFT + _WIDTH + 8}" y="{y + 11}">{layer.snr_db:.1f} dB</text>')
    return parts
