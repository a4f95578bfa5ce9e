"""bench/insns.json: instructions of a run, ours and the peers', kept in git."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .emulator import ROOT

TABLE = ROOT / "bench" / "insns.json"
# A change of ours beyond this share fails. The same build counts the same to the instruction; what moves a
# count by less is another order of calls or a compiler's patch level.
GROWN = 0.02
# Ours over the peer's: of a network against onnxruntime, of an operator against the better of MNN and ncnn.
LIMITS = {"models": 0.85, "operators": 1.0}
# Ours with precision="fp16" over ours in float32, of subjects whose products may be so.
FLOATS, HALVES, HALF_LIMIT = "walle", "walle_fp16", 0.55
RIVALS = {"models": ("onnxruntime",), "operators": ("MNN", "ncnn")}

Row = dict[str, Any]
Table = dict[str, Any]


def read(path: Path = TABLE) -> Table:
    """The table; an empty one where there is none yet."""
    if not path.exists():
        return {"header": {}, **{kind: {} for kind in LIMITS}}
    table: Table = json.loads(path.read_text())
    return table


def write(table: Table, path: Path = TABLE) -> None:
    """Replace it as a whole, a row on a line."""
    parts = [f' "header": {json.dumps(table["header"], indent=2).replace(chr(10), chr(10) + " ")}']
    for kind in LIMITS:
        rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in table[kind].items()]
        body = ",\n".join(rows)
        parts.append(f' "{kind}": {{\n{body}\n }}' if rows else f' "{kind}": {{}}')
    part = path.with_name(path.name + ".part")
    part.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    part.replace(path)


def ratio(kind: str, row: Mapping[str, Any]) -> float | None:
    """Ours over the least of those that the bar names; None where none of them runs it."""
    counts = [row[name] for name in RIVALS[kind] if isinstance(row.get(name), int)]
    return row["walle"] / min(counts) if counts and "walle" in row else None


def half_ratio(row: Mapping[str, Any]) -> float | None:
    """Float16's count over float32's; None where the first was not made."""
    return row[HALVES] / row[FLOATS] if HALVES in row else None


def grown(kind: str, name: str, count: int, table: Table, column: str = FLOATS) -> str:
    """Why a count is no longer the table's; empty while it is, or became less."""
    row = table[kind].get(name)
    if row is None or column not in row:
        return f"{name}: not in the table; python -m tools.insns write '{name}'"
    was, of = row[column], " of float16" if column == HALVES else ""
    if count > was * (1 + GROWN):
        return f"{name}: {count:,} instructions{of}, {count / was - 1:+.1%} on the table's {was:,}"
    return ""


def _of_half(row: Mapping[str, Any]) -> str:
    found = half_ratio(row)
    if found is None:
        return ""
    cause = f", over {HALF_LIMIT}: {row.get('cause_fp16', 'no cause known')}" if found > HALF_LIMIT else ""
    return f"  float16 {found:.2f} of float32{cause}"


def lines(table: Table) -> list[str]:
    """For people: a row per subject with the peers' counts, the ratio, the cause of what is over its bar."""
    out = []
    for kind, limit in LIMITS.items():
        out.append(f"{kind}: millions of instructions of one run; ratio to {', '.join(RIVALS[kind])}")
        for name, row in table[kind].items():
            peers = [row.get(engine) for engine in ("onnxruntime", "MNN", "ncnn")]
            figures = " ".join(f"{p / 1e6:9.3f}" if isinstance(p, int) else f"{'-':>9s}" for p in peers)
            found = ratio(kind, row)
            short = found is not None and found > limit
            said = "     -" if found is None else f"{found:6.2f}"
            cause = f"  over {limit}: {row.get('cause', 'no cause known')}" if short else ""
            out.append(f"{name:32s} {row.get('walle', 0) / 1e6:9.3f} {figures} {said}{cause}{_of_half(row)}")
    return out
