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


@rule("Softmax", "LogSoftmax", "Hardmax", below=13)
def softmax_1(node: Node) -> None:
    """Normalised over everything from ``axis`` on: flatten, normalise the last axis, restore the shape."""
    x = node.input(0)
    shape = node.emit("Shape", [x])
    flat = node.emit("Flatten", [x], {"axis": int(node.attr("axis", 1))})
    node.result(node.emit("Reshape", [node.emit(node.op, [flat], {"axis": 1}), shape]))


@rule("TopK", below=10)
def topk_1(node: Node) -> None:
    """k was an attribute."""
    node.take_over([node.input(0), node.ints([int(node.attr("k"))])], "k")
