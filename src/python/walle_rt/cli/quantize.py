"""Quantise an ONNX model: 8-bit layers, weights of few bits, or weights in short floats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ..errors import ArgumentError
from .array_files import read_array
from .console import emit_json, err, file_size, out, size_text
from .exits import command
from .options import Dims, Json, parse_dims
from .pictures import Normalisation


class Mode(StrEnum):
    """What is quantised, and when."""

    static = "static"
    dynamic = "dynamic"
    weights = "weights"
    storage = "storage"


# The options that not every mode has, by their names in walle_rt.quantize.
_OF_MODE = {
    Mode.static: {"method", "percentile", "activations", "per_channel"},
    Mode.dynamic: {"operators", "per_channel"},
    Mode.weights: {"method", "bits", "block", "symmetric", "layout", "accuracy_level", "operators"},
    Mode.storage: {"dtype"},
}
_ENDING = {Mode.static: "int8", Mode.dynamic: "int8", Mode.weights: "int4", Mode.storage: "bf16"}


@command
def main(
    model: Annotated[Path, typer.Argument(help="The .onnx file, in float32.")],
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration", "-c", help="Inputs: a folder (pictures, .npy, .npz) or an .npz of samples."
        ),
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="static: 8 bits, calibrated; dynamic; weights: few bits; storage: 16 bits.")
    ] = Mode.static,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A .walle or .onnx file; default: MODEL.int8.walle and the like."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="static: minmax, percentile, entropy or mse; weights: rtn (nearest) or gptq."),
    ] = None,
    percentile: Annotated[
        float | None, typer.Option(help="static: numbers that percentile keeps, in percent; 99.99.")
    ] = None,
    activations: Annotated[str | None, typer.Option(help="static: their codes, uint8 or int8.")] = None,
    per_tensor: Annotated[
        bool, typer.Option("--per-tensor", help="One scale for all channels of a layer's weights.")
    ] = False,
    bits: Annotated[int | None, typer.Option(help="weights: 2, 4 or 8; 4.")] = None,
    block: Annotated[int | None, typer.Option(help="weights: that share a scale, 16 to 256; 32.")] = None,
    symmetric: Annotated[bool, typer.Option("--symmetric", help="weights: no zero points.")] = False,
    layout: Annotated[str | None, typer.Option(help="weights: packed, or dequantize (ONNX's own).")] = None,
    accuracy_level: Annotated[
        int | None, typer.Option(help="weights: 0, or 4 for products with int8 activations.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="storage: bfloat16 or float16.")] = None,
    operator: Annotated[
        list[str] | None, typer.Option("--operator", help="dynamic, weights: what to quantise; repeat it.")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", help="A node, or an operator type, that stays in float32; repeat it."),
    ] = None,
    goal_db: Annotated[
        float | None,
        typer.Option("--goal-db", help="Signal to noise of every result; sensitive layers stay in float32."),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option("--max-drop", help="Points of accuracy that may be lost, by the same means."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="Labelled inputs: a folder, or an .npz (labels inside).")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Classes of --test: an .npy file, or text, one per line.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Samples of an .npz that are run at a time.")] = 8,
    scale: Annotated[float, typer.Option(help="Pixels are multiplied by this.")] = 1 / 255,
    mean: Annotated[str, typer.Option(help="Then this is subtracted, per channel.")] = "0",
    std: Annotated[str, typer.Option(help="Then divided by this, per channel.")] = "1",
    dim: Dims = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw signal to noise by layer into this .svg file.")
    ] = None,
    json_: Json = False,
) -> None:
    """Quantise, save, and say what each layer lost."""
    from .. import quantize

    if calibration is None and mode is Mode.static:
        raise ArgumentError.of(
            "no calibration",
            "inputs like those the model will meet",
            "walle quantize",
            "add --calibration DIR",
        )
    target = output or model.with_suffix(f".{_ENDING[mode]}.walle")
    if target.suffix not in (".walle", ".onnx"):  # said before minutes of work
        raise ArgumentError.of(
            f"--output '{target}'", "a name that ends in .walle or .onnx", "walle quantize", "choose one"
        )
    pixels = Normalisation.of(scale, mean, std)

    def inputs(path: Path | None) -> Any:
        if path is None or not path.is_dir():
            return path
        numbers = {"mean": tuple(pixels.mean.tolist()), "std": tuple(pixels.std.tolist())}
        return quantize.Folder(path, pixels.scale, dims=parse_dims(dim), **numbers)

    given: dict[str, Any] = {
        "method": method, "percentile": percentile, "activations": activations, "bits": bits, "block": block,
        "layout": layout, "accuracy_level": accuracy_level, "dtype": dtype, "operators": operator or None,
        "per_channel": False if per_tensor else None, "symmetric": symmetric or None,
    }  # fmt: skip
    start = time.perf_counter()
    with _bars(json_) as progress:
        made = getattr(quantize, mode)(
            model,
            inputs(calibration),
            leave_out=leave_out or (),
            goal_db=goal_db,
            max_drop=max_drop,
            test=inputs(test),
            labels=None if labels is None else _labels(labels),
            batch=batch,
            progress=progress,
            **_chosen(mode, given),
        )
    made.save(target)
    _show(made, model, target, picture, time.perf_counter() - start, json_)


def _chosen(mode: Mode, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; ArgumentError for one that the mode does not have."""
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in _OF_MODE[mode]:
            option = {"operators": "operator", "per_channel": "per-tensor"}.get(name, name.replace("_", "-"))
            modes = ", ".join(each for each in Mode if name in _OF_MODE[each])
            raise ArgumentError.of(
                f"--{option} with --mode {mode}", f"--mode {modes}", "walle quantize", "leave one of them out"
            )
    return chosen


def _show(made: Any, model: Path, target: Path, picture: Path | None, seconds: float, json_: bool) -> None:
    if picture is not None:
        picture.write_text(made.report.svg())
    size = file_size(target)
    if json_:
        emit_json({**made.report.as_dict(), "output": str(target), "file_bytes": size, "seconds": seconds})
        return
    out.print(made.report.text())
    out.print(f"{model} -> {target}: {size_text(size)}, {seconds:.1f} s")


def _labels(path: Path) -> Any:
    """Indices of classes."""
    if path.suffix == ".npy":
        return read_array(path)
    try:
        return np.asarray([int(line) for line in path.read_text().split()])
    except ValueError as error:
        raise ArgumentError.of(
            f"'{path}' ({error})", "one whole number per line", "--labels", "write the index of each class"
        ) from error


@contextmanager
def _bars(quiet: bool) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar on stderr for each part of the work; nothing when quiet or not on a terminal."""
    if quiet or not err.is_terminal:
        yield None
        return
    with Progress(BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), console=err) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda text, done, total: bar.update(task, description=text, completed=done, total=total)
