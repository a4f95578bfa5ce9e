"""Attention in one pass against its separate steps and against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from build_model import F, model
from onnx import ModelProto, TensorProto, helper

import walle_rt
from walle_rt.bench.models.bert import minilm
from walle_rt.bench.models.vision_transformer import vit_s
from walle_rt.made_up import made_up_inputs

SETS = ["scalar", "sse4", "avx2", "avx512", "neon"]
Array = np.ndarray[Any, Any]


def _encoder(
    heads: int, key_heads: int, queries: int, keys: int, size: int, mask: str
) -> tuple[ModelProto, dict[str, Array]]:
    """Heads apart, scores, mask, softmax, values, heads joined: as exporters write it."""
    weights: dict[str, Any] = {
        "scale": np.float32(size**-0.5),
        "q_apart": np.array([0, -1, heads, size]),
        "kv_apart": np.array([0, -1, key_heads, size]),
        "joined": np.array([0, -1, heads * size]),
        "floor": np.float32(-1e9),
    }
    inputs: dict[str, Any] = {"q": [2, queries, heads * size]}
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        if name != "q":
            inputs[name] = [2, keys, key_heads * size]
        apart = "q_apart" if name == "q" else "kv_apart"
        nodes.append(helper.make_node("Reshape", [name, apart], [f"{name}_parts"]))
        nodes.append(helper.make_node("Transpose", [f"{name}_parts"], [f"{name}_heads"], perm=order))
    keys_of, values_of = "k_heads", "v_heads"
    if heads != key_heads:  # every key head serves several query heads
        group = heads // key_heads
        for name, last in (("k", [size, keys]), ("v", [keys, size])):
            weights[f"{name}_one"] = np.array([2, key_heads, 1, *last])
            weights[f"{name}_all"] = np.array([2, key_heads, group, *last])
            weights[f"{name}_flat"] = np.array([2, heads, *last])
            nodes.append(helper.make_node("Reshape", [f"{name}_heads", f"{name}_one"], [f"{name}_1"]))
            nodes.append(helper.make_node("Expand", [f"{name}_1", f"{name}_all"], [f"{name}_2"]))
            nodes.append(helper.make_node("Reshape", [f"{name}_2", f"{name}_flat"], [f"{name}_3"]))
        keys_of, values_of = "k_3", "v_3"
    nodes.append(helper.make_node("MatMul", ["q_heads", keys_of], ["products"]))
    nodes.append(helper.make_node("Mul", ["products", "scale"], ["scores"]))
    scores = "scores"
    if mask in ("per key", "of all"):
        inputs["mask"] = [2, 1, 1, keys] if mask == "per key" else [heads, queries, keys]
        nodes.append(helper.make_node("Add", [scores, "mask"], ["masked"]))
        scores = "masked"
    elif mask:
        inputs["mask"] = (TensorProto.BOOL, [2, 1, 1, keys] if mask == "padding" else [queries, keys])
        nodes.append(helper.make_node("Where", ["mask", scores, "floor"], ["masked"]))
        scores = "masked"
    nodes += [
        helper.make_node("Softmax", [scores], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", values_of], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["back", "joined"], ["y"]),
    ]
    rng = np.random.default_rng(heads * 1000 + queries + keys)
    feeds: dict[str, Array] = {}
    for name, kind in inputs.items():
        if isinstance(kind, list):
            feeds[name] = rng.standard_normal(kind).astype(np.float32)
        elif mask == "padding":
            feeds[name] = np.arange(keys) < np.array([keys, keys - keys // 3]).reshape(2, 1, 1, 1)
        else:
            feeds[name] = np.tril(np.ones((queries, keys), bool), keys - queries)
    return model(nodes, inputs, {"y": (F, None)}, weights), feeds


def _by_definition(feeds: dict[str, Array], heads: int, key_heads: int, size: int) -> Array:
    q, k, v = (
        feeds[name].astype(np.float64).reshape(2, feeds[name].shape[1], -1, size).transpose(0, 2, 1, 3)
        for name in "qkv"
    )
    k, v = (np.repeat(x, heads // key_heads, axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * size**-0.5
    if (mask := feeds.get("mask")) is not None:
        scores = np.where(mask, scores, -1e9) if mask.dtype == bool else scores + mask
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = shares / shares.sum(-1, keepdims=True) @ v
    return np.asarray(mixed.transpose(0, 2, 1, 3).reshape(2, feeds["q"].shape[1], heads * size))


def _operators(session: walle_rt.Session) -> list[str]:
    return [row.op for row in session.explain().rows]


CASES = [
    (4, 4, 33, 33, 16, ""),
    (3, 3, 48, 65, 20, "per key"),
    (4, 2, 40, 70, 24, "of all"),
    (4, 1, 64, 64, 40, "padding"),
    (6, 2, 37, 50, 8, "causal"),
]


@pytest.fixture(params=SETS)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every instruction set of this machine."""
    monkeypatch.setenv("WALLE_CPU", request.param)
    try:
        walle_rt.load(model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"])).session()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {request.param}: {error}")
    return str(request.param)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_pass_and_separate_steps_agree(case: tuple[int, int, int, int, int, str], isa: str) -> None:
    """With search and without (then whatever can be one operator is, by its reference), one thread or two."""
    graph, feeds = _encoder(*case)
    want = _by_definition(feeds, case[0], case[1], case[4])
    loaded = walle_rt.load(graph)
    for options in (
        {"threads": 1},
        {"threads": 2},
        {"fuse": False},
        {"search": False},
        {"accuracy": "strict"},
        {"merge": False},
    ):
        session = loaded.session(**options)
        np.testing.assert_allclose(session.run(feeds)["y"], want, rtol=2e-5, atol=2e-6, err_msg=str(options))
        if options == {"search": False}:
            assert _operators(session) == ["attention"]
        if options == {"fuse": False}:
            assert "attention" not in _operators(session)


