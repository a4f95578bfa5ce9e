"""Channels last: transposed, done with channels first, transposed back; the copies merge where rules meet."""

from __future__ import annotations

from collections.abc import Callable

from ..node import Node


def channels_first(node: Node, value: int) -> int:
    """[N, ..., C] as [N, C, ...]."""
    rank = node.rank(value, "the input")
    return node.emit("Transpose", [value], {"perm": [0, rank - 1, *range(1, rank - 1)]})


def channels_last(node: Node, value: int, rank: int) -> int:
    """[N, C, ...] as [N, ..., C]."""
    return node.emit("Transpose", [value], {"perm": [0, *range(2, rank), 1]})


def in_channels_first(node: Node, value: int, last: bool, layer: Callable[[int], int]) -> int:
    """A layer that knows channels first alone, on a value that has them last where `last` says so."""
    if not last:
        return layer(value)
    return channels_last(node, layer(channels_first(node, value)), node.rank(value, "the input"))
