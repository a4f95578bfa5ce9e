"""Layers of neural networks whose meaning changed between opsets."""

from __future__ import annotations

from .functions import schema_function
from .node import Node
from .rules import rule
from .unsupported import UnsupportedError


@rule("BatchNormalization", below=14)
def batch_normalization_9(node: Node) -> None:
    """Inference only; statistics per element (spatial=0) are plain arithmetic."""
    if any(node.uses(i) for i in range(1, 5)):
        raise UnsupportedError("BatchNormalization in training mode of an opset before 14 is not supported")
    x, scale, bias, mean, variance = node.inputs[:5]
    node.outputs = node.outputs[:1]
    if node.opset < 9 and not node.attr("spatial", 1):
        epsilon = node.scalar_like(float(node.attr("epsilon", 1e-5)), x)
        deviation = node.emit("Sqrt", [node.emit("Add", [variance, epsilon])])
        centred = node.emit("Div", [node.emit("Sub", [x, mean]), deviation])
        node.result(node.emit("Add", [node.emit("Mul", [centred, scale]), bias]))
        return
    node.take_over(None, "spatial", "is_test", "momentum")


@rule("Gemm", below=7)
def gemm_6(node: Node) -> None:
    """Broadcasting of C needed a flag."""
    node.take_over(None, "broadcast")


@rule("GroupNormalization", below=21)
def group_normalization_18(node: Node) -> None:
    """Scale and bias were per group: the old function body says what that means."""
    walk = node.walk
    attributes = list(node.attributes.values())
    function = schema_function(walk.types, node.scope, node.op, "", node.opset, node.inputs, attributes, 1)
    if function is None:
        raise UnsupportedError("this version of onnx has no function body for it")
    node.inline(function)


@rule("RoiAlign", below=16)
def roi_align_10(node: Node) -> None:
    """Boxes were not moved by half a pixel; the attribute that says so came later, with another default."""
    node.take_over(coordinate_transformation_mode="output_half_pixel")


@rule("LpPool", "GlobalLpPool", below=2)
def lp_pool_1(node: Node) -> None:
    """The exponent was a floating-point number."""
    node.take_over(p=int(node.attr("p", 2.0)))


@rule("DFT", below=20)
def dft_17(node: Node) -> None:
    """The axis was an attribute."""
    inputs = [node.input(0), node.input(1), node.ints([int(node.attr("axis", 1))])]
    inputs[2] = node.emit("Squeeze", [inputs[2], node.ints([0])])
    node.take_over(inputs, "axis")


@rule("RNN", "GRU", "LSTM", below=7)
def recurrent_1(node: Node) -> None:
    """A flag that asked for the sequence is gone; unwanted outputs are simply not named."""
    node.take_over(None, "output_sequence")


@rule("Binarizer", domain="ai.onnx.ml")
def binarizer(node: Node) -> None:
    """1 above the threshold, 0 elsewhere."""
    x = node.input(0)
    above = node.emit("Greater", [x, node.scalar_like(float(node.attr("threshold", 0.0)), x)])
    node.result(node.emit("Cast", [above], {"to": node.dtype(x)}))
