"""Attributes that an operator does not have: refused by name, for it would run with the default of another.

``LeakyRelu<alph = 0.3>`` is a slip that nothing else tells. ONNX's own operators are asked of its schemas, at
the opset of the model as onnx.checker and onnxruntime do; a model's functions of what they declare. The
domain com.microsoft has no schemas in the package onnx: there a name is refused that no rule asked for, while
one much like it was asked for in vain.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto

from .unsupported import UnsupportedError

# What this runtime's operators have beyond ONNX's: conversions write it, and a file that says it means ours.
_OWN = {"LSTM": frozenset({"round_state"})}


class Attributes(dict[str, AttributeProto]):
    """A node's attributes by name; remembers which names were asked for."""

    def __init__(self, given: dict[str, AttributeProto]) -> None:
        """Take over what a node has."""
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Like dict.get."""
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> AttributeProto:
        """Like dict's."""
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        """Like dict's."""
        self.asked.add(str(name))
        return super().__contains__(name)

    def items(self) -> Any:
        """Like dict's; whoever goes through them takes them all."""
        self.asked.update(self)
        return super().items()


def refuse_unknown(proto: NodeProto, domain: str, opset: int, function: FunctionProto | None) -> None:
    """UnsupportedError for an attribute that neither the operator's schema nor the function declares."""
    if not proto.attribute:
        return
    if function is not None:
        known: Iterable[str] | None = {*function.attribute, *(a.name for a in function.attribute_proto)}
    else:
        known = _declared(domain, proto.op_type, opset)
    if known is None:
        return
    for attribute in proto.attribute:
        if attribute.name not in known:
            raise UnsupportedError(_told(attribute.name, known, f"opset {opset}"))


def refuse_near_misses(given: Attributes) -> None:
    """UnsupportedError for a name nobody asked for, much like one that was asked for and is not there."""
    missing = given.asked - given.keys()
    for name in given.keys() - given.asked:
        if difflib.get_close_matches(name, missing, 1, 0.8):
            raise UnsupportedError(_told(name, missing, "it"))


@cache
def _declared(domain: str, op: str, opset: int) -> frozenset[str] | None:
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return None  # no such operator, or not yet: told by others
    return frozenset(schema.attributes) | _OWN.get(op, frozenset())


def _told(name: str, known: Iterable[str], where: str) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1, 0.5)
    hint = f": '{near[0]}' is meant?" if near else f"; it has {', '.join(sorted(known)) or 'none'}"
    return f"there is no attribute '{name}' in {where}{hint}"
