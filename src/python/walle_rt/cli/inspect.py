"""Look into a model at one stage of its way to a plan, or into the operator table (`walle inspect ops`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import _core
from ..errors import ArgumentError
from ..loading import load
from ..made_up import made_up_inputs
from ..model import Model
from .console import emit_json, out, working
from .exits import command
from .operators import show_operators
from .options import Dims, Json, Threads, model_dims


class Stage(StrEnum):
    """The stages a model can be looked at."""

    model = "model"
    shapes = "shapes"
    raster = "raster"
    plan = "plan"


@command
def main(
    target: Annotated[str, typer.Argument(help="A .walle or .onnx file, or the word ops.")],
    stage: Annotated[
        Stage, typer.Option(help="model: as stored; shapes; raster: lowered and merged; plan.")
    ] = Stage.model,
    counts: Annotated[
        bool, typer.Option("--counts", help="With ops: the four classes and the work raster saves.")
    ] = False,
    runs: Annotated[
        int, typer.Option("--runs", min=0, help="With --stage=plan: measure over this many runs.")
    ] = 5,
    losers: Annotated[
        bool, typer.Option("--losers", help="With --stage=plan: also the algorithms not chosen.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare all weights of a .walle file with their checksums.")
    ] = False,
    top: Annotated[
        int | None,
        typer.Option("--top", min=0, help="With --stage=plan: the costliest rows, and time in groups."),
    ] = None,
    dim: Dims = None,
    threads: Threads = 1,
    json_: Json = False,
) -> None:
    """Print one stage."""
    if target == "ops":
        show_operators(counts, json_)
        return
    if verify:
        show_verified(target, json_)
        return
    with working(f"loading {target}", json_):
        model = load(target)
    if stage is Stage.model:
        show_model(model, json_)
        return
    feeds = made_up_inputs(model, model_dims(dim, model))
    if stage is Stage.shapes:
        show_shapes(model, feeds, json_)
        return
    session = model.session(threads=threads)
    with working("planning", json_):
        session.run(feeds)
    if stage is Stage.plan:
        with working("measuring", json_), session.profile():
            for _ in range(runs):
                session.run(feeds)
    found = session.explain(top=top)
    if json_:
        emit_json(found.as_dict())
    else:
        out.print(found.program if stage is Stage.raster else found.text(losers=losers))


def show_verified(target: str, json_: bool) -> None:
    """That every byte of a .walle file is what was written; an error says which are not."""
    if not _core.file_looks_like_walle(target):
        raise ArgumentError.of(
            f"'{target}', which is no .walle file",
            "a .walle file: other formats have no checksums",
            "--verify",
            "convert it first: walle convert",
        )
    with working(f"reading {target}", json_):
        load(target, verify=True)
    size = Path(target).stat().st_size
    if json_:
        emit_json({"file": target, "bytes": size, "verified": True})
    else:
        out.print(f"{target}: {size} bytes, every checksum is right")


def show_model(model: Model, json_: bool) -> None:
    """The stored graph."""
    if json_:
        emit_json(
            {
                "inputs": [vars(v) for v in model.inputs],
                "overridable_inputs": [vars(v) for v in model.overridable_inputs],
                "states": [vars(v) for v in model.states],
                "outputs": [vars(v) for v in model.outputs],
                "signatures": {k: vars(s) for k, s in model.signatures.items()},
                "metadata": model.metadata,
                "text": model.text(),
            }
        )
        return
    titles = {
        "input": model.inputs,
        "default": model.overridable_inputs,
        "state": model.states,
        "output": model.outputs,
    }
    for title, infos in titles.items():
        for info in infos:
            out.print(f"{title:<8} {info}")
    for key, value in model.metadata.items():
        out.print(f"metadata {key} = {value}")
    for signature in model.signatures.values():
        out.print(f"signature {signature.name}: {signature.inputs} -> {signature.outputs}")
    out.print(model.text())


def show_shapes(model: Model, feeds: dict[str, Any], json_: bool) -> None:
    """Every value of the main graph with its dtype and shape, found by running once."""
    all_values = Model(_core.Model.create(model._native.expose_all(), fold=False))
    results = all_values.session(threads=1).run(feeds)
    rows = [
        {
            "name": k,
            "dtype": getattr(v, "dtype", type(v)).name if hasattr(v, "dtype") else type(v).__name__,
            "shape": list(getattr(v, "shape", ())),
        }
        for k, v in results.items()
    ]
    if json_:
        emit_json({"values": rows})
        return
    for row in rows:
        out.print(f"{row['name']}: {row['dtype']}{row['shape']}")
