"""Attributes of ONNX nodes: made from Python values, and turned into what the native graph takes."""

from __future__ import annotations

from typing import Any

from onnx import AttributeProto, helper

from ... import _core
from .element_types import known_dtype
from .external import DataFolder
from .tensors import read_sparse, read_tensor
from .unsupported import UnsupportedError

# Attributes that hold an ONNX element type; the native graph has its own numbers.
_DTYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type")


class GraphAttribute:
    """An attribute holding a finished native graph, where an AttributeProto would be."""

    def __init__(self, name: str, graph: _core.GraphBuilder) -> None:
        """Wrap a builder."""
        self.name = name
        self.type = AttributeProto.GRAPH
        self.native_graph = graph


def as_proto(name: str, value: Any) -> Any:
    """An attribute as AttributeProto, from one, from a Python value, or from a native graph."""
    if isinstance(value, AttributeProto):
        if value.name == name:
            return value
        renamed = AttributeProto()
        renamed.CopyFrom(value)
        renamed.name = name
        return renamed
    if isinstance(value, _core.GraphBuilder):
        return GraphAttribute(name, value)
    if isinstance(value, list) and not value:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def native_attribute(attribute: Any, folder: DataFolder | None, node: str) -> tuple[str, str, Any]:
    """An attribute as the native graph takes it: name, kind, value;
    element types become the native numbers.
    """
    kind, where = attribute.type, f"node '{node}', attribute '{attribute.name}'"
    if kind == AttributeProto.INT:
        number = attribute.i
        if attribute.name in _DTYPE_ATTRIBUTES and number:
            number = known_dtype(number)[2]
        return attribute.name, "i", number
    if kind == AttributeProto.FLOAT:
        return attribute.name, "f", attribute.f
    if kind == AttributeProto.STRING:
        return attribute.name, "s", attribute.s.decode("utf-8", "replace")
    if kind == AttributeProto.INTS:
        return attribute.name, "is", list(attribute.ints)
    if kind == AttributeProto.FLOATS:
        return attribute.name, "fs", list(attribute.floats)
    if kind == AttributeProto.STRINGS:
        return attribute.name, "ss", [s.decode("utf-8", "replace") for s in attribute.strings]
    if kind == AttributeProto.TENSOR:
        bits = read_tensor(attribute.t, folder, where)
        return attribute.name, "t", (bits.array, bits.dtype)
    if kind == AttributeProto.SPARSE_TENSOR:
        bits = read_sparse(attribute.sparse_tensor, folder, where)
        return attribute.name, "t", (bits.array, bits.dtype)
    if isinstance(getattr(attribute, "native_graph", None), _core.GraphBuilder):
        return attribute.name, "g", attribute.native_graph
    raise UnsupportedError(f"attribute '{attribute.name}' has a type that is not supported here")
