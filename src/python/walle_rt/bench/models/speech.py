"""Recurrent speech networks: frames of 40 filter-bank energies in, one class distribution per frame out."""

from __future__ import annotations

import onnx

from ..builder import Builder

FRAMES, BANDS, HIDDEN, CLASSES, LAYERS = 100, 40, 128, 48, 2


def _recurrent(kind: str, gates: int) -> onnx.ModelProto:
    b = Builder(f"{kind.lower()}_speech", seed=gates)
    x = b.op("Transpose", b.input("frames", [1, FRAMES, BANDS]), perm=[1, 0, 2])
    fan_in = BANDS
    for _ in range(LAYERS):
        bound = (1.0 / HIDDEN) ** 0.5
        weights = [
            b.constant(b.random((1, gates * HIDDEN, fan_in), bound)),
            b.constant(b.random((1, gates * HIDDEN, HIDDEN), bound)),
            b.constant(b.random((1, 2 * gates * HIDDEN), bound)),
        ]
        extra = {"linear_before_reset": 1} if kind == "GRU" else {}
        states = 3 if kind == "LSTM" else 2
        y = b.op(kind, x, *weights, outputs=states, hidden_size=HIDDEN, **extra)[0]
        x, fan_in = b.op("Squeeze", y, b.constant([1], "int64")), HIDDEN
    x = b.linear(str(b.op("Transpose", x, perm=[1, 0, 2])), HIDDEN, CLASSES)
    b.output(str(b.op("Softmax", x, axis=-1)), "classes", [1, FRAMES, CLASSES])
    return b.model()


def gru_speech() -> onnx.ModelProto:
    """Two GRU layers of 128 over 100 frames, 17 MMAC."""
    return _recurrent("GRU", 3)


def lstm_speech() -> onnx.ModelProto:
    """Two LSTM layers of 128 over 100 frames, 22 MMAC."""
    return _recurrent("LSTM", 4)
