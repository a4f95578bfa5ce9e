"""What the results of a model are, told from the schemas alone: no shapes, one chain of nodes per result.

Shape inference would tell it too, for the price of inferring every node before it.
"""

from __future__ import annotations

import onnx

from .element_types import BY_NAME
from .types import Key, Types, element_type

_TO = {"Cast": "to", "BitCast": "to"}  # operators whose result's type is an attribute
_LONGEST = 100_000  # nodes followed: more than any model has in a row


def result_dtype(types: Types, key: Key) -> int | None:
    """The ONNX element type of a tensor, or None where the schemas do not fix it."""
    for _ in range(_LONGEST):
        if key in types.known:
            return element_type(types.known[key])
        made = types.produced.get(key)
        if made is None:
            return None
        if made.op in _TO:
            return next((int(a.i) for a in made.attributes if a.name == _TO[made.op]), None)
        try:
            schema = onnx.defs.get_schema(made.op, made.opset, made.domain)
        except onnx.defs.SchemaError:
            return None
        formal = schema.outputs[min(made.index, len(schema.outputs) - 1)].type_str
        if formal.startswith("tensor("):
            return BY_NAME.get(_numpy_name(formal[len("tensor(") : -1]))
        source = _source(schema, made.inputs, formal)
        if source is None:
            return None
        key = source
    return None


def _source(schema: onnx.defs.OpSchema, inputs: tuple[Key | None, ...], formal: str) -> Key | None:
    """The input whose type is the result's; a variadic one may hold several types and says nothing."""
    for declared, given in zip(schema.inputs, inputs, strict=False):
        if declared.type_str == formal and given is not None:
            variadic = declared.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
            return given if not variadic or declared.is_homogeneous else None
    return None


def _numpy_name(name: str) -> str:
    return {"float": "float32", "double": "float64"}.get(name, name)
