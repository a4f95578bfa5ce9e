"""Run a model on files: images, .npz, .npy or .json."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..loading import load
from ..model import Model
from ..values import ValueInfo
from .common import (
    Dims,
    Json,
    Threads,
    command,
    concrete_shape,
    emit_json,
    numpy_dtype,
    out,
    parse_dims,
    read_arrays,
    usage_error,
    working,
)

IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".gif"}
Array = np.ndarray[Any, Any]


@command
def main(
    model: Annotated[Path, typer.Argument(help="A .walle or .onnx file.")],
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="FILE for the only input or for all (.npz, .json), or NAME=FILE."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results into this .npz file.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Show the k largest entries of each result.")] = 0,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Text file, one label per line, for --top.")
    ] = None,
    scale: Annotated[float, typer.Option(help="Pixels are multiplied by this.")] = 1 / 255,
    mean: Annotated[str, typer.Option(help="Then this is subtracted, per channel.")] = "0",
    std: Annotated[str, typer.Option(help="Then divided by this, per channel.")] = "1",
    dim: Dims = None,
    threads: Threads = None,
    json_: Json = False,
) -> None:
    """Run once and show the results."""
    if not input_:
        raise usage_error(
            "no input", "at least one --input", "walle run", "add --input picture.jpg or --input data.npz"
        )
    with working(f"loading {model.name}", json_):
        loaded = load(model)
    picture = (scale, numbers(mean, "--mean"), numbers(std, "--std"))
    feeds: dict[str, Any] = {}
    for item in input_:
        feeds.update(read_input(loaded, item, parse_dims(dim), picture))
    session = loaded.session(threads=threads)
    start = time.perf_counter()
    with working("running", json_):
        results = session.run(feeds)
    seconds = time.perf_counter() - start
    if output:
        arrays: Any = {k: v for k, v in results.items() if isinstance(v, np.ndarray)}
        np.savez(output, **arrays)
    names = labels.read_text().splitlines() if labels else None
    if json_:
        emit_json({"seconds": seconds, "outputs": {k: as_json(v, top, names) for k, v in results.items()}})
        return
    for name, value in results.items():
        show(name, value, top, names)
    out.print(f"{seconds * 1e3:.2f} ms (first run, planning included)")


def numbers(text: str, option: str) -> Array:
    """Comma-separated numbers."""
    try:
        return np.asarray([float(part) for part in text.split(",")], np.float32)
    except ValueError as error:
        raise usage_error(
            f"'{text}'", "comma-separated numbers", option, "for example 0.485,0.456,0.406"
        ) from error


def read_input(
    model: Model, item: str, sizes: dict[str, int], picture: tuple[float, Array, Array]
) -> dict[str, Any]:
    """One --input option as feeds."""
    name, equals, file = item.partition("=")
    path = Path(file if equals else item)
    if not path.exists():
        raise usage_error(f"file '{path}'", "an existing file", "--input", "check the path")
    infos = {info.name: info for info in model.inputs}
    if path.suffix == ".npz" and not equals:
        return read_arrays(path)
    if path.suffix == ".json" and not equals:
        values = parse_json(path)
        if not isinstance(values, dict):
            raise usage_error(
                "JSON that is not an object",
                "{input name: nested lists}",
                f"--input {path}",
                "name the inputs",
            )
        return {key: from_json(path, value, wanted(infos, key)) for key, value in values.items()}
    if not equals:
        if len(infos) != 1:
            raise usage_error(
                f"'{item}' without an input's name",
                f"NAME=FILE, one of {', '.join(infos)}",
                "--input",
                "name it",
            )
        name = next(iter(infos))
    if name not in infos:
        raise usage_error(f"input '{name}'", f"one of {', '.join(infos)}", "--input", "check the spelling")
    suffix = path.suffix.lower()
    if suffix in IMAGES:
        return {name: read_image(path, infos[name], sizes, picture)}
    if suffix == ".npy":
        return {name: read_array(path)}
    if suffix == ".json":
        return {name: from_json(path, parse_json(path), wanted(infos, name))}
    raise usage_error(f"file '{path}'", "an image, .npz, .npy or .json", "--input", "convert it")


def parse_json(path: Path) -> Any:
    """The file's content; an ArgumentError when it is not JSON."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise usage_error(
            f"file '{path}' that is not JSON ({error})", "JSON", "--input", "check the file"
        ) from error


