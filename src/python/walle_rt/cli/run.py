"""Run a model on files: images, .npz, .npy or .json."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import ArgumentError
from ..loading import load
from .console import emit_json, out, working
from .exits import command
from .feeds import read_input
from .options import Dims, Json, Threads, model_dims
from .pictures import Normalisation
from .results import as_json, show


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
        raise ArgumentError.of(
            "no input", "at least one --input", "walle run", "add --input picture.jpg or --input data.npz"
        )
    with working(f"loading {model.name}", json_):
        loaded = load(model)
    normalisation = Normalisation.of(scale, mean, std)
    sizes = model_dims(dim, loaded)
    feeds: dict[str, Any] = {}
    for item in input_:
        feeds.update(read_input(loaded, item, sizes, normalisation))
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
