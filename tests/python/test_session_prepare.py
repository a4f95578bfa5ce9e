"""Plans made ahead of the first run, and the bytes that plans may take."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto
from onnx.helper import make_node

import walle_rt

WIDTH = 64
WEIGHTS = np.random.default_rng(0).standard_normal((WIDTH, WIDTH), np.float32)


def layer() -> walle_rt.Model:
    return walle_rt.load(
        model(
            [make_node("MatMul", ["x", "w"], ["p"]), make_node("Softmax", ["p"], ["y"])],
            {"x": ["n", WIDTH]},
            ["y"],
            {"w": WEIGHTS},
        )
    )


def reshaping() -> walle_rt.Model:
    inputs: dict[str, Any] = {"x": ["n"], "target": (TensorProto.INT64, [2])}
    nodes = [make_node("Reshape", ["x", "target"], ["r"]), make_node("Exp", ["r"], ["y"])]
    return walle_rt.load(model(nodes, inputs, ["y"]))


def plans_made(session: walle_rt.Session, feeds: dict[str, Any]) -> int:
    """How many plans a run had to make: each is an event of the profile."""
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        with session.profile(trace):
            session.run(feeds)
        return trace.read_text().count("host_plan")


def test_the_first_run_finds_its_plan() -> None:
    session = layer().session()
    session.prepare({"x": (40, WIDTH)})
    made = session.memory()
    assert made.plans == 1 and made.packed > 0 and made.steps > 0 and made.arena == made.lent == 0
    session.prepare({"x": [40, WIDTH]})
    assert session.memory() == made, "the same shapes again"
    x = np.ones((40, WIDTH), np.float32)
    assert plans_made(session, {"x": x}) == 0
    assert plans_made(layer().session(), {"x": x}) == 1


def test_several_shapes_make_a_class_with_the_digits_of_runs_alone() -> None:
    session, alone = layer().session(), layer().session(debug="classes=off")
    session.prepare({"x": (n, WIDTH)} for n in (7, 8, 90))
    assert session.memory().plans <= 2
    for n in (8, 7, 90, 33):
        x = np.random.default_rng(n).standard_normal((n, WIDTH), np.float32)
        assert plans_made(session, {"x": x}) == 0
        assert session.run({"x": x})["y"].tobytes() == alone.run({"x": x})["y"].tobytes()


def test_values_that_decide_sizes_are_given() -> None:
    session = reshaping().session()
    with pytest.raises(walle_rt.ArgumentError, match=r"'target'.*the array itself"):
        session.prepare({"x": (6,), "target": (2,)})
    session.prepare({"x": (6,), "target": np.array([2, 3])})
    assert plans_made(session, {"x": np.ones(6, np.float32), "target": np.array([2, 3])}) == 0
    assert plans_made(session, {"x": np.ones(6, np.float32), "target": np.array([3, 2])}) == 1


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"x": (4, WIDTH + 1)}, "input 'x'"),
        ({"x": (4, -1)}, "input 'x'"),
        ({"x": (4, "n")}, "input 'x'"),
        ({"x": (4,)}, "input 'x'"),
        ({}, "'x'"),
        ({"z": (4, WIDTH)}, "'z'"),
        ([(4, WIDTH)], "name the inputs"),
    ],
)
def test_what_does_not_fit_is_named(shapes: Any, said: str) -> None:
    session = layer().session()
    with pytest.raises(walle_rt.ArgumentError, match=said):
        session.prepare(shapes)
    assert session.memory().plans == 0


def test_another_thread_prepares_while_runs_go_on() -> None:
    session = layer().session()
    x = np.ones((5, WIDTH), np.float32)
    expected = session.run({"x": x})["y"]
    with ThreadPoolExecutor(3) as threads:
        ahead = [threads.submit(session.prepare, {"x": (n, WIDTH)}) for n in range(6, 40)]
        runs = [threads.submit(session.run, {"x": x}) for _ in range(40)]
        for future in ahead:
            future.result()
        assert all(future.result()["y"].tobytes() == expected.tobytes() for future in runs)
    assert plans_made(session, {"x": np.ones((39, WIDTH), np.float32)}) == 0


def test_a_signature_has_its_names() -> None:
    session = layer().session()
    with pytest.raises(walle_rt.ArgumentError, match="signature 'serve'"):
        session.prepare({"x": (4, WIDTH)}, signature="serve")


def test_plans_leave_when_they_take_too_much() -> None:
    whole = layer().session(debug="classes=off")
    for n in range(2, 22):
        whole.run({"x": np.ones((n, WIDTH), np.float32)})
    most = whole.memory().steps // 4 + whole.memory().arena
    bounded = layer().session(debug="classes=off", max_plan_bytes=most)
    for n in range(2, 22):
        bounded.run({"x": np.ones((n, WIDTH), np.float32)})
    held = bounded.memory()
    assert 2 <= held.plans <= 6 and held.steps + held.arena <= most
    assert plans_made(bounded, {"x": np.ones((21, WIDTH), np.float32)}) == 0
    assert plans_made(bounded, {"x": np.ones((2, WIDTH), np.float32)}) == 1


@pytest.mark.parametrize("bytes_", [-1, 2**63, "1M", True])
def test_a_bound_that_is_none_is_refused(bytes_: Any) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="max_plan_bytes"):
        layer().session(max_plan_bytes=bytes_)
    assert layer().session(max_plan_bytes=2**40).options["max_plan_bytes"] == 2**40
