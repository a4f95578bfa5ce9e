"""Scaled dot-product attention, written out: what all attention operators of com.microsoft share.

Not by ONNX's operator Attention: its causal mask changed its meaning between opsets, and an onnx package
before 1.18 does not know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..heads import heads_first, join_heads
from ..node import Node
from ..scope import NONE
from .registry import counted, scalar_size


@dataclass(frozen=True)
class Scoring:
    """How scores become weights. Masks are added and broadcast; `sink`: one more score per row, no value."""

    scale: float = 0.0  # 0: by the root of a head's size
    softcap: float = 0.0
    masks: Sequence[int] = field(default=())
    sink: int = NONE


def joined(node: Node, value: int) -> int:
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    return join_heads(node, heads_first(node, value))


def _scaled(node: Node, q: int, scale: float) -> int:
    if scale != 0.0:
        return node.emit("Mul", [q, node.scalar_like(scale, q)])
    size = node.emit("CastLike", [scalar_size(node, q, 3), node.array(np.asarray(0, np.float32))])
    return node.emit("Div", [q, node.emit("CastLike", [node.emit("Sqrt", [size]), q])])


def _weights(node: Node, scores: int, how: Scoring) -> int:
    if how.softcap:
        cap = node.scalar_like(how.softcap, scores)
        scores = node.emit("Mul", [node.emit("Tanh", [node.emit("Div", [scores, cap])]), cap])
    masks = list(how.masks)
    while len(masks) > 2:  # attention in one pass adds two; the first may be of all scores
        masks[-2:] = [node.emit("Add", masks[-2:])]
    for mask in masks:
        scores = node.emit("Add", [scores, mask])
    if how.sink == NONE:
        return node.emit("Softmax", [scores], {"axis": -1})
    first = node.emit("Slice", [scores, node.ints([0]), node.ints([1]), node.ints([3])])
    shape = node.emit("Shape", [first])
    more = node.emit("Expand", [how.sink, shape])
    made = node.emit("Softmax", [node.emit("Concat", [scores, more], {"axis": 3})], {"axis": -1})
    return node.emit("Slice", [made, node.ints([0]), node.ints([-1]), node.ints([3])])


def attend(node: Node, q: int, k: int, v: int, how: Scoring) -> int:
    """All of [batch, heads, length, size]; returns [batch, heads, length of q, size of v]."""
    turned = node.emit("Transpose", [k], {"perm": [0, 1, 3, 2]})
    scores = node.emit("MatMul", [_scaled(node, q, how.scale), turned])
    return node.emit("MatMul", [_weights(node, scores, how), v])


def bias_where(node: Node, kept: int, otherwise: float, like: int) -> int:
    """0 where kept, else a number that makes the weight vanish."""
    return node.emit("Where", [kept, node.scalar_like(0.0, like), node.scalar_like(otherwise, like)])


def positions(node: Node, q: int, k: int) -> tuple[int, int]:
    """Where the queries stand among the keys, as a column, and where the keys stand; the last of both agree.

    q and k: [batch, heads, length, size].
    """
    zero = node.array(np.asarray(0, np.int64))
    length, total = scalar_size(node, q, 2), scalar_size(node, k, 2)
    rows = counted(node, node.emit("Sub", [total, length]), total)
    return node.emit("Unsqueeze", [rows, node.ints([1])]), counted(node, zero, total)


def causal_mask(node: Node, q: int, k: int, otherwise: float) -> int:
    """[length, total]: no query sees a key behind it."""
    rows, columns = positions(node, q, k)
    return bias_where(node, node.emit("LessOrEqual", [columns, rows]), otherwise, q)
