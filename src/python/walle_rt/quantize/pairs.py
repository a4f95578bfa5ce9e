"""Writes a static quantisation into a graph, as pairs of QuantizeLinear and DequantizeLinear.

A pair says that the numbers between its two nodes are codes; what computes on codes is the runtime's choice.
Run node by node, the model means the same to every runtime, which makes its results comparable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, helper

from ..values import Array
from .choose import PRODUCTS, Plan
from .codes import Scale, activation_scale, decibels, dequantized, quantized, weight_scale
from .graph import Graph, attributes
from .ranges import Range

# Ranges of a Concat's parts become one where that costs no part more than one bit of its eight.
_JOINED_RATIO = 2.0
# A bias is a sum of products, int32: its largest code. One bit is left to the sums it is added to.
_BIAS_BOUND = 2.0**30


@dataclass
class Written:
    """What became of the weights of each product."""

    weights_db: dict[str, float] = field(default_factory=dict)


def write_pairs(
    graph: Graph, plan: Plan, ranges: Mapping[str, Range], dtype: str, per_channel: bool
) -> Written:
    """Insert the pairs and quantise the weights."""
    return _Writer(graph, plan, ranges, dtype, per_channel).write()


def joined(plan: Plan, ranges: Mapping[str, Range]) -> tuple[dict[str, Range], dict[str, str]]:
    """The ranges, one for all parts of a Concat where they are alike: codes are then moved, not computed.

    The second result says of each value which one's scale it has.
    """
    group = {name: name for name in plan.calibrated}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    found = {name: (min(ranges[name][0], 0.0), max(ranges[name][1], 0.0)) for name in plan.calibrated}
    for names in plan.joined:
        roots = list(dict.fromkeys(root(plan.coded[name]) for name in names if name in plan.coded))
        low, high = min(found[r][0] for r in roots), max(found[r][1] for r in roots)
        # Joined with numbers below zero, a ReLU's bound would be no bound of the codes any more.
        mixed = len({found[r][0] < 0 for r in roots}) > 1
        if mixed or high - low > _JOINED_RATIO * min(found[r][1] - found[r][0] for r in roots):
            continue
        for each in roots:
            group[each] = roots[0]
        found[roots[0]] = (low, high)
    roots_of = {name: root(name) for name in plan.calibrated}
    return {name: found[of] for name, of in roots_of.items()}, roots_of


class _Writer:
    def __init__(
        self, graph: Graph, plan: Plan, ranges: Mapping[str, Range], dtype: str, per_channel: bool
    ) -> None:
        self._graph, self._plan, self._dtype, self._per_channel = graph, plan, dtype, per_channel
        self._taken = {id(node) for node in plan.nodes}
        found, self._roots = joined(plan, ranges)
        self._scales = {name: activation_scale(*found[name], dtype) for name in plan.calibrated}
        self._names: dict[str, tuple[str, str]] = {}  # calibrated value -> names of scale and zero point
        self._behind: dict[str, str] = {}  # dequantised form of a value that float32 made -> the value
        self._constants: dict[str, str] = {}
        self._nodes: list[NodeProto] = []
        self._written = Written()

    def write(self) -> Written:
        self._remove_clips()
        for value in self._graph.model.graph.input:
            self._code_float(value.name)
        for node in self._graph.nodes:
            if id(node) in self._taken:
                self._rewrite(node)
            self._nodes.append(node)
            for position, name in enumerate(node.output):
                if id(node) not in self._taken:
                    self._code_float(name)
                elif name in self._plan.coded:
                    # The value's own name is its dequantised form's: whoever reads it finds that.
                    node.output[position] = self._graph.fresh(f"{name}_float")
                    self._pair(node.output[position], name, name)
        self._graph.nodes = self._nodes
        self._graph.index()
        return self._written

    def _remove_clips(self) -> None:
        """Take out each Relu and Clip whose bounds the codes have anyway."""
        for node in [n for n in self._graph.nodes if id(n) in self._taken]:
            source = self._graph.makers.get(node.input[0])
            inside = (
                source is not None and id(source) in self._taken and node.input[0] not in self._plan.coded
            )
            if node.op_type not in ("Relu", "Clip") or not inside or node.output[0] not in self._plan.coded:
                continue
            assert source is not None
            if self._saturates(node, self._scales[self._plan.coded[node.output[0]]]):
                source.output[0] = node.output[0]
                self._graph.nodes = [n for n in self._graph.nodes if n is not node]
                self._graph.makers[node.output[0]] = source

    def _saturates(self, node: NodeProto, by: Scale) -> bool:
        """Whether the codes of what goes into a Relu or Clip are those of what comes out of it."""
        low, high = 0.0, np.inf
        if node.op_type == "Clip":
            bounds = [self._graph.array(n) if n else None for n in node.input[1:3]]
            bounds += [None] * (2 - len(bounds))
            # Some exporters write a bound as an array of one number.
            known = [None if b is None else float(b.reshape(-1)[0]) for b in bounds]
            low, high = (d if b is None else b for b, d in zip(known, (-np.inf, np.inf), strict=True))
        info = np.iinfo(by.zero.dtype)
        ends = [quantized(np.asarray([bound], np.float32), by)[0] if np.isfinite(bound) else end
                for bound, end in ((low, info.min), (high, info.max))]  # fmt: skip
        return bool(ends[0] == info.min and ends[1] == info.max)

    def _code_float(self, name: str) -> None:
        """A pair behind a value that float32 made; only nodes on codes read it, others keep the exact one."""
        if name not in self._plan.coded:
            return
        coded = self._graph.fresh(f"{name}_dequantized")
        self._behind[coded] = name
        self._pair(name, coded, name)
        for reader in self._graph.readers.get(name, []):
            if id(reader) in self._taken:
                _replace(reader, name, coded)

    def _pair(self, source: str, target: str, name: str) -> None:
        scale, zero = self._scale_names(self._plan.coded[name])
        codes = self._graph.fresh(f"{name}_codes")
        for op, inputs, output in (
            ("QuantizeLinear", [source, scale, zero], codes),
            ("DequantizeLinear", [codes, scale, zero], target),
        ):
            self._nodes.append(helper.make_node(op, inputs, [output], name=f"{name}_{op}"))

    def _scale_names(self, name: str) -> tuple[str, str]:
        name = self._roots[name]
        if name not in self._names:
            self._names[name] = self._add_scale(name, self._scales[name])
        return self._names[name]

    def _add_scale(self, name: str, by: Scale) -> tuple[str, str]:
        return self._graph.add(f"{name}_scale", by.scale), self._graph.add(f"{name}_zero_point", by.zero)

    def _rewrite(self, node: NodeProto) -> None:
        if node.op_type in PRODUCTS:
            if self._graph.weights(node.input[1]) is not None:
                self._weigh(node)
            return
        for name in set(node.input) & self._plan.constants:
            _replace(node, name, self._constant(name))

    def _constant(self, name: str) -> str:
        """A constant operand of a sum, as codes of the activations' kind."""
        if name not in self._constants:
            array = self._graph.weights(name)
            assert array is not None
            low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
            by = activation_scale(low, high, self._dtype)
            self._constants[name] = self._dequantize(name, quantized(array, by), by)
        return self._constants[name]

    def _dequantize(self, name: str, codes: Array, by: Scale) -> str:
        scale, zero = self._add_scale(name, by)
        target = self._graph.fresh(f"{name}_dequantized")
        inputs = [self._graph.add(f"{name}_codes", codes), scale, zero]
        axis = {} if by.axis is None else {"axis": by.axis}
        self._nodes.append(helper.make_node("DequantizeLinear", inputs, [target], name=target, **axis))
        return target

    def _weigh(self, node: NodeProto) -> None:
        """Codes for a product's weights and its bias."""
        weights, bias = factors(self._graph, node)
        axis = out_axis(node, weights) if self._per_channel else None
        by = weight_scale(weights, axis)
        read = self._behind.get(node.input[0], node.input[0])
        x = self._scales[self._plan.coded[read]].scale
        if bias is not None:
            by = with_room(by, weights, bias, float(x))
        codes = quantized(weights, by)
        noise = np.square(weights - dequantized(codes, by), dtype=np.float64).sum()
        self._written.weights_db[node.name] = decibels(
            float(np.square(weights, dtype=np.float64).sum()), float(noise)
        )
        name = node.input[1]
        node.input[1] = self._dequantize(name, codes, by)
        if bias is not None:
            scale = Scale(x * by.scale, np.zeros(by.scale.shape, np.int32), None if by.axis is None else 0)
            node.input[2] = self._dequantize(node.input[2] or f"{node.name}_bias", _sums(bias, scale), scale)


