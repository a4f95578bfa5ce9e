"""Arrays of strings, which travel as UTF-8 bytes padded with zeros along one more axis."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .errors import ArgumentError, ModelError


def names(metadata: dict[str, str]) -> frozenset[str]:
    """Find the names of a model's string inputs and outputs."""
    text = metadata.get("strings")
    if text is None:
        return frozenset()
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ModelError.of(
            f"metadata 'strings' = {text[:80]!r}",
            "a JSON list of names",
            "metadata",
            "convert the model again",
        )
    return frozenset(found)


def encode(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Turn an array of str (or of objects that are all str) of shape S into uint8 of shape S + [width]."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError.of(
            f"a value that is no array ({error})",
            "an array of strings",
            f"input '{name}'",
            "make rows of one length",
        ) from error
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(np.str_)
    if array.dtype.kind != "U":
        raise ArgumentError.of(
            f"an array of dtype {array.dtype}",
            "an array of strings",
            f"input '{name}'",
            "pass numpy.array([...]) of Python strings",
        )
    try:
        encoded = np.char.encode(array, "utf-8")
    except UnicodeEncodeError as error:
        raise ArgumentError.of(
            f"a string with half of a surrogate pair ({error.object[error.start : error.end]!r})",
            "text that UTF-8 can hold",
            f"input '{name}'",
            "decode the bytes it came from with errors='replace'",
        ) from error
    width = max(encoded.dtype.itemsize, 1)
    return np.ascontiguousarray(encoded).astype(f"S{width}").reshape(*array.shape, 1).view(np.uint8)


def decode(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Do the reverse: an array of Python strings (dtype object)."""
    shape = value.shape[:-1]
    words = [
        bytes(row).rstrip(b"\0").decode("utf-8", "replace") for row in value.reshape(-1, value.shape[-1])
    ]
    return np.array(words, object).reshape(shape)
