"""Weights that lie in files beside the model."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from onnx import TensorProto

from ... import _core
from ...values import Array
from ..report import refuse


def _resolved(path: Path) -> Path:
    """Without links; one that leads to itself stays, where Path.resolve() raises."""
    return Path(os.path.realpath(path))


class DataFolder:
    """A model's folder and the files in it that hold weights, each opened once for all its tensors.

    Where the model's path is a link, its data lies beside the link or beside what the link leads to: the
    cache of Hugging Face keeps names in one folder, as links, and files in another.
    """

    def __init__(self, model: Path, opened: dict[Path, _core.MappedFile]) -> None:
        """Of the model's path as given; ``opened`` are files that are mapped already, by resolved paths."""
        self.path = model.parent
        self._homes = [_resolved(model.parent), _resolved(model).parent]
        self._opened = opened

    def find(self, location: str, where: str) -> Path:
        """The path of a data file, which must not lead out of these folders, not by a symbolic link."""
        parts = Path(location).parts
        outside = not location or Path(location).is_absolute() or ".." in parts or "\0" in location
        paths = [] if outside else [home / location for home in (self.path, self._homes[1])]
        inside = [p for p in paths if any(_resolved(p).is_relative_to(home) for home in self._homes)]
        if not inside:
            raise refuse(
                f"external data location '{location}'",
                f"a file inside the model's folder '{self.path}'",
                where,
                "move the data file beside the model and export with a relative location",
            )
        return next((path for path in inside if path.exists()), inside[0])

    def bytes(self, path: Path) -> Array:
        """All bytes of a file, mapped unless it is small: they are read when they are used."""
        key = _resolved(path)
        if key not in self._opened:
            self._opened[key] = _core.MappedFile(str(path))
        return np.frombuffer(memoryview(self._opened[key]), np.uint8)


def read_external(tensor: TensorProto, folder: DataFolder | None, size: int, where: str) -> Array:
    """``size`` bytes that lie in a file of the model's folder."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise refuse(
            f"external data '{location}' in a model given as bytes",
            "a model with its weights inside",
            where,
            "load the model by its path",
        )
    path = folder.find(location, where)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    except ValueError as error:
        raise refuse(
            f"external data entries {entries}", "numbers", where, "export the model again"
        ) from error
    try:
        available = path.stat().st_size
        if offset < 0 or length != size or offset + length > available:
            raise refuse(
                f"bytes {offset}..{offset + length} of '{location}' ({available} bytes) for {size} bytes of "
                "weights",
                "a range inside the file that fits the tensor",
                where,
                "export the model again; a file is damaged",
            )
        if size == 0:
            return np.empty(0, np.uint8)
        data = folder.bytes(path)[offset : offset + length]
    except OSError as error:
        raise refuse(
            f"external data '{location}' cannot be read: {error.strerror or error}",
            "a readable file beside the model",
            where,
            "copy the model together with its data files",
        ) from error
    if data.size != length:
        raise refuse(
            f"external data '{location}' that changed while it was read",
            f"{length} bytes at {offset}",
            where,
            "load the model again",
        )
    return data