@pytest.mark.parametrize("sizes", [(1, 0, 5), (1, 5, 0), (1, 1, 1)])
def test_sizes_of_zero_and_one(sizes: tuple[int, int, int]) -> None:
    """No queries: an empty result. No keys: zeros, the product over nothing."""
    _, queries, keys = sizes
    graph = model(
        [
            helper.make_node("MatMul", ["q", "k"], ["s"]),
            helper.make_node("Softmax", ["s"], ["p"], axis=-1),
            helper.make_node("MatMul", ["p", "v"], ["y"]),
        ],
        {"q": [3, queries, 4], "k": [3, 4, keys], "v": [3, keys, 2]},
        {"y": (F, None)},
    )
    rng = np.random.default_rng(0)
    feeds = {
        n: rng.standard_normal(s).astype(np.float32)
        for n, s in (("q", (3, queries, 4)), ("k", (3, 4, keys)), ("v", (3, keys, 2)))
    }
    for search in (True, False):
        got = walle_rt.load(graph).session(search=search).run(feeds)["y"]
        want = np.broadcast_to(feeds["v"], (3, queries, 2)) if keys == 1 else np.zeros((3, queries, 2))
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("search", [True, False])
def test_wholly_masked_queries_are_nan_and_others_are_not(search: bool) -> None:
    """As the softmax of minus infinities alone has it."""
    graph, feeds = _encoder(4, 4, 33, 40, 16, "of all")
    feeds["mask"][:, 7] = -np.inf
    feeds["mask"][:, :, 3] = -np.inf
    loaded = walle_rt.load(graph)
    got = loaded.session(search=search).run(feeds)["y"]
    apart = loaded.session(fuse=False).run(feeds)["y"]
    assert np.isnan(got[:, 7]).all()
    assert np.array_equal(np.isnan(got), np.isnan(apart))
    np.testing.assert_allclose(got, apart, rtol=2e-5, atol=2e-6)


def test_a_measured_session_agrees() -> None:
    """Both forms are measured, and the faster one is taken."""
    graph, feeds = _encoder(4, 4, 64, 64, 32, "per key")
    loaded = walle_rt.load(graph)
    tuned = loaded.session(tune=2, plan_cache="off").run(feeds)["y"]
    np.testing.assert_allclose(tuned, _by_definition(feeds, 4, 4, 32), rtol=2e-5, atol=2e-6)


def test_scores_of_long_sequences_take_no_memory() -> None:
    """The arena of 1024 tokens holds no scores: 4 heads of 1024 x 1024 are 16 MiB."""
    graph, feeds = _encoder(4, 4, 1024, 1024, 32, "per key")
    loaded = walle_rt.load(graph)
    arenas = []
    for fuse in (True, False):
        session = loaded.session(threads=1, fuse=fuse)
        session.run(feeds)
        arenas.append(session.explain().arena_bytes)
    assert arenas[0] < 4 << 20
    assert arenas[1] > 16 << 20


@pytest.mark.parametrize(("build", "layers"), [(lambda: minilm(size=16), 6), (lambda: vit_s(size=64), 12)])
def test_networks_take_it_for_every_layer(build: Callable[[], ModelProto], layers: int) -> None:
    """Without a search, so that no cost decides: no softmax remains."""
    loaded = walle_rt.load(build())
    session = loaded.session(search=False, threads=2)
    session.run(made_up_inputs(loaded, {}))
    operators = _operators(session)
    assert operators.count("attention") == layers
    assert "Softmax" not in operators
