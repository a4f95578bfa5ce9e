"""Attention, QAttention and MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..heads import heads_first, join_heads, split_heads
from ..node import Node
from ..scope import NONE
from ..types import rank_of
from ..unsupported import UnsupportedError
from .attention import Scoring, attend, causal_mask, joined
from .integer_products import plus, scaled_product
from .masks import padding_mask
from .registry import contrib, refuse_attribute, refuse_input, refuse_output

_MASKED = -10000.0  # onnxruntime's: finite, so that a row without any key is the mean of all values


def _scoring(node: Node, q: int, k: int, mask: int, bias: int) -> Scoring:
    otherwise = float(node.attr("mask_filter_value", _MASKED))
    masks = [] if bias == NONE else [bias]
    if mask != NONE:
        masks.append(padding_mask(node, mask, k, otherwise))
    if node.attr("unidirectional", 0):
        # Alone it leaves every query its own key: weights are the same 0, and -infinity becomes a comparison.
        alone = mask == NONE and otherwise <= _MASKED
        masks.append(causal_mask(node, q, k, -np.inf if alone else otherwise))
    return Scoring(scale=float(node.attr("scale", 0.0)), masks=masks)


def _heads(node: Node, value: int, heads: int) -> int:
    return heads_first(node, split_heads(node, value, heads))


def _behind(node: Node, past: int, value: int) -> int:
    return value if past == NONE else node.emit("Concat", [past, value], {"axis": 2})


def _pick(node: Node, value: int, index: int, axis: int) -> int:
    return node.emit("Gather", [value, node.array(np.asarray(index, np.int64))], {"axis": axis})


def _projected(node: Node, projection: int, mask: int, past: int, bias: int) -> None:
    """Attention from [batch, length, q + k + v] on; past and present: [2, batch, heads, length, size]."""
    refuse_attribute(node, "do_rotary", "rotate with an operator of its own")
    refuse_attribute(node, "past_present_share_buffer", "the cache is made anew for every step")
    heads = int(node.attr("num_heads"))
    sizes = node.attr("qkv_hidden_sizes")
    inputs = [projection] if not sizes else [projection, node.ints(sizes)]
    attributes = {"axis": 2} if sizes else {"axis": 2, "num_outputs": 3}
    q, k, v = (_heads(node, part, heads) for part in node.emit_many("Split", inputs, attributes, 3))
    if past != NONE:
        k, v = (_behind(node, _pick(node, past, i, 0), value) for i, value in enumerate((k, v)))
    made = joined(node, attend(node, q, k, v, _scoring(node, q, k, mask, bias)))
    if not node.uses(1):
        node.result(made)
        return
    present = [node.emit("Unsqueeze", [value, node.ints([0])]) for value in (k, v)]
    node.result(made, node.emit("Concat", present, {"axis": 0}))


@contrib("Attention")
def attention(node: Node) -> None:
    """input, weights, bias, mask, past, a bias of the scores."""
    refuse_input(node, 6, "past_sequence_length: the cache is made anew for every step")
    projection = plus(node, node.emit("MatMul", node.inputs[:2]), node.input(2))
    _projected(node, projection, node.input(3), node.input(4), node.input(5))


@contrib("QAttention")
def quantised_attention(node: Node) -> None:
    """input and weights of 8 bits, a float bias, two scales, mask, two zero points, past."""
    i = node.input
    projection = plus(node, scaled_product(node, (i(0), i(1)), (i(3), i(4)), (i(6), i(7))), i(2))
    _projected(node, projection, i(5), i(8), NONE)


def _unpacked(node: Node) -> Sequence[int]:
    """Query, key and value as given, or from one value that holds two or three of them on axis 3."""
    q, k, v = (node.input(i) for i in range(3))
    if k == NONE:
        refuse_input(node, 3, "a bias beside packed query, key and value")
        return [join_heads(node, _pick(node, q, i, 3)) for i in range(3)]
    if v == NONE:
        refuse_input(node, 3, "a bias beside packed key and value")
        return [q, *(join_heads(node, _pick(node, k, i, 3)) for i in range(2))]
    return q, k, v


def _biased(node: Node, values: Sequence[int]) -> list[int]:
    """[batch, length, heads * size] each, with its part of the bias; keys of rank 4 have none."""
    bias = node.input(3)
    if bias == NONE:
        return [*values]
    out, start = [], node.ints([0])
    for value in values:
        if rank_of(node.type(value)) == 4:
            out.append(value)
            continue
        end = node.emit("Add", [start, node.emit("Shape", [value], {"start": 2, "end": 3})])
        out.append(node.emit("Add", [value, node.emit("Slice", [bias, start, end])]))
        start = end
    return out


@contrib("MultiHeadAttention")
def multi_head_attention(node: Node) -> None:
    """query, key, value, bias, mask, a bias of the scores, past key and value."""
    for i, what in ((8, "past_sequence_length"), (9, "cache_indirection")):
        refuse_input(node, i, f"{what}: the cache is made anew for every step")
    refuse_output(node, 3, "the scores as a result")
    heads, values = int(node.attr("num_heads")), _biased(node, _unpacked(node))
    ranks = [node.rank(value, "query, key and value") for value in values]
    if ranks[0] != 3 or any(rank not in (3, 4) for rank in ranks):
        raise UnsupportedError(f"query, key and value of ranks {ranks}")
    q, k, v = (_heads(node, i, heads) if rank == 3 else i for i, rank in zip(values, ranks, strict=True))
    if node.has(6) and node.has(7):
        k, v = _behind(node, node.input(6), k), _behind(node, node.input(7), v)
    how = _scoring(node, q, k, node.input(4), node.input(5))
    node.result(joined(node, attend(node, q, k, v, how)), k, v)
