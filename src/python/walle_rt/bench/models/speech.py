"""Recurrent speech networks: frames of 40 filter-bank energies in, one class distribution per frame out."""

from __future__ import annotations

import onnx

from ..builder import Builder

FRAMES, BANDS, HIDDEN, CLASSES, LAYERS = 100, 40, 128, 48, 2
VOICE_FRAMES, VOICE_HIDDEN, VOICE_INNER = 10, 32, 24


def _recurrent(kind: str, gates: int, batch: int, frames: int) -> onnx.ModelProto:
    b = Builder(f"{kind.lower()}_speech", seed=gates)
    x = b.op("Transpose", b.input("frames", [batch, frames, BANDS]), perm=[1, 0, 2])
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
    b.output(str(b.op("Softmax", x, axis=-1)), "classes", [batch, frames, CLASSES])
    return b.model()


def gru_speech(batch: int = 1, size: int = FRAMES) -> onnx.ModelProto:
    """Two GRU layers of 128 over 100 frames by default, 17 MMAC."""
    return _recurrent("GRU", 3, batch, size)


def lstm_speech(batch: int = 1, size: int = FRAMES) -> onnx.ModelProto:
    """Two LSTM layers of 128 over 100 frames by default, 22 MMAC."""
    return _recurrent("LSTM", 4, batch, size)


def voice_rnn(batch: int = 1, size: int = VOICE_FRAMES) -> onnx.ModelProto:
    """Speech or not: a GRU of 32 and two dense layers over 10 frames by default, 7,946 parameters.

    So small that what a call and a step cost beside their arithmetic is what is timed.
    """
    b = Builder("voice_rnn", seed=8)
    x = b.op("Transpose", b.input("frames", [batch, size, BANDS]), perm=[1, 0, 2])
    bound = (1.0 / VOICE_HIDDEN) ** 0.5
    weights = [
        b.constant(b.random((1, 3 * VOICE_HIDDEN, BANDS), bound)),
        b.constant(b.random((1, 3 * VOICE_HIDDEN, VOICE_HIDDEN), bound)),
        b.constant(b.random((1, 6 * VOICE_HIDDEN), bound)),
    ]
    states = b.op("GRU", x, *weights, outputs=2, hidden_size=VOICE_HIDDEN, linear_before_reset=1)
    last = str(b.op("Squeeze", states[1], b.constant([0], "int64")))
    hidden = b.dense(last, VOICE_HIDDEN, VOICE_INNER, "Relu")
    b.output(str(b.op("Softmax", b.dense(hidden, VOICE_INNER, 2), axis=-1)), "speech", [batch, 2])
    return b.model()
