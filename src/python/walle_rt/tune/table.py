"""A fitted table as the text that is compiled into the search (src/cpp/search/tables)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from .fit import PRICED, Fit, Quality

_PROFILE = ("flop", "step", "l1_byte", "l2_byte", "l3_byte", "memory_byte", "bf16_flop")
_COLUMNS = 110  # of a line of our sources


@dataclass(frozen=True)
class Machine:
    """What a table was fitted on."""

    name: str  # of the table
    devices: str  # Backend::device() of all it holds for, separated by commas
    described: str  # for people
    date: str


def _number(value: float) -> str:
    return f"{value:.4g}"


def table_text(fitted: Fit, held_out: Quality, profiles: Iterable[_core._Profile], machine: Machine) -> str:
    """The file's text; the header says on what, when, from how much, and how good."""
    samples = sum(row.samples for row in fitted.rows.values())
    lines = [
        f"// Written by `walle tune fit`: {machine.described}, {machine.date}, one thread.",
        f"// {samples} samples of {len(fitted.rows)} kernels; on {held_out.choices} held-out shapes regret"
        f" median {held_out.median_regret:.3f},",
        f"// worst {held_out.worst_regret:.3f}; predicted / measured median {held_out.median_ratio:.2f},"
        f" 5th to 95th of a hundred {held_out.low_ratio:.2f} to {held_out.high_ratio:.2f}.",
        "//",
        "// Profiles: " + ", ".join(_PROFILE) + ". Rows, in ns:",
        "// " + ", ".join(PRICED) + "; then samples and median error.",
        f'WALLE_COST_TABLE("{machine.name}", "{machine.devices}")',
    ]
    for p in profiles:
        figures = ", ".join(_number(p[q]) for q in _PROFILE)  # type: ignore[literal-required]
        lines.append(f'WALLE_COST_PROFILE("{p["isa"]}", {figures})')
    for (kernel, isa), row in sorted(fitted.rows.items()):
        figures = ", ".join(map(_number, row.ns))
        behind = f"{figures})  // {row.samples}, {row.median_error:.0%}"
        line = f'WALLE_COST_ROW("{kernel}", "{isa}", {behind}'
        if len(line) > _COLUMNS:
            line = f'WALLE_COST_ROW("{kernel}", "{isa}",\n{" " * len("WALLE_COST_ROW(")}{behind}'
        lines.append(line)
    return "\n".join(lines) + "\n"


def write_table(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file as a whole."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(target)
