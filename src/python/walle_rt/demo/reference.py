"""The same encoder in float64 NumPy, written from the architecture and not from the graph:
an independent answer.
"""

from __future__ import annotations

import math

import numpy as np

from ..bench.builder import Array
from .minilm import Encoder

_erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x: Array) -> Array:
    """The exact Gaussian error linear unit."""
    return np.asarray(0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))))


def softmax(x: Array) -> Array:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def embed(encoder: Encoder, ids: Array) -> Array:
    """The embedding, float64 [width], of one text given as unpadded token ids, int64 [tokens]."""
    size = encoder.size

    def weight(name: str) -> Array:
        return encoder.weights[name].astype(np.float64)

    def dense(x: Array, name: str) -> Array:
        return np.asarray(x @ weight(f"{name}.weight").T + weight(f"{name}.bias"))

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + size.epsilon)
        return np.asarray(scaled * weight(f"{name}.weight") + weight(f"{name}.bias"))

    def heads(x: Array) -> Array:
        return x.reshape(len(ids), size.heads, -1).swapaxes(0, 1)

    table = "embeddings.{}_embeddings.weight"
    x = weight(table.format("word"))[ids] + weight(table.format("token_type"))[0]
    x = norm(x + weight(table.format("position"))[: len(ids)], "embeddings.LayerNorm")
    for layer in range(size.layers):
        at = f"encoder.layer.{layer}"
        q, k, v = (heads(dense(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value"))
        mixed = softmax(q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])) @ v
        mixed = mixed.swapaxes(0, 1).reshape(len(ids), size.width)
        x = norm(x + dense(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = gelu(dense(x, f"{at}.intermediate.dense"))
        x = norm(x + dense(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))
