"""GroupQueryAttention: several query heads share a key head; a cache, a window, rotary positions."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..heads import heads_first, join_heads, split_heads
from ..node import Node
from ..scope import NONE
from ..unsupported import UnsupportedError
from .attention import Scoring, attend, bias_where
from .registry import contrib, counted, refuse_output, scalar_size
from .rotary import Angles, rotated

_MASKED = -np.inf
_UNSUPPORTED_INPUTS = ((12, "k_scale"), (13, "v_scale"))


def _apart(node: Node) -> tuple[int, int, int]:
    """Query, key and value as [batch, length, heads, size], from three inputs or from one."""
    heads, shared = int(node.attr("num_heads")), int(node.attr("kv_num_heads"))
    if shared <= 0 or heads % shared:
        raise UnsupportedError(f"num_heads={heads} is no multiple of kv_num_heads={shared}")
    if node.has(1):
        return (
            split_heads(node, node.input(0), heads),
            split_heads(node, node.input(1), shared),
            split_heads(node, node.input(2), shared),
        )
    whole = split_heads(node, node.input(0), heads + 2 * shared)
    parts = node.emit_many("Split", [whole, node.ints([heads, shared, shared])], {"axis": 2}, 3)
    return parts[0], parts[1], parts[2]


def _size(node: Node, value: int) -> int:
    """A whole number that decides shapes, as a vector of one: said by a shape, it is known while planning."""
    shape = node.emit("Shape", [node.emit("ConstantOfShape", [value])])
    node.scope.types.known[node.scope.key(shape)] = helper.make_tensor_type_proto(TensorProto.INT64, [1])
    return shape


def _starts(node: Node, q: int) -> int:
    """[batch]: how many keys each sample has cached; none in a first step, which may be padded."""
    last = node.emit(
        "Cast", [node.emit("Reshape", [node.input(5), node.ints([-1])])], {"to": TensorProto.INT64}
    )
    total = node.emit("Add", [last, node.ints([1])])
    before = node.emit("Sub", [total, scalar_size(node, q, 1)])
    return node.emit("Max", [before, node.ints([0])])


def _cached(node: Node, past: int, value: int, starts: int, total: int) -> int:
    """[batch, heads, total, size]: the cache, made longer where it must be, with the new keys at `starts`."""
    value = heads_first(node, value)
    if past == NONE:
        past = node.emit("Slice", [value, node.ints([0]), node.ints([0]), node.ints([2])])
    missing = node.emit("Sub", [total, node.emit("Shape", [past], {"start": 2, "end": 3})])
    room = node.emit("Max", [missing, node.ints([0])])
    pads = node.emit("Concat", [node.ints([0] * 6), room, node.ints([0])], {"axis": 0})
    whole = node.emit("Pad", [past, pads])
    made = node.emit("TensorScatter", [whole, value, starts], {"axis": 2})
    node.scope.types.known[node.scope.key(made)] = node.type(whole)  # an onnx before 1.19 has no rule for it
    return made


def _mask(node: Node, places: int, k: int) -> int:
    """[batch, 1, length, total]: no key behind the query, none before its window."""
    zero = node.array(np.asarray(0, np.int64))
    keys = counted(node, zero, scalar_size(node, k, 2))
    rows = node.emit("Unsqueeze", [places, node.ints([1, 3])])
    kept = node.emit("LessOrEqual", [keys, rows])
    window = int(node.attr("local_window_size", -1))
    if window >= 0:  # the query's own key is one of them
        behind = node.emit("Sub", [rows, node.ints([window])])
        kept = node.emit("And", [kept, node.emit("Greater", [keys, behind])])
    return bias_where(node, kept, _MASKED, k)


def _sink(node: Node, q: int) -> int:
    """One more score per head: given, 0 with smooth_softmax, or none; [1, heads or 1, 1, 1]."""
    if node.has(11):
        return node.emit("Reshape", [node.input(11), node.ints([1, -1, 1, 1])])
    if int(node.attr("smooth_softmax", 0)) > 0:
        return node.emit("Reshape", [node.scalar_like(0.0, q), node.ints([1, 1, 1, 1])])
    return NONE


def _repeated(node: Node, value: int, times: int) -> int:
    """Every head as often as it is shared."""
    if times == 1:
        return value
    wide = node.emit("Unsqueeze", [value, node.ints([2])])
    shape = node.emit("Shape", [value])
    parts = [node.emit("Slice", [shape, node.ints([a]), node.ints([b])]) for a, b in ((0, 2), (2, 4))]
    spread = node.emit("Concat", [parts[0], node.ints([times]), parts[1]], {"axis": 0})
    heads = node.emit(
        "Mul", [node.emit("Slice", [shape, node.ints([1]), node.ints([2])]), node.ints([times])]
    )
    batch = node.emit("Slice", [shape, node.ints([0]), node.ints([1])])
    whole = node.emit("Concat", [batch, heads, parts[1]], {"axis": 0})
    return node.emit("Reshape", [node.emit("Expand", [wide, spread]), whole], {"allowzero": 1})


@contrib("GroupQueryAttention")
def grouped(node: Node) -> None:
    """query, key, value, two pasts, seqlens_k, total length, cosines, sines, positions, bias, sink."""
    for i, what in _UNSUPPORTED_INPUTS:
        if node.has(i):
            raise UnsupportedError(f"{what}: the cache is of floats")
    if node.attr("local_window_size", -1) == 0:
        raise UnsupportedError("local_window_size=0: a window without any key")
    refuse_output(node, 3, "the scores as a result")
    q, k, v = _apart(node)
    starts = _starts(node, q)
    zero = node.array(np.asarray(0, np.int64))
    row = counted(node, zero, scalar_size(node, q, 1))
    places = node.emit("Add", [node.emit("Unsqueeze", [starts, node.ints([1])]), row])
    if node.attr("do_rotary", 0):
        angles = Angles(node.input(7), node.input(8), bool(node.attr("rotary_interleaved", 0)))
        turned = node.input(9) if node.has(9) else places
        q, k = (rotated(node, x, turned, angles) for x in (q, k))
    length = _size(node, node.input(6))
    k, v = (_cached(node, node.input(3 + i), x, starts, length) for i, x in enumerate((k, v)))
    times = int(node.attr("num_heads")) // int(node.attr("kv_num_heads"))
    masks = [_mask(node, places, k), *([node.input(10)] if node.has(10) else [])]
    how = Scoring(float(node.attr("scale", 0.0)), float(node.attr("softcap", 0.0)), masks, _sink(node, q))
    wide_k, wide_v = (_repeated(node, x, times) for x in (k, v))
    made = heads_first(node, attend(node, heads_first(node, q), wide_k, wide_v, how))
    node.result(join_heads(node, made), k, v)
