"""Pictures as inputs of models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import ArgumentError
from ..made_up import concrete_shape, numpy_dtype
from ..values import Array, ValueInfo

IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".gif"}


@dataclass(frozen=True)
class Normalisation:
    """What becomes of pixels 0..255 in a floating-point input: (pixel * scale - mean) / std, per channel."""

    scale: float
    mean: Array
    std: Array

    @classmethod
    def of(cls, scale: float, mean: str, std: str) -> Normalisation:
        """From the options --scale, --mean and --std; ArgumentError when one is no list of numbers."""
        return cls(scale, _numbers(mean, "--mean"), _numbers(std, "--std"))

    def apply(self, pixels: Array) -> Array:
        """Pixels of shape [H, W, C] as float32."""
        normal: Array = (pixels.astype(np.float32) * self.scale - self.mean) / self.std
        return normal


def _numbers(text: str, option: str) -> Array:
    try:
        return np.asarray([float(part) for part in text.split(",")], np.float32)
    except ValueError as error:
        raise ArgumentError.of(
            f"'{text}'", "comma-separated numbers", option, "for example 0.485,0.456,0.406"
        ) from error


def read_image(path: Path, info: ValueInfo, sizes: dict[str, int], normalisation: Normalisation) -> Array:
    """An image fitted to an input of shape [N, C, H, W] or [N, H, W, C]."""
    shape = concrete_shape(info, sizes)
    if len(shape) != 4:
        raise ArgumentError.of(
            f"an image for {info}", "an input of rank 4", "--input", "pass an array in an .npz file"
        )
    first = shape[1] in (1, 3)
    channels, height, width = (shape[1], shape[2], shape[3]) if first else (shape[3], shape[1], shape[2])
    if channels not in (1, 3) or height < 2 or width < 2:
        raise ArgumentError.of(
            f"an image for {info}",
            "1 or 3 channels and known sizes",
            "--input",
            "give the sizes with --dim H=... --dim W=...",
        )
    pixels = _fitted(path, channels, height, width)
    dtype = numpy_dtype(info.dtype)
    if dtype.kind == "f":
        pixels = normalisation.apply(pixels).astype(dtype)
    if first:
        pixels = pixels.transpose(2, 0, 1)
    return np.ascontiguousarray(np.broadcast_to(pixels, shape)).astype(dtype, copy=False)


def _fitted(path: Path, channels: int, height: int, width: int) -> Array:
    """The pixels of a file, uint8 of shape [height, width, channels]."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        given = "an image, but Pillow is not installed"
        raise ArgumentError.of(given, "Pillow", "--input", "pip install pillow") from error
    try:
        with Image.open(path) as opened:
            converted = opened.convert("RGB" if channels == 3 else "L")
            fitted = converted.resize((width, height), Image.Resampling.BILINEAR)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        given = f"file '{path}' ({error})"
        raise ArgumentError.of(given, "an image", "--input", "open it in a viewer") from error
    return np.asarray(fitted).reshape(height, width, channels)
