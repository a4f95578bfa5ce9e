"""Layers between quantised tensors, as onnxruntime's static quantiser writes them in its format QOperator.

Each is what its float counterpart makes of the dequantised numbers, quantised again. onnxruntime's kernels
fold scales before they round, so that a result halfway between two codes may become either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..node import Node
from ..reduce import softmax_over
from ..scope import NONE
from .layout import in_channels_first
from .registry import contrib


def dequantized(node: Node, first: int) -> int:
    """Inputs first, first + 1 (scale) and first + 2 (zero point) as float32."""
    return node.emit("DequantizeLinear", [node.input(first + i) for i in range(3)])


def quantized(node: Node, value: int, scale: int, zero: int) -> int:
    """A value as codes; of the first input's dtype where there is no zero point to say it."""
    attributes: dict[str, Any] = {} if zero != NONE else {"output_dtype": node.dtype(node.input(0))}
    return node.emit("QuantizeLinear", [value, scale, zero], attributes)


def _between_codes(
    node: Node, op: str, operands: Sequence[int], attributes: dict[str, Any], out: int
) -> None:
    """Result 0: an operator on float operands, quantised by inputs out (scale) and out + 1 (zero point)."""
    value = node.emit(op, operands, attributes)
    node.result(quantized(node, value, node.input(out), node.input(out + 1)))


@contrib("QLinearAdd", "QLinearMul")
def arithmetic(node: Node) -> None:
    """Two operands."""
    _between_codes(node, node.op.removeprefix("QLinear"), [dequantized(node, 0), dequantized(node, 3)], {}, 6)


@contrib("QLinearSigmoid", "QLinearLeakyRelu")
def unary(node: Node) -> None:
    """One operand."""
    _between_codes(node, node.op.removeprefix("QLinear"), [dequantized(node, 0)], node.remaining(), 3)


@contrib("QLinearSoftmax")
def softmax(node: Node) -> None:
    """Attribute opset: before 13 an axis stood for all axes from it on.

    onnxruntime multiplies by a whole number where others divide by the result's scale: by 254 for a scale of
    1 / 254.9. Whoever calibrated the model has seen that.
    """
    axis = int(node.attr("axis", -1))
    value = softmax_over(node, dequantized(node, 0), axis, flattened=int(node.attr("opset", 13)) < 13)
    steps = node.emit("Floor", [node.emit("Reciprocal", [node.input(3)])])
    node.result(quantized(node, value, node.emit("Reciprocal", [steps]), node.input(4)))


@contrib("QLinearAveragePool", "QLinearGlobalAveragePool")
def pool(node: Node) -> None:
    """Channels first or last."""
    op, attributes = node.op.removeprefix("QLinear"), node.remaining("channels_last")

    def average(x: int) -> int:
        return node.emit(op, [x], attributes)

    value = in_channels_first(node, dequantized(node, 0), bool(node.attr("channels_last", 0)), average)
    node.result(quantized(node, value, node.input(3), node.input(4)))


@contrib("QLinearReduceMean")
def reduce_mean(node: Node) -> None:
    """Axes are an attribute; none means all."""
    axes = node.attr("axes")
    operands = [dequantized(node, 0), NONE if axes is None else node.ints(axes)]
    _between_codes(node, "ReduceMean", operands, {"keepdims": int(node.attr("keepdims", 1))}, 3)


@contrib("QLinearConcat")
def concat(node: Node) -> None:
    """Scale and zero point of the result come first."""
    parts = [dequantized(node, i) for i in range(2, len(node.inputs), 3)]
    _between_codes(node, "Concat", parts, node.remaining(), 0)


@contrib("QLinearWhere")
def where(node: Node) -> None:
    """A condition and two operands."""
    _between_codes(node, "Where", [node.input(0), dequantized(node, 1), dequantized(node, 4)], {}, 7)


@contrib("QuantizeLinear", "DequantizeLinear")
def same_as_onnx(node: Node) -> None:
    """ONNX's own, which had no 16 and 4 bits when onnxruntime began to write them."""
    node.take_over()
