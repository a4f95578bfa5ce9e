"""The function bodies by which ONNX itself defines some operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from .scope import NONE, Scope
from .types import Types, type_of
from .unsupported import UnsupportedError


@dataclass(frozen=True)
class Call:
    """A place in the model where a function's body is to stand."""

    scope: Scope
    inputs: list[int]
    attributes: dict[str, AttributeProto]
    outputs: int  # how many of the function's are wanted
    name: str
    outer: Scope | None = None  # whose names the body may use beside its own


def schema_function(
    known: Types,
    scope: Scope,
    op: str,
    domain: str,
    opset: int,
    inputs: list[int],
    attributes: Sequence[AttributeProto],
    outputs: int,
) -> FunctionProto | None:
    """The body ONNX defines an operator by, or None."""
    try:
        schema: Any = onnx.defs.get_schema(op, opset, domain)  # its stubs lack the function bodies
    except Exception:
        return None
    if schema.has_context_dependent_function:
        types = [None if i == NONE else type_of(known, scope.key(i)) for i in inputs]
        if any(t is None and i != NONE for t, i in zip(types, inputs, strict=True)):
            raise UnsupportedError("the types of its inputs must be known before run time to expand it")
        node = NodeProto(op_type=op, domain=domain)
        node.attribute.extend(attributes)
        node.input.extend("" if i == NONE else f"i{k}" for k, i in enumerate(inputs))
        node.output.extend(f"o{k}" for k in range(outputs))
        version = best_version(schema.context_dependent_function_opset_versions, opset)
        data = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [(t or TypeProto()).SerializeToString() for t in types]
        )
    elif schema.has_function:
        data = schema.get_function_with_opset_version(best_version(schema.function_opset_versions, opset))
    else:
        return None
    function = FunctionProto.FromString(data)
    if not function.node:  # the builder of the body gave up on these types
        return None
    defaults = {k: v.default_value for k, v in schema.attributes.items() if v.default_value.name}
    function.attribute_proto.extend(
        v for k, v in defaults.items() if k not in {a.name for a in function.attribute_proto}
    )
    return function


def best_version(versions: Iterable[int], opset: int) -> int:
    """The newest version of a function body that the opset allows."""
    known = list(versions)
    return max((v for v in known if v <= opset), default=min(known))
