"""The operator table: what there is, and what raster saves a backend's author."""

from __future__ import annotations

from typing import Any

from .. import _core
from .console import emit_json, out

CLASSES = ("atomic", "transform", "composite", "control")
# What Walle (OSDI 2022) reports: operators per class and backends,
# and the kernels to write without and with raster.
WALLE_OPS = {"atomic": 61, "transform": 45, "composite": 16, "control": 2}
WALLE_BACKENDS = 16
MOVERS = ("raster", "loop")


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


def show_operators(counts: bool, json_: bool) -> None:
    """The table, or its counts."""
    rows = _core.op_table()
    if not counts:
        if json_:
            emit_json({"operators": rows})
            return
        for c in CLASSES:
            names = [row["name"] for row in rows if row["op_class"] == c]
            out.print(f"{c} ({len(names)}): {', '.join(names)}")
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
