"""Measure a model's latency on made-up input."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..errors import ArgumentError
from ..loading import load
from ..made_up import made_up_inputs
from .bench_why import explain_loss
from .console import emit_json, out, working
from .exits import command
from .options import Dims, Json, model_dims, symbols


@command
def main(
    model: Annotated[Path, typer.Argument(help="A .walle or .onnx file.")],
    threads: Annotated[int, typer.Option("--threads", min=1)] = 1,
    seconds: Annotated[float, typer.Option("--seconds", min=0.0, help="Measure for about this long.")] = 2.0,
    warmup: Annotated[
        int, typer.Option("--warmup", min=1, help="Runs before measuring; the first one plans.")
    ] = 3,
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Write a trace of one run for Perfetto.")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Where time goes beside the best other runtime, layer by layer.")
    ] = False,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Of --why: interleaved rounds.")] = 5,
    top: Annotated[int, typer.Option("--top", min=1, help="Of --why: layers shown.")] = 20,
    dim: Dims = None,
    json_: Json = False,
) -> None:
    """Time runs one after the other; the shapes that were measured are printed with the result."""
    if why:
        if threads != 1 or profile:
            raise ArgumentError.of(
                "--why with --profile" if profile else f"--why with --threads {threads}",
                "one thread and no trace: profiles of several threads do not add up",
                "--why",
                "leave the other option out",
            )
        explain_loss(model, dim, rounds, top, json_)
        return
    with working(f"loading {model.name}", json_):
        start = time.perf_counter()
        loaded = load(model)
        load_ms = (time.perf_counter() - start) * 1e3
    sizes = model_dims(dim, loaded)
    feeds = made_up_inputs(loaded, sizes)
    session = loaded.session(threads=threads)
    start = time.perf_counter()
    session.run(feeds)
    first_ms = (time.perf_counter() - start) * 1e3
    for _ in range(warmup - 1):
        session.run(feeds)
    times: list[float] = []
    with working("measuring", json_):
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            session.run(feeds)
            times.append((time.perf_counter() - begin) * 1e3)
    if profile:
        with session.profile(profile):
            session.run(feeds)
    assumed = [name for name in symbols(loaded) if name not in sizes]
    shapes = {k: list(v.shape) for k, v in feeds.items() if isinstance(v, np.ndarray)}
    found = {
        "model": str(model),
        "inputs": shapes,
        "assumed": dict.fromkeys(assumed, 1),
        "threads": threads,
        "runs": len(times),
        "load_ms": load_ms,
        "first_run_ms": first_ms,
        "min_ms": min(times),
        "median_ms": float(np.median(times)),
        "p90_ms": float(np.percentile(times, 90)),
    }
    if json_:
        emit_json(found)
        return
    for name, value in feeds.items():
        out.print(f"input {name}: {described(value)}")
    if assumed:
        out.print(f"sizes that were not given are 1: {', '.join(assumed)}; say --dim {assumed[0]}=SIZE")
    out.print(
        f"{model.name}, {threads} thread(s): median {found['median_ms']:.3f} ms, min {found['min_ms']:.3f}, "
        f"p90 {found['p90_ms']:.3f} over {len(times)} runs; load {load_ms:.1f} ms, "
        f"first run {first_ms:.1f} ms"
    )


def described(value: object) -> str:
    """Dtype and shape of an input that was made up."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return "empty"
