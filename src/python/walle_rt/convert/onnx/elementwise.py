"""Element-wise operators of old opsets: explicit broadcasting, attributes that became inputs."""

from __future__ import annotations

from .node import Node
from .rules import rule
from .scope import NONE
from .unsupported import UnsupportedError


def align(node: Node, value: int, rank: int, axis: int) -> int:
    """Old broadcasting: the dimensions of ``value`` match those from ``axis`` on;
    later ones are appended as 1.
    """
    own = node.rank(value, "the second operand")
    axis = axis + rank if axis < 0 else axis
    trailing = rank - axis - own
    if trailing < 0:
        raise UnsupportedError(f"broadcast axis {axis} does not fit ranks {rank} and {own}")
    if trailing == 0:
        return value
    return node.emit("Unsqueeze", [value, node.ints(range(own, own + trailing))])


@rule("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", below=7)
def binary_6(node: Node) -> None:
    """broadcast=1 with an axis: the second operand gets trailing axes."""
    a, b = node.inputs[:2]
    if node.attr("broadcast", 0) and "axis" in node.attributes:
        b = align(node, b, node.rank(a, "the first operand"), int(node.attr("axis")))
    node.take_over([a, b], "broadcast", "axis")


@rule("PRelu", below=7)
def prelu_6(node: Node) -> None:
    """A slope per channel is aligned with axis 1."""
    x, slope = node.inputs[:2]
    rank = node.rank(x, "the input")
    if node.rank(slope, "the slope") == 1 and rank > 2:
        slope = node.emit("Unsqueeze", [slope, node.ints(range(1, rank - 1))])
    node.take_over([x, slope])


@rule("Clip", below=11)
def clip_6(node: Node) -> None:
    """min and max were attributes."""
    x = node.input(0)
    low = node.scalar_like(float(node.attr("min")), x) if "min" in node.attributes else NONE
    high = node.scalar_like(float(node.attr("max")), x) if "max" in node.attributes else NONE
    node.take_over([x, low, high], "min", "max")


@rule("Dropout", below=12)
def dropout_7(node: Node) -> None:
    """Never trains: the input itself, and a mask of ones."""
    if not node.uses(1):
        node.result(node.emit("Identity", [node.input(0)]))
        return
    values = node.emit_many("Dropout", [node.input(0)], {}, 2)
    if node.opset < 10:
        values[1] = node.emit("Cast", [values[1]], {"to": node.dtype(node.input(0))})
    node.result(*values)
