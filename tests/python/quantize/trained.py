"""Trained models and real inputs for them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from PIL import Image
from places import DATA, MODELS, need
from tflite import read_tflite

Array = np.ndarray[Any, Any]
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def cifar(part: str, count: int) -> tuple[Array, Array]:
    """Pictures, uint8 [count, 32, 32, 3], and their classes; "test" or "train"."""
    name = {"test": "cifar10_jpeg_test_10000.npz", "train": "cifar10_jpeg_train_20000.npz"}[part]
    with np.load(need(DATA / "cifar10" / name), allow_pickle=False) as arrays:
        jpeg, offset, labels = arrays["jpeg"], arrays["offset"], arrays["label"][:count]
    files = [io.BytesIO(jpeg[offset[i] : offset[i + 1]].tobytes()) for i in range(count)]
    return np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files]), labels


def as_resnet20(pictures: Array) -> Array:
    """[N, 3, 32, 32], normalised."""
    normal = (pictures.astype(np.float32) / 255 - MEAN) / DEVIATION
    return np.ascontiguousarray(normal.transpose(0, 3, 1, 2))


def photographs(size: int) -> Array:
    """Photographs of animals, float32 [N, size, size, 3] from 0 to 1."""
    files = sorted(need(DATA / "transfer_images").rglob("*.jpeg"))
    files += [need(MODELS / "inputs" / name) for name in ("coral_grace_hopper.bmp", "coral_squat.bmp")]
    return np.stack([_fitted(file, size) for file in files])


def _fitted(file: Path, size: int) -> Array:
    with Image.open(file) as opened:
        fitted = opened.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(fitted, np.float32) / 255


def tflite(name: str) -> onnx.ModelProto:
    """One of the trained .tflite models."""
    return read_tflite(need(MODELS / "tflite" / f"{name}.tflite"))


def expected(name: str) -> tuple[Array, Array]:
    """Input and output of the reference kernels."""
    with np.load(need(MODELS / "expected" / f"{name}.npz")) as arrays:
        return arrays["in0"], arrays["out0"]
