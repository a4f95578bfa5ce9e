"""Bars: what counts as the best peer, what falls short, and what tables and files say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from build_model import model
from onnx import helper

import walle_rt
from walle_rt.bench import report
from walle_rt.bench.bars import Bar, bar_table, caused, costliest
from walle_rt.bench.layers import Layer
from walle_rt.bench.profiles import Row
from walle_rt.bench.reasons import Verdict
from walle_rt.bench.roof import Roof
from walle_rt.bench.why import Why

BAR = Bar("m", 1, {"walle": 3.0, "onnxruntime": 4.0, "openvino": 2.0, "MNN": 1.0}, 0.95)


def test_the_fastest_of_those_that_count() -> None:
    assert BAR.ratio == 1.5 and BAR.short
    assert Bar("m", 1, {"walle": 3.0, "onnxruntime": 4.0, "MNN": 1.0}, 0.95).ratio == 0.75
    assert not Bar("m", 1, {"walle": 3.8, "onnxruntime": 4.0}, 0.95).short
    alone = Bar("m", 1, {"walle": 3.0, "MNN": 1.0}, 0.95)
    assert alone.ratio is None and not alone.short


def test_tables_say_causes_and_what_is_left_out() -> None:
    short = Bar("m", 1, {**BAR.milliseconds}, 0.95, cause="kernel 1.00 ms", figures={"off": 0.25})
    other = Bar("a long name", 2, {"walle": 1.0}, 0.95, missing={"MNN": "not installed"}, disturbed=True)
    lines = bar_table([short, other])
    assert lines[0].split() == [
        "case", "threads", "walle", "onnxruntime", "openvino", "MNN", "off", "ratio", "bar", "cause",
    ]  # fmt: skip
    assert lines[1].split()[2:9] == ["3.000", "4.000", "2.000", "1.000", "0.250", "1.50", "0.95"]
    assert lines[1].endswith("  kernel 1.00 ms")
    assert lines[2].split() == ["a", "long", "name", "2", "1.000", "-", "-", "-", "-", "-", "0.95"]
    assert lines[3:] == [
        "* other work ran on the machine",
        "MNN is left out of a long name: not installed",
    ]


def test_files_hold_what_tables_say(tmp_path: Path) -> None:
    path = report.write_table(tmp_path / "made", "bars", "some bars", [BAR.as_dict()])
    read = json.loads(path.read_text())
    assert path.name == "bars.json" and [p.name for p in path.parent.iterdir()] == ["bars.json"]
    assert read["title"] == "some bars" and read["format"] == report.FORMAT
    (row,) = read["rows"]
    assert row["ratio"] == 1.5 and row["short"] is True and row["beside"] == ["onnxruntime", "openvino"]


@pytest.mark.parametrize("slow", [True, False])
def test_causes_are_the_largest_reasons(slow: bool) -> None:
    def layer(ms: float, reason: str) -> tuple[Layer, Verdict]:
        ours, theirs = Row(("n",), "Conv", ms), Row(("n",), "Conv", 1.0)
        return Layer([f"n{ms}"], "Conv", [ours], [theirs]), Verdict(reason if slow else "", {}, 0.5)

    layers = [layer(2.0, "kernel"), layer(1.5, "tails"), layer(1.2, "layout"), layer(1.6, "tails")]
    found = Why("m", {}, {}, "onnxruntime", Roof(1, 1, 1), layers, 0, False)
    said = caused(found)
    if slow:
        assert said == "tails 1.10 ms, kernel 1.00 ms beside onnxruntime; most in Conv n2.0, 1.00 ms"
    else:
        assert said == "no layer is slower than onnxruntime's on one thread"


def test_the_costliest_kernels_are_named() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    made = model(nodes, {"x": [64, 256]}, {"y": [64, 256]}, {"w": np.ones((256, 256), np.float32)})
    session = walle_rt.load(made).session(threads=1)
    session.run({"x": np.ones((64, 256), np.float32)})
    assert re.match(r"^\d+% in gemm_f32", costliest(session))
