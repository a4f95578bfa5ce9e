"""State values from Python: a session's own, between runs, in order, across shapes, files and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import helper
from onnx.helper import make_node

import walle_rt
from walle_rt import ArgumentError, CancelToken, Model

BEGIN = np.array([10, 20], np.float32)


def accumulator() -> Model:
    """next = total + sum(x), seen = 2 * total; x of any number of rows."""
    nodes = [
        make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        make_node("Add", ["total", "sum"], ["next"]),
        make_node("Add", ["total", "total"], ["seen"]),
    ]
    made = model(nodes, {"x": ["n"], "total": [2]}, ["seen", "next"])
    return walle_rt.load(made).with_states({"total": ("next", BEGIN)})


def ones(n: int) -> dict[str, Any]:
    return {"x": np.ones(n, np.float32)}


def test_a_run_reads_and_leaves() -> None:
    counting = accumulator()
    assert [str(s) for s in counting.states] == ["total: float32[2]"]
    assert [i.name for i in counting.inputs] == ["x"]
    assert [o.name for o in counting.outputs] == ["seen"]
    session = counting.session()
    np.testing.assert_array_equal(session.run(ones(3))["seen"], 2 * BEGIN)
    np.testing.assert_array_equal(session.run(ones(5))["seen"], 2 * (BEGIN + 3))  # another plan
    np.testing.assert_array_equal(session.run(ones(3))["seen"], 2 * (BEGIN + 8))
    np.testing.assert_array_equal(session.states["total"], BEGIN + 11)


def test_as_a_mapping() -> None:
    session = accumulator().session()
    states = session.states
    assert list(states) == ["total"]
    assert len(states) == 1
    assert "totals" not in states
    mine = np.array([1, 2], np.float32)
    states["total"] = mine
    mine[:] = 99
    session.run(ones(1))
    snapshot = dict(states)
    np.testing.assert_array_equal(snapshot["total"], [2, 3])
    snapshot["total"][:] = 99
    np.testing.assert_array_equal(states["total"], [2, 3])
    states.reset()
    np.testing.assert_array_equal(states["total"], BEGIN)
    with pytest.raises(KeyError):
        states["totals"]
    with pytest.raises(ArgumentError, match="did you mean 'total'"):
        states["totals"] = BEGIN
    for wrong in (np.zeros(3, np.float32), np.zeros(2), None):
        with pytest.raises(ArgumentError):
            states["total"] = wrong
    np.testing.assert_array_equal(states["total"], BEGIN)
    plain = walle_rt.load(model([make_node("Neg", ["x"], ["y"])], {"x": [1]}, ["y"]))
    assert dict(plain.session().states) == {}


def test_what_a_session_begins_with_is_a_copy() -> None:
    begin = BEGIN.copy()
    nodes = [make_node("Add", ["t", "x"], ["n"])]
    made = walle_rt.load(model(nodes, {"t": [2], "x": [2]}, ["n"])).with_states({"t": ("n", begin)})
    begin[:] = 0
    np.testing.assert_array_equal(made.session().states["t"], BEGIN)


def test_sessions_do_not_share() -> None:
    counting = accumulator()
    one, other = counting.session(), counting.session()
    one.run(ones(4))
    np.testing.assert_array_equal(other.states["total"], BEGIN)
    other.run(ones(1))
    np.testing.assert_array_equal(one.states["total"], BEGIN + 4)


def test_runs_that_are_asked_for_follow_one_another() -> None:
    session = accumulator().session()
    waiting = [session.run_async(ones(n % 3 + 1)) for n in range(30)]
    total = 0
    for n, future in enumerate(waiting):
        np.testing.assert_array_equal(future.result()["seen"], 2 * (BEGIN + total))
        total += n % 3 + 1
    np.testing.assert_array_equal(session.states["total"], BEGIN + total)


def test_a_failed_run_leaves_everything() -> None:
    nodes = [
        make_node("Add", ["count", "one"], ["next"]),
        make_node("Gather", ["table", "i"], ["row"]),
        make_node("Add", ["row", "next"], ["y"]),
    ]
    weights = {"one": np.ones(1, np.float32), "table": np.arange(4, dtype=np.float32)}
    made = walle_rt.load(model(nodes, {"i": (7, [1]), "count": [1]}, ["y", "next"], weights))
    session = made.with_states({"count": ("next", np.zeros(1, np.float32))}).session()
    session.run({"i": np.array([2])})
    with pytest.raises(walle_rt.ModelError, match="index 9"):
        session.run({"i": np.array([9])})
    token = CancelToken()
    token.cancel()
    with pytest.raises(walle_rt.CancelledError):
        session.run({"i": np.array([2])}, cancel=token)
    with pytest.raises(ArgumentError):
        session.run({"i": np.array([2.0])})
    np.testing.assert_array_equal(session.states["count"], [1])


def test_files_hold_what_sessions_begin_with(tmp_path: Path) -> None:
    counting = accumulator()
    before = counting.to_bytes()
    session = counting.session()
    session.run(ones(3))
    assert counting.to_bytes() == before
    counting.save(tmp_path / "m.walle")
    again = walle_rt.load(tmp_path / "m.walle")
    assert again.states == counting.states
    assert "next %total" in again.text()
    np.testing.assert_array_equal(again.session().states["total"], BEGIN)
    np.testing.assert_array_equal(session.states["total"], BEGIN + 3)


def test_results_are_the_callers() -> None:
    """Also one that is the state itself."""
    nodes = [make_node("Identity", ["t"], ["old"]), make_node("Add", ["t", "x"], ["n"])]
    made = walle_rt.load(model(nodes, {"t": [2], "x": [2]}, ["old", "n"]))
    session = made.with_states({"t": ("n", BEGIN)}).session()
    old = session.run({"x": BEGIN})["old"]
    old[:] = -1
    given = np.empty(2, np.float32)
    session.run({"x": BEGIN}, out={"old": given})
    np.testing.assert_array_equal(given, 2 * BEGIN)
    given[:] = -1
    np.testing.assert_array_equal(session.states["t"], 3 * BEGIN)


def test_a_cache_that_grows() -> None:
    nodes = [make_node("Concat", ["past", "x"], ["present"], axis=1)]
    made = walle_rt.load(model(nodes, {"past": [2, "t", 3], "x": [2, "n", 3]}, ["present"]))
    session = made.with_states({"past": ("present", np.zeros((2, 0, 3), np.float32))}).session()
    parts = [np.random.default_rng(n).normal(size=(2, n, 3)).astype(np.float32) for n in (2, 1, 1)]
    for part in parts:
        session.run({"x": part})
    np.testing.assert_array_equal(session.states["past"], np.concatenate(parts, 1))


def test_overridden_inputs_go_on_from_the_same_states() -> None:
    nodes = [make_node("Add", ["t", "step"], ["n"]), make_node("Neg", ["n"], ["y"])]
    made = model(nodes, {"t": [1], "step": [1]}, ["y", "n"], {"step": np.ones(1, np.float32)})
    session = walle_rt.load(made).with_states({"t": ("n", np.zeros(1, np.float32))}).session()
    session.run({})
    session.run({"step": np.array([10], np.float32)})
    np.testing.assert_array_equal(session.run({})["y"], [-12])


def test_training_keeps_its_parameters() -> None:
    """A step of gradient descent, told once."""
    domain = "ai.onnx.preview.training"
    nodes = [
        make_node("MatMul", ["x", "w"], ["p"]),
        make_node("Sub", ["p", "target"], ["off"]),
        make_node("ReduceSumSquare", ["off"], ["loss"], keepdims=0),
        make_node("Gradient", ["w"], ["dw"], xs=["w"], y="loss", domain=domain),
        make_node("Mul", ["dw", "rate"], ["move"]),
        make_node("Sub", ["w", "move"], ["next"]),
    ]
    inputs = {"x": ["n", 3], "target": ["n", 1], "w": [3, 1]}
    made = model(
        nodes,
        inputs,
        ["loss", "next"],
        {"rate": np.float32(0.01)},
        imports=[helper.make_opsetid(domain, 1)],
    )
    session = walle_rt.load(made).with_states({"w": ("next", np.zeros((3, 1), np.float32))}).session()
    x = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
    want = np.array([[1], [-2], [0.5]], np.float32)
    losses = [float(session.run({"x": x, "target": x @ want})["loss"]) for _ in range(100)]
    assert losses[-1] < 1e-4 * losses[0]
    np.testing.assert_allclose(session.states["w"], want, atol=1e-2)


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ({"totl": ("next", BEGIN)}, "did you mean 'total'"),
        ({"total": ("nxt", BEGIN)}, "did you mean 'next'"),
        ({"total": ("next", BEGIN[:1])}, "state 'total'"),
        ({"total": ("next", BEGIN.astype(np.float64))}, "float64"),
    ],
)
def test_what_does_not_fit_is_refused(states: dict[str, Any], says: str) -> None:
    nodes = [make_node("Add", ["total", "x"], ["next"])]
    made = walle_rt.load(model(nodes, {"total": [2], "x": [2]}, ["next"]))
    with pytest.raises(ArgumentError, match=says):
        made.with_states(states)
