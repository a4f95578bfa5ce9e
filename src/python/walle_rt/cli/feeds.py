"""The --input options of a command as inputs of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..made_up import numpy_dtype
from ..model import Model
from ..values import Array, ValueInfo
from .array_files import from_json, parse_json, read_array, read_arrays
from .pictures import IMAGES, Normalisation, read_image


def read_input(
    model: Model, item: str, sizes: dict[str, int], normalisation: Normalisation
) -> dict[str, Any]:
    """One --input option as feeds: FILE with all inputs or the only one, or NAME=FILE."""
    name, equals, file = item.partition("=")
    path = Path(file if equals else item)
    if not path.exists():
        raise ArgumentError.of(f"file '{path}'", "an existing file", "--input", "check the path")
    infos = {info.name: info for info in model.inputs}
    if path.suffix == ".npz" and not equals:
        return read_arrays(path)
    if path.suffix == ".json" and not equals:
        return _read_object(path, infos)
    if not equals:
        if len(infos) != 1:
            given, expected = f"'{item}' without an input's name", f"NAME=FILE, one of {', '.join(infos)}"
            raise ArgumentError.of(given, expected, "--input", "name it")
        name = next(iter(infos))
    if name not in infos:
        expected = f"one of {', '.join(infos)}"
        raise ArgumentError.of(f"input '{name}'", expected, "--input", "check the spelling")
    return {name: _read_value(path, infos[name], sizes, normalisation)}


def _read_object(path: Path, infos: dict[str, ValueInfo]) -> dict[str, Any]:
    values = parse_json(path)
    if not isinstance(values, dict):
        expected = "{input name: nested lists}"
        raise ArgumentError.of("JSON that is not an object", expected, f"--input {path}", "name the inputs")
    dtypes = {name: numpy_dtype(info.dtype) for name, info in infos.items()}
    return {key: from_json(path, value, dtypes.get(key)) for key, value in values.items()}


def _read_value(path: Path, info: ValueInfo, sizes: dict[str, int], normalisation: Normalisation) -> Array:
    suffix = path.suffix.lower()
    if suffix in IMAGES:
        return read_image(path, info, sizes, normalisation)
    if suffix == ".npy":
        return read_array(path)
    if suffix == ".json":
        return from_json(path, parse_json(path), numpy_dtype(info.dtype))
    raise ArgumentError.of(f"file '{path}'", "an image, .npz, .npy or .json", "--input", "convert it")
