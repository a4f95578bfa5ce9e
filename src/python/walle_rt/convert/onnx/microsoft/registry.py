"""How the rules of com.microsoft are registered, and what they ask of their nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..node import Node
from ..rules import Rule, rule
from ..unsupported import UnsupportedError

DOMAIN = "com.microsoft"


def contrib(*ops: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of com.microsoft."""
    return rule(*ops, domain=DOMAIN)


def number(node: Node, value: float, kind: type[np.generic] = np.float32) -> int:
    """A rank-0 constant."""
    return node.array(np.asarray(value, kind))


def refuse_input(node: Node, index: int, why: str) -> None:
    """The node is unsupported where it has this input."""
    if node.has(index):
        raise UnsupportedError(why)


def refuse_attribute(node: Node, name: str, why: str) -> None:
    """The node is unsupported where this flag is set."""
    if node.attr(name, 0):
        raise UnsupportedError(f"{name}={node.attr(name)}: {why}")


def refuse_output(node: Node, index: int, why: str) -> None:
    """The node is unsupported where somebody wants this result."""
    if node.uses(index):
        raise UnsupportedError(why)


def size_of(node: Node, value: int, axis: int) -> int:
    """The length of an axis, as a vector of one element."""
    shape = node.emit("Shape", [value])
    return node.emit("Gather", [shape, node.ints([axis])])


def scalar_size(node: Node, value: int, axis: int) -> int:
    """The length of an axis, as a scalar."""
    return node.emit("Gather", [node.emit("Shape", [value]), node.array(np.asarray(axis, np.int64))])


def counted(node: Node, start: int, end: int) -> int:
    """start, start + 1, ... end - 1, of scalars."""
    return node.emit("Range", [start, end, node.array(np.asarray(1, np.int64))])
