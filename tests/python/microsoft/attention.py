"""Attention operators of com.microsoft: masks, caches, windows, rotary positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Array, Case
from .layers import floats, single
from .quantised import codes, plain

MASKED = -10000.0


def softmax(x: Array) -> Array:
    raised = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def heads(x: Array, count: int) -> Array:
    return np.float64(x).reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attend(q: Array, k: Array, v: Array, bias: Any = 0.0, scale: float = 0.0) -> Array:
    """[batch, heads, length, size] each; [batch, length, heads * size] out."""
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / np.sqrt(q.shape[-1])) + bias
    made = softmax(scores) @ v
    return np.asarray(made.transpose(0, 2, 1, 3).reshape(made.shape[0], made.shape[2], -1))


def hidden(kept: Array) -> Array:
    return np.where(kept, 0.0, MASKED)


def merged() -> Iterator[Case]:
    x, w, b = floats(2, 5, 12), floats(12, 24) / 3, floats(24)
    projected = np.float64(x) @ np.float64(w) + b
    q, k, v = (heads(part, 2) for part in np.split(projected, 3, axis=2))
    basic: list[Array | None] = [x, w, b]
    attributes: dict[str, Any] = {"num_heads": 2}
    yield Case("attention", "Attention", basic, [single(attend(q, k, v))], attributes, (1, 2))
    keys = np.arange(5)
    ends, starts = np.asarray([3, 5], np.int32), np.asarray([1, 2], np.int32)
    kept = keys < ends[:, None]
    want = single(attend(q, k, v, hidden(kept)[:, None, None]))
    yield Case("attention, ends", "Attention", [*basic, ends], [want], attributes)
    kept &= keys >= starts[:, None]
    want = single(attend(q, k, v, hidden(kept)[:, None, None]))
    both = np.concatenate([ends, starts])
    yield Case("attention, ends and starts", "Attention", [*basic, both], [want], attributes)
    raw = np.asarray([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], np.int32)
    want = single(attend(q, k, v, hidden(raw > 0)[:, None, None]))
    yield Case("attention, mask of keys", "Attention", [*basic, raw], [want], attributes)
    raw = np.tril(np.ones((2, 5, 5), np.int32))
    want = single(attend(q, k, v, hidden(raw > 0)[:, None]))
    yield Case("attention, mask of pairs", "Attention", [*basic, raw], [want], attributes)
    want = single(attend(q, k, v, hidden(raw > 0)[:, None], 0.5))
    one_way = {**attributes, "unidirectional": 1, "scale": 0.5}
    yield Case("attention, one way", "Attention", basic, [want], one_way)
    past = floats(2, 2, 2, 3, 4)
    longer = [np.concatenate([np.float64(past[i]), part], axis=2) for i, part in enumerate((k, v))]
    bias = floats(2, 2, 5, 8)
    want = single(attend(q, *longer))
    inputs = [*basic, None, past]
    yield Case("attention, past", "Attention", inputs, [want, single(np.stack(longer))], attributes)
    inputs = [*basic, None, past, bias]
    want = single(attend(q, *longer, bias))
    yield Case("attention, past and bias", "Attention", inputs, [want, single(np.stack(longer))], attributes)
    kept = np.arange(8) <= np.arange(3, 8)[:, None]
    want = single(attend(q, *longer, hidden(kept)))
    one_way = {**attributes, "unidirectional": 1}
    inputs = [*basic, None, past]
    yield Case("attention, past, one way", "Attention", inputs, [want, single(np.stack(longer))], one_way)
    wide = floats(12, 28) / 3
    sizes = {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}
    q, k, v = (heads(part, 2) for part in np.split(np.float64(x) @ np.float64(wide), [8, 16], axis=2))
    yield Case("attention, wider values", "Attention", [x, wide, np.zeros(28, np.float32)],
               [single(attend(q, k, v))], sizes)  # fmt: skip


def quantised() -> Iterator[Case]:
    x, w, b = codes(np.uint8, 2, 5, 12), codes(np.int8, 12, 24), floats(24)
    projected = plain(x, 0.01, 128) @ plain(w, 0.005, 0) + b
    q, k, v = (heads(part, 2) for part in np.split(projected, 3, axis=2))
    ends = np.asarray([3, 5], np.int32)
    want = single(attend(q, k, v, hidden(np.arange(5) < ends[:, None])[:, None, None]))
    scales = [np.asarray(n, np.float32) for n in (0.01, 0.005)]
    inputs = [x, w, b, *scales, ends, np.asarray(128, np.uint8), np.asarray(0, np.int8)]
    yield Case("quantised attention", "QAttention", inputs, [want], {"num_heads": 2}, (1, 2, 3, 4, 6, 7))


def separate() -> Iterator[Case]:
    q, k, v, b = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12), floats(28)
    name, attributes = "MultiHeadAttention", {"num_heads": 2}
    parts = [np.float64(x) + y for x, y in zip((q, k, v), np.split(b, [8, 16]), strict=True)]
    wq, wk, wv = (heads(part, 2) for part in parts)
    want = single(attend(wq, wk, wv))
    yield Case("multi-head", name, [q, k, v, b], [want, single(wk), single(wv)], attributes)
    mask = np.asarray([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], np.int32)
    bias = floats(1, 2, 3, 5)
    plain_heads = [heads(x, 2) for x in (q, k, v)]
    want = single(attend(*plain_heads, bias + hidden(mask > 0)[:, None, None], 0.3))
    inputs: list[Array | None] = [q, k, v, None, mask, bias]
    yield Case("multi-head, mask and bias", name, inputs, [want], {**attributes, "scale": 0.3})
    v = floats(2, 5, 8)
    plain_heads = [heads(x, 2) for x in (q, k, v)]
    whole = single(heads(k, 2)), single(heads(v, 2))
    want = single(attend(*plain_heads))
    yield Case("multi-head, keys by heads", name, [q, *whole], [want], attributes)
    past = floats(2, 2, 4, 4), floats(2, 2, 4, 4)
    longer = [np.concatenate([np.float64(p), x], axis=2) for p, x in zip(past, plain_heads[1:], strict=True)]
    want = single(attend(plain_heads[0], *longer))
    inputs = [q, k, v, None, None, None, *past]
    yield Case("multi-head, past", name, inputs, [want, *map(single, longer)], attributes)
    same = floats(2, 3, 2, 3, 4)
    packed = [np.float64(same[:, :, :, i]).transpose(0, 2, 1, 3) for i in range(3)]
    yield Case("multi-head, packed", name, [same], [single(attend(*packed))], attributes)
    one_way = hidden(np.arange(3) <= np.arange(3)[:, None])
    want = single(attend(*packed, one_way))
    yield Case("multi-head, packed, one way", name, [same], [want], {**attributes, "unidirectional": 1})
    pair = floats(2, 5, 2, 2, 4)
    halves = [np.float64(pair[:, :, :, i]).transpose(0, 2, 1, 3) for i in range(2)]
    want = single(attend(plain_heads[0], *halves))
    yield Case("multi-head, packed keys", name, [q, pair], [want], attributes)


def turned(x: Array, places: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """x: [batch, length, heads, size]; what has no angle stays."""
    x, half = np.float64(x).copy(), cos.shape[1]
    c, s = (np.float64(t)[places][:, :, None] for t in (cos, sin))
    first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    a, b = x[..., first].copy(), x[..., second].copy()
    x[..., first], x[..., second] = a * c - b * s, a * s + b * c
    return x


def rotary() -> Iterator[Case]:
    x, cos, sin = floats(2, 3, 16), floats(10, 4), floats(10, 4)
    by_heads = x.reshape(2, 3, 2, 8)
    places = np.asarray([[4, 0, 7], [1, 2, 3]], np.int64)
    for interleaved in (False, True):
        attributes = {"interleaved": int(interleaved)}
        what = ", interleaved" if interleaved else ""
        want = single(turned(by_heads, places, cos, sin, interleaved).reshape(x.shape))
        yield Case(f"rotary{what}", "RotaryEmbedding", [x, places, cos, sin], [want], attributes)
        rest = np.arange(5, 8) + np.zeros((2, 1), np.int64)
        made = turned(by_heads, rest, cos, sin, interleaved).transpose(0, 2, 1, 3)
        inputs = [np.ascontiguousarray(by_heads.transpose(0, 2, 1, 3)), np.asarray([5], np.int64), cos, sin]
        yield Case(f"rotary from a place on{what}", "RotaryEmbedding", inputs, [single(made)], attributes)
    part = turned(by_heads, places, cos[:, :2], sin[:, :2], False).reshape(x.shape)
    attributes = {"num_heads": 2, "rotary_embedding_dim": 4}
    inputs = [x, places, np.ascontiguousarray(cos[:, :2]), np.ascontiguousarray(sin[:, :2])]
    yield Case("rotary, part of a head", "RotaryEmbedding", inputs, [single(part)], attributes)


def group_scores(q: Array, k: Array, places: Array, window: int, softcap: float) -> Array:
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    keys, rows = np.arange(k.shape[2]), places[:, None, :, None]
    kept = (keys <= rows) & ((keys > rows - window) if window > 0 else True)
    return np.asarray(np.where(kept, scores, -np.inf))


def grouped_case(
    name: str, past: int, new: int, room: int = 0, extra: dict[str, Any] | None = None, packed: bool = False,
    lengths: tuple[int, ...] = (), sink: bool = False, batch: int = 2,
) -> Case:  # fmt: skip
    """4 query heads on 2 key heads of 16; `past` keys are cached, in a buffer of `room` or exactly."""
    attributes: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, **(extra or {})}
    q, k, v = floats(batch, new, 64), floats(batch, new, 32), floats(batch, new, 32)
    cache = [floats(batch, 2, room or past, 16) for _ in range(2)]
    cos, sin = floats(32, 8), floats(32, 8)
    totals = np.asarray(lengths or (past + new,) * batch)
    starts = np.maximum(totals - new, 0)
    places = starts[:, None] + np.arange(new)
    wq, wk, wv = (x.reshape(batch, new, -1, 16) for x in (q, k, v))
    rotary: list[Array | None] = [None, None]
    if attributes.get("do_rotary"):
        rotary = [cos, sin]
        interleaved = bool(attributes.get("rotary_interleaved"))
        wq, wk = (turned(x, places, cos, sin, interleaved) for x in (wq, wk))
    whole = np.zeros((2, batch, 2, max(room, int(totals.max())), 16))
    for i, x in enumerate((wk, wv)):
        whole[i, :, :, : cache[i].shape[2]] = cache[i]
        for sample, start in enumerate(starts):
            whole[i, sample, :, start : start + new] = np.float64(x[sample]).transpose(1, 0, 2)
    keys, values = (part.repeat(2, axis=1) for part in whole)
    window, softcap = int(attributes.get("local_window_size", -1)), float(attributes.get("softcap", 0.0))
    scores = group_scores(np.float64(wq).transpose(0, 2, 1, 3), keys, places, window, softcap)
    inputs: list[Array | None] = [q, k, v]
    if packed:
        inputs = [np.concatenate([q, k, v], axis=2), None, None]
    inputs += cache if past or room else [None, None]
    inputs += [np.asarray(totals - 1, np.int32), np.asarray(totals.max(), np.int32), *rotary]
    more = np.full((*scores.shape[:3], 1), -np.inf)
    if sink:
        given = floats(4)
        inputs += [None] * (11 - len(inputs)) + [given]
        more = np.float64(given)[None, :, None, None] + np.zeros((*scores.shape[:3], 1))
    elif attributes.get("smooth_softmax"):
        more = np.zeros_like(more)
    weights = softmax(np.concatenate([scores, more], axis=3))[..., :-1]
    made = (weights @ values).transpose(0, 2, 1, 3).reshape(batch, new, -1)
    while inputs[-1] is None:
        inputs.pop()
    for sample, total in enumerate(totals):
        whole[:, sample, :, total:] = np.nan
    want = [single(made), *map(single, whole)]
    return Case(name, "GroupQueryAttention", inputs, want, attributes)


def grouped() -> Iterator[Case]:
    yield grouped_case("grouped, first step", 0, 5)
    yield grouped_case("grouped, next step", 4, 1)
    yield grouped_case("grouped, next steps", 4, 3, batch=1)
    yield grouped_case("grouped, shared buffer", 4, 1, room=9)
    yield grouped_case("grouped, first step in a buffer", 0, 5, room=9)
    yield grouped_case("grouped, packed", 0, 5, packed=True)
    yield grouped_case("grouped, window", 6, 3, extra={"local_window_size": 2}, batch=1)
    yield grouped_case("grouped, window, first step", 0, 6, extra={"local_window_size": 2})
    yield grouped_case("grouped, softcap", 0, 5, extra={"softcap": 2.0})
    yield grouped_case("grouped, rotary", 4, 1, extra={"do_rotary": 1})
    yield grouped_case("grouped, rotary, interleaved", 0, 5, extra={"do_rotary": 1, "rotary_interleaved": 1})
    yield grouped_case("grouped, samples of two lengths", 6, 1, room=9, lengths=(4, 7))
    yield grouped_case("grouped, smooth", 0, 5, extra={"smooth_softmax": 1})
    yield grouped_case("grouped, sink", 0, 2, sink=True)


def cases() -> Iterator[Case]:
    for family in (merged, quantised, separate, rotary, grouped):
        yield from family()
