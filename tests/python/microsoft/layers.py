"""Normalisations, activations, products and embeddings of com.microsoft."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Array, Case

rng = np.random.default_rng(5)


def floats(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def single(value: Any) -> Array:
    return np.asarray(value).astype(np.float32)


def wide(*values: Any) -> list[Array]:
    return [np.asarray(v, np.float64) for v in values]


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def gelu(x: Array) -> Array:
    return np.asarray(x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2))))


def fast_gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def layer_norm(x: Array, scale: Array, bias: Array | float, epsilon: float) -> Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(variance + epsilon) * scale + bias)


def rms_norm(x: Array, scale: Array, epsilon: float) -> Array:
    return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * scale)


def activations() -> Iterator[Case]:
    x, b = floats(2, 3, 8), floats(8)
    wx, wb = wide(x, b)
    yield Case("gelu", "Gelu", [x], [single(gelu(wx))])
    yield Case("bias gelu", "BiasGelu", [x, b], [single(gelu(wx + wb))])
    yield Case("fast gelu", "FastGelu", [x], [single(fast_gelu(wx))])
    yield Case("fast gelu with bias", "FastGelu", [x, b], [single(fast_gelu(wx + wb))])
    yield Case("quick gelu", "QuickGelu", [x], [single(wx * sigmoid(1.5 * wx))], {"alpha": 1.5})
    left, right = np.split(wx + wb, 2, axis=-1)
    yield Case("bias split gelu", "BiasSplitGelu", [x, b], [single(left * gelu(right))])
    skip = floats(2, 3, 8)
    yield Case("bias add", "BiasAdd", [x, b, skip], [single(wx + wb + skip)])
    yield Case("bias dropout", "BiasDropout", [x, b, skip], [single(wx + wb + skip)])
    scores, bias = floats(2, 3, 4, 5), floats(2, 1, 1, 5)
    raised = np.exp(np.float64(scores) + bias)
    want = single(raised / raised.sum(-1, keepdims=True))
    attributes = {"axis": 3, "is_inner_broadcast": 0}
    yield Case("bias softmax", "BiasSoftmax", [scores, bias], [want], attributes)
    want = single(raised / raised.sum((-2, -1), keepdims=True))
    attributes = {"axis": 2, "is_inner_broadcast": 0}
    yield Case("bias softmax over two axes", "BiasSoftmax", [scores, bias], [want], attributes)


def norms() -> Iterator[Case]:
    x, skip, gamma, beta, bias = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    wx, ws, wg, wb, wc = wide(x, skip, gamma, beta, bias)
    total = wx + ws + wc
    want = single(layer_norm(total, wg, wb, 1e-12))
    inputs: list[Array | None] = [x, skip, gamma, beta, bias]
    yield Case("skip layer", "SkipLayerNormalization", inputs, [want, None, None, single(total)])
    want = single(layer_norm(wx + ws, wg, 0.0, 1e-5))
    yield Case("skip layer, no beta", "SkipLayerNormalization", [x, skip, gamma], [want], {"epsilon": 1e-5})
    flat = floats(3, 8)
    want = single(layer_norm(wx + flat, wg, wb, 1e-12))
    yield Case("skip layer, one skip for all", "SkipLayerNormalization", [x, flat, gamma, beta], [want])
    want = single(rms_norm(total, wg, 1e-6))
    yield Case(
        "skip simplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias],
        [want, None, None, single(total)], {"epsilon": 1e-6},
    )  # fmt: skip
    want = single(rms_norm(wx, wg, 1e-5))
    yield Case(
        "simplified", "SimplifiedLayerNormalization", [x, gamma], [want], {"axis": -1, "epsilon": 1e-5},
        domain="",
    )  # fmt: skip
    want = single(layer_norm(wx, wg, wb, 1e-5))
    yield Case("layer, before opset 17", "LayerNormalization", [x, gamma, beta], [want], domain="", opset=14)
    image, scale, shift = floats(2, 4, 5, 8), floats(8), floats(8)
    groups = np.float64(image).reshape(2, 4, 5, 2, 4)
    mean, variance = groups.mean((1, 2, 4), keepdims=True), groups.var((1, 2, 4), keepdims=True)
    made = ((groups - mean) / np.sqrt(variance + 1e-5)).reshape(image.shape) * scale + shift
    attributes = {"groups": 2, "activation": 1, "epsilon": 1e-5}
    yield Case("group norm", "GroupNorm", [image, scale, shift], [single(made * sigmoid(made))], attributes)


def embeddings() -> Iterator[Case]:
    ids = rng.integers(0, 9, (2, 5)).astype(np.int32)
    segments, mask = (rng.integers(0, 2, (2, 5)).astype(np.int32) for _ in range(2))
    words, places, kinds, gamma, beta = floats(9, 8), floats(7, 8), floats(2, 8), floats(8), floats(8)
    total = np.float64(words)[ids] + np.float64(places)[:5] + np.float64(kinds)[segments]
    want = single(layer_norm(total, *wide(gamma, beta), 1e-12))
    tables = (2, 3, 4, 5, 6)
    name, count = "EmbedLayerNormalization", mask.sum(1).astype(np.int32)
    inputs: list[Array | None] = [ids, segments, words, places, kinds, gamma, beta, mask]
    yield Case("embed", name, inputs, [want, count, single(total)], fixed=tables)
    total = np.float64(words)[ids] + np.float64(places)[[[4, 3, 2, 1, 0]]]
    want = single(layer_norm(total, *wide(gamma, beta), 1e-12))
    order = np.asarray([[4, 3, 2, 1, 0]] * 2, np.int32)
    inputs = [ids, None, words, places, None, gamma, beta, None, order]
    yield Case("embed, positions given", name, inputs, [want, np.zeros(2, np.int32)], fixed=(2, 3, 5, 6))


def products() -> Iterator[Case]:
    a, b = floats(2, 3, 4), floats(2, 5, 4)
    want = single(0.5 * np.float64(a) @ np.float64(b).transpose(0, 2, 1))
    yield Case("fused matmul", "FusedMatMul", [a, b], [want], {"alpha": 0.5, "transB": 1})
    left = floats(4, 2, 3)
    turned = np.float64(left).transpose(1, 0, 2)  # batches of [4, 3]
    other = floats(2, 3, 5)
    want = single(turned @ other)
    yield Case("fused matmul, batches", "FusedMatMul", [left, other], [want], {"transBatchA": 1})
    left, other = floats(4, 3), floats(4, 5)
    want = single(np.float64(left).T @ other)
    yield Case("fused matmul, left turned", "FusedMatMul", [left, other], [want], {"transA": 1})
    bias = floats(5)
    product = 2 * np.float64(left).T @ other + bias
    want = single(np.where(product < 0, 0.1 * product, product))
    attributes = {"transA": 1, "alpha": 2.0, "activation": "LeakyRelu", "activation_alpha": 0.1}
    yield Case("fused gemm", "FusedGemm", [left, other, bias], [want], attributes)


def convolutions() -> Iterator[Case]:
    x, w, b, z = floats(2, 3, 6, 7), floats(4, 3, 1, 1), floats(4), floats(2, 4, 6, 7)
    plain = np.einsum("nchw,oc->nohw", np.float64(x), np.float64(w)[:, :, 0, 0]) + b[:, None, None]
    want = single(np.maximum(plain + z, 0))
    yield Case("fused conv", "FusedConv", [x, w, b, z], [want], {"activation": "Relu"}, (1,))
    want = single(np.clip(plain, -0.5, 0.25))
    attributes: dict[str, Any] = {"activation": "Clip", "activation_params": [-0.5, 0.25]}
    yield Case("fused conv, clipped", "FusedConv", [x, w, b], [want], attributes)
    turned = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    want = single(plain.transpose(0, 2, 3, 1))
    yield Case("conv, channels last", "NhwcFusedConv", [turned, w, b], [want])
    codes = rng.integers(0, 255, (1, 4, 6, 3)).astype(np.uint8)
    want = codes.reshape(1, 2, 2, 3, 2, 3).max((2, 4))
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield Case("max pool, channels last", "NhwcMaxPool", [codes], [want], attributes)


def aliases() -> Iterator[Case]:
    a, b = floats(4, 3), floats(5, 3)
    squares = ((np.float64(a)[:, None] - b) ** 2).sum(-1)
    yield Case("squared distances", "CDist", [a, b], [single(squares)], {"metric": "sqeuclidean"})
    yield Case("distances", "CDist", [a, b], [single(np.sqrt(squares))], {"metric": "euclidean"})
    yield Case("expand dims", "ExpandDims", [a, np.asarray(1, np.int32)], [a[:, None]], fixed=(1,))
    ends = [np.asarray(n, np.float32) for n in (2, 6)]
    yield Case("range", "Range", [*ends], [np.arange(2, 6, dtype=np.float32)])


def cases() -> Iterator[Case]:
    for family in (activations, norms, embeddings, products, convolutions, aliases):
        yield from family()
