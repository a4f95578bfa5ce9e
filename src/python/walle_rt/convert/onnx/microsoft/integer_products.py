"""Products of quantised matrices: integers multiplied, scales applied to the sums."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from ..node import Node
from ..scope import NONE
from .layout import in_channels_first
from .qlinear import quantized
from .registry import contrib, number


def integer_product(node: Node, a: int, b: int, a_zero: int, b_zero: int) -> int:
    """The sums of products without their zero points, as float32."""
    sums = node.emit("MatMulInteger", [a, b, a_zero, b_zero])
    return node.emit("Cast", [sums], {"to": TensorProto.FLOAT})


def scaled_product(node: Node, factors: Sequence[int], scales: Sequence[int], zeros: Sequence[int]) -> int:
    """Two quantised matrices' float product; the right one's scale may be one per column."""
    sums = integer_product(node, factors[0], factors[1], zeros[0], zeros[1])
    return node.emit("Mul", [sums, node.emit("Mul", [scales[0], scales[1]])])


def plus(node: Node, value: int, bias: int) -> int:
    """A value with an optional bias."""
    return value if bias == NONE else node.emit("Add", [value, bias])


@contrib("MatMulIntegerToFloat")
def matmul_integer_to_float(node: Node) -> None:
    """A, B, their scales, their zero points, a bias."""
    i = node.input
    node.result(plus(node, scaled_product(node, (i(0), i(1)), (i(2), i(3)), (i(4), i(5))), i(6)))


@contrib("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: Node) -> None:
    """A is quantised to uint8 by its own range; B with scale and zero point; a bias."""
    codes, scale, zero = node.emit_many("DynamicQuantizeLinear", [node.input(0)], {}, 3)
    i = node.input
    node.result(plus(node, scaled_product(node, (codes, i(1)), (scale, i(2)), (zero, i(3))), i(4)))


@contrib("QGemm")
def gemm(node: Node) -> None:
    """alpha A' B' + C, where C counts in steps of both scales; float32 without a scale for the result."""
    a, b = (
        node.emit("Transpose", [node.input(i)], {"perm": [1, 0]}) if node.attr(flag, 0) else node.input(i)
        for i, flag in ((0, "transA"), (3, "transB"))
    )
    i = node.input
    sums = node.emit("MatMulInteger", [a, b, i(2), i(5)])
    wide = node.emit("Cast", [plus(node, sums, i(6))], {"to": TensorProto.FLOAT})
    scale = node.emit("Mul", [i(1), i(4)])
    scale = node.emit("Mul", [scale, number(node, float(node.attr("alpha", 1.0)))])
    value = node.emit("Mul", [wide, scale])
    node.result(quantized(node, value, i(7), i(8)) if node.has(7) else value)


@contrib("QLinearConv")
def convolution(node: Node) -> None:
    """ONNX's own, with channels first or last."""
    rest, attributes = node.inputs[1:], node.remaining("channels_last")

    def convolved(x: int) -> int:
        return node.emit("QLinearConv", [x, *rest], attributes)

    node.result(in_channels_first(node, node.input(0), bool(node.attr("channels_last", 0)), convolved))
