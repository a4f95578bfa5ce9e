"""Dynamic quantisation: int8 weights, and activations whose scale each run finds for itself.

No calibration, and no harm from inputs unlike those of one; in return every product begins with a pass
over its input. Written in ONNX's own operators: DynamicQuantizeLinear, MatMulInteger or ConvInteger, and
a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from ..values import Array
from .codes import Scale, decibels, dequantized, quantized, weight_scale
from .constants import fold_constants
from .fold import fold
from .graph import Graph, attributes, prepared
from .pairs import factors, out_axis
from .report import LayerReport
from .settings import left_out

OPERATORS = ("MatMul", "Gemm", "Gather", "Conv")
# Convolutions pay for the pass over their input with what the codes save, in this engine as in others.
USUAL = ("MatMul", "Gemm", "Gather")
_LEAST_TABLE = 1024


@dataclass
class DynamicModel:
    """A float model prepared for dynamic quantisation."""

    float_: ModelProto
    operators: tuple[str, ...]
    per_channel: bool
    kept: dict[str, str]

    @classmethod
    def made(
        cls, model: ModelProto, operators: tuple[str, ...], per_channel: bool, leave: Iterable[str]
    ) -> DynamicModel:
        """Prepare."""
        graph = prepared(model)
        fold_constants(graph)
        fold(graph)
        kept = left_out(graph, leave)
        return cls(graph.finish(), operators, per_channel, kept)

    def quantised(self, also_kept: Mapping[str, str] | None = None) -> tuple[ModelProto, list[LayerReport]]:
        """The quantised model, but for what was left out and for ``also_kept`` (node -> why)."""
        copy = ModelProto()
        copy.CopyFrom(self.float_)
        graph = Graph(copy)
        writer = _Writer(graph, self.per_channel)
        layers = []
        for node in list(graph.nodes):
            if node.op_type not in OPERATORS or graph.weights(_weights_name(node)) is None:
                writer.nodes.append(node)
                continue
            reason = {**self.kept, **(also_kept or {})}.get(node.name) or self._against(graph, node)
            if reason:
                layers.append(LayerReport(node.name, node.op_type, node.output[0], "float32", reason))
                writer.nodes.append(node)
                continue
            layers.append(writer.rewrite(node))
        graph.nodes = writer.nodes
        graph.index()
        return graph.finish(), layers

    def _against(self, graph: Graph, node: NodeProto) -> str:
        if node.op_type not in self.operators:
            return f"{node.op_type} is not among the operators"
        weights = graph.weights(_weights_name(node))
        assert weights is not None
        known = attributes(node)
        if not weights.size or not np.isfinite(weights).all():
            return "its weights are not finite, or empty"
        if node.op_type == "Gather" and (
            known.get("axis", 0) or weights.ndim != 2 or weights.size < _LEAST_TABLE
        ):
            return "a small table, or one that is read along another axis"
        if node.op_type == "MatMul" and (weights.ndim != 2 or graph.weights(node.input[0]) is not None):
            return "its weights are no matrix"
        if node.op_type == "Gemm":
            bias = graph.weights(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
            if known.get("transA", 0) or bias is None or bias.size != max(bias.shape, default=1):
                return "its first factor is transposed, or its bias is no constant vector"
        return ""


def _weights_name(node: NodeProto) -> str:
    return str(node.input[0] if node.op_type == "Gather" else node.input[1])


class _Writer:
    def __init__(self, graph: Graph, per_channel: bool) -> None:
        self._graph, self._per_channel = graph, per_channel
        self.nodes: list[NodeProto] = []
        self._inputs: dict[str, list[str]] = {}  # value -> its codes, scale and zero point

    def rewrite(self, node: NodeProto) -> LayerReport:
        name, output = _weights_name(node), node.output[0]
        if node.op_type == "Gather":
            weights = self._graph.weights(name)
            assert weights is not None
            by = weight_scale(weights, 0)
            self._table(node, quantized(weights, by), by)
        else:
            weights, bias = factors(self._graph, node)
            axis = out_axis(node, weights)
            if node.op_type == "Gemm" and axis == 0:
                weights, axis = np.ascontiguousarray(weights.T), 1
            by = weight_scale(weights, axis if self._per_channel else None)
            self._product(node, quantized(weights, by), by, bias)
        noise = np.square(weights - dequantized(quantized(weights, by), by), dtype=np.float64).sum()
        told = decibels(float(np.square(weights, dtype=np.float64).sum()), float(noise))
        return LayerReport(node.name, node.op_type, output, "int8", "", told)

    def _table(self, node: NodeProto, codes: Array, by: Scale) -> None:
        """Rows of codes and their scales, looked up and multiplied."""
        name = node.input[0]
        rows = self._add(
            "Gather", [self._graph.add(f"{name}_codes", codes), node.input[1]], f"{name}_rows", axis=0
        )
        scales = self._graph.add(f"{name}_scales", by.scale.reshape(-1, 1))
        factor = self._add("Gather", [scales, node.input[1]], f"{name}_row_scales", axis=0)
        floats = self._add("Cast", [rows], f"{name}_row_floats", to=TensorProto.FLOAT)
        self.nodes.append(helper.make_node("Mul", [floats, factor], node.output, name=node.name))

    def _product(self, node: NodeProto, codes: Array, by: Scale, bias: Array | None) -> None:
        x, x_scale, x_zero = self._dynamic(node.input[0])
        name = node.input[1]
        known = attributes(node) if node.op_type == "Conv" else {}
        op = "ConvInteger" if node.op_type == "Conv" else "MatMulInteger"
        inputs = [x, self._graph.add(f"{name}_codes", codes), x_zero]
        sums = self._add(op, inputs, f"{node.name}_sums", **known)
        floats = self._add("Cast", [sums], f"{node.name}_floats", to=TensorProto.FLOAT)
        shape = (-1, *[1] * (codes.ndim - 2)) if node.op_type == "Conv" and by.axis is not None else None
        scales = by.scale if shape is None else by.scale.reshape(shape)
        factor = self._add("Mul", [x_scale, self._graph.add(f"{name}_scale", scales)], f"{node.name}_factor")
        if bias is None:
            self.nodes.append(helper.make_node("Mul", [floats, factor], node.output, name=node.name))
            return
        product = self._add("Mul", [floats, factor], f"{node.name}_product")
        shaped = bias.reshape(-1, *[1] * (codes.ndim - 2)) if node.op_type == "Conv" else bias
        offset = self._graph.add(f"{node.name}_bias", np.ascontiguousarray(shaped))
        self.nodes.append(helper.make_node("Add", [product, offset], node.output, name=node.name))

    def _dynamic(self, name: str) -> list[str]:
        """Codes of a value, made once for all its products."""
        if name not in self._inputs:
            outputs = [self._graph.fresh(f"{name}_{part}") for part in ("codes", "scale", "zero_point")]
            self.nodes.append(
                helper.make_node("DynamicQuantizeLinear", [name], outputs, name=f"{name}_quantize")
            )
            self._inputs[name] = outputs
        return self._inputs[name]

    def _add(self, op: str, inputs: list[str], output: str, **known: object) -> str:
        output = self._graph.fresh(output)
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **known))
        return output
