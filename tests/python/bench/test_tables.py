"""Ratios, means and the lines that are printed of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from walle_rt.bench import accuracy
from walle_rt.bench.compare import Comparison, geometric_mean
from walle_rt.bench.curves import Point, growth
from walle_rt.bench.tables import curve_table, table


def made(model: str = "m", walle: float = 3.0, **peers: float) -> Comparison:
    times = {"walle": walle, **peers}
    medians = {name: ms * 1.1 for name, ms in times.items()}
    errors = dict.fromkeys(times, 2e-7) | {"walle": 6e-7}
    return Comparison(model, 1, times, medians, errors, {name: [ms] for name, ms in times.items()})


def test_ratio_is_ours_over_the_fastest_peer() -> None:
    found = made(walle=3.0, onnxruntime=4.0, openvino=2.0)
    assert found.best_peer == "openvino"
    assert found.ratio == pytest.approx(1.5) and found.median_ratio == pytest.approx(1.5)
    assert found.error_ratio == pytest.approx(3.0)
    assert made().ratio is None and made().best_peer is None


def test_geometric_mean_leaves_out_what_there_is_not() -> None:
    assert geometric_mean([0.5, None, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([None]) is None and geometric_mean([]) is None


def test_improve_takes_the_faster_of_each() -> None:
    first, second = made(walle=3.0, MNN=1.0), made(walle=2.0, MNN=5.0)
    second.thrown, first.disturbed = 4, True
    first.improve(second)
    assert first.milliseconds == {"walle": 2.0, "MNN": 1.0}
    assert (first.thrown, first.disturbed, first.rounds["walle"]) == (4, False, [3.0, 2.0])


def test_table_says_what_falls_short_and_what_is_missing() -> None:
    slow, fast = made("slow", 3.0, onnxruntime=2.0), made("fast", 1.0, onnxruntime=2.0)
    slow.reasons["ncnn"] = fast.reasons["ncnn"] = "no batch axis"
    fast.reasons["MNN"] = "crashes with signal 11"
    slow.disturbed, slow.thrown, fast.no_reference = True, 7, "KeyError: 'x'"
    text = "\n".join(table([slow, fast]))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert rows["slow"][3] == "1.50" and "7*" in rows["slow"]
    assert rows["geometric"][2] == f"{math.sqrt(1.5 * 0.5):.2f}"
    assert "ncnn is left out of all models: no batch axis" in text
    assert "MNN is left out of fast: crashes with signal 11" in text
    assert "slower than the best peer: slow 1.50 (onnxruntime)" in text
    assert "error over 2x the best peer's: slow 3.0x, fast 3.0x" in text
    assert "fast has no float64 reference: KeyError: 'x'" in text
    assert "hardly ever quiet" in text


def test_growth_is_a_power() -> None:
    assert growth([10, 20, 80], [1.0, 4.0, 16.0]) == pytest.approx([2.0, 1.0])
    points = [Point("m", size, made(f"m:s{size}", ms, MNN=2.0)) for size, ms in ((20, 4.0), (10, 1.0))]
    lines = curve_table(points)
    assert [line.split()[1] for line in lines[1:]] == ["10", "20"]  # in order of size
    assert lines[2].split()[4:7] == ["2.00", "2.00", "0.00"]


def test_error_ratio_has_a_floor() -> None:
    assert accuracy.ratio({"walle": 1e-9, "MNN": 0.0}) == pytest.approx(1.0)
    assert accuracy.ratio({"walle": 4e-7, "MNN": 2e-7, "ncnn": 1e-6}) == pytest.approx(2.0)
    assert accuracy.ratio({"walle": 4e-7, "MNN": 1e-7}, least=2e-7) == pytest.approx(2.0)
    assert accuracy.ratio({"walle": 1e-6}) is None and accuracy.ratio({"MNN": 1e-6}) is None


def test_outputs_resolve_half_a_unit_of_their_largest_value() -> None:
    assert accuracy.resolution([np.array([0.0, 1.0])]) == 1e-7  # a range as large as the values
    # Two probabilities around a half that differ by a tenth: an error of 3e-8 is 3e-7 of that.
    assert accuracy.resolution([np.array([0.45, 0.55])]) == pytest.approx(0.55 * 2**-24 / 0.1)
    assert accuracy.resolution([np.array([0.0, 1.0]), np.array([3.0, np.nan])]) == 1e-7
    assert accuracy.resolution([]) == 1e-7
