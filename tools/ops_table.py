"""Writes docs/reference/ops.md: every operator with its class, arity and ONNX opsets,
from the native table itself.

python tools/ops_table.py            write the page
python tools/ops_table.py --check    fail when the page is not what it would write
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx

from walle_rt import _core
from walle_rt.cli.operators import CLASSES, atomic_families, count_ops
from walle_rt.convert.onnx.rules import RULES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "ops.md"
MEANING = {
    "atomic": "every backend has kernels for them",
    "transform": "move data; lower to rasters, which merge",
    "composite": "lower to other operators; a backend may claim one whole",
    "control": "run by the executor on graphs and sequences",
}
HEAD = """# Operators

Written by `python tools/ops_table.py` from the native table; do not edit. The converter brings every ONNX
opset from 6 on to the newest form of each operator; an operator that is not listed is expanded through its
ONNX function body where it has one: {expanded}.
"""


def arity(bounds: tuple[int, int]) -> str:
    """2, 1-3, 1-any."""
    low, high = bounds
    return str(low) if low == high else f"{low}-{'any' if high < 0 else high}"


def opsets(name: str) -> str:
    """The opsets in which ONNX changed the operator; empty for operators of our own."""
    versions = sorted(
        {
            s.since_version
            for s in onnx.defs.get_all_schemas_with_history()
            if s.name == name and s.domain == ""
        }
    )
    return ", ".join(map(str, versions))


def expanded(native: set[str]) -> list[str]:
    """ONNX operators that are not in the table and have a function body."""
    schemas: list[Any] = [s for s in onnx.defs.get_all_schemas() if s.domain == ""]
    return sorted(
        {
            s.name
            for s in schemas
            if s.name not in native and (s.has_function or s.has_context_dependent_function)
        }
    )


def rewritten(native: set[str]) -> str:
    """What the converter says with operators of the table, by ONNX domain."""
    lines = ["Rewritten by the converter into these:\n"]
    for domain in sorted({domain for domain, _ in RULES}):
        names = sorted(op for d, op in RULES if d == domain and (domain or op not in native))
        lines.append(f"- {domain or 'ai.onnx'}: {', '.join(names)}")
    return "\n".join([*lines, ""])


def page() -> str:
    """The whole page."""
    rows = _core.op_table()
    native = {str(row["name"]) for row in rows}
    counts = count_ops(rows)
    lines = [HEAD.format(expanded=", ".join(expanded(native)) or "none")]
    lines.append(rewritten(native))
    for c in CLASSES:
        lines.append(f"## {c.capitalize()} ({counts[c]}): {MEANING[c]}\n")
        if c == "atomic":
            lines.append(f"Kinds of one family share their kernels: {atomic_families(rows)} families.\n")
        lines += [
            "| operator | family | inputs | outputs | results | changed in ONNX opsets |",
            "|---|---|---|---|---|---|",
        ]
        for row in sorted((r for r in rows if r["op_class"] == c), key=lambda r: str(r["name"])):
            numeric = row["numeric"] if row["deterministic"] else "random"
            cells = [
                row["name"],
                row["family"],
                arity(row["inputs"]),
                arity(row["outputs"]),
                numeric,
                opsets(row["name"]),
            ]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"{PAGE} is out of date: run python tools/ops_table.py")
            return 1
        return 0
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    print(f"{PAGE}: {len(_core.op_table())} operators")
    return 0


if __name__ == "__main__":
    sys.exit(main())
