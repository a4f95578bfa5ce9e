"""Operators on codes: dequantised in float64, computed, quantised again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Array, Case
from .layers import floats, rng, sigmoid, single

ROUNDED = 1  # onnxruntime folds scales before it rounds: a result halfway between two codes goes either way


def codes(kind: type[np.generic], *shape: int) -> Array:
    info = np.iinfo(kind)  # type: ignore[type-var]
    return rng.integers(info.min, info.max + 1, shape).astype(kind)


def plain(x: Array, scale: float, zero: int) -> Array:
    return (x.astype(np.float64) - zero) * float(np.float32(scale))


def coded(x: Array, scale: float, zero: int, kind: type[np.generic]) -> Array:
    info = np.iinfo(kind)  # type: ignore[type-var]
    return np.clip(np.rint(x / float(np.float32(scale))) + zero, info.min, info.max).astype(kind)


def grid(scale: float, zero: int, kind: type[np.generic]) -> list[Array | None]:
    """Scale and zero point as inputs."""
    return [np.asarray(scale, np.float32), np.asarray(zero, kind)]


def elementwise() -> Iterator[Case]:
    for kind, za, zb, zc in ((np.uint8, 128, 7, 100), (np.int8, 3, -5, 0)):
        a, b = codes(kind, 2, 3, 5), codes(kind, 3, 5)
        fa, fb = plain(a, 0.02, za), plain(b, 0.05, zb)
        inputs = [a, *grid(0.02, za, kind), b, *grid(0.05, zb, kind)]
        what = kind.__name__
        for name, value, scale in (("Add", fa + fb, 0.07), ("Mul", fa * fb, 0.11)):
            want = coded(value, scale, zc, kind)
            yield Case(
                f"{name}, {what}", f"QLinear{name}", [*inputs, *grid(scale, zc, kind)], [want], steps=1
            )
        one = [a, *grid(0.02, za, kind)]
        want = coded(sigmoid(fa), 1 / 256, zc, kind)
        yield Case(f"sigmoid, {what}", "QLinearSigmoid", [*one, *grid(1 / 256, zc, kind)], [want], steps=1)
        want = coded(np.where(fa < 0, 0.1 * fa, fa), 0.03, zc, kind)
        yield Case(
            f"leaky relu, {what}", "QLinearLeakyRelu", [*one, *grid(0.03, zc, kind)], [want],
            {"alpha": 0.1}, steps=1,
        )  # fmt: skip
        raised = np.exp(fa - fa.max(-1, keepdims=True))
        low = np.iinfo(kind).min
        want = coded(raised / raised.sum(-1, keepdims=True), 1 / 256, low, kind)
        yield Case(
            f"softmax, {what}", "QLinearSoftmax", [*one, *grid(1 / 256, low, kind)], [want],
            {"axis": -1, "opset": 13}, (1, 2, 3, 4), steps=1,
        )  # fmt: skip
        scale = 1 / 100.9  # of which onnxruntime makes 100 steps
        want = coded(raised / raised.sum(-1, keepdims=True), 1 / 100, low, kind)
        yield Case(
            f"softmax, whole steps, {what}", "QLinearSoftmax", [*one, *grid(scale, low, kind)], [want],
            {"axis": -1, "opset": 13}, (1, 2, 3, 4),
        )  # fmt: skip
        whole = raised.reshape(2, -1) * np.exp(fa.max(-1)).reshape(2, -1).repeat(5, axis=1)
        want = coded((whole / whole.sum(-1, keepdims=True)).reshape(a.shape), 1 / 256, low, kind)
        yield Case(
            f"softmax over two axes, {what}", "QLinearSoftmax", [*one, *grid(1 / 256, low, kind)], [want],
            {"axis": 1, "opset": 12}, (1, 2, 3, 4), steps=1,
        )  # fmt: skip


def pools() -> Iterator[Case]:
    x = codes(np.uint8, 2, 3, 4, 6)
    value, inputs = plain(x, 0.02, 120), [x, *grid(0.02, 120, np.uint8), *grid(0.015, 100, np.uint8)]
    want = coded(value.mean((2, 3), keepdims=True), 0.015, 100, np.uint8)
    yield Case("global average", "QLinearGlobalAveragePool", inputs, [want], {"channels_last": 0}, steps=1)
    means = value.reshape(2, 3, 2, 2, 3, 2).mean((3, 5))
    attributes: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    want = coded(means, 0.015, 100, np.uint8)
    yield Case("average", "QLinearAveragePool", inputs, [want], attributes, steps=1)
    last = [np.ascontiguousarray(x.transpose(0, 2, 3, 1)), *inputs[1:]]
    want = np.ascontiguousarray(want.transpose(0, 2, 3, 1))
    attributes = {**attributes, "channels_last": 1}
    yield Case("average, channels last", "QLinearAveragePool", last, [want], attributes, steps=1)


def joining() -> Iterator[Case]:
    a, b = codes(np.uint8, 2, 3), codes(np.uint8, 2, 4)
    one, two = grid(0.02, 120, np.uint8), grid(0.05, 10, np.uint8)
    to = grid(0.04, 60, np.uint8)
    values = np.concatenate([plain(a, 0.02, 120), plain(b, 0.05, 10)], axis=1)
    want = coded(values, 0.04, 60, np.uint8)
    fixed = (0, 1, 3, 4, 6, 7)
    yield Case("concat", "QLinearConcat", [*to, a, *one, b, *two], [want], {"axis": 1}, fixed, steps=1)
    b, choice = codes(np.uint8, 2, 3), rng.random((2, 3)) < 0.5
    want = coded(np.where(choice, plain(a, 0.02, 120), plain(b, 0.05, 10)), 0.04, 60, np.uint8)
    yield Case(
        "where", "QLinearWhere", [choice, a, *one, b, *two, *to], [want], {}, (2, 3, 5, 6, 7, 8), steps=1
    )


def dynamically(x: Array) -> Array:
    """Rounded to 256 codes over its own range, which holds 0."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    step = np.float32(high - low) / np.float32(255)
    zero = np.rint(-low / step)
    return np.asarray((np.clip(np.rint(x / step) + zero, 0, 255) - zero) * np.float64(step))


