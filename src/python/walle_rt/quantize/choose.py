"""Which nodes compute on codes, and which of their values get a scale.

Products (convolutions and matrix products) are what quantisation is for. What lies between them is quantised
where that saves a conversion to float32 and back: where everything a node reads has codes, and what it makes
is read by another quantised node. The ends of a model, normalisations and softmaxes stay in float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto

from ..values import Array
from .graph import Graph, attributes

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# One value in, one out, element by element: a table of 256 entries on codes.
_TABLES = ("Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh")
_POOLS = ("AveragePool", "GlobalAveragePool")
_SUMS = ("Add", "Mul")
# These move or choose codes: their result has the scale of what they read, and need not be calibrated.
_MOVES = (
    *(
        "MaxPool",
        "GlobalMaxPool",
        "Reshape",
        "Flatten",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Slice",
        "Split",
    ),
    *("Pad", "DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Identity", "Gather", "Resize"),
)
# Worth codes whoever reads them: they make values smaller before these leave for float32.
_SHRINK = (*_POOLS, "MaxPool", "GlobalMaxPool")
OPERATORS = (*PRODUCTS, *_TABLES, *_POOLS, *_SUMS, "Concat", *_MOVES)


@dataclass
class Plan:
    """What a quantisation will do to a graph."""

    nodes: list[NodeProto] = field(default_factory=list)  # that compute on codes, in order
    coded: dict[str, str] = field(default_factory=dict)  # value -> the value whose scale it has
    constants: set[str] = field(default_factory=set)  # operands of sums that get codes
    joined: list[list[str]] = field(default_factory=list)  # inputs and result of each Concat
    kept: dict[str, str] = field(default_factory=dict)  # product left in float32 -> why

    @property
    def calibrated(self) -> list[str]:
        """The values whose range must be known."""
        return list(dict.fromkeys(self.coded.values()))


def choose(graph: Graph, operators: Iterable[str], left_out: Mapping[str, str]) -> Plan:
    """Nodes to quantise among ``operators``; ``left_out`` says why of each node that must not be."""
    allowed = set(operators)
    plan = Plan()
    possible = _possible(graph, allowed, left_out, plan)
    taken = _of_use(graph, possible)
    plan.nodes = [node for node in graph.nodes if id(node) in taken]
    floating = {node.output[0] for node in plan.nodes if _stays_float(graph, node, taken)}
    for node in plan.nodes:
        _code(graph, node, plan, floating)
    return plan


def is_float_input(graph: Graph, name: str) -> bool:
    """Whether a value is a float32 input of the model."""
    kinds = {v.name: v.type.tensor_type.elem_type for v in graph.model.graph.input}
    return kinds.get(name) == 1


def data_inputs(node: NodeProto) -> list[str]:
    """The inputs of a node that can have codes: not its shapes, bounds, indices and biases."""
    if node.op_type == "Concat":
        return list(node.input)
    return list(node.input[: 2 if node.op_type in (*_SUMS, *PRODUCTS) else 1])


def _possible(graph: Graph, allowed: set[str], left_out: Mapping[str, str], plan: Plan) -> set[int]:
    """Nodes whose inputs all have codes, or can have."""
    codable: set[str] = set()
    found: set[int] = set()
    for node in graph.nodes:
        if node.op_type in PRODUCTS:
            reason = _against(graph, node, allowed, left_out, codable)
            if reason is not None:
                plan.kept[node.name] = reason
                continue
        elif node.op_type not in allowed or node.name in left_out or not _fits(graph, node, codable):
            continue
        found.add(id(node))
        codable.update(node.output)
    return found


def _against(
    graph: Graph, node: NodeProto, allowed: set[str], left_out: Mapping[str, str], codable: set[str]
) -> str | None:
    """Why a product cannot be quantised; None when it can."""
    if node.name in left_out:
        return left_out[node.name]
    if node.op_type not in allowed:
        return f"{node.op_type} is not among the operators"
    if graph.weights(node.input[1]) is not None:
        if node.op_type == "Gemm" and attributes(node).get("transA", 0):
            return "its first factor is transposed"
        bias = node.input[2] if len(node.input) > 2 else ""
        if node.op_type != "MatMul" and bias and not _is_bias(graph.weights(bias)):
            return "its bias is no constant with one finite number per channel"
        if not _finite(graph.weights(node.input[1])):
            return "its weights are not finite, or empty"
        if graph.weights(node.input[0]) is not None:
            return "both its factors are constants"
        return None
    if node.op_type != "MatMul" or not all(name in codable for name in node.input):
        return "its weights are no constant in float32"
    return None


def _fits(graph: Graph, node: NodeProto, codable: set[str]) -> bool:
    names = data_inputs(node)
    if not names or (node.op_type == "Resize" and not _interpolates(node)):
        return False
    if node.op_type == "Pad" and not _pads_zero(graph, node):
        return False
    if node.op_type == "Clip" and not all(_is_number(graph.weights(n)) for n in node.input[1:] if n):
        return False
    if node.op_type in _SUMS:
        known = [n in codable for n in names]
        constants = [_finite(graph.weights(n)) for n in names]
        return any(known) and all(k or c for k, c in zip(known, constants, strict=True))
    return all(name in codable for name in names)


def _finite(weights: Array | None) -> bool:
    return weights is not None and weights.size > 0 and bool(np.isfinite(weights).all())


def _is_number(bound: Array | None) -> bool:
    return bound is not None and bound.size == 1


def _is_bias(bias: Array | None) -> bool:
    return _finite(bias) and bias is not None and bias.size == max(bias.shape, default=1)


def _interpolates(node: NodeProto) -> bool:
    """Whether no result of a Resize lies outside what it reads; cubic curves overshoot."""
    known = attributes(node)
    outside = known.get("coordinate_transformation_mode", b"") == b"tf_crop_and_resize"
    return known.get("mode", b"nearest") in (b"nearest", b"linear") and not outside


def _pads_zero(graph: Graph, node: NodeProto) -> bool:
    if attributes(node).get("mode", b"constant") != b"constant":
        return True
    value = node.input[2] if len(node.input) > 2 else ""
    if not value:
        return True
    number = graph.array(value)
    return number is not None and not np.any(number)


def _of_use(graph: Graph, possible: set[int]) -> set[int]:
    """Without the nodes between a product and the model's end: codes would buy them nothing."""
    taken: set[int] = set()
    for node in reversed(graph.nodes):
        if id(node) not in possible:
            continue
        read = any(id(reader) in taken for name in node.output for reader in graph.readers.get(name, []))
        source = graph.makers.get(node.input[0])
        after = node.op_type in ("Relu", "Clip") and source is not None and source.op_type in PRODUCTS
        if node.op_type in PRODUCTS or read or node.op_type in _SHRINK or after:
            taken.add(id(node))
    return taken


