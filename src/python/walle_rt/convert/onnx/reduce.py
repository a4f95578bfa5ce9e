"""Reductions, Softmax and its kin, TopK: axes became inputs, coercion to two dimensions went away."""

from __future__ import annotations

from .node import Node
from .rules import rule
from .scope import NONE

_AXES_18 = (
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)


def axes_to_input(node: Node) -> None:
    """The attribute ``axes`` as second input."""
    axes = node.attr("axes")
    node.take_over([node.input(0), NONE if axes is None else node.ints(axes)], "axes")


rule(*_AXES_18, below=18)(axes_to_input)
rule("ReduceSum", "Squeeze", "Unsqueeze", below=13)(axes_to_input)


def softmax_over(node: Node, x: int, axis: int, flattened: bool, op: str = "Softmax") -> int:
    """Softmax or a kin of it over one axis, or, as before opset 13, over everything from the axis on."""
    if not flattened:
        return node.emit(op, [x], {"axis": axis})
    shape = node.emit("Shape", [x])
    flat = node.emit("Flatten", [x], {"axis": axis})
    return node.emit("Reshape", [node.emit(op, [flat], {"axis": 1}), shape])


@rule("Softmax", "LogSoftmax", "Hardmax", below=13)
def softmax_1(node: Node) -> None:
    """Normalised over everything from ``axis`` on: flatten, normalise the last axis, restore the shape."""
    node.result(softmax_over(node, node.input(0), int(node.attr("axis", 1)), flattened=True, op=node.op))


@rule("TopK", below=10)
def topk_1(node: Node) -> None:
    """k was an attribute."""
    node.take_over([node.input(0), node.ints([int(node.attr("k"))])], "k")
