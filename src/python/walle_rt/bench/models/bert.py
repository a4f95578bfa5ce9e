"""BERT encoders (Devlin et al., 2018): the stack alone, and a whole model around given weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from ..builder import Array, Builder


@dataclass(frozen=True)
class Size:
    """The numbers that define an encoder."""

    layers: int
    width: int
    heads: int
    inner: int
    epsilon: float = 1e-12


MINILM = Size(layers=6, width=384, heads=12, inner=1536)
VOCABULARY, PLACES = 30_522, 512
BASE = Size(layers=12, width=768, heads=12, inner=3072)
Linear = Callable[[str, str, int, int], str]
Norm = Callable[[str, str], str]


def _layer(b: Builder, x: str, mask: str | None, size: Size, prefix: str, linear: Linear, norm: Norm) -> str:
    """One encoder layer; ``linear`` and ``norm`` bring the weights of the part they are asked for by name."""
    head = size.width // size.heads
    split = b.constant([0, -1, size.heads, head], "int64")

    def heads(part: str, perm: list[int]) -> str:
        y = linear(x, f"{prefix}attention.self.{part}", size.width, size.width)
        return str(b.op("Transpose", b.op("Reshape", y, split), perm=perm))

    scores = b.op("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
    scores = b.op("Div", scores, b.constant(head**0.5))
    if mask is not None:
        scores = b.op("Add", scores, mask)
    mixed = b.op("MatMul", b.op("Softmax", scores, axis=-1), heads("value", [0, 2, 1, 3]))
    mixed = b.op(
        "Reshape", b.op("Transpose", mixed, perm=[0, 2, 1, 3]), b.constant([0, -1, size.width], "int64")
    )
    out = linear(str(mixed), f"{prefix}attention.output.dense", size.width, size.width)
    x = norm(str(b.op("Add", out, x)), f"{prefix}attention.output.LayerNorm")
    inner = b.activation(linear(x, f"{prefix}intermediate.dense", size.width, size.inner), "Gelu")
    out = linear(inner, f"{prefix}output.dense", size.inner, size.width)
    return norm(str(b.op("Add", out, x)), f"{prefix}output.LayerNorm")


def bert_base(size: int = 128, batch: int = 1) -> onnx.ModelProto:
    """The BERT-base encoder stack on embedded tokens, 11 GMAC at 128 tokens; seeded weights."""
    b = Builder(f"bert_base_{size}", seed=12)
    x = b.input("hidden", [batch, size, BASE.width])
    for i in range(BASE.layers):
        x = _layer(
            b, x, None, BASE, f"encoder.layer.{i}.",
            lambda v, _, fan_in, out: b.linear(v, fan_in, out), lambda v, _: b.layer_norm(v, BASE.width),
        )  # fmt: skip
    b.output(x, "encoded", [batch, size, BASE.width])
    return b.model()


def sentence_encoder(
    weights: Mapping[str, Array], size: Size, shape: tuple[int | str, int | str] = ("batch", "tokens")
) -> onnx.ModelProto:
    """A whole sentence-embedding model around trained weights named as Hugging Face names them.

    Inputs ``input_ids`` and ``attention_mask``, int64 [batch, tokens]; output ``embedding``, float32 [batch,
    width]: the mean of the token vectors under the mask, scaled to length one. Numbers in ``shape`` fix an
    axis.
    """
    b = Builder("sentence_encoder")
    ids = b.input("input_ids", list(shape), np.int64)
    attention = b.input("attention_mask", list(shape), np.int64)

    def linear(x: str, name: str, _in: int, _out: int) -> str:
        y = b.op("MatMul", x, b.constant(weights[f"{name}.weight"].T))
        return str(b.op("Add", y, b.constant(weights[f"{name}.bias"])))

    def norm(x: str, name: str) -> str:
        scale, bias = b.constant(weights[f"{name}.weight"]), b.constant(weights[f"{name}.bias"])
        return str(b.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=size.epsilon))

    tokens = b.op("Gather", b.constant(weights["embeddings.word_embeddings.weight"]), ids, axis=0)
    count = b.op(
        "Slice",
        b.op("Shape", ids),
        b.constant([1], "int64"),
        b.constant([2], "int64"),
        b.constant([0], "int64"),
    )
    first = b.constant(weights["embeddings.token_type_embeddings.weight"][0])
    places = b.op(
        "Slice",
        b.constant(weights["embeddings.position_embeddings.weight"]),
        b.constant([0], "int64"),
        count,
        b.constant([0], "int64"),
    )
    x = norm(str(b.op("Add", b.op("Add", tokens, first), places)), "embeddings.LayerNorm")

    kept = b.op("Cast", attention, to=onnx.TensorProto.FLOAT)
    hidden = b.op("Mul", b.op("Sub", b.constant(1.0), kept), b.constant(-1e9))
    mask = str(b.op("Unsqueeze", hidden, b.constant([1, 2], "int64")))
    for i in range(size.layers):
        x = _layer(b, x, mask, size, f"encoder.layer.{i}.", linear, norm)

    column = b.op("Unsqueeze", kept, b.constant([2], "int64"))
    total = b.op("ReduceSum", b.op("Mul", x, column), b.constant([1], "int64"), keepdims=0)
    mean = b.op("Div", total, b.op("ReduceSum", column, b.constant([1], "int64"), keepdims=0))
    length = b.op("ReduceL2", mean, axes=[1], keepdims=1)
    b.output(
        str(b.op("Div", mean, b.op("Max", length, b.constant(1e-12)))), "embedding", [shape[0], size.width]
    )
    return b.model()


def bert_base_256(batch: int = 1) -> onnx.ModelProto:
    """The BERT-base encoder stack at 256 tokens."""
    return bert_base(256, batch)


def minilm(batch: int = 1, size: int = 128) -> onnx.ModelProto:
    """A sentence encoder of MiniLM-L6's sizes, ids in, 128 tokens by default, 1.4 GMAC; seeded weights."""
    random = Builder("weights", seed=6).random
    weights: dict[str, Array] = {
        "embeddings.word_embeddings.weight": random((VOCABULARY, MINILM.width), 0.05),
        "embeddings.position_embeddings.weight": random((PLACES, MINILM.width), 0.05),
        "embeddings.token_type_embeddings.weight": random((2, MINILM.width), 0.05),
    }

    def linear(name: str, fan_in: int, out: int) -> None:
        weights[f"{name}.weight"] = random((out, fan_in), fan_in**-0.5)
        weights[f"{name}.bias"] = random((out,), 0.02)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = 1 + random((MINILM.width,), 0.02)
        weights[f"{name}.bias"] = random((MINILM.width,), 0.02)

    norm("embeddings.LayerNorm")
    for i in range(MINILM.layers):
        prefix, width = f"encoder.layer.{i}.", MINILM.width
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{prefix}attention.{part}", width, width)
        norm(f"{prefix}attention.output.LayerNorm")
        linear(f"{prefix}intermediate.dense", width, MINILM.inner)
        linear(f"{prefix}output.dense", MINILM.inner, width)
        norm(f"{prefix}output.LayerNorm")
    return sentence_encoder(weights, MINILM, (batch, size))
