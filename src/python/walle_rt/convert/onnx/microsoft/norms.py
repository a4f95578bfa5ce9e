"""Layer normalisation in the forms of onnxruntime: without mean, behind a skip connection, per group."""

from __future__ import annotations

from ..node import Node
from ..rules import rule
from ..scope import NONE
from .integer_products import plus
from .layout import in_channels_first
from .registry import contrib, refuse_output

_SKIP_EPSILON = 1e-12  # the default of com.microsoft; ONNX's is 1e-5


def _root_mean_square(node: Node, x: int, scale: int, axis: int, epsilon: float) -> int:
    value = node.emit("RMSNormalization", [x, scale], {"axis": axis, "epsilon": epsilon})
    node.scope.types.known[node.scope.key(value)] = node.type(x)  # an onnx before 1.18 has no rule for it
    return value


@rule("SimplifiedLayerNormalization")
@contrib("SimplifiedLayerNormalization")
def simplified(node: Node) -> None:
    """RMSNormalization, which came later; onnxruntime writes it into ONNX's own domain."""
    refuse_output(node, 1, "the statistics of SimplifiedLayerNormalization are not computed")
    axis, epsilon = int(node.attr("axis", -1)), float(node.attr("epsilon", 1e-5))
    node.result(_root_mean_square(node, node.input(0), node.input(1), axis, epsilon))


@contrib("LayerNormalization")
def layer(node: Node) -> None:
    """ONNX's own."""
    node.take_over()


def _skipped(node: Node, bias: int) -> int:
    return plus(node, node.emit("Add", node.inputs[:2]), bias)


@contrib("SkipLayerNormalization")
def skip_layer(node: Node) -> None:
    """input, skip, gamma, beta, bias; the fourth result is the sum that is normalised."""
    x = _skipped(node, node.input(4))
    wanted = min(max(len(node.outputs), 1), 3)
    attributes = {"axis": -1, "epsilon": float(node.attr("epsilon", _SKIP_EPSILON))}
    made = node.emit_many("LayerNormalization", [x, node.input(2), node.input(3)], attributes, wanted)
    node.result(*[*made, NONE, NONE][:3], x)


@contrib("SkipSimplifiedLayerNormalization")
def skip_simplified(node: Node) -> None:
    """input, skip, gamma, bias; the fourth result is the sum that is normalised."""
    for i in (1, 2):
        refuse_output(node, i, "the statistics of SkipSimplifiedLayerNormalization are not computed")
    x = _skipped(node, node.input(3))
    epsilon = float(node.attr("epsilon", _SKIP_EPSILON))
    node.result(_root_mean_square(node, x, node.input(2), -1, epsilon), NONE, NONE, x)


@contrib("GroupNorm")
def group(node: Node) -> None:
    """GroupNormalization, with channels last unless said otherwise and an optional SiLU behind it."""
    x = node.input(0)
    attributes = {"num_groups": int(node.attr("groups", 1)), "epsilon": float(node.attr("epsilon", 1e-5))}

    def normalized(value: int) -> int:
        return node.emit("GroupNormalization", [value, *node.inputs[1:3]], attributes)

    made = in_channels_first(node, x, bool(node.attr("channels_last", 1)), normalized)
    if node.attr("activation", 0):
        made = node.emit("Mul", [made, node.emit("Sigmoid", [made])])
    node.result(made)
