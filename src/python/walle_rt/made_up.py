"""Inputs that fit what a model declares, for looking at it, timing it and comparing it without real data."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .errors import ArgumentError
from .model import Model
from .values import ValueInfo


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype a value of this dtype travels as."""
    return np.dtype("float32" if name == "undefined" else _core.dtypes()[name][1])


def concrete_shape(info: ValueInfo, sizes: dict[str, int]) -> tuple[int, ...]:
    """The declared shape with symbols filled in (1 where no size is given)."""
    if info.shape is None:
        raise ArgumentError.of(
            f"input '{info.name}' of unknown rank",
            "a declared shape",
            "made-up input",
            "give a real one with --input",
        )
    return tuple(d if isinstance(d, int) else sizes.get(str(d), 1) for d in info.shape)


def made_up_inputs(model: Model, sizes: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Inputs of the declared dtypes and shapes: floats from a normal distribution,
    small integers, false and true.
    """
    random = np.random.default_rng(seed)
    feeds: dict[str, Any] = {}
    for info in model.inputs:
        if info.kind == "optional":
            feeds[info.name] = None
            continue
        if info.kind == "sequence":
            feeds[info.name] = []
            continue
        if info.kind == "maps":
            feeds[info.name] = [{}]
            continue
        shape, dtype = concrete_shape(info, sizes), numpy_dtype(info.dtype)
        if dtype.kind == "f":
            feeds[info.name] = random.standard_normal(shape).astype(dtype)
        elif dtype.kind == "c":
            real, imaginary = random.standard_normal((2, *shape))
            feeds[info.name] = np.asarray(real + 1j * imaginary, dtype)
        elif dtype.kind == "b":
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
        elif info.dtype == "bfloat16":
            feeds[info.name] = (
                random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16
            ).astype(np.uint16)
        else:
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
    return feeds
