"""Weight-only quantisation: matrices and tables of embeddings in blocks of few bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from ..values import Array
from .blocks import Blocks, Grid, in_bytes, rounded
from .codes import decibels
from .compensate import compensated
from .constants import fold_constants
from .graph import BLOCKS_OPSET, LEAST_OPSET, Graph, attributes, prepared
from .inputs import Inputs
from .observe import Advance, moments
from .pairs import factors
from .report import LayerReport
from .settings import left_out

OPERATORS = ("MatMul", "Gemm", "Gather")
LAYOUTS = ("packed", "dequantize")
METHODS_OF_ROUNDING = ("rtn", "gptq")
_MICROSOFT = "com.microsoft"
# Tables below this are not worth a conversion at each look-up.
_LEAST_TABLE = 1024


@dataclass(frozen=True)
class WeightSettings:
    """How to quantise."""

    grid: Grid
    method: str
    layout: str
    accuracy_level: int
    operators: tuple[str, ...] = OPERATORS

    def as_dict(self) -> dict[str, Any]:
        """For the report."""
        known = {"mode": "weights", **vars(self.grid), **vars(self), "operators": list(self.operators)}
        known.pop("grid")
        return known


@dataclass
class WeightModel:
    """A float model prepared, with what its layers' inputs are like where that is asked for."""

    float_: ModelProto
    settings: WeightSettings
    kept: dict[str, str]
    moments: dict[str, Array] = field(default_factory=dict)  # of a layer's input, by name
    _done: dict[str, Blocks] = field(default_factory=dict)  # by node, because goals try a layer many times

    @classmethod
    def made(
        cls,
        model: ModelProto,
        settings: WeightSettings,
        leave: Iterable[str],
        inputs: Inputs | None,
        advance: Advance,
    ) -> WeightModel:
        """Prepare; read the inputs where the method needs them."""
        graph = prepared(model, BLOCKS_OPSET if settings.layout == "dequantize" else LEAST_OPSET)
        fold_constants(graph)
        kept = left_out(graph, leave)
        float_ = graph.finish()
        found = cls(float_, settings, kept)
        if settings.method == "gptq" and inputs is not None:
            products = [n for n in graph.nodes if n.op_type != "Gather" and not found._against(graph, n)]
            sizes = {node.input[0]: rows_of(graph, node).shape[1] for node in products}
            found.moments = moments(float_, sizes, inputs, advance)
        return found

    def quantised(self, also_kept: Mapping[str, str] | None = None) -> tuple[ModelProto, list[LayerReport]]:
        """The quantised model, but for what was left out and for ``also_kept`` (node -> why)."""
        copy = ModelProto()
        copy.CopyFrom(self.float_)
        graph = Graph(copy)
        kept = {**self.kept, **(also_kept or {})}
        layers = []
        for position, node in enumerate(graph.nodes):
            if node.op_type not in OPERATORS or not has_weights(graph, node):
                continue
            reason = kept.get(node.name) or self._against(graph, node)
            if reason:
                layers.append(LayerReport(node.name, node.op_type, node.output[0], "float32", reason))
                continue
            blocks, noise = self._blocks(graph, node)
            layers.append(
                LayerReport(node.name, node.op_type, node.output[0], self.settings.grid.text(), "", noise)
            )
            graph.nodes[position] = self._written(graph, node, blocks)
        graph.nodes = self._in_order(graph)
        graph.index()
        return graph.finish(), layers

    def _against(self, graph: Graph, node: NodeProto) -> str:
        """Why a layer is not quantised; empty when it is."""
        if node.op_type not in self.settings.operators:
            return f"{node.op_type} is not among the operators"
        weights = graph.weights(weights_name(node))
        if weights is None:
            return "its weights are no constant in float32"
        if weights.ndim != 2 or not weights.size or not np.isfinite(weights).all():
            return "its weights are no matrix of finite numbers"
        known = attributes(node)
        if node.op_type == "Gather":
            if known.get("axis", 0) != 0 or weights.size < _LEAST_TABLE:
                return "a small table, or one that is read along another axis"
            if self.settings.layout == "dequantize" or self.settings.grid.bits == 2:
                return "tables have 4 or 8 bits and the packed layout"
            if weights.shape[1] * self.settings.grid.bits % 8:
                return "its rows are no whole bytes"
        if node.op_type == "Gemm":
            bias = graph.weights(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
            if known.get("transA", 0) or bias is None or bias.size != max(bias.shape, default=1):
                return "its first factor is transposed, or its bias is no constant vector"
        return ""

    def _blocks(self, graph: Graph, node: NodeProto) -> tuple[Blocks, float]:
        rows = rows_of(graph, node)
        if node.name not in self._done:
            seen = self.moments.get(node.input[0]) if node.op_type != "Gather" else None
            grid = self.settings.grid
            self._done[node.name] = rounded(rows, grid) if seen is None else compensated(rows, seen, grid)
        blocks = self._done[node.name]
        noise = np.square(rows - blocks.values(), dtype=np.float64).sum()
        return blocks, decibels(float(np.square(rows, dtype=np.float64).sum()), float(noise))

    def _written(self, graph: Graph, node: NodeProto, blocks: Blocks) -> NodeProto:
        """The node that takes a layer's place."""
        name = weights_name(node)
        if self.settings.layout == "dequantize":
            return self._dequantized(graph, node, blocks)
        graph.needs(_MICROSOFT)
        grid = self.settings.grid
        zeros = "" if grid.symmetric else graph.add(f"{name}_zero_points", in_bytes(blocks.zeros, grid.bits))
        codes = in_bytes(blocks.codes, grid.bits)
        if node.op_type == "Gather":
            # A row of the table is as wide as its bytes say: without what fills its last block.
            flat = in_bytes(blocks.codes.reshape(len(codes), -1)[:, : blocks.width], grid.bits)
            names = [
                graph.add(f"{name}_codes", flat),
                node.input[1],
                graph.add(f"{name}_scales", blocks.scales),
            ]
            known = {"gather_axis": 0, "quantize_axis": 1, "block_size": grid.block, "bits": grid.bits}
            return _named("GatherBlockQuantized", node, [*names, zeros] if zeros else names, known)
        names = [node.input[0], graph.add(f"{name}_codes", codes), graph.add(f"{name}_scales", blocks.scales)]
        bias = self._bias(graph, node, blocks.codes.shape[0])
        names += [zeros, "", bias] if bias else [zeros] if zeros else []
        known = {"K": blocks.width, "N": blocks.codes.shape[0], "bits": grid.bits, "block_size": grid.block}
        if self.settings.accuracy_level:
            known["accuracy_level"] = self.settings.accuracy_level
        return _named("MatMulNBits", node, names, known)

    def _bias(self, graph: Graph, node: NodeProto, rows: int) -> str:
        if node.op_type != "Gemm":
            return ""
        _, bias = factors(graph, _copy(node))
        return "" if bias is None else graph.add(f"{node.name}_bias", np.broadcast_to(bias, (rows,)))

    def _dequantized(self, graph: Graph, node: NodeProto, blocks: Blocks) -> NodeProto:
        """The float node, behind a DequantizeLinear of its weights: what ONNX alone has."""
        grid, name = self.settings.grid, weights_name(node)
        kind = {4: (TensorProto.INT4, TensorProto.UINT4), 8: (TensorProto.INT8, TensorProto.UINT8)}[grid.bits]
        width, rows = blocks.width, blocks.codes.shape[0]
        codes = blocks.codes.reshape(rows, -1)[:, :width].T
        inputs = [graph.add(f"{name}_scales", np.ascontiguousarray(blocks.scales.T))]
        if grid.symmetric:
            # Two's complement is the same bits with the upper one turned over.
            inputs = [graph.add(f"{name}_codes", codes ^ np.uint8(grid.middle), kind[0]), *inputs]
        else:
            inputs = [graph.add(f"{name}_codes", codes, kind[1]), *inputs]
            inputs.append(graph.add(f"{name}_zero_points", blocks.zeros.T, kind[1]))
        target = graph.fresh(f"{name}_dequantized")
        graph.nodes.append(
            helper.make_node("DequantizeLinear", inputs, [target], name=target, axis=0, block_size=grid.block)
        )
        found = _copy(node)
        if node.op_type == "Gemm":
            _, bias = factors(graph, found)
            kept = [a for a in found.attribute if a.name != "transB"]
            del found.attribute[:]
            found.attribute.extend(kept)
            if bias is not None:
                found.input[2] = graph.add(f"{node.name}_bias", np.ascontiguousarray(bias))
        found.input[1] = target
        return found

    def _in_order(self, graph: Graph) -> list[NodeProto]:
        """Dequantised weights first: they depend on constants alone."""
        first = [n for n in graph.nodes if n.op_type == "DequantizeLinear"]
        return [*first, *(n for n in graph.nodes if n.op_type != "DequantizeLinear")]


def weights_name(node: NodeProto) -> str:
    """The input of a layer that holds its weights."""
    return str(node.input[0] if node.op_type == "Gather" else node.input[1])


def has_weights(graph: Graph, node: NodeProto) -> bool:
    """Whether a node is a layer, and no product of activations or look-up in shapes."""
    return graph.weights(weights_name(node)) is not None


def rows_of(graph: Graph, node: NodeProto) -> Array:
    """The weights as [outputs, inputs], or the rows of a table."""
    if node.op_type == "Gather":
        table = graph.weights(node.input[0])
        assert table is not None
        return table
    weights, _ = factors(graph, _copy(node))
    turned = node.op_type == "Gemm" and attributes(node).get("transB", 0)
    return weights if turned else np.ascontiguousarray(weights.T)


def _copy(node: NodeProto) -> NodeProto:
    found = NodeProto()
    found.CopyFrom(node)
    return found


def _named(op: str, node: NodeProto, inputs: list[str], known: dict[str, int]) -> NodeProto:
    return helper.make_node(op, inputs, node.output, name=node.name, domain=_MICROSOFT, **known)
