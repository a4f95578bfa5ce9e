"""The float model that is quantised, from whatever names it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ..convert.source import require_onnx
from ..errors import ArgumentError, ModelError, ResourceError
from ..file_kinds import WALLE_MAGIC, refuse_other_kinds

# Protobuf's own limit is 2 GiB for a message; above this, weights go into a file beside the model.
_MOST_BYTES = 2_000_000_000


def read(source: Any) -> Any:
    """The ONNX model of a path, bytes or ``onnx.ModelProto``, external data included.

    Raises:
        ArgumentError: it is none of these.
        ModelError: it is a .walle file, or damaged.
        ResourceError: the extra ``convert`` is missing, or the file cannot be read.
    """
    onnx = require_onnx()
    if isinstance(source, onnx.ModelProto):
        return source
    if isinstance(source, str | PathLike):
        path = Path(source).expanduser()
        refuse_other_kinds(str(path))
        try:
            with path.open("rb") as file:
                head = file.read(len(WALLE_MAGIC))
        except OSError as error:
            raise unusable(path, error, "quantize") from error
    elif isinstance(source, bytes | bytearray | memoryview):
        head = bytes(source[: len(WALLE_MAGIC)])
    else:
        raise ArgumentError.of(
            f"a model of type {type(source).__name__}",
            "a path, bytes or an onnx.ModelProto",
            "quantize",
            "pass the path of the .onnx file",
        )
    if head == WALLE_MAGIC:
        raise ModelError.of(
            "a .walle file", "the ONNX model it was converted from", "quantize", "quantise before converting"
        )
    try:
        return (
            onnx.load(str(path))
            if isinstance(source, str | PathLike)
            else onnx.load_from_string(bytes(source))
        )
    except OSError as error:  # of external data
        raise unusable(Path(error.filename or "a file of weights"), error, "quantize") from error
    except Exception as error:  # DecodeError of protobuf's, which may have another home in each version
        raise ModelError.of(
            f"bytes that are no ONNX model ({error})", "an ONNX model", "quantize", "check the file"
        ) from error


def write(model: Any, path: Path) -> None:
    """Write an ONNX file, weights of large models in ``<name>.data`` beside it.

    Raises:
        ResourceError: it cannot be written.
    """
    onnx = require_onnx()
    from ..whole_files import write_whole

    try:
        if model.ByteSize() > _MOST_BYTES:
            onnx.save(model, str(path), save_as_external_data=True, location=f"{path.name}.data")
        else:
            write_whole(path, model.SerializeToString(deterministic=True))
    except OSError as error:
        raise unusable(path, error, "save") from error


def unusable(path: Path, error: OSError, where: str) -> ResourceError:
    """The error of a file that cannot be read or written."""
    return ResourceError.of(
        f"cannot use file '{path}': {error.strerror or error}",
        "a file that can be read or written",
        where,
        "check the path and permissions",
    )
