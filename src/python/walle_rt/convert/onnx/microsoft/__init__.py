"""Domain com.microsoft: what onnxruntime's quantisers and optimisers write, said with operators of ONNX.

One module per family. Nothing here is an operator of the native table: a backend needs no kernel for any of
them, and what a rule emits is merged, fused and folded like the rest of the model.
"""

from __future__ import annotations

from . import (
    activations,
    aliases,
    embedding,
    fused,
    grouped_attention,
    integer_products,
    multi_head,
    norms,
    packed_weights,
    qlinear,
    recurrent,
    rotary,
)

__all__ = [
    "activations",
    "aliases",
    "embedding",
    "fused",
    "grouped_attention",
    "integer_products",
    "multi_head",
    "norms",
    "packed_weights",
    "qlinear",
    "recurrent",
    "rotary",
]
