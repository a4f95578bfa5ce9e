"""Names and values while a graph is converted.

A Scope belongs to one native GraphBuilder. A graph body (If, Loop, Scan) has a builder of its own and a
parent scope: what it takes from outside becomes an input after its formal ones, so that every native graph is
closed. A function body shares its caller's builder but sees none of the caller's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, NodeProto, TypeProto

from ..report import refuse
from .types import Key, Types, kind_and_dtype, type_of

if TYPE_CHECKING:
    from ... import _core

NONE = -1


class Scope:
    """The names visible at one place of the model, and where they live."""

    def __init__(
        self,
        builder: _core.GraphBuilder,
        types: Types,
        *,
        opsets: dict[str, int],
        parent: Scope | None = None,
        prefix: str = "",
        attributes: dict[str, AttributeProto] | None = None,
    ) -> None:
        """A scope that emits into ``builder``; ``parent`` only for graph bodies."""
        self.builder = builder
        self.types = types
        self.opsets = opsets
        self.parent = parent
        self.prefix = prefix
        self.attributes = attributes or {}
        self.names: dict[str, int] = {}
        self.own: set[str] = set()  # names defined here: by inputs, initializers and nodes; each once
        self.initializers: dict[str, Any] = {}  # name -> function making the constant, on first use
        self.nodes: list[NodeProto] = []  # of the graph or function walked here, in order
        self.captures: list[int] = []  # value numbers in the parent's builder
        self.depth: int = parent.depth + 1 if parent else 0
        self.call_depth: int = parent.call_depth if parent else 0
        # Of the same builder; for functions whose graph attributes use the caller's names.
        self.fallback: Scope | None = None

    def define(self, name: str, by: str) -> None:
        """Note that this scope defines a name; a second definition is an error."""
        if name in self.own:
            raise refuse(
                f"value '{name}' made a second time by {by}",
                "one producer per name",
                by,
                "check the model with onnx.checker and export it again",
            )
        self.own.add(name)

    def key(self, value: int) -> Key:
        """The conversion-wide identity of a value of this scope's builder."""
        return (id(self.builder), value)

    def find(self, name: str) -> int | None:
        """The value a name stands for here; captured from outside where needed;
        None when nobody defines it.
        """
        if name in self.names:
            return self.names[name]
        if name in self.initializers:
            value: int = self.initializers[name](self)
            self.names[name] = value
            return value
        if self.parent is None:
            return self.fallback.find(name) if self.fallback else None
        outer = self.parent.find(name)
        if outer is None:
            return None
        value = NONE if outer == NONE else self._capture(name, outer)
        self.names[name] = value
        return value

    def lookup(self, name: str, node: str) -> int:
        """Like find, but an unknown name is an error in ``node``."""
        if name == "":
            return NONE
        value = self.find(name)
        if value is None:
            raise refuse(
                f"value '{name}' that nothing produces",
                "the name of an input, an initializer or an earlier node's output",
                f"node '{node}'",
                "check the model with onnx.checker and export it again",
            )
        return value

    def _capture(self, name: str, outer: int) -> int:
        assert self.parent is not None
        if self.parent.builder.is_constant(outer):
            value = self.builder.share_constant(self.parent.builder, outer)
            self.types.overridable.discard(self.parent.key(outer))
        else:
            kind, dtype, shape = self.describe_outer(outer)
            if self.parent.key(outer) in self.types.strings:
                dtype = "uint8"
            value = self.builder.input(name, kind, dtype, shape)
            self.captures.append(outer)
        self.types.known[self.key(value)] = self._outer_type(outer)
        outer_key = self.parent.key(outer)
        if outer_key in self.types.strings:
            self.types.strings.add(self.key(value))
        if outer_key in self.types.constants:
            self.types.constants[self.key(value)] = self.types.constants[outer_key]
        return value

    def _outer_type(self, outer: int) -> TypeProto | None:
        assert self.parent is not None
        return type_of(self.types, self.parent.key(outer))

    def describe_outer(self, outer: int) -> tuple[str, str, list[Any] | None]:
        """Kind, dtype and shape (always unknown here) of a captured value."""
        kind, dtype = kind_and_dtype(self._outer_type(outer))
        return kind, dtype, None
