"""A decoder's keys and values as states of fixed capacity, with the length as a state beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt

SIZE, CAPACITY = 8, 12
Matrix = np.ndarray[Any, np.dtype[np.float32]]


def weights() -> dict[str, Matrix]:
    rng = np.random.default_rng(7)
    return {name: rng.normal(size=(SIZE, SIZE)).astype(np.float32) for name in ("wq", "wk", "wv")}


def writing(opset: int, cache: str, part: str) -> list[Any]:
    """``part`` into the cache from ``length`` on, as exporters of that opset say it."""
    if opset >= 24:
        inputs = [cache, f"{part}_batch", "length"]
        return [
            make_node("Unsqueeze", [part, "first"], [f"{part}_batch"]),
            make_node("TensorScatter", inputs, [f"next_{cache}"], axis=1),
        ]
    flat, written = f"{cache}_flat", f"{cache}_written"
    return [
        make_node("Squeeze", [cache, "first"], [flat]),
        make_node("ScatterND", [flat, "rows", part], [written]),
        make_node("Unsqueeze", [written, "first"], [f"next_{cache}"]),
    ]


def decoder(opset: int) -> walle_rt.Model:
    """Causal attention of one head over all tokens that have come; x: those that are new."""
    nodes = [
        *[make_node("MatMul", ["x", f"w{name}"], [name]) for name in "qkv"],
        make_node("Shape", ["x"], ["count"], start=0, end=1),
        make_node("Squeeze", ["count"], ["n"]),
        make_node("Range", ["zero", "n", "one"], ["steps"]),
        make_node("Add", ["length", "steps"], ["places"]),
        make_node("Unsqueeze", ["places", "last"], ["rows"]),
        *writing(opset, "keys", "k"),
        *writing(opset, "values", "v"),
        make_node("Add", ["length", "count"], ["next_length"]),
        make_node("LessOrEqual", ["all", "rows"], ["seen"]),
        make_node("Transpose", ["next_keys"], ["turned"], perm=[0, 2, 1]),
        make_node("MatMul", ["q", "turned"], ["scores"]),
        make_node("Where", ["seen", "scores", "never"], ["masked"]),
        make_node("Softmax", ["masked"], ["shares"], axis=-1),
        make_node("MatMul", ["shares", "next_values"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "zero": np.int64(0),
        "one": np.int64(1),
        "first": np.array([0]),
        "last": np.array([-1]),
        "all": np.arange(CAPACITY)[None],
        "never": np.float32(-1e30),
    }
    cache = [1, CAPACITY, SIZE]
    inputs = {"x": ["n", SIZE], "keys": cache, "values": cache, "length": (7, [1])}
    outputs = ["y", "next_keys", "next_values", "next_length"]
    made = walle_rt.load(model(nodes, inputs, outputs, weights() | constants, opset))
    empty = np.zeros(cache, np.float32)
    begin = {"keys": empty, "values": empty, "length": np.zeros(1, np.int64)}
    return made.with_states({name: (f"next_{name}", value) for name, value in begin.items()})


def attention(tokens: Matrix) -> Any:
    """The same of all tokens at once."""
    q, k, v = (tokens.astype(np.float64) @ w for w in weights().values())
    scores = np.where(np.tri(len(tokens), dtype=bool), q @ k.T, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("opset", [17, 24])
def test_tokens_one_after_another_are_tokens_at_once(opset: int) -> None:
    tokens = np.random.default_rng(3).normal(size=(CAPACITY, SIZE)).astype(np.float32)
    session = decoder(opset).session()
    for _ in range(2):
        rows, at = [], 0
        for n in (5, 1, 1, 1, 3, 1):  # a prompt, then what was made of it; also three that were guessed
            rows.append(session.run({"x": tokens[at : at + n]})["y"][0])
            at += n
            np.testing.assert_array_equal(session.states["length"], [at])
        np.testing.assert_allclose(np.concatenate(rows), attention(tokens), rtol=1e-4, atol=1e-5)
        session.states.reset()  # another sequence


@pytest.mark.parametrize("opset", [17, 24])
def test_a_full_cache_is_an_error_and_stays_as_it_was(opset: int) -> None:
    tokens = np.random.default_rng(3).normal(size=(CAPACITY, SIZE)).astype(np.float32)
    session = decoder(opset).session()
    session.run({"x": tokens[:-1]})
    before = dict(session.states)
    with pytest.raises(walle_rt.ModelError):
        session.run({"x": tokens[:2]})
    for name, value in before.items():
        np.testing.assert_array_equal(session.states[name], value)
    np.testing.assert_allclose(session.run({"x": tokens[-1:]})["y"][0], attention(tokens)[-1:], rtol=1e-4)


def test_a_guess_is_taken_back_by_its_length() -> None:
    """What lies behind the length is never seen: no cache has to be copied to try something."""
    tokens = np.random.default_rng(3).normal(size=(6, SIZE)).astype(np.float32)
    session = decoder(24).session()
    session.run({"x": tokens[:4]})
    session.run({"x": -tokens[:3]})
    session.states["length"] = np.array([4])
    np.testing.assert_allclose(
        session.run({"x": tokens[4:]})["y"][0], attention(tokens)[4:], rtol=1e-4, atol=1e-5
    )


def test_a_stream_of_tokens_allocates_nothing() -> None:
    session = decoder(24).session()
    token = np.ones((1, SIZE), np.float32)
    held = []
    for _ in range(CAPACITY):
        session.run({"x": token})
        memory = session.memory()
        held.append(memory.free + memory.lent)
    assert len(set(held[3:])) == 1, held
