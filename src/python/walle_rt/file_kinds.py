"""What a file that is no model of ours is, told from its first bytes, and what to do with it."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .errors import ModelError

WALLE_MAGIC = b"WALLEMDL"  # the first bytes of a .walle file
# The field that every exporter writes first: the version of the format.
_ONNX = b"\x08"
_HEAD = 4096  # bytes that are looked at; a zip archive's list of names lies at its end
_TO_ONNX = "export the model to ONNX"
_TORCH = f"{_TO_ONNX}: torch.onnx.export(model, example_inputs, 'model.onnx')"
_TENSORFLOW = f"{_TO_ONNX}: python -m tf2onnx.convert --help"


@dataclass(frozen=True)
class Kind:
    """What something is, in words, and the next step."""

    what: str
    next_step: str


_WEIGHTS = "they hold no graph: load them into the program that defines the model and export that"
_SAFETENSORS = Kind("weights in the format safetensors", f"{_WEIGHTS}, e.g. with torch.onnx.export")
_TFLITE = Kind(
    "a TensorFlow Lite model",
    "convert it: python -m tf2onnx.convert --tflite model.tflite --output model.onnx",
)
_PICKLE = Kind("a Python pickle, as older torch.save writes it", _TORCH)
_ZIP = Kind("a zip archive", "unpack it and load the .onnx file inside")
_LFS = Kind("a Git LFS pointer and not the file itself", "run `git lfs pull` in its repository")

# By the first bytes.
_MAGIC: list[tuple[bytes, Kind]] = [
    (b"GGUF", Kind("weights in the format GGUF", f"{_WEIGHTS} to ONNX")),
    (b"\x89HDF\r\n\x1a\n", Kind("an HDF5 file, as Keras writes models and weights", _TENSORFLOW)),
    (b"\x1f\x8b", Kind("a gzip file", "unpack it with gunzip and load what comes out")),
    (b"BZh", Kind("a bzip2 file", "unpack it with bunzip2 and load what comes out")),
    (b"\xfd7zXZ\x00", Kind("an xz file", "unpack it with unxz and load what comes out")),
    (b"\x28\xb5\x2f\xfd", Kind("a Zstandard file", "unpack it with unzstd and load what comes out")),
    (b"version https://git-lfs", _LFS),
    (b"WTASK", Kind("a task bundle", "run it with `walle task run`")),
    (b"\x93NUMPY", Kind("a NumPy array", "pass it to session.run as an input; load takes the model")),
    (b"\x7fELF", Kind("a program or library", "pass the path of the model")),
    (b"%PDF", Kind("a PDF document", "pass the path of the model")),
    (b"7767517\n", Kind("an ncnn graph (.param)", f"{_TO_ONNX} from the framework it came from")),
]


def _pickled(head: bytes) -> Kind | None:
    # Protocol 2 and later begin with their number.
    return _PICKLE if len(head) > 2 and head[0] == 0x80 and head[1] in range(2, 6) else None


def _tflite(head: bytes) -> Kind | None:
    return _TFLITE if head[4:8] == b"TFL3" else None


def _ort(head: bytes) -> Kind | None:
    found = Kind("a model in the ORT format", "load the .onnx file that it was made from")
    return found if head[4:8] == b"ORTM" else None


def _safetensors(head: bytes) -> Kind | None:
    if len(head) < 10 or head[8:9] != b"{":
        return None
    length = struct.unpack_from("<Q", head)[0]
    return _SAFETENSORS if length < 1 << 32 and (b'"dtype"' in head or b"__metadata__" in head) else None


def _text(head: bytes) -> Kind | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"(?i)<!doctype html|<html|<head|<\?xml[^>]*>\s*<!doctype html", start):
        return Kind(
            "an HTML page, perhaps one that a download brought instead of the file",
            "download the file itself: the raw link, signed in where that is needed",
        )
    if start[:1] in (b"{", b"["):
        return _json(start)
    if start[:5] == b"<?xml" or start[:4] == b"<net":
        return Kind("an XML file, as OpenVINO writes graphs", f"{_TO_ONNX} from the framework it came from")
    return None


def _json(start: bytes) -> Kind | None:
    try:
        json.loads(start)
    except ValueError:
        if len(start) < _HEAD // 2 or not start.isascii():
            return None
    return Kind("a JSON file", "pass the path of the model; a configuration beside it is not needed")


def _plain(head: bytes) -> Kind | None:
    if not head.strip(b"\0"):
        return Kind("nothing but zero bytes", "the file was not written to its end: copy it again")
    try:
        words = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return None
        words = head[: error.start].decode("utf-8")
    printable = all(c.isprintable() or c in "\r\n\t" for c in words)
    return Kind("a text file", "pass the path of the model") if printable and words.strip() else None


_LOOKS: list[Callable[[bytes], Kind | None]] = [
    _pickled,
    _tflite,
    _ort,
    _safetensors,
    _text,
    _plain,
]


def _archive(file: str | BinaryIO) -> Kind:
    """A zip archive by the names in it."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return Kind("a zip archive that is damaged or cut off", "copy or download it again")
    ends = {name.rsplit("/", 1)[-1] for name in names}
    if "constants.pkl" in ends:
        return Kind("a TorchScript archive", _TORCH)
    if "data.pkl" in ends:
        return Kind("a PyTorch file, as torch.save writes it", _TORCH)
    if "config.json" in ends and any(e.endswith(".h5") for e in ends):
        return Kind("a Keras model (.keras)", _TENSORFLOW)
    if names and all(n.endswith(".npy") for n in names):
        return Kind("NumPy arrays (.npz)", "pass them to session.run as inputs; load takes the model")
    inside = next((n for n in names if n.endswith((".onnx", ".walle"))), None)
    return Kind(f"a zip archive with '{inside}'", "unpack it and load that file") if inside else _ZIP


