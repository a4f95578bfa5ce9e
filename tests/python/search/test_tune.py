"""The fit finds coefficients that made the measurements; the command writes a table that the build reads."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from commands import run_walle
from random_seed import random_seed

from walle_rt import tune
from walle_rt.explain import ExplainChoice
from walle_rt.tune.fit import PRICED, Row
from walle_rt.tune.measure import CPU_VARIABLE, Measured, instruction_set, measure_shape
from walle_rt.tune.nnls import nnls


def test_nnls_ends_at_the_optimum() -> None:
    rng = np.random.default_rng(random_seed())
    for _ in range(300):
        rows, columns = int(rng.integers(1, 30)), int(rng.integers(1, 9))
        a = rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-6, 6, columns)
        a[:, rng.random(columns) < 0.1] = 0
        b = rng.standard_normal(rows)
        x = nnls(a, b)
        scale = np.linalg.norm(a, axis=0)
        gradient = a.T @ (a @ x - b) / np.where(scale > 0, scale, 1)
        # Karush, Kuhn and Tucker: no column could lower the residual, those in use cannot at all.
        assert (x >= 0).all()
        assert (gradient > -1e-7).all()
        assert np.abs(gradient[x > 0]).max(initial=0) < 1e-7


def choice(kernel: str, amounts: np.ndarray, threads: int = 1) -> ExplainChoice:
    features = dict(zip(PRICED, map(float, amounts), strict=True)) | {"launches": 0.0}
    return ExplainChoice("cpu", kernel, kernel, "wide", features, threads, 1.0, 0.0, False)


def made_measurements(truth: dict[str, np.ndarray], count: int, rng: np.random.Generator) -> list[Measured]:
    out = []
    for _ in range(count):
        amounts = {k: rng.uniform(1, 1e6, len(PRICED)) for k in truth}
        out.append(
            Measured(
                "made",
                "up",
                [choice(k, a) for k, a in amounts.items()],
                [float(truth[k] @ a) / 1e6 for k, a in amounts.items()],
            )
        )
    return out


def test_fit_finds_what_made_the_measurements() -> None:
    rng = np.random.default_rng(5)
    truth = {"a": rng.uniform(0.1, 1, 8), "b": np.array([0.5, 0, 0, 2, 0, 0, 0.1, 0])}
    fitted = tune.fit(made_measurements(truth, 60, rng))
    for kernel, ns in truth.items():
        np.testing.assert_allclose(fitted.rows[kernel, "wide"].ns, ns, rtol=1e-5, atol=1e-7)
    held_out = tune.quality(made_measurements(truth, 40, rng), fitted)
    assert held_out.choices == 40
    assert held_out.worst_regret == pytest.approx(1) and held_out.median_ratio == pytest.approx(1)


def test_outliers_pull_little_and_few_samples_make_no_row() -> None:
    rng = np.random.default_rng(6)
    truth = {"a": np.full(8, 0.5)}
    measured = made_measurements(truth, 100, rng)
    for m in measured[:5]:
        m.ms[0] *= 3  # another program ran
    np.testing.assert_allclose(
        tune.fit(measured).predicted_ms(measured[50].choices[0]), measured[50].ms[0], rtol=0.1
    )
    assert tune.fit(measured[:3]).rows == {}


def test_regret_is_of_what_would_be_taken() -> None:
    amounts = np.ones(8)
    taken, best = choice("taken", amounts), choice("best", amounts)
    measured = [Measured("f", "t", [taken, best], [3.0, 2.0])]
    fitted = tune.Fit({(k, "wide"): Row((v,) * 8, 9, 0.0) for k, v in {"taken": 1.0, "best": 5.0}.items()})
    found = tune.quality(measured, fitted)
    assert found.worst_regret == pytest.approx(1.5)
    assert "taken, best best" in found.worst


def test_shapes_are_the_same_for_a_seed() -> None:
    once, again = list(tune.shapes(60, 7)), list(tune.shapes(60, 7))
    assert [s.text for s in once] == [s.text for s in again]
    assert [s.text for s in once] != [s.text for s in tune.shapes(60, 8)]
    assert len({s.family for s in once}) > 10


def test_shapes_reach_the_kernels_of_integers() -> None:
    """A layer of codes is one step, whose kernels are of codes: no row of theirs is left to guesses."""
    found: dict[str, set[str]] = {}
    for shape in tune.shapes(60, 5, tune.GROUPS["integers"]):
        for m in measure_shape(shape):
            found.setdefault(shape.family, set()).update(c.kernel for c in m.choices)
    kernels = set().union(*found.values())
    assert kernels >= {
        "blocked_codes_mean", "blocked_conv_int8", "blocked_depthwise_int8", "blocked_from_rows_int8",
        "blocked_pool_codes", "codes_binary", "codes_lookup", "codes_mean_rows", "conv_int8_rows",
        "dequantize_f32", "dynamic_quantize_f32", "gemm_computed_b_int8", "gemm_f64", "gemm_int8",
        "gemm_nbits_digits", "gemm_nbits_f32", "gemm_nbits_int8", "quantize_f32",
    }  # fmt: skip
    layers = {kernel for family, of in found.items() if family.startswith("codes") for kernel in of}
    assert not [kernel for kernel in layers if kernel.endswith("_f32")]


def test_shapes_of_bfloat16_are_those_of_float32() -> None:
    made = list(tune.shapes(30, 5, tune.GROUPS["bf16"]))
    assert {shape.precision for shape in made} == {"bf16"}
    assert {shape.precision for shape in tune.shapes(30, 5, tune.GROUPS["integers"])} == {"float32"}
    assert sum(len(group) for group in tune.GROUPS.values()) == len({s.family for s in tune.shapes(60, 1)})


def test_instruction_sets_end_with_their_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "sse4"):
        if before:
            monkeypatch.setenv(CPU_VARIABLE, before)
        else:
            monkeypatch.delenv(CPU_VARIABLE, raising=False)
        for isa in ("scalar", ""):
            with instruction_set(isa):
                assert os.environ.get(CPU_VARIABLE, "") == isa
            assert os.environ.get(CPU_VARIABLE) == before


def test_the_command_writes_a_table(tmp_path: Path) -> None:
    table = tmp_path / "here.inc"
    target = run_walle("doctor", "--json").json["backends"]["cpu"].partition(" ")[0]
    few = ["--count", "20", "--held-out", "20", "--rounds", "1", "--shapes", "float32"]
    found = run_walle("tune", "fit", table, *few, "--isa", target, "--json").json
    assert set(found["held_out"]) == {target} and found["kernels"]
    text = table.read_text()
    assert text.startswith("// Written by `walle tune fit`: ")
    assert re.search(r'^WALLE_COST_TABLE\("here", "[^"]*"\)$', text, re.MULTILINE)
    assert re.search(rf'^WALLE_COST_PROFILE\("{target}"(, [0-9.e+-]+){{7}}\)$', text, re.MULTILINE)
    rows = re.findall(r'^WALLE_COST_ROW\("([^"]*)", "([^"]*)"(?:,\s+[0-9.e+-]+){8}\)', text, re.MULTILINE)
    assert len(rows) == len(found["kernels"])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--isa", "vax"], 3, "sets of this machine"),
        (["--shapes", "round"], 3, "some of float32, integers, bf16"),
        (["--count", "1"], 2, "--count"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    run_walle("tune", "fit", tmp_path / "t.inc", *arguments, code=code, says=says)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    run_walle("tune", "fit", tmp_path / "none" / "t.inc", code=5, says="a folder that exists")