def matrices() -> Iterator[Case]:
    a, b, bias = codes(np.uint8, 3, 8), codes(np.int8, 8, 5), floats(5)
    scales = np.abs(floats(5)) / 50 + np.float32(0.01)
    zeros = codes(np.int8, 5)
    fa, fb = plain(a, 0.02, 99), (b.astype(np.float64) - zeros) * scales
    inputs: list[Array | None] = [
        a, b, np.asarray(0.02, np.float32), scales, np.asarray(99, np.uint8), zeros, bias,
    ]  # fmt: skip
    yield Case("integers to float", "MatMulIntegerToFloat", inputs, [single(fa @ fb + bias)])
    x = floats(2, 3, 8)
    inputs = [x, b, scales, zeros, bias]
    want = single(dynamically(x) @ fb + bias)
    yield Case("dynamic", "DynamicQuantizeMatMul", inputs, [want], fixed=(1, 2, 3))
    a, c = codes(np.uint8, 8, 3), rng.integers(-500, 500, 5).astype(np.int32)
    plain_b = plain(b, 0.05, 4)
    value = 0.5 * (plain(a, 0.02, 99).T @ plain_b + c * np.float64(np.float32(0.02)) * np.float32(0.05))
    inputs = [a, *grid(0.02, 99, np.uint8), b, *grid(0.05, 4, np.int8), c]
    attributes = {"transA": 1, "alpha": 0.5}
    yield Case("gemm to float", "QGemm", [*inputs, None, None], [single(value)], attributes)
    want = coded(value, 0.2, 130, np.uint8)
    yield Case("gemm", "QGemm", [*inputs, *grid(0.2, 130, np.uint8)], [want], attributes, steps=1)
    w = codes(np.int8, 4, 3, 1, 1)
    image = codes(np.uint8, 1, 5, 6, 3)
    sums = plain(image, 0.02, 99) @ plain(w[:, :, 0, 0], 0.01, 0).T
    want = coded(sums, 0.05, 128, np.uint8)
    inputs = [image, *grid(0.02, 99, np.uint8), w, *grid(0.01, 0, np.int8), *grid(0.05, 128, np.uint8)]
    fixed = (1, 2, 3, 4, 5, 6, 7)
    attributes = {"channels_last": 1}
    yield Case("quantised conv, channels last", "QLinearConv", inputs, [want], attributes, fixed, steps=1)


def linear() -> Iterator[Case]:
    x = floats(3, 4)
    for kind, zero, scale in ((np.uint16, 30000, 1e-4), (np.int16, -5, 1e-4), (np.int8, 3, 0.03)):
        want = coded(np.float64(x), scale, zero, kind)
        what = np.dtype(kind).name
        yield Case(f"quantize, {what}", "QuantizeLinear", [x, *grid(scale, zero, kind)], [want], steps=1)
        back = single(plain(want, scale, zero))
        yield Case(f"dequantize, {what}", "DequantizeLinear", [want, *grid(scale, zero, kind)], [back])


def lstm() -> Iterator[Case]:
    """One direction; gates in the order i, o, f, c; the state is rounded before each step."""
    hidden = 4
    x, w, r, b = floats(3, 2, 5), codes(np.int8, 1, 5, 16), codes(np.int8, 1, hidden, 16), floats(1, 32)
    scales = [(np.abs(floats(1, 16)) / 100).astype(np.float32), np.asarray([0.004], np.float32)]
    zeros = [np.zeros((1, 16), np.int8), np.asarray([3], np.int8)]
    wide = [(m[0].astype(np.float64) - z[0]) * s[0] for m, s, z in zip((w, r), scales, zeros, strict=True)]
    h, c = np.zeros((2, hidden)), np.zeros((2, hidden))
    steps = []
    for row in dynamically(x):
        rounded = dynamically(h.astype(np.float32)) if h.any() else h
        sums = row @ wide[0] + rounded @ wide[1] + np.float64(b[0, :16]) + b[0, 16:]
        i, o, f, g = np.split(sums, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    inputs = [x, w, r, b, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]]
    want = [single(np.stack(steps)[:, None]), single(h[None]), single(c[None])]
    yield Case("lstm", "DynamicQuantizeLSTM", inputs, want, {"hidden_size": hidden}, (1, 2, 8, 9, 10, 11))


def cases() -> Iterator[Case]:
    for family in (elementwise, pools, joining, matrices, linear, lstm):
        yield from family()
