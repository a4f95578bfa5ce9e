"""Each ONNX operator with its usual types at two sizes, one thread, beside onnxruntime.

What takes more than twice as long has its reason here, and so has what gives something else. Measured in a
few rounds of 10 ms each, so that the table is done in minutes: to be read for what stands out.
"""

from __future__ import annotations

import fnmatch
import statistics
from pathlib import Path

import pytest
from operator_cases import GROUPS
from operator_table import Row, measured

from cases import Cases
from results import Results

ROUNDS = 3
SLOW = 2.0

# By name of the case: why it takes more than twice as long.
ONCE = "float64 is compiled once, for every processor of its architecture"
REASONS = {
    "Pow-float64-*": "a cube of float64 adds what its products were rounded by; the peer's is rounded twice",
    "Tanh-float64-*": "the C library's function, to a unit in the last place",
    "*-float64-*": ONCE,
    "BatchNormalization-*": "a product and a sum over memory; networks have it in the convolution before it",
    "Clip-*int8-*": "the two bounds of integers are two passes over memory",
    "GridSample_linear-*": "places and weights are computed in float64",
    "*-bool-*": "booleans that are fed are looked over: a byte that is neither 0 nor 1 counts as 1",
}

# By name of the case: why both are right.
OTHERS = {
    "ReduceProd_*": "products of 16 thousand factors overflow, and infinity times 0 depends on their order",
    "GridSample_*": "places are computed in float64 here, in float32 there",
}


def reason_of(row: Row, reasons: dict[str, str]) -> str:
    return next((text for name, text in reasons.items() if fnmatch.fnmatchcase(row.name, name)), "")


def line_of(row: Row) -> str:
    peer = f"{row.peer:9.1f} {row.ratio:6.2f}" if row.peer and row.ratio else "        -      -"
    slow = reason_of(row, REASONS) if row.ratio and row.ratio > SLOW else ""
    other = "" if row.agrees else f"another result: {reason_of(row, OTHERS)}"
    return f"{row.name:44s} {row.ours:9.1f} {peer}  {'; '.join(filter(None, (slow, other)))}".rstrip()


@pytest.mark.parametrize("group", GROUPS)
def test_operators_beside_onnxruntime(group: str, tmp_path: Path, cases: Cases, results: Results) -> None:
    pytest.importorskip("onnxruntime", reason="the peer of this table is not installed")
    rounds = min(cases.rounds, ROUNDS)
    found = [measured(case, tmp_path, rounds) for case in GROUPS[group]()]
    ratios = [row.ratio for row in found if row.ratio]
    title = f"{group}: microseconds, onnxruntime's, ratio; median {statistics.median(ratios):.2f}"
    results.tables.setdefault(("operators", "operators beside onnxruntime"), []).extend(
        {"group": group, **vars(row), "ratio": row.ratio, "reason": reason_of(row, REASONS | OTHERS)}
        for row in found
    )
    results.sections.append((title, [line_of(row) for row in found]))
    unexplained = [row.name for row in found if not row.agrees and not reason_of(row, OTHERS)]
    assert not unexplained, f"results differ from onnxruntime's: {unexplained}"
    slow = [row for row in found if row.ratio and row.ratio > SLOW and not reason_of(row, REASONS)]
    if slow:  # of a quiet machine this list is empty
        print("\nslow without a reason:", *(f"{row.name} {row.ratio:.1f}" for row in slow))
