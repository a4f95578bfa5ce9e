"""The table of costs that is made of counted instructions and modelled cycles."""

from __future__ import annotations

import re

import pytest
from tools import mca
from tools.insns import fit

from walle_rt.tune import Measured, Quality
from walle_rt.tune.fit import PRICED, Row

LINE = "m.walle\t3\tcpu\tgemm_f32_packed\tgemm_f32\tneon\t1\t0.25\t1000\t1\t2\t3\t4\t5\t6\t7\t0"
QUALITY = Quality(7, 1.0, 1.5, 1.1, "", 1.0, 0.9, 1.2)
CYCLES = {source: 0.5 for source in fit.SOURCES.values()}


def test_bytes_of_all_levels_are_one_quantity() -> None:
    found = fit.parsed(LINE)
    assert (found.model, found.step, found.choice.measured_ms) == ("m.walle", "3", 0.25)
    assert found.choice.features["l1_bytes"] == 1 + 2 + 3 + 4
    assert found.choice.features["memory_bytes"] == 0
    assert found.choice.features["flop"] == 1000
    assert found.choice.features["calls"] == 7


def test_choices_of_a_step_are_told_apart_from_other_models() -> None:
    found = fit.measured(map(fit.parsed, (LINE, LINE, LINE.replace("m.walle", "n.walle"))))
    assert [(m.family, len(m.choices), m.ms) for m in found] == [
        ("m.walle", 2, [0.25, 0.25]),
        ("n.walle", 1, [0.25]),
    ]
    assert all(isinstance(m, Measured) for m in found)


def test_instructions_are_cycles_of_the_kernel_s_loops() -> None:
    row = Row(tuple(10.0 for _ in PRICED), 9, 0.1)  # one instruction for each, as the fit is given them
    slow = {**CYCLES, "softmax/softmax_simd": 1.0}
    fast, found = fit.in_ns("gemm_f32", "neon", row, slow), fit.in_ns("softmax_f32_rows", "neon", row, slow)
    assert fast.ns[0] == pytest.approx(0.5 / fit.GHZ)
    assert found.ns[0] == pytest.approx(2 * fast.ns[0])
    assert all(ns >= fast.ns[1] for ns in fast.ns[2:5]), "no level is nearer than the first"
    assert (fast.samples, fast.median_error) == (9, 0.1)


def test_the_table_in_git_was_made_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mca, "header", lambda: {"llvm_mca": "19.1.7"})
    row = Row(tuple(0.5 for _ in PRICED), 9, 0.1)
    text = fit.text_of({("gemm_f32", "neon"): row}, QUALITY, 9, "2026-11-29")
    kept = (fit.TABLES / f"{fit.NAME}.inc").read_text()

    def said(of: str) -> str:
        words = " ".join(line.removeprefix("// ") for line in of.splitlines() if line.startswith("//"))
        return re.sub(r"[\d.-]+", "N", words)

    assert said(kept) == said(text)
    assert [line for line in kept.splitlines() if "PROFILE" in line] == [
        line for line in text.splitlines() if "PROFILE" in line
    ]
    assert max(map(len, text.splitlines())) <= 110
    for (kernel, isa), ns in fit.first_rows().items():
        assert len(ns) == len(PRICED), (kernel, isa)
