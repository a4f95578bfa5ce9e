"""ViT-S/16 (Dosovitskiy et al., 2020; Touvron et al., 2020): a transformer over patches."""

from __future__ import annotations

import numpy as np
import onnx

from ..builder import Builder

PATCH, WIDTH, HEADS, LAYERS, INNER = 16, 384, 6, 12, 1536
HEAD = WIDTH // HEADS


def _attention(b: Builder, x: str) -> str:
    """One product for query, key and value, as exporters of ViT write it."""
    split = b.constant([0, -1, 3, HEADS, HEAD], "int64")
    parts = b.op("Transpose", b.op("Reshape", b.linear(x, WIDTH, 3 * WIDTH), split), perm=[2, 0, 3, 1, 4])
    query, key, value = (b.op("Gather", parts, b.scalar(i, "int64"), axis=0) for i in range(3))
    query = b.op("Mul", query, b.constant(HEAD**-0.5))
    scores = b.op("Softmax", b.op("MatMul", query, b.op("Transpose", key, perm=[0, 1, 3, 2])), axis=-1)
    mixed = b.op("Transpose", b.op("MatMul", scores, value), perm=[0, 2, 1, 3])
    return b.linear(str(b.op("Reshape", mixed, b.constant([0, -1, WIDTH], "int64"))), WIDTH, WIDTH)


def vit_s(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """ViT-S/16, 224x224 by default (197 tokens), 4.6 GMAC."""
    b = Builder("vit_s", seed=16)
    if size % PATCH:
        raise ValueError(f"size {size} of vit_s: expected a multiple of {PATCH}, for example 224")
    tokens = (size // PATCH) ** 2
    x = b.conv(b.input("input", [batch, 3, size, size]), WIDTH, PATCH, stride=PATCH, pad=0, act=None)
    x = b.op("Transpose", b.op("Reshape", x, b.constant([batch, WIDTH, tokens], "int64")), perm=[0, 2, 1])
    first = b.constant(np.tile(b.random((1, 1, WIDTH), 0.2), (batch, 1, 1)))
    x = str(b.op("Add", b.op("Concat", first, x, axis=1), b.constant(b.random((1, tokens + 1, WIDTH), 0.2))))
    for _ in range(LAYERS):
        x = str(b.op("Add", x, _attention(b, b.layer_norm(x, WIDTH, 1e-6))))
        inner = b.linear(b.layer_norm(x, WIDTH, 1e-6), WIDTH, INNER, "Gelu")
        x = str(b.op("Add", x, b.linear(inner, INNER, WIDTH)))
    x = b.layer_norm(x, WIDTH, 1e-6)
    chosen = str(b.op("Gather", x, b.scalar(0, "int64"), axis=1))
    b.output(b.dense(chosen, WIDTH, 1000), "logits", [batch, 1000])
    return b.model()
