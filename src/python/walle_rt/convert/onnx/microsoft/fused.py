"""Products and convolutions with what the optimiser drew into them: transpositions, factors, activations."""

from __future__ import annotations

from typing import Any

from ..node import Node
from ..unsupported import UnsupportedError
from .activations import quick_gelu
from .integer_products import plus
from .layout import in_channels_first
from .registry import contrib

# Activation -> the names of its parameters, in the order of activation_params.
_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "LeakyRelu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "HardSwish": (),
}


def _activated(node: Node, value: int, name: str, numbers: list[float]) -> int:
    if name in ("", "Identity"):
        return value
    if name == "Clip":
        bounds = [node.scalar_like(n, value) for n in numbers[:2]]
        return node.emit("Clip", [value, *bounds])
    if name == "QuickGelu":
        return quick_gelu(node, value, [*numbers, 1.702][0])
    if name not in _ACTIVATIONS:
        raise UnsupportedError(f"activation '{name}'")
    return node.emit(name, [value], dict(zip(_ACTIVATIONS[name], numbers, strict=False)))


def _side(node: Node, which: int, letter: str) -> int:
    """A factor of FusedMatMul: its batch axes rotated (transBatch), its matrices transposed (trans)."""
    value = node.input(which)
    turned, batches = node.attr(f"trans{letter}", 0), node.attr(f"transBatch{letter}", 0)
    if not turned and not batches:
        return value
    axes = list(range(node.rank(value, f"{letter}")))
    if batches and len(axes) > 2:
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if turned and len(axes) > 1:
        axes[-2:] = axes[:-3:-1]
    return node.emit("Transpose", [value], {"perm": axes})


@contrib("FusedMatMul", "TransposeMatMul")
def matmul(node: Node) -> None:
    """alpha A' B'."""
    value = node.emit("MatMul", [_side(node, 0, "A"), _side(node, 1, "B")])
    alpha = float(node.attr("alpha", 1.0))
    node.result(value if alpha == 1.0 else node.emit("Mul", [value, node.scalar_like(alpha, value)]))


@contrib("FusedMatMulActivation")
def matmul_activation(node: Node) -> None:
    """alpha A' B', activated."""
    value = node.emit("MatMul", [_side(node, 0, "A"), _side(node, 1, "B")])
    value = node.emit("Mul", [value, node.scalar_like(float(node.attr("alpha", 1.0)), value)])
    numbers = [float(node.attr(f"activation_{n}", 0.0)) for n in ("alpha", "beta", "gamma")]
    node.result(_activated(node, value, node.attr("activation", ""), numbers))


@contrib("FusedGemm")
def gemm(node: Node) -> None:
    """Gemm, activated; the activation's parameters are attributes of their own."""
    mine = ("activation", "activation_alpha", "activation_beta", "activation_gamma")
    value = node.emit("Gemm", node.inputs, node.remaining(*mine))
    numbers = [float(node.attr(name)) for name in mine[1:] if name in node.attributes]
    node.result(_activated(node, value, node.attr("activation", ""), numbers))


def _convolution(node: Node, last: bool) -> None:
    attributes = node.remaining("activation", "activation_params", "channels_last")
    weights = node.inputs[1:3]

    def convolved(x: int) -> int:
        return node.emit("Conv", [x, *weights], attributes)

    value = plus(node, in_channels_first(node, node.input(0), last, convolved), node.input(3))
    numbers = [float(n) for n in node.attr("activation_params", [])]
    node.result(_activated(node, value, node.attr("activation", ""), numbers))


@contrib("FusedConv")
def convolution(node: Node) -> None:
    """Conv, an optional addition of the fourth input, activated."""
    _convolution(node, last=False)


@contrib("NhwcConv", "NhwcFusedConv")
def convolution_channels_last(node: Node) -> None:
    """The same with channels last; the weights stay as in Conv."""
    _convolution(node, last=True)


@contrib("NhwcMaxPool")
def max_pool(node: Node) -> None:
    """MaxPool with channels last."""
    attributes: dict[str, Any] = node.remaining()

    def pooled(x: int) -> int:
        return node.emit("MaxPool", [x], attributes)

    node.result(in_channels_first(node, node.input(0), True, pooled))
