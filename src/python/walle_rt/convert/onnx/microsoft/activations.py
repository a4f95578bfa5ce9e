"""Activations with their bias, as onnxruntime's optimiser joins them."""

from __future__ import annotations

from ..node import Node
from ..reduce import softmax_over
from .integer_products import plus
from .registry import contrib


def quick_gelu(node: Node, x: int, alpha: float) -> int:
    """x * sigmoid(alpha x)."""
    raised = node.emit("Mul", [x, node.scalar_like(alpha, x)])
    return node.emit("Mul", [x, node.emit("Sigmoid", [raised])])


@contrib("Gelu", "BiasGelu")
def gelu(node: Node) -> None:
    """By the error function."""
    node.result(node.emit("Gelu", [plus(node, node.input(0), node.input(1))]))


@contrib("FastGelu")
def fast_gelu(node: Node) -> None:
    """By the hyperbolic tangent; the bias is optional."""
    x = plus(node, node.input(0), node.input(1))
    node.result(node.emit("Gelu", [x], {"approximate": "tanh"}))


@contrib("GemmFastGelu")
def gemm_fast_gelu(node: Node) -> None:
    """A product before it."""
    x = plus(node, node.emit("MatMul", node.inputs[:2]), node.input(2))
    node.result(node.emit("Gelu", [x], {"approximate": "tanh"}))


@contrib("QuickGelu")
def quick(node: Node) -> None:
    """By the logistic function."""
    node.result(quick_gelu(node, node.input(0), float(node.attr("alpha", 1.702))))


@contrib("BiasSplitGelu")
def bias_split_gelu(node: Node) -> None:
    """The first half of the last axis, gated by the second."""
    x = node.emit("Add", node.inputs[:2])
    left, right = node.emit_many("Split", [x], {"axis": -1, "num_outputs": 2}, 2)
    node.result(node.emit("Mul", [left, node.emit("Gelu", [right])]))


@contrib("BiasAdd")
def bias_add(node: Node) -> None:
    """A bias per channel and a skip connection."""
    node.result(node.emit("Add", [node.emit("Add", node.inputs[:2]), node.input(2)]))


@contrib("BiasDropout")
def bias_dropout(node: Node) -> None:
    """data, bias, optional residual, ratio, training_mode."""
    x = node.emit("Add", node.inputs[:2])
    kept = node.emit_many("Dropout", [x, *node.inputs[3:]], node.remaining(), max(len(node.outputs), 1))
    node.result(plus(node, kept[0], node.input(2)), *kept[1:])


@contrib("BiasSoftmax")
def bias_softmax(node: Node) -> None:
    """Over everything from the axis on, as before opset 13, after an addition that broadcasts."""
    axis = int(node.attr("axis", 1))
    last = axis in (-1, node.rank(node.input(0), "the input") - 1)
    node.result(softmax_over(node, node.emit("Add", node.inputs[:2]), axis, flattened=not last))