def _stays_float(graph: Graph, node: NodeProto, taken: set[int]) -> bool:
    """Whether a node's result goes into what is computed with it, or leaves for float32 at once.

    Codes between a product and its ReLU, or between a product and its bias, would round twice. A matrix
    product that no quantised node reads gives its sums in float32 as they are; a convolution always
    makes codes, because other runtimes compute on codes only then.
    """
    readers = graph.readers.get(node.output[0], [])
    reader = graph.only_reader(node.output[0])
    if reader is not None and id(reader) in taken and node.op_type not in _MOVES:
        if reader.op_type in ("Relu", "Clip") and node.op_type not in _TABLES:
            return True
        if node.op_type == "MatMul" and reader.op_type == "Add" and _adds_bias(graph, reader, node):
            return True
    source = graph.makers.get(node.input[0]) if node.op_type in ("Relu", "Clip") else node
    matrix = source is not None and source.op_type in ("MatMul", "Gemm")
    return matrix and not any(id(r) in taken for r in readers)


def _adds_bias(graph: Graph, add: NodeProto, product: NodeProto) -> bool:
    other = add.input[1] if add.input[0] == product.output[0] else add.input[0]
    bias = graph.weights(other)
    return bias is not None and graph.weights(product.input[1]) is not None and bias.ndim <= 1


def _code(graph: Graph, node: NodeProto, plan: Plan, floating: set[str]) -> None:
    names = [n for n in data_inputs(node) if n and n not in floating]
    biased = any(n in floating for n in data_inputs(node))
    for name in names:
        if graph.weights(name) is None:
            plan.coded.setdefault(name, name)
        elif node.op_type not in PRODUCTS and not biased:
            plan.constants.add(name)
    if node.op_type in _MOVES:
        for name in node.output:
            plan.coded.setdefault(name, plan.coded[node.input[0]])
        return
    for name in node.output:
        if name and name not in floating:
            plan.coded.setdefault(name, name)
    if node.op_type == "Concat":
        plan.joined.append([*names, node.output[0]])
