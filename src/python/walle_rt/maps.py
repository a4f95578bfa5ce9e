"""Lists of dictionaries, which travel as a tensor with the names of its columns.

ZipMap of ONNX makes them, DictVectorizer reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import ArgumentError, ModelError

Keys = list[str] | list[int]


def keys(metadata: dict[str, str]) -> dict[str, Keys]:
    """Find the inputs and outputs of a model that are lists of dictionaries, with the keys of each."""
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
    """Turn [rows, columns] into a dictionary per row; a vector is one row.

    Raises:
        ModelError: there are not as many columns as keys.
    """
    table = value.reshape(1, -1) if value.ndim == 1 else value
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ModelError.of(
            f"a result of shape {[*value.shape]} with names for {len(names)} columns",
            "as many columns as names",
            "ZipMap",
            "correct the class labels of the model and export it again",
        )
    return [dict(zip(names, row, strict=True)) for row in table.tolist()]


def encode(value: Any, names: Keys, dtype: str, name: str) -> np.ndarray[Any, Any]:
    """Turn a dictionary, or a list of them, into [rows, columns]; a missing key is 0, others are left out."""
    rows = [value] if isinstance(value, Mapping) else value
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ArgumentError.of(
            f"a value of type {type(value).__name__}",
            "a dictionary, or a list of dictionaries",
            f"input '{name}'",
            "pass {key: number}",
        )
    table = [[row.get(key, 0) for key in names] for row in rows]
    wrong = [v for row in table for v in row if not isinstance(v, int | float | np.number)]
    if wrong:
        raise ArgumentError.of(
            f"a value of type {type(wrong[0]).__name__}", "numbers", f"input '{name}'", "correct the value"
        )
    try:
        return np.array(table, np.dtype(dtype)).reshape(len(rows), len(names))
    except (OverflowError, ValueError) as error:  # beyond the dtype; NaN where integers are wanted
        raise ArgumentError.of(
            str(error), f"values that {dtype} can hold", f"input '{name}'", "correct the value"
        ) from error
