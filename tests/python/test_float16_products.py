"""Products in float16: only where a session asks for them and the processor adds so (tests/arm64)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import helper
from random_seed import random_seed

import walle_rt
from walle_rt import _core

Array = np.ndarray[Any, Any]
HALVES = "fp16" in _core.machine()["capabilities"]


def normal(*shape: int) -> Array:
    rng = np.random.default_rng(random_seed() + sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


def product(m: int, k: int, n: int) -> Any:
    return model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [m, k]}, ["y"], {"b": normal(k, n)})


def convolution(kernel: int, stride: int) -> Any:
    """Two, so that one of them reads blocks."""
    nodes = [
        helper.make_node("Conv", ["a", "v"], ["x"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride] * 2),
    ]
    weights = {"v": normal(32, 16, 3, 3) / 12, "w": normal(48, 32, kernel, kernel) / 6 / kernel}
    return model(nodes, {"a": [1, 16, 24, 24]}, ["y"], weights)


def run(made: Any, a: Array, precision: str) -> tuple[Array, walle_rt.Session]:
    session = walle_rt.load(made).session(precision=precision, plan_cache="off")
    return session.run({"a": a})["y"], session


def arithmetic(session: walle_rt.Session) -> set[str]:
    return {row.arithmetic for row in session.explain().rows if row.op in ("MatMul", "Conv")}


def decibels(wanted: Array, found: Array) -> float:
    noise = np.square(wanted.astype(float) - found).sum()
    return float(10 * np.log10(np.square(wanted.astype(float)).sum() / noise))


CASES = {
    "rows": (product(150, 129, 200), (150, 129)),
    "one row": (product(1, 515, 300), (1, 515)),
    "windows": (convolution(3, 2), (1, 16, 24, 24)),
    "pixels": (convolution(1, 1), (1, 16, 24, 24)),
}


@pytest.mark.parametrize("case", CASES)
def test_float16_is_taken_where_the_processor_adds_so(case: str) -> None:
    """One of bfloat16 is no stand-in: without float16 results are float32's, bit for bit."""
    made, shape = CASES[case]
    a = normal(*shape)
    exact, floats = run(made, a, "float32")
    found, session = run(made, a, "fp16")
    assert arithmetic(floats) == {"float32"}
    if not HALVES:
        assert arithmetic(session) == {"float32"}
        assert np.array_equal(found, exact)
        return
    assert "float16" in arithmetic(session)
    assert arithmetic(session) <= {"float16", "float32"}
    assert {row.weights for row in session.explain().rows if row.arithmetic == "float16"} == {"float16"}
    assert 50 < decibels(exact, found) < 90, "rounded, and no more than it says"


def test_without_the_capability_the_option_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", "neon" if HALVES else "scalar")
    made, shape = CASES["rows"]
    a = normal(*shape)
    found, session = run(made, a, "fp16")
    assert arithmetic(session) == {"float32"}
    assert np.array_equal(found, run(made, a, "float32")[0])


def test_what_no_precision_is_names_those_there_are() -> None:
    made, shape = CASES["rows"]
    with pytest.raises(walle_rt.ArgumentError, match="'float32', 'auto', 'bf16' or 'fp16'"):
        run(made, normal(*shape), "half")
