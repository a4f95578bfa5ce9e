"""Lists of dictionaries, which travel as a tensor with the names of its columns (ZipMap of ONNX)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .errors import ModelError

Keys = list[str] | list[int]


def keys(metadata: dict[str, str]) -> dict[str, Keys]:
    """Find the outputs of a model that are lists of dictionaries, with the keys of each."""
    text = metadata.get("maps")
    if text is None:
        return {}
    try:
        found = json.loads(text)
        good = all(
            isinstance(names, list) and all(isinstance(name, str | int) for name in names)
            for names in found.values()
        )
    except (ValueError, AttributeError):
        good = False
    if not good:
        raise ModelError.of(
            f"metadata 'maps' = {text[:80]!r}",
            "a JSON object of lists",
            "metadata",
            "convert the model again",
        )
    return dict(found)


def decode(value: np.ndarray[Any, Any], names: Keys) -> list[dict[Any, float]]:
    """Turn [rows, columns] into a dictionary per row; a vector is one row."""
    table = value.reshape(1, -1) if value.ndim == 1 else value
    return [dict(zip(names, row, strict=True)) for row in table.tolist()]
