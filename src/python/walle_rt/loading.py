"""Loading models from .walle and ONNX files, bytes and objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _core
from .model import Model
from .paths import path_text

_MAGIC = b"WALLEMDL"  # the first bytes of a .walle file


def load(source: Any) -> Model:
    """Load a model.

    Args:
        source: path of a .walle file (weights stay mapped, not copied) or of an .onnx file (converted in
            memory, needs the extra ``convert``), the bytes of either, or an ``onnx.ModelProto``.

    Raises:
        ArgumentError: ``source`` is none of these.
        ModelError: the model is damaged or unsupported; the message names every unsupported node.
        ResourceError: the file cannot be read, or the extra ``convert`` is not installed.
    """
    if isinstance(source, str | os.PathLike):
        path = path_text(source, "load")
        if Path(path).suffix == ".walle" or _core.file_looks_like_walle(path):
            return Model(_core.Model.create(_core.load_walle(path)))
    elif isinstance(source, bytes | bytearray | memoryview) and bytes(source[:8]) == _MAGIC:
        return Model(_core.Model.create(_core.parse_walle(bytes(source))))
    from .convert import convert

    data, _ = convert(source)
    return Model(_core.Model.create(data))
