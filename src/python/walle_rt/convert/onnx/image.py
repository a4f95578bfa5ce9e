"""Resize and its ancestors, GridSample's old mode names."""

from __future__ import annotations

import numpy as np

from .node import Node
from .rules import NEWEST, rule
from .scope import NONE


def _present(node: Node, index: int) -> int:
    """An optional input; an empty constant means that it is absent (in opset 11 the only way)."""
    bits = node.constant(node.input(index))
    return NONE if bits is not None and bits.size == 0 else node.input(index)


@rule("Upsample", below=9)
def upsample_7(node: Node) -> None:
    """Scales were an attribute; corners sit on the grid's points."""
    scales = node.array(np.asarray(node.attr("scales", []), np.float32))
    _upsample(node, scales)


@rule("Upsample", below=NEWEST)
def upsample_9(node: Node) -> None:
    """Scales are an input."""
    _upsample(node, node.input(1))


def _upsample(node: Node, scales: int) -> None:
    mode = {"bilinear": "linear"}.get(node.attr("mode", "nearest"), node.attr("mode", "nearest"))
    attributes = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    node.result(node.emit("Resize", [node.input(0), NONE, scales], attributes))


@rule("Resize", below=11)
def resize_10(node: Node) -> None:
    """Two inputs, corner-aligned coordinates."""
    _upsample(node, node.input(1))


@rule("Resize", below=NEWEST)
def resize(node: Node) -> None:
    """Empty roi, scales or sizes are absent ones."""
    node.take_over([node.input(0), *(_present(node, i) for i in (1, 2, 3))])


@rule("GridSample", below=20)
def grid_sample_16(node: Node) -> None:
    """Two modes had other names."""
    mode = node.attr("mode", "bilinear")
    node.take_over(mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode))
