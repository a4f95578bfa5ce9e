"""RotaryEmbedding (Su et al., "RoFormer", 2021): pairs of numbers turned by an angle of their position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..heads import heads_first, join_heads, split_heads
from ..node import Node
from .registry import contrib, counted, scalar_size, size_of


@dataclass(frozen=True)
class Angles:
    """Cosines and sines [positions, size / 2], and whether pairs are neighbours or half a head apart."""

    cos: int
    sin: int
    interleaved: bool


def _turned(node: Node, x: int, places: int, angles: Angles) -> int:
    """x: [batch, length, heads, size], of as many numbers per head as the angles are for."""
    axes = node.ints([2])
    cos, sin = (
        node.emit("Unsqueeze", [node.emit("Gather", [t, places], {"axis": 0}), axes])
        for t in (angles.cos, angles.sin)
    )
    if angles.interleaved:
        pairs = node.emit("Reshape", [x, node.ints([0, 0, 0, -1, 2])])
        a, b = node.emit_many("Split", [pairs], {"axis": 4, "num_outputs": 2}, 2)
        cos, sin = (node.emit("Unsqueeze", [t, node.ints([4])]) for t in (cos, sin))
    else:
        a, b = node.emit_many("Split", [x], {"axis": 3, "num_outputs": 2}, 2)
    first = node.emit("Sub", [node.emit("Mul", [a, cos]), node.emit("Mul", [b, sin])])
    second = node.emit("Add", [node.emit("Mul", [a, sin]), node.emit("Mul", [b, cos])])
    if not angles.interleaved:
        return node.emit("Concat", [first, second], {"axis": 3})
    pairs = node.emit("Concat", [first, second], {"axis": 4})
    return node.emit("Reshape", [pairs, node.emit("Shape", [x])], {"allowzero": 1})


def rotated(node: Node, x: int, places: int, angles: Angles) -> int:
    """x: [batch, length, heads, size]; places: [batch, length]; what has no angle stays as it is."""
    half = size_of(node, angles.cos, 1)
    whole = node.emit("Add", [half, half])
    start, end, axis = node.ints([0]), node.ints([np.iinfo(np.int64).max]), node.ints([3])
    head = node.emit("Slice", [x, start, whole, axis])
    tail = node.emit("Slice", [x, whole, end, axis])
    return node.emit("Concat", [_turned(node, head, places, angles), tail], {"axis": 3})


def _places(node: Node, x: int) -> int:
    """[batch or 1, length]: as given, or counted from one number on."""
    given = node.input(1)
    if node.rank(given, "position_ids") == 2:
        return given
    zero = node.array(np.asarray(0, np.int64))
    row = node.emit("Unsqueeze", [counted(node, zero, scalar_size(node, x, 1)), node.ints([0])])
    return node.emit("Add", [row, given])


def _head_size(node: Node, x: int) -> int:
    """[batch, length, heads * size] with the heads apart; their number or their size is known."""
    heads = int(node.attr("num_heads", 0))
    if heads:
        return split_heads(node, x, heads)
    shape, half = node.emit("Shape", [x]), size_of(node, node.input(2), 1)
    size = node.emit("Max", [node.emit("Add", [half, half]), node.ints([1])])
    count = node.emit("Div", [size_of(node, x, 2), size])
    outer = node.emit("Slice", [shape, node.ints([0]), node.ints([2])])
    apart = node.emit("Concat", [outer, count, size], {"axis": 0})
    return node.emit("Reshape", [x, apart], {"allowzero": 1})


@contrib("RotaryEmbedding")
def rotary(node: Node) -> None:
    """input [batch, length, heads * size] or [batch, heads, length, size], positions, cosines, sines."""
    angles = Angles(node.input(2), node.input(3), bool(node.attr("interleaved", 0)))
    x = node.input(0)
    if node.rank(x, "the input") == 4:
        x = heads_first(node, x)
        node.result(heads_first(node, rotated(node, x, _places(node, x), angles)))
        return
    heads = _head_size(node, x)
    made = rotated(node, heads, _places(node, x), angles)
    node.result(join_heads(node, made))
