"""One source node as the rules of the families see it, and the means to emit what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, helper

from ...values import Array
from .element_types import BY_NAME, DTYPES
from .emit import Emitter
from .functions import Call
from .known_attributes import Attributes
from .scope import NONE, Scope
from .types import element_type, rank_of, type_of
from .unsupported import UnsupportedError


class Node:
    """A source node with its inputs resolved to values."""

    def __init__(self, walk: Emitter, scope: Scope, proto: NodeProto, name: str, opset: int) -> None:
        """Resolve inputs and attribute references."""
        self.walk = walk
        self.scope = scope
        self.proto = proto
        self.name = name
        self.op: str = proto.op_type
        self.opset = opset
        self.attributes = Attributes(resolve_attributes(proto, scope))
        self.inputs = [scope.lookup(i, name) for i in proto.input]
        self.outputs: list[str] = list(proto.output)
        while self.outputs and self.outputs[-1] == "":
            self.outputs.pop()

    # What the node says.

    def has(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] != NONE

    def input(self, index: int) -> int:
        """An input's value number, NONE when omitted."""
        return self.inputs[index] if index < len(self.inputs) else NONE

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's Python value (int, float, str, list), or the default."""
        proto = self.attributes.get(name)
        if proto is None:
            return default
        value = helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return value

    def uses(self, index: int) -> bool:
        """Whether an optional output is wanted."""
        return index < len(self.outputs) and self.outputs[index] != ""

    def type(self, value: int) -> TypeProto | None:
        """The type of a value, where it can be known."""
        return type_of(self.scope.types, self.scope.key(value))

    def is_string(self, value: int) -> bool:
        """Whether a value is an array of strings."""
        return self.scope.key(value) in self.scope.types.strings

    def rank(self, value: int, what: str) -> int:
        """The rank of a value; the node is unsupported where it cannot be known."""
        rank = rank_of(self.type(value))
        if rank is None:
            raise UnsupportedError(f"the rank of {what} must be known before run time")
        return rank

    def dtype(self, value: int, default: int = BY_NAME["float32"]) -> int:
        """The ONNX element type of a value."""
        return element_type(self.type(value)) or default

    def constant(self, value: int) -> Array | None:
        """The bits of a constant input, or None."""
        if value == NONE or not self.scope.builder.is_constant(value):
            return None
        self.scope.types.overridable.discard(self.scope.key(value))
        return np.asarray(self.scope.builder.constant_array(value))

    def remaining(self, *dropped: str) -> dict[str, Any]:
        """All attributes but these, for a node that is taken over."""
        return {k: v for k, v in self.attributes.items() if k not in dropped}

    # What it becomes.

    def emit(
        self, op: str, inputs: Sequence[int], attributes: dict[str, Any] | None = None, outputs: int = 1
    ) -> int:
        """Emit an operator in its newest form and return its first result."""
        return self.emit_many(op, inputs, attributes, outputs)[0]

    def emit_many(
        self, op: str, inputs: Sequence[int], attributes: dict[str, Any] | None = None, outputs: int = 1
    ) -> list[int]:
        """Emit an operator in its newest form and return all results."""
        trimmed = list(inputs)
        while trimmed and trimmed[-1] == NONE:
            trimmed.pop()
        return self.walk.emit(self.scope, op, trimmed, attributes or {}, outputs, self.name)

    def take_over(
        self, inputs: Sequence[int] | None = None, *dropped: str, op: str | None = None, **more: Any
    ) -> None:
        """Emit the node itself, with other inputs or attributes where given, and bind its outputs."""
        attributes = {**self.remaining(*dropped), **more}
        chosen = self.inputs if inputs is None else inputs
        self.result(*self.emit_many(op or self.op, chosen, attributes, max(len(self.outputs), 1)))

    def inline(self, function: FunctionProto, outer: Scope | None = None) -> None:
        """Put a function's body in the node's place, and bind its outputs."""
        wanted = max(len(self.outputs), 1)
        call = Call(self.scope, self.inputs, self.attributes, wanted, self.name, outer)
        self.result(*self.walk.inline(function, call))

    def ints(self, values: Sequence[int]) -> int:
        """A rank-1 int64 constant."""
        return self.array(np.asarray(list(values), np.int64))

    def array(self, array: Array, dtype: str | None = None) -> int:
        """A constant; ``dtype`` where NumPy has none for it."""
        name = dtype or array.dtype.name
        return self.walk.constant(self.scope, array, name, f"{self.name}/constant")

    def scalar_like(self, number: float, value: int) -> int:
        """A rank-0 constant of another value's dtype."""
        onnx_dtype = self.dtype(value)
        name, code, _ = DTYPES.get(onnx_dtype, DTYPES[BY_NAME["float32"]])
        if name == "bfloat16":
            bits = np.asarray(number, np.float32).view(np.uint32) >> 16
            return self.array(np.asarray(bits, np.uint16), "bfloat16")
        return self.array(np.asarray(number, np.dtype(code)), name)

    def result(self, *values: int) -> None:
        """Bind the node's outputs, in order."""
        for name, value in zip(self.outputs, values, strict=False):
            if name:
                self.scope.define(name, f"node '{self.name}'")
                self.scope.names[name] = value
                self.walk.name_value(self.scope, value, name)


def resolve_attributes(proto: NodeProto, scope: Scope) -> dict[str, AttributeProto]:
    """The node's attributes with references to the enclosing function's attributes replaced."""
    out: dict[str, AttributeProto] = {}
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            out[attribute.name] = attribute
            continue
        referred = scope.attributes.get(attribute.ref_attr_name)
        if referred is not None:
            copy = AttributeProto()
            copy.CopyFrom(referred)
            copy.name = attribute.name
            out[attribute.name] = copy
    return out
