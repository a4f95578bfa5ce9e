"""Weights stored in 16 bits: half the bytes, arithmetic in float32 as before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from ..values import Array
from .codes import decibels
from .graph import Graph, prepared
from .report import LayerReport
from .settings import left_out

DTYPES = {"bfloat16": TensorProto.BFLOAT16, "float16": TensorProto.FLOAT16}
# Smaller constants are biases, factors of normalisations and the like: nothing to save.
_LEAST = 1024


@dataclass
class StoredModel:
    """A float model prepared for storage in short floats."""

    float_: ModelProto
    dtype: str
    kept: dict[str, str]

    @classmethod
    def made(cls, model: ModelProto, dtype: str, leave: Iterable[str]) -> StoredModel:
        """Prepare."""
        graph = prepared(model)
        kept = left_out(graph, leave)
        return cls(graph.finish(), dtype, kept)

    def quantised(self, also_kept: Mapping[str, str] | None = None) -> tuple[ModelProto, list[LayerReport]]:
        """The model with short weights, but for what was left out and for ``also_kept`` (node -> why)."""
        copy = ModelProto()
        copy.CopyFrom(self.float_)
        graph = Graph(copy)
        kept = {**self.kept, **(also_kept or {})}
        cast: dict[str, str] = {}
        first: list[NodeProto] = []
        layers = []
        for node in graph.nodes:
            for position, name in enumerate(node.input):
                weights = graph.weights(name) if name else None
                if weights is None or weights.size < _LEAST:
                    continue
                reason = kept.get(node.name, "") or self._against(weights)
                noise = None
                if not reason:
                    if name not in cast:
                        cast[name] = self._stored(graph, name, weights, first)
                    node.input[position] = cast[name]
                    noise = self._noise(weights)
                form = "float32" if reason else self.dtype
                layers.append(LayerReport(node.name, node.op_type, node.output[0], form, reason, noise))
        graph.nodes = [*first, *graph.nodes]
        graph.index()
        return graph.finish(), layers

    def _against(self, weights: Array) -> str:
        largest = float(np.abs(weights[np.isfinite(weights)]).max(initial=0))
        if self.dtype == "float16" and largest > float(np.finfo(np.float16).max):
            return f"a weight of {largest:.3g} is beyond float16"
        return ""

    def _stored(self, graph: Graph, name: str, weights: Array, first: list[NodeProto]) -> str:
        bits = to_bits(weights, self.dtype)
        stored = graph.add(f"{name}_{self.dtype}", bits, DTYPES[self.dtype])
        target = graph.fresh(f"{name}_float32")
        first.append(helper.make_node("Cast", [stored], [target], name=target, to=TensorProto.FLOAT))
        return target

    def _noise(self, weights: Array) -> float:
        back = from_bits(to_bits(weights, self.dtype), self.dtype)
        noise = np.square(weights - back, dtype=np.float64).sum()
        return decibels(float(np.square(weights, dtype=np.float64).sum()), float(noise))


def to_bits(values: Array, dtype: str) -> Array:
    """float32 numbers as the bits of short ones, uint16, rounded half to even; NaN stays NaN."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    found: Array = np.where(np.isnan(values), (bits >> np.uint64(16)) | np.uint64(0x40), rounded)
    return found.astype(np.uint16)


def from_bits(bits: Array, dtype: str) -> Array:
    """The float32 numbers that bits of short ones stand for."""
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