def _sums(bias: Array, by: Scale) -> Array:
    """Codes of a bias, int32; in float64, because float32 has 24 bits."""
    codes = np.rint(bias.astype(np.float64) / by.scale.astype(np.float64))
    found: Array = np.clip(codes, -(2**31), 2**31 - 1).astype(np.int32)
    return found


def _replace(node: NodeProto, old: str, new: str) -> None:
    for i, name in enumerate(node.input):
        if name == old:
            node.input[i] = new


def factors(graph: Graph, node: NodeProto) -> tuple[Array, Array | None]:
    """Weights and bias of a product; Gemm's factors alpha and beta become part of them."""
    weights = graph.weights(node.input[1])
    assert weights is not None
    name = node.input[2] if len(node.input) > 2 and node.op_type != "MatMul" else ""
    bias = graph.weights(name) if name else None
    if node.op_type != "Gemm":
        return weights, bias
    known = attributes(node)
    weights = weights * np.float32(known.get("alpha", 1.0))
    columns = weights.shape[0 if known.get("transB", 0) else 1]
    if bias is not None:
        bias = bias * np.float32(known.get("beta", 1.0))
        bias = np.broadcast_to(bias.ravel(), (columns,))
    kept = [a for a in node.attribute if a.name not in ("alpha", "beta")]
    del node.attribute[:]
    node.attribute.extend(kept)
    return weights, bias


def out_axis(node: NodeProto, weights: Array) -> int | None:
    """The axis of a product's output channels; None where its weights have but one scale."""
    known = attributes(node)
    if node.op_type == "Conv":
        return 0
    if node.op_type == "ConvTranspose":
        return 1 if known.get("group", 1) == 1 else None
    if node.op_type == "Gemm":
        return 0 if known.get("transB", 0) else 1
    return 1 if weights.ndim == 2 else None


def with_room(by: Scale, weights: Array, bias: Array, x: float) -> Scale:
    """The scale, larger where a bias would not fit into int32 beside it.

    A channel of zeros has any scale; it gets the one that shows its bias best.
    """
    around = tuple(i for i in range(weights.ndim) if i != by.axis) if by.axis is not None else None
    needed = np.abs(bias).astype(np.float64) / (x * _BIAS_BOUND)
    if by.axis is None:
        needed = needed.max(initial=0)
    silent = ~np.any(weights, axis=around)
    least = np.maximum(needed, np.finfo(np.float32).tiny).astype(np.float32)
    scale = np.where(silent & (needed > 0), least, np.maximum(by.scale, least)).astype(np.float32)
    return Scale(scale, by.zero, by.axis)