def read_array(path: Path) -> Array:
    """The array of an .npy file."""
    try:
        array: Array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise usage_error(
            f"file '{path}' ({error})", "an .npy file", "--input", "save it with numpy.save"
        ) from error
    return array


def from_json(path: Path, value: Any, dtype: np.dtype[Any] | None) -> Array:
    """Nested lists as an array of the wanted dtype."""
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        expected = f"nested lists of one shape with numbers for {dtype or 'an array'}"
        raise usage_error(f"JSON in '{path}' ({error})", expected, "--input", "check the file") from error


def wanted(infos: dict[str, ValueInfo], name: str) -> np.dtype[Any] | None:
    """The dtype an input should have."""
    return numpy_dtype(infos[name].dtype) if name in infos else None


def read_image(
    path: Path, info: ValueInfo, sizes: dict[str, int], picture: tuple[float, Array, Array]
) -> Array:
    """An image fitted to an input of shape [N, C, H, W] or [N, H, W, C]."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise usage_error(
            "an image, but Pillow is not installed", "Pillow", "--input", "pip install pillow"
        ) from error
    shape = concrete_shape(info, sizes)
    if len(shape) != 4:
        raise usage_error(
            f"an image for {info}", "an input of rank 4", "--input", "pass an array in an .npz file"
        )
    first = shape[1] in (1, 3)
    channels, height, width = (shape[1], shape[2], shape[3]) if first else (shape[3], shape[1], shape[2])
    if channels not in (1, 3) or height < 2 or width < 2:
        raise usage_error(
            f"an image for {info}",
            "1 or 3 channels and known sizes",
            "--input",
            "give the sizes with --dim H=... --dim W=...",
        )
    try:
        with Image.open(path) as opened:
            fitted = opened.convert("RGB" if channels == 3 else "L").resize(
                (width, height), Image.Resampling.BILINEAR
            )
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise usage_error(f"file '{path}' ({error})", "an image", "--input", "open it in a viewer") from error
    pixels = np.asarray(fitted).reshape(height, width, channels)
    dtype = numpy_dtype(info.dtype)
    if dtype.kind == "f":
        scale, mean, std = picture
        pixels = ((pixels.astype(np.float32) * scale - mean) / std).astype(dtype)
    if first:
        pixels = pixels.transpose(2, 0, 1)
    return np.ascontiguousarray(np.broadcast_to(pixels, shape)).astype(dtype, copy=False)


def best(value: Array, top: int, names: list[str] | None) -> list[dict[str, Any]]:
    """The k largest entries of a flattened result."""
    flat = value.astype(np.float64).ravel()
    order = np.argsort(-flat, kind="stable")[:top]
    rows: list[dict[str, Any]] = [{"index": int(i), "value": float(flat[i])} for i in order]
    if names is not None:
        for row in rows:
            row["label"] = names[int(row["index"])] if int(row["index"]) < len(names) else "?"
    return rows


def as_json(value: Any, top: int, names: list[str] | None) -> Any:
    """A result for --json: everything, or the best entries with --top."""
    if value is None:
        return None
    if isinstance(value, list):
        return [as_json(v, top, names) for v in value]
    head = {"dtype": value.dtype.name, "shape": list(value.shape)}
    return {**head, "top": best(value, top, names)} if top else {**head, "data": value.tolist()}


def show(name: str, value: Any, top: int, names: list[str] | None) -> None:
    """A result for people."""
    if not isinstance(value, np.ndarray):
        out.print(f"{name}: {'empty' if value is None else f'sequence of {len(value)}'}", markup=False)
        return
    out.print(f"{name}: {value.dtype.name}{list(value.shape)}", markup=False)
    if top:
        for row in best(value, top, names):
            out.print(f"  {row['value']:12.5f}  {row['index']:6d}  {row.get('label', '')}", markup=False)
    else:
        out.print(np.array2string(value, threshold=20, precision=5), markup=False)
