"""RNN, GRU and LSTM: the whole kernel against the decomposition that says what they mean,
for every attribute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layers import Array, feeds, one_node

import walle_rt

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "clip": {"clip": 0.6},
    "lengths": {"lengths": True, "states": True},
    "linear": {"linear_before_reset": 1},
    "forget": {"input_forget": 1, "states": True},
    "batch_first": {"layout": 1, "states": True},
    "activations": {"odd": True},
    "rounded": {"round_state": 1, "lengths": True, "states": True},
}
ODD = {
    "RNN": (["Elu"], [0.8], []),
    "GRU": (["HardSigmoid", "ScaledTanh"], [0.3, 1.1], [0.4, 0.9]),
    "LSTM": (["Affine", "LeakyRelu", "Softsign"], [0.3, 0.1], [0.5]),
}


def case(op: str, direction: str, options: dict[str, Any]) -> tuple[dict[str, Array | None], dict[str, Any]]:
    rng = np.random.default_rng(len(op) + len(direction))
    sequence, batch, size, hidden, gates = 9, 3, 6, 21, GATES[op]
    directions = 2 if direction == "bidirectional" else 1

    def f(*shape: int) -> Array:
        return (rng.standard_normal(shape) * 0.4).astype(np.float32)

    first = bool(options.get("layout"))
    state = (batch, directions, hidden) if first else (directions, batch, hidden)
    inputs: dict[str, Array | None] = {
        "X": f(batch, sequence, size) if first else f(sequence, batch, size),
        "W": f(directions, gates * hidden, size),
        "R": f(directions, gates * hidden, hidden),
        "B": f(directions, 2 * gates * hidden),
        "lengths": np.array([9, 1, 5], np.int32) if options.get("lengths") else None,
        "h": f(*state) if options.get("states") else None,
    }
    if op == "LSTM":
        inputs["c"] = f(*state) if options.get("states") else None
        inputs["P"] = f(directions, 3 * hidden)
    names = {"clip", "linear_before_reset", "input_forget", "layout", "round_state"}
    attributes = {key: value for key, value in options.items() if key in names}
    if op != "GRU":
        attributes.pop("linear_before_reset", None)
    if op != "LSTM":
        attributes.pop("input_forget", None)
        attributes.pop("round_state", None)
    if options.get("odd"):
        activations, alpha, beta = ODD[op]
        attributes |= {"activations": activations * directions, "activation_alpha": alpha * directions}
        if beta:
            attributes["activation_beta"] = beta * directions
    return inputs, {"hidden_size": hidden, "direction": direction, **attributes}


@pytest.mark.parametrize("option", list(OPTIONS))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", list(GATES))
def test_whole_equals_decomposed(op: str, direction: str, option: str) -> None:
    inputs, attributes = case(op, direction, OPTIONS[option])
    outputs = 3 if op == "LSTM" else 2
    model = walle_rt.load(one_node(op, inputs, outputs, ["W", "R", "B"], 14, **attributes))
    given = feeds(inputs, ["W", "R", "B"])
    decomposed = model.session(threads=1, debug="claim=off").run(given)
    for threads in (1, 2):
        whole = model.session(threads=threads).run(given)
        for name, want in decomposed.items():
            np.testing.assert_allclose(
                whole[name], want, rtol=1e-4, atol=1e-5, err_msg=f"{name}, {threads} threads"
            )


def test_a_state_that_is_rounded_is_another() -> None:
    inputs, attributes = case("LSTM", "forward", {"states": True})
    given = feeds(inputs, ["W", "R", "B"])

    def last(**more: int) -> Array:
        model = walle_rt.load(one_node("LSTM", inputs, 3, ["W", "R", "B"], 14, **attributes, **more))
        return next(iter(model.session(threads=1).run(given).values()))

    apart = np.abs(last(round_state=1) - last()).max()
    assert 1e-5 < apart < 2e-2


@pytest.mark.parametrize("kind", [np.nan, np.inf, 0.0])
def test_a_rounded_state_without_a_range(kind: float) -> None:
    inputs, attributes = case("LSTM", "forward", {"states": True})
    inputs["h"] = np.full_like(inputs["h"], kind)
    model = walle_rt.load(one_node("LSTM", inputs, 3, ["W", "R", "B"], 14, **attributes, round_state=1))
    given = feeds(inputs, ["W", "R", "B"])
    decomposed = model.session(threads=1, debug="claim=off").run(given)
    for name, got in model.session(threads=1).run(given).items():
        np.testing.assert_allclose(got, decomposed[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_only_an_lstm_rounds_its_state() -> None:
    inputs, attributes = case("GRU", "forward", {})
    model = one_node("GRU", inputs, 2, ["W", "R", "B"], 14, **attributes, round_state=1)
    with pytest.raises(walle_rt.Error, match="round_state"):
        walle_rt.load(model).session(threads=1).run(feeds(inputs, ["W", "R", "B"]))


def test_the_cpu_runs_them_whole() -> None:
    inputs, attributes = case("GRU", "forward", {})
    session = walle_rt.load(one_node("GRU", inputs, 2, ["W", "R", "B"], 14, **attributes)).session(threads=1)
    session.run(feeds(inputs, ["W", "R", "B"]))
    assert any("rnn_f32" in str(row) for row in session.explain().rows)


@pytest.mark.parametrize(
    "change", [{"direction": "sideways"}, {"hidden_size": 4}, {"clip": -1.0}, {"activations": ["Tanh"]}]
)
def test_wrong_attributes_are_errors(change: dict[str, Any]) -> None:
    inputs, attributes = case("GRU", "forward", {})
    model = one_node("GRU", inputs, 2, ["W", "R", "B"], 14, **{**attributes, **change})
    with pytest.raises(walle_rt.Error):
        walle_rt.load(model).session(threads=1).run(feeds(inputs, ["W", "R", "B"]))
