"""Loading models from .walle and ONNX files, bytes and objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from . import _core
from .file_kinds import WALLE_MAGIC, refuse_other_kinds
from .model import Model
from .paths import path_text

if TYPE_CHECKING:
    from onnx import ModelProto


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto, *, verify: bool = False
) -> Model:
    """Load a model.

    Weights of files above 1 MiB stay where they are and are read when they are used: replace such a file by a
    rename, as ``Model.save`` does, and never write over it while a model of it is in use.

    Args:
        source: path of a .walle file or of an .onnx file (converted in memory, needs the extra ``convert``),
            ``~`` expanded; the bytes of either as bytes, bytearray or memoryview; or an ``onnx.ModelProto``.
        verify: compare the weights of a .walle file with their checksums, which reads all of them. Files up
            to 1 MiB and bytes are always checked; ONNX has no checksums.

    Raises:
        ArgumentError: ``source`` is none of these.
        ModelError: the model is damaged or unsupported, and the message names every unsupported node; or it
            is something else (weights, another format, a web page ...), and the message says what.
        ResourceError: the file cannot be read, or the extra ``convert`` is not installed.
    """
    if isinstance(source, str | os.PathLike):
        source = path_text(source, "load")
        refuse_other_kinds(source)
        if Path(source).suffix == ".walle" or _core.file_looks_like_walle(source):
            return Model(_core.Model.create(_core.load_walle(source, verify)))
    elif isinstance(source, bytes | bytearray | memoryview):
        source = bytes(source)
        if source.startswith(WALLE_MAGIC):
            return Model(_core.Model.create(_core.parse_walle(source)))
    from .convert import convert

    data, _ = convert(source)
    return Model(_core.Model.create(data))
