"""Deep Interest Network (Zhou et al., 2018): a recommender's click model over a user's recent items."""

from __future__ import annotations

import numpy as np
import onnx

from ..builder import Builder

ITEMS, CATEGORIES, EMBEDDING, HISTORY = 60_000, 1_500, 64, 50
WIDTH = 2 * EMBEDDING


def din(batch: int) -> onnx.ModelProto:
    """DIN with 50 history items and 128-wide item vectors, ids in, click probability out;
    2.3 MMAC per candidate.
    """
    b = Builder(f"din_b{batch}", seed=5)
    items, categories = (
        b.constant(b.random((ITEMS, EMBEDDING), 0.3)),
        b.constant(b.random((CATEGORIES, EMBEDDING), 0.3)),
    )

    def embed(prefix: str, shape: list[int | str]) -> str:
        item = b.op("Gather", items, b.input(f"{prefix}_item", shape, np.int64), axis=0)
        category = b.op("Gather", categories, b.input(f"{prefix}_category", shape, np.int64), axis=0)
        return str(b.op("Concat", item, category, axis=-1))

    target = embed("target", [batch])
    history = embed("history", [batch, HISTORY])
    mask = b.input("history_mask", [batch, HISTORY])

    wide = b.op(
        "Expand",
        b.op("Unsqueeze", target, b.constant([1], "int64")),
        b.constant([batch, HISTORY, WIDTH], "int64"),
    )
    pair = b.op("Concat", wide, history, b.op("Sub", wide, history), b.op("Mul", wide, history), axis=-1)
    hidden = b.linear(b.linear(str(pair), 4 * WIDTH, 80, "Sigmoid"), 80, 40, "Sigmoid")
    scores = b.op("Reshape", b.linear(hidden, 40, 1), b.constant([batch, 1, HISTORY], "int64"))
    blocked = b.op("Mul", b.op("Sub", mask, b.constant(1.0)), b.constant(1e9))
    scores = b.op("Add", scores, b.op("Unsqueeze", blocked, b.constant([1], "int64")))
    interest = b.op("MatMul", b.op("Softmax", scores, axis=-1), history)
    interest = b.op("Reshape", interest, b.constant([batch, WIDTH], "int64"))

    x = str(b.op("Concat", interest, target, b.op("Mul", interest, target), axis=-1))
    for fan_in, out in [(3 * WIDTH, 200), (200, 80)]:
        x = str(b.op("PRelu", b.dense(x, fan_in, out), b.constant(np.full(out, 0.25))))
    b.output(b.activation(b.dense(x, 80, 1), "Sigmoid"), "click", [batch, 1])
    return b.model()


def din_1() -> onnx.ModelProto:
    """DIN, one candidate."""
    return din(1)


def din_64() -> onnx.ModelProto:
    """DIN, 64 candidates."""
    return din(64)
