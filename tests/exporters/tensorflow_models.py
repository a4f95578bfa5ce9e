"""Keras models as tf2onnx writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf2onnx
from case import Case, Feeds

layers = tf.keras.layers

MODELS: dict[str, tuple[tuple[int, ...], Callable[[], list[Any]]]] = {
    "MLP": ((8,), lambda: [layers.Dense(16, activation="relu"), layers.Dense(3, activation="softmax")]),
    "convolutions": (
        (16, 16, 3),
        lambda: [layers.Conv2D(8, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
                 layers.MaxPooling2D(), layers.DepthwiseConv2D(3), layers.GlobalAveragePooling2D()],
    ),
    "transposed convolution": ((8, 8, 2), lambda: [layers.Conv2DTranspose(4, 4, strides=2, padding="same")]),
    "LSTM": ((9, 6), lambda: [layers.LSTM(8, return_sequences=True), layers.LSTM(4)]),
    "GRU": ((9, 6), lambda: [layers.GRU(8)]),
    "resizing": ((6, 6, 2), lambda: [layers.UpSampling2D(2, interpolation="bilinear")]),
}  # fmt: skip


def _made(name: str, path: Path) -> Feeds:
    tf.keras.utils.set_random_seed(0)
    shape, make = MODELS[name]
    model = tf.keras.Sequential([tf.keras.Input(shape, name="x"), *make()])

    @tf.function(input_signature=[tf.TensorSpec((None, *shape), tf.float32, name="x")])
    def call(x: Any) -> Any:
        return model(x, training=False)

    tf2onnx.convert.from_function(call, input_signature=call.input_signature, opset=17, output_path=str(path))
    return {"x": np.random.default_rng(0).normal(size=(2, *shape)).astype(np.float32)}


def cases() -> Iterator[Case]:
    """Keras layers."""
    for name in MODELS:
        yield Case(name, partial(_made, name))
