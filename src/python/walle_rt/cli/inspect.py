"""Look into a model at one stage of its way to a plan, or into the operator table (`walle inspect ops`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from .. import _core
from ..loading import load
from ..model import Model
from .common import Dims, Json, Threads, command, emit_json, made_up_inputs, out, parse_dims, working

CLASSES = ("atomic", "transform", "composite", "control")
# What Walle (OSDI 2022) reports: operators per class and backends,
# and the kernels to write without and with raster.
WALLE_OPS = {"atomic": 61, "transform": 45, "composite": 16, "control": 2}
WALLE_BACKENDS = 16
MOVERS = ("raster", "loop")


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
    dim: Dims = None,
    threads: Threads = 1,
    json_: Json = False,
) -> None:
    """Print one stage."""
    if target == "ops":
        show_ops(counts, json_)
        return
    with working(f"loading {target}", json_):
        model = load(target)
    if stage is Stage.model:
        show_model(model, json_)
        return
    feeds = made_up_inputs(model, parse_dims(dim))
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
    found = session.explain()
    if json_:
        emit_json(found.as_dict())
    else:
        out.print(found.program if stage is Stage.raster else found.text(losers=losers), markup=False)


def show_model(model: Model, json_: bool) -> None:
    """The stored graph."""
    if json_:
        emit_json(
            {
                "inputs": [vars(v) for v in model.inputs],
                "outputs": [vars(v) for v in model.outputs],
                "signatures": {k: vars(s) for k, s in model.signatures.items()},
                "metadata": model.metadata,
                "text": model.text(),
            }
        )
        return
    for title, infos in (("input", model.inputs), ("output", model.outputs)):
        for info in infos:
            out.print(f"{title:<8} {info}", markup=False)
    for key, value in model.metadata.items():
        out.print(f"metadata {key} = {value}", markup=False)
    for signature in model.signatures.values():
        out.print(f"signature {signature.name}: {signature.inputs} -> {signature.outputs}", markup=False)
    out.print(model.text(), markup=False)


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
        out.print(f"{row['name']}: {row['dtype']}{row['shape']}", markup=False)


def count_ops(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Operators per class."""
    return {c: sum(row["op_class"] == c for row in rows) for c in CLASSES}


def workload(ops: dict[str, int], backends: int, movers: int = 1) -> tuple[int, int]:
    """Pieces of work without and with raster.

    Without: every atomic, transform and composite operator once per backend, control operators once. With:
    atomic operators and the movement atoms (raster; ours has loop too) once per backend; all others once.
    ``ops["atomic"]`` counts without the movement atoms.
    """
    without = (ops["atomic"] + ops["transform"] + ops["composite"]) * backends + ops["control"]
    with_raster = (ops["atomic"] + movers) * backends + ops["transform"] + ops["composite"] + ops["control"]
    return without, with_raster


def show_ops(counts: bool, json_: bool) -> None:
    """The table, or its counts."""
    rows = _core.op_table()
    if not counts:
        if json_:
            emit_json({"operators": rows})
            return
        for c in CLASSES:
            names = [row["name"] for row in rows if row["op_class"] == c]
            out.print(f"{c} ({len(names)}): {', '.join(names)}", markup=False)
        return
    ours, families = count_ops(rows), atomic_families(rows)
    table = [saved("Walle (OSDI 2022)", WALLE_OPS, WALLE_BACKENDS)]
    kernels = {**ours, "atomic": families - len(MOVERS)}
    table += [saved("walle_rt", kernels, n, len(MOVERS)) for n in (1, 3, WALLE_BACKENDS)]
    if json_:
        emit_json({"operators": ours, "atomic_families": families, "work": table})
        return
    total = sum(ours.values())
    out.print(f"{total} operators: " + ", ".join(f"{ours[c]} {c}" for c in CLASSES))
    out.print(
        f"the {ours['atomic']} atomic ones are kinds of {families} kernel families, "
        "raster and loop among them"
    )
    for row in table:
        out.print(
            f"{row['who']:<18} {row['backends']:>3} backends: "
            f"{row['without']:>6,} pieces of work without raster, "
            f"{row['with']:>6,} with it, {row['saved']:.0%} less"
        )


def atomic_families(rows: list[dict[str, Any]]) -> int:
    """What a backend has to write: atomic operators, kinds of one family counted once."""
    return len({row["family"] for row in rows if row["op_class"] == "atomic"})


def saved(who: str, ops: dict[str, int], backends: int, movers: int = 1) -> dict[str, Any]:
    """One line of the comparison."""
    without, with_raster = workload(ops, backends, movers)
    return {
        "who": who,
        "backends": backends,
        "without": without,
        "with": with_raster,
        "saved": 1 - with_raster / without,
    }
