"""The masks of Attention and MultiHeadAttention: which keys each query may see, in four forms."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..node import Node
from ..unsupported import UnsupportedError
from .attention import bias_where
from .registry import counted, scalar_size, size_of

_INTEGER = {"to": TensorProto.INT64}


def _bounds(node: Node, mask: int, k: int) -> int:
    """[batch, 1, 1, total]: keys before an end per sample, and from a start on where one is given."""
    one = node.ints([1])
    batch = size_of(node, k, 0)
    given = node.emit("Div", [size_of(node, mask, 0), node.emit("Max", [batch, one])])
    count = node.emit("Min", [given, node.ints([2])])  # any other length cannot be reshaped so
    shape = node.emit("Concat", [count, batch], {"axis": 0})
    rows = node.emit("Reshape", [node.emit("Cast", [mask], _INTEGER), shape], {"allowzero": 1})
    pads = node.emit("Concat", [node.ints([0, 0]), node.emit("Sub", [node.ints([2]), count]), node.ints([0])],
                     {"axis": 0})  # fmt: skip
    both = node.emit("Pad", [rows, pads])
    ends, starts = (
        node.emit("Unsqueeze", [node.emit("Gather", [both, node.array(np.asarray(i, np.int64))]), axes])
        for axes in [node.ints([1, 2, 3])]
        for i in (0, 1)
    )
    places = counted(node, node.array(np.asarray(0, np.int64)), scalar_size(node, k, 2))
    inside = node.emit("Less", [places, ends])
    return node.emit("And", [inside, node.emit("GreaterOrEqual", [places, starts])])


def padding_mask(node: Node, mask: int, k: int, otherwise: float) -> int:
    """What is added to the scores, [batch, 1, 1 or length, total]; k: [batch, heads, total, size].

    mask: ends, or ends and starts, of each sample's keys; [batch, total]; or [batch, length, total].
    """
    rank = node.rank(mask, "the mask")
    if rank == 1:
        return bias_where(node, _bounds(node, mask, k), otherwise, k)
    if rank not in (2, 3):
        raise UnsupportedError(f"a mask of rank {rank}: 1, 2 or 3 are known")
    whole = node.emit("Cast", [mask], _INTEGER)
    kept = node.emit("Greater", [whole, node.ints([0])])
    kept = node.emit("Unsqueeze", [kept, node.ints([1, 2] if rank == 2 else [1])])
    return bias_where(node, kept, otherwise, k)
