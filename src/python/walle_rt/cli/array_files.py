"""Arrays from .npz, .npy and .json files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import ArgumentError
from ..values import Array


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz file by name; ArgumentError when it is not one."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, TypeError, EOFError, BadZipFile) as error:
        raise ArgumentError.of(
            f"file '{path}' ({error})", "an .npz file", "--input", "save it with numpy.savez"
        ) from error


def parse_json(path: Path) -> Any:
    """The file's content; an ArgumentError when it is not JSON."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ArgumentError.of(
            f"file '{path}' that is not JSON ({error})", "JSON", "--input", "check the file"
        ) from error


def read_array(path: Path) -> Array:
    """The array of an .npy file."""
    try:
        array: Array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ArgumentError.of(
            f"file '{path}' ({error})", "an .npy file", "--input", "save it with numpy.save"
        ) from error
    return array


def from_json(path: Path, value: Any, dtype: np.dtype[Any] | None) -> Array:
    """Nested lists as an array of the wanted dtype."""
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        expected = f"nested lists of one shape with numbers for {dtype or 'an array'}"
        raise ArgumentError.of(
            f"JSON in '{path}' ({error})", expected, "--input", "check the file"
        ) from error
