"""Types of intermediate values, inferred node by node with the schemas' own functions,
only where a rule asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import AttributeProto, NodeProto, TypeProto, helper
from onnx.shape_inference import infer_node_outputs

from .element_types import DTYPES

Key = tuple[int, int]  # (id of the builder, value number)


@dataclass(frozen=True)
class Produced:
    """How a value came to be; what its type is inferred from when somebody asks."""

    op: str
    domain: str
    opset: int
    attributes: tuple[AttributeProto, ...]
    inputs: tuple[Key | None, ...]
    outputs: int
    index: int


@dataclass
class Types:
    """Known types and the producers of all other values, across all builders of one conversion."""

    known: dict[Key, TypeProto | None] = field(default_factory=dict)
    produced: dict[Key, Produced] = field(default_factory=dict)
    constants: dict[Key, Any] = field(default_factory=dict)
    # Arrays of strings, which are uint8 with one more axis in the native graph; their type in `known` is the
    # model's.
    strings: set[Key] = field(default_factory=set)
    # Constants that a run may override: initializers that are inputs too. One leaves when a rule has looked
    # at its value or a body holds a copy of it: from then on it cannot have another.
    overridable: set[Key] = field(default_factory=set)

    def stands_for(self, key: Key, op: str, left: Key, right: TypeProto) -> None:
        """Tell the type of a value that no operator of ONNX makes by one that would."""
        operand = (key[0], -2 - key[1])  # value numbers are 0 and more, and -1 is none
        self.known[operand] = right
        made = self.produced[key]
        self.produced[key] = Produced(op, "", made.opset, (), (left, operand), 1, 0)


def type_of(types: Types, key: Key) -> TypeProto | None:
    """The type of a value, or None where it cannot be known."""
    stack = [key]
    while stack:
        top = stack[-1]
        if top in types.known:
            stack.pop()
            continue
        made = types.produced.get(top)
        if made is None:
            types.known[top] = None
            stack.pop()
            continue
        missing = [k for k in made.inputs if k is not None and k not in types.known]
        if missing and len(stack) < 1_000_000:
            stack += missing
            continue
        _infer(types, top, made)
        stack.pop()
    return types.known[key]


def _infer(types: Types, key: Key, made: Produced) -> None:
    types.known[key] = None
    node = NodeProto(op_type=made.op, domain=made.domain)
    node.attribute.extend(made.attributes)
    input_types: dict[str, TypeProto] = {}
    data: dict[str, Any] = {}
    for i, source in enumerate(made.inputs):
        if source is None:
            node.input.append("")
            continue
        known = types.known.get(source)
        if known is None:
            return
        node.input.append(f"i{i}")
        input_types[f"i{i}"] = known
        if source in types.constants:
            data[f"i{i}"] = types.constants[source]
    node.output.extend(f"o{i}" for i in range(made.outputs))
    try:
        schema = onnx.defs.get_schema(made.op, made.opset, made.domain)
        imports = [helper.make_opsetid(made.domain, made.opset)]
        found = infer_node_outputs(schema, node, input_types, data, opset_imports=imports)
    except Exception:  # an operator without inference, or a model it does not like: the type stays unknown
        return
    types.known[key] = found.get(f"o{made.index}")


def element_type(type_proto: TypeProto | None) -> int | None:
    """The ONNX number of a tensor's element type, or None."""
    if type_proto is None or not type_proto.HasField("tensor_type"):
        return None
    return int(type_proto.tensor_type.elem_type) or None


def rank_of(type_proto: TypeProto | None) -> int | None:
    """A tensor's rank, or None where it is not known."""
    if (
        type_proto is None
        or not type_proto.HasField("tensor_type")
        or not type_proto.tensor_type.HasField("shape")
    ):
        return None
    return len(type_proto.tensor_type.shape.dim)


def innermost(type_proto: TypeProto | None) -> TypeProto | None:
    """The tensor type inside sequences and optionals, or None where there is none."""
    while type_proto is not None and not type_proto.HasField("tensor_type"):
        if type_proto.HasField("sequence_type"):
            type_proto = type_proto.sequence_type.elem_type
        elif type_proto.HasField("optional_type"):
            type_proto = type_proto.optional_type.elem_type
        else:
            return None
    return type_proto


def kind_and_dtype(type_proto: TypeProto | None) -> tuple[str, str]:
    """Kind (tensor, sequence or optional) and the name of the dtype ("undefined") for the native graph."""
    kind = "tensor"
    outer = type_proto
    while outer is not None and kind != "optional" and not outer.HasField("tensor_type"):
        if outer.HasField("sequence_type"):
            kind = "sequence"
            outer = outer.sequence_type.elem_type
        elif outer.HasField("optional_type"):
            kind = "optional"
        else:
            break
    number = element_type(innermost(type_proto))
    return kind, DTYPES[number][0] if number in DTYPES else "undefined"


def dims_of(type_proto: TypeProto | None) -> list[int | str | None] | None:
    """The dimensions: sizes, symbols, None; or None for an unknown rank."""
    if (
        type_proto is None
        or not type_proto.HasField("tensor_type")
        or not type_proto.tensor_type.HasField("shape")
    ):
        return None
    dims: list[int | str | None] = []
    for dim in type_proto.tensor_type.shape.dim:
        if dim.HasField("dim_value"):
            dims.append(dim.dim_value)
        elif dim.dim_param:
            dims.append(dim.dim_param)
        else:
            dims.append(None)
    return dims
