"""Convert an ONNX model to a .walle file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .. import _core
from ..errors import ArgumentError
from ..model import Model
from .array_files import read_arrays
from .console import emit_json, file_size, out, size_text, working
from .exits import EXIT_DIFFERS, command
from .options import Dims, Json, model_dims


@command
def main(
    model: Annotated[Path, typer.Argument(help="The .onnx file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: the model's name with .walle.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with onnxruntime (or onnx's evaluator) on made-up input.")
    ] = False,
    input_: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="An .npz with the inputs for --check instead of made-up ones."),
    ] = None,
    dim: Dims = None,
    signature: Annotated[
        list[str] | None,
        typer.Option("--signature", help="A named signature: NAME:PUBLIC=INPUT,...->PUBLIC=OUTPUT,..."),
    ] = None,
    json_: Json = False,
) -> None:
    """Convert, save, and optionally compare results."""
    from ..convert import convert
    from ..convert.check import check_model

    target = output or model.with_suffix(".walle")
    start = time.perf_counter()
    with working(f"converting {model.name}", json_):
        data, report = convert(str(model), signatures=[parse_signature(s) for s in signature or []])
        native = Model(_core.Model.create(data))
        sizes = model_dims(dim, native)
        native.save(target)
    seconds = time.perf_counter() - start
    found = None
    if check:
        with working("comparing results", json_):
            found = check_model(model, sizes, read_arrays(input_) if input_ else None)
    if json_:
        answer = {**report.as_dict(), "output": str(target), "bytes": file_size(target), "seconds": seconds}
        emit_json(answer | ({"check": found.as_dict()} if found else {}))
    else:
        out.print(
            f"{model} -> {target}: {report.nodes} nodes, {len(report.operators)} operators, "
            f"{size_text(file_size(target))}, {seconds:.2f} s"
        )
        if found:
            out.print(found.text())
    if found and not found.equal:
        raise typer.Exit(EXIT_DIFFERS)


def parse_signature(text: str) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
    """NAME:a=x,b=y->c=z to (name, inputs, outputs)."""
    name, colon, rest = text.partition(":")
    left, arrow, right = rest.partition("->")
    sides = [[tuple(pair.split("=", 1)) for pair in side.split(",") if pair] for side in (left, right)]
    if not (name and colon and arrow) or any(len(pair) != 2 for side in sides for pair in side):
        raise ArgumentError.of(
            f"signature '{text}'",
            "NAME:PUBLIC=INPUT,...->PUBLIC=OUTPUT,...",
            "--signature",
            "for example --signature 'classify:image=data->scores=prob'",
        )
    inputs, outputs = ([(a, b) for a, b in side] for side in sides)
    return name, inputs, outputs
