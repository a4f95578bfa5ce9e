"""Attention heads: split off the last axis, brought forward and joined again, for any sizes, 0 among them."""

from __future__ import annotations

from .node import Node


def _dims(node: Node, shape: int, start: int, end: int) -> int:
    return node.emit("Slice", [shape, node.ints([start]), node.ints([end])])


def split_heads(node: Node, value: int, heads: int) -> int:
    """[batch, length, heads * size] as [batch, length, heads, size]."""
    shape, count = node.emit("Shape", [value]), node.ints([heads])
    size = node.emit("Div", [_dims(node, shape, 2, 3), count])  # -1 would be lost beside an axis of 0
    apart = node.emit("Concat", [_dims(node, shape, 0, 2), count, size], {"axis": 0})
    return node.emit("Reshape", [value, apart], {"allowzero": 1})


def join_heads(node: Node, value: int) -> int:
    """[batch, length, heads, size] as [batch, length, heads * size]."""
    shape = node.emit("Shape", [value])
    width = node.emit("Mul", [_dims(node, shape, 2, 3), _dims(node, shape, 3, 4)])
    whole = node.emit("Concat", [_dims(node, shape, 0, 2), width], {"axis": 0})
    return node.emit("Reshape", [value, whole], {"allowzero": 1})


def heads_first(node: Node, value: int) -> int:
    """[batch, length, heads, size] as [batch, heads, length, size], and back."""
    return node.emit("Transpose", [value], {"perm": [0, 2, 1, 3]})
