"""From whatever names a model (path, bytes, ModelProto) to the native ModelData."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError, Error, ResourceError
from ..file_kinds import WALLE_MAGIC, refuse_other_kinds
from .large_file import without_weights
from .report import Report, refuse

if TYPE_CHECKING:
    from .onnx.external import DataFolder

# Files up to this are read and parsed whole; in larger ones weights stay where they are. As the core does.
_SMALL_BYTES = 1 << 20

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Any


def require_onnx() -> Any:
    """Import the package ``onnx`` or say how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ResourceError.of(
            "an ONNX model, but the package 'onnx' is not installed",
            "walle_rt with its extra [convert]",
            "load",
            "pip install 'walle_rt[convert]', or convert the model once elsewhere and load the .walle file",
        ) from error
    return onnx


SignatureSpec = tuple[str, list[tuple[str, str]], list[tuple[str, str]]]


def convert(
    source: Source, *, name: str | None = None, signatures: Sequence[SignatureSpec] = ()
) -> tuple[_core.ModelData, Report]:
    """Convert an ONNX model given as path, bytes or ``onnx.ModelProto``.

    signatures: (name, [(public name, input name)], [(public name, output name)]) each.
    Returns the native model data and the report. External data is read only from inside the model's own
    folder. Raises ModelError naming every unsupported node, or saying what is damaged; ResourceError without
    the extra ``convert`` or when a file cannot be read.
    """
    refuse_other_kinds(source)
    onnx = require_onnx()
    from .onnx import convert_model

    model, folder, label = _read(onnx, source)
    try:
        return convert_model(model, folder, name or label, signatures)
    except Error:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        # A damaged file can hold what protobuf allows and ONNX forbids: names that are no text,
        # unknown types.
        raise refuse(
            f"a graph that cannot be read ({type(error).__name__}: {error})",
            "an ONNX model that follows its schema",
            name or label,
            "check the file with onnx.checker.check_model and export it again",
        ) from error


def _read(onnx: Any, source: Source) -> tuple[Any, DataFolder | None, str]:
    if isinstance(source, onnx.ModelProto):
        return source, None, source.graph.name or "model"
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        _refuse_walle(data, "bytes")
        return parse(onnx, data, "bytes"), None, "model"
    if isinstance(source, str | os.PathLike):
        return _read_file(onnx, Path(source))
    raise ArgumentError.of(
        f"a model source of type {type(source).__name__}",
        "a path, bytes or an onnx.ModelProto",
        "load",
        _next_step(source),
    )


def _refuse_walle(head: bytes, label: str) -> None:
    if head.startswith(WALLE_MAGIC):
        raise refuse(
            "a .walle file, which has been converted already",
            "an ONNX model",
            label,
            "load it as it is: walle_rt.load, `walle run` and all others take it",
        )


def _read_file(onnx: Any, path: Path) -> tuple[Any, DataFolder, str]:
    """A model from its file, large weights left there."""
    from .onnx.external import DataFolder

    home = Path(os.path.realpath(path))  # a link to itself is told as one by stat()
    try:
        with path.open("rb") as file:
            _refuse_walle(file.read(len(WALLE_MAGIC)), str(path))
        if home.stat().st_size <= _SMALL_BYTES:
            return parse(onnx, path.read_bytes(), str(path)), DataFolder(path, {}), str(path)
    except OSError as error:
        raise ResourceError.of(
            f"cannot read file '{path}': {error.strerror or error}",
            "a readable .onnx file",
            "load",
            "check the path and its permissions",
        ) from error
    mapped = _core.MappedFile(str(path))
    view = memoryview(mapped)
    small = without_weights(view, home.name)
    model = parse(onnx, bytes(view) if small is None else small, str(path))
    return model, DataFolder(path, {home: mapped}), str(path)


def _next_step(source: object) -> str:
    if hasattr(source, "read"):
        return "pass what its read() returns"
    if type(source).__module__.partition(".")[0] == "torch" or hasattr(source, "state_dict"):
        return "export it: torch.onnx.export(model, example_inputs, 'model.onnx')"
    return "pass the path of a .onnx file"


def parse(onnx: Any, data: bytes, label: str) -> Any:
    """Parse a serialized ModelProto; a ModelError when the bytes are not one."""
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:
        raise refuse(
            f"{len(data)} bytes that are not an ONNX model ({error})",
            "a serialized onnx.ModelProto",
            label,
            "check that the file is complete and really ONNX",
        ) from error
    if not model.graph.node and not model.graph.output:
        raise refuse(
            f"{len(data)} bytes with an empty graph",
            "an ONNX model with nodes and outputs",
            label,
            "check that the file is complete and really ONNX",
        )
    return model
