"""Emission: operators in their newest form, constants and names, into native graphs.

The rules see the conversion through Emitter alone: what needs the walk itself (bodies, functions) is abstract
here and lies in walk.py, above the rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, TensorProto, TypeProto, helper

from ... import _core, strings
from ...values import Array
from .attributes import as_proto, native_attribute
from .element_types import BY_NAME
from .external import DataFolder
from .functions import Call, schema_function
from .scope import NONE, Scope
from .types import Key, Produced, Types
from .unsupported import UnsupportedError

# Elements of a constant whose value shape inference may look at: shapes, axes and sizes are far smaller, and
# onnx serialises what it is given for every node that reads it.
_SMALL = 1024
_DROPPED = ("consumed_inputs",)


class Emitter(ABC):
    """What rules emit into: the native graphs of one conversion and what is known of their values."""

    def __init__(self, folder: DataFolder | None) -> None:
        """Start without any graph; external data is read from ``folder`` only."""
        self.folder = folder
        self.types = Types()
        self.native = {row["name"] for row in _core.op_table()}
        self.newest = onnx.defs.onnx_opset_version()
        self.maps: dict[Key, list[Any]] = {}  # results of ZipMap: the keys of their dictionaries
        self.map_inputs: dict[Key, str] = {}  # inputs of the model that are dictionaries
        self.map_columns: dict[str, list[Any]] = {}  # and the keys that somebody reads of them
        self.builders: list[_core.GraphBuilder] = []  # kept alive: their id() is part of every key

    @abstractmethod
    def graph(self, graph: GraphProto, scope: Scope, formal_types: Sequence[TypeProto | None] = ()) -> None:
        """Convert a graph (the main one or a body) into ``scope``'s builder."""

    @abstractmethod
    def inline(self, function: FunctionProto, call: Call) -> list[int]:
        """Convert a function's body in place of a call; returns the values of its outputs."""

    def builder(self, name: str) -> _core.GraphBuilder:
        """A new native graph."""
        made = _core.GraphBuilder(name)
        self.builders.append(made)
        return made

    def emit(
        self,
        scope: Scope,
        op: str,
        inputs: list[int],
        attributes: dict[str, Any],
        outputs: int,
        name: str,
    ) -> list[int]:
        """Emit an operator in its newest form: natively, or through the function body its schema gives."""
        protos = tuple(as_proto(k, v) for k, v in attributes.items() if k not in _DROPPED)
        if op not in self.native:
            return self._expand(scope, op, inputs, protos, outputs, name)
        values = scope.builder.node(
            op,
            name,
            inputs,
            [f"{name}:{i}" for i in range(outputs)],
            [native_attribute(a, self.folder, name) for a in protos],
        )
        keys = tuple(None if i == NONE else scope.key(i) for i in inputs)
        for index, value in enumerate(values):
            made = Produced(op, "", self.newest, protos, keys, outputs, index)
            self.types.produced[scope.key(value)] = made
        return values

    def _expand(
        self,
        scope: Scope,
        op: str,
        inputs: list[int],
        attributes: tuple[AttributeProto, ...],
        outputs: int,
        name: str,
    ) -> list[int]:
        function = schema_function(self.types, scope, op, "", self.newest, inputs, attributes, outputs)
        if function is None:
            raise UnsupportedError(f"{op} is not in the native table and ONNX gives no function body for it")
        return self.inline(function, Call(scope, inputs, {a.name: a for a in attributes}, outputs, name))

    def name_value(self, scope: Scope, value: int, name: str) -> None:
        """Give a computed value the name the model has for it."""
        if scope.key(value) in self.types.produced:
            scope.builder.rename(value, scope.prefix + name)

    def constant(self, scope: Scope, array: Array, dtype: str, name: str) -> int:
        """Add a constant."""
        value = scope.builder.constant(name, array, dtype)
        proto_type = helper.make_tensor_type_proto(BY_NAME[dtype], list(array.shape))
        self.types.known[scope.key(value)] = proto_type
        if array.size <= _SMALL and array.dtype.kind in "ifb":
            self.types.constants[scope.key(value)] = onnx.numpy_helper.from_array(np.asarray(array))
        return value

    def string_constant(self, scope: Scope, words: Array, name: str) -> int:
        """Add an array of strings (of Python strings or UTF-8 bytes) as a constant."""
        plain = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words.ravel()]
        rows = strings.encode(np.asarray(plain, object).reshape(words.shape), name)
        value = scope.builder.constant(name, rows, "uint8")
        kind = helper.make_tensor_type_proto(TensorProto.STRING, list(words.shape))
        self.types.known[scope.key(value)] = kind
        self.types.strings.add(scope.key(value))
        return value