def _of(head: bytes, whole: str | BinaryIO) -> Kind | None:
    if not head:
        return Kind("an empty file", "copy or download it again")
    if head[:1] == _ONNX or head.startswith(WALLE_MAGIC):
        return None
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _archive(whole)
    if head[257:262] == b"ustar":
        return Kind("a tar archive", "unpack it and load the .onnx file inside")
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return next((found for look in _LOOKS if (found := look(head)) is not None), None)


def refuse_other_kinds(source: object) -> None:
    """ModelError that says what a path or bytes are that are no model; before a converter reads all of it."""
    if isinstance(source, str | os.PathLike):
        kind, where = kind_of_path(os.fsdecode(source)), f"file '{os.fsdecode(source)}'"
    elif isinstance(source, bytes):
        kind, where = kind_of_bytes(source), "bytes"
    else:
        return
    if kind is not None:
        raise ModelError.of(kind.what, "a .walle file or an ONNX model", where, kind.next_step)


def kind_of_bytes(data: bytes) -> Kind | None:
    """What bytes are, or None where they may be an ONNX model."""
    return _of(data[:_HEAD], io.BytesIO(data))


def kind_of_path(path: str) -> Kind | None:
    """What a file or folder is, or None where it may be an ONNX model or cannot be read."""
    place = Path(path)
    if place.is_dir():
        return _folder(place)
    try:
        if not place.is_file():  # opening a pipe would wait for its writer
            return None
        with place.open("rb") as file:
            return _of(file.read(_HEAD), path)
    except OSError:
        return None


def _folder(place: Path) -> Kind:
    if (place / "saved_model.pb").exists():
        return Kind("a folder with a TensorFlow SavedModel", _TENSORFLOW)
    if place.suffix == ".mlpackage":
        return Kind("a Core ML package", f"{_TO_ONNX} from the framework it came from")
    for pattern in ("*.walle", "*.onnx", "onnx/*.onnx"):
        inside = sorted(str(p.relative_to(place)) for p in place.glob(pattern))
        if inside:
            return Kind("a folder", f"load a file in it: '{inside[0]}'")
    return Kind("a folder without a model", "pass the path of a .walle or .onnx file")
