"""Attention in one pass against its separate steps and against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from build_model import F, model
from onnx import ModelProto, TensorProto, helper
from random_seed import random_seed

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
        {"debug": "fuse=off"},
        {"debug": "search=off"},
        {"accuracy": "strict"},
        {"debug": "merge=off"},
    ):
        session = loaded.session(**options)
        np.testing.assert_allclose(session.run(feeds)["y"], want, rtol=2e-5, atol=2e-6, err_msg=str(options))
        if options == {"debug": "search=off"}:
            assert _operators(session) == ["attention"]
        if options == {"debug": "fuse=off"}:
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
    for debug in ("", "search=off"):
        got = walle_rt.load(graph).session(debug=debug).run(feeds)["y"]
        want = np.broadcast_to(feeds["v"], (3, queries, 2)) if keys == 1 else np.zeros((3, queries, 2))
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("debug", ["", "search=off"])
def test_wholly_masked_queries_are_nan_and_others_are_not(debug: str) -> None:
    """As the softmax of minus infinities alone has it."""
    graph, feeds = _encoder(4, 4, 33, 40, 16, "of all")
    feeds["mask"][:, 7] = -np.inf
    feeds["mask"][:, :, 3] = -np.inf
    loaded = walle_rt.load(graph)
    got = loaded.session(debug=debug).run(feeds)["y"]
    apart = loaded.session(debug="fuse=off").run(feeds)["y"]
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
    for debug in ("", "fuse=off"):
        session = loaded.session(threads=1, debug=debug)
        session.run(feeds)
        arenas.append(session.explain().arena_bytes)
    assert arenas[0] < 4 << 20
    assert arenas[1] > 16 << 20


@pytest.mark.parametrize(("build", "layers"), [(lambda: minilm(size=16), 6), (lambda: vit_s(size=64), 12)])
def test_networks_take_it_for_every_layer(build: Callable[[], ModelProto], layers: int) -> None:
    """Without a search, so that no cost decides: no softmax remains."""
    loaded = walle_rt.load(build())
    session = loaded.session(debug="search=off", threads=2)
    session.run(made_up_inputs(loaded, {}))
    operators = _operators(session)
    assert operators.count("attention") == layers
    assert "Softmax" not in operators


def _decoder(
    rng: np.random.Generator, opset: int, sizes: tuple[int, ...], kind: str, options: dict[str, Any]
) -> tuple[ModelProto, dict[str, Array], list[str]]:
    """ONNX's Attention with a mask or a cache; sizes: batch, heads, key heads, queries, keys, size."""
    batch, heads, key_heads, queries, keys, size = sizes
    floats = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    feeds: dict[str, Array] = {
        "q": floats(batch, heads, queries, size),
        "k": floats(batch, key_heads, keys, size),
        "v": floats(batch, key_heads, keys, size),
    }
    outputs, total = ["y"], keys
    if kind == "past":
        feeds |= {name: floats(batch, key_heads, 9, size) for name in ("past_key", "past_value")}
        outputs, total = ["y", "keys", "values"], keys + 9
    if kind.startswith("mask"):
        shape = {"mask": (queries, total), "mask of keys": (batch, 1, 1, total)}.get(
            kind, (batch, heads, queries, total)
        )
        feeds["attn_mask"] = floats(*shape) if kind != "mask of bools" else rng.random(shape) < 0.7
    if kind == "padded":
        feeds["nonpad_kv_seqlen"] = rng.integers(0, keys + 1, batch)
    order = ["q", "k", "v", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
    names = [name if name in feeds else "" for name in order]
    while not names[-1]:
        names.pop()
    node = helper.make_node("Attention", names, outputs, **options)
    kinds = {np.dtype(bool): TensorProto.BOOL, np.dtype(np.int64): TensorProto.INT64}
    graph = helper.make_graph(
        [node],
        "decoder",
        [
            helper.make_tensor_value_info(name, kinds.get(x.dtype, TensorProto.FLOAT), x.shape)
            for name, x in feeds.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return made, feeds, outputs


def _attended(feeds: dict[str, Array], options: dict[str, Any]) -> Array:
    """What ONNX's text says, in double; a query without any key is 0."""
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    offset: Any = 0
    if "past_key" in feeds:
        k, v = (np.concatenate([feeds[n], x], axis=2) for n, x in (("past_key", k), ("past_value", v)))
        offset = feeds["past_key"].shape[2]
    k, v = (np.repeat(x, q.shape[1] // max(k.shape[1], 1), axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (options.get("scale") or q.shape[3] ** -0.5)
    if cap := options.get("softcap", 0.0):
        scores = np.tanh(scores / cap) * cap
    rows, columns = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    hidden = np.zeros(scores.shape, bool)
    if (valid := feeds.get("nonpad_kv_seqlen")) is not None:
        valid = valid.reshape(-1, 1, 1, 1)
        hidden |= columns >= valid
        offset = valid - q.shape[2]
    if options.get("is_causal"):
        hidden |= columns > rows + offset
    if (mask := feeds.get("attn_mask")) is not None:
        if mask.dtype == bool:
            hidden |= ~mask
        else:
            scores = scores + mask
    shares = np.where(hidden, 0.0, np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30)))
    sums = shares.sum(-1, keepdims=True)
    return np.asarray(shares / np.where(sums == 0, 1, sums) @ v)


def test_the_operator_of_onnx_becomes_one_pass() -> None:
    """Heads shared or not, masks of each kind, caches, padded keys, caps: fused, and as it is defined."""
    seed = random_seed()
    rng = np.random.default_rng(seed)
    kinds = ["", "mask", "mask of keys", "mask of all", "mask of bools", "past", "padded"]
    for round_ in range(42):
        kind = kinds[round_ % 7]
        key_heads = int(rng.integers(1, 4))
        sizes = (
            int(rng.integers(1, 3)), key_heads * int(rng.integers(1, 4)), key_heads,
            int(rng.choice([1, 2, 7, 40, 70])), int(rng.integers(1, 90)), int(rng.integers(1, 50)),
        )  # fmt: skip
        options: dict[str, Any] = {"is_causal": int(rng.integers(2))}
        if rng.integers(3) == 0:
            options["softcap"] = 2.0
        if rng.integers(3) == 0:
            options["scale"] = 0.4
        opset = 24 if kind == "padded" else int(rng.choice([23, 24]))
        graph, feeds, outputs = _decoder(rng, opset, sizes, kind, options)
        what = f"seed {seed} round {round_}: {kind} {sizes} {options} opset {opset}"
        loaded = walle_rt.load(graph)
        for asked in ({"threads": 1}, {"threads": 2}, {"debug": "search=off"}, {"debug": "fuse=off"}):
            session = loaded.session(**asked)
            got = session.run(feeds)
            want = _attended(feeds, options)
            np.testing.assert_allclose(got["y"], want, rtol=3e-5, atol=5e-6, err_msg=f"{what} {asked}")
            if asked.get("debug") == "search=off":
                assert _operators(session).count("attention") == 1, what
                assert "Softmax" not in _operators(session), what
            for name, past, new in (("keys", "past_key", "k"), ("values", "past_value", "v")):
                if name in outputs:
                    whole = np.concatenate([feeds[past], feeds[new]], axis=2)
                    np.testing.assert_array_equal(got[name], whole, err_msg=what)


@pytest.mark.parametrize("empty", range(6))
@pytest.mark.parametrize("causal", [0, 1])
def test_the_operator_of_onnx_with_an_axis_of_zero(empty: int, causal: int) -> None:
    """No batch, heads, queries, keys or numbers per head: shapes hold, and what is left is right."""
    sizes = [2, 4, 4, 8, 9, 4]
    sizes[empty] = 0
    if empty in (1, 2):
        sizes[1] = sizes[2] = 0
    options = {"is_causal": causal, "scale": 0.5}  # by the root of a head's size there is none at 0
    graph, feeds, _ = _decoder(np.random.default_rng(empty), 23, tuple(sizes), "", options)
    for asked in ({}, {"debug": "fuse=off"}, {"debug": "search=off"}, {"threads": 2}):
        got = walle_rt.load(graph).session(**asked).run(feeds)["y"]
        np.testing.assert_allclose(got, _attended(feeds, options), rtol=1e-5, atol=1e-6, err_msg=str(asked))


def test_a_causal_mask_takes_no_memory_and_a_cache_is_read_in_place() -> None:
    """1024 x 1024 scores or mask would be 4 MiB; keys repeated for four query heads 2 MiB."""
    rng = np.random.default_rng(0)
    graph, feeds, _ = _decoder(rng, 23, (1, 4, 4, 1024, 1024, 16), "", {"is_causal": 1})
    session = walle_rt.load(graph).session(threads=1)
    session.run(feeds)
    assert _operators(session) == ["attention"]
    assert session.explain().arena_bytes < 1 << 20
    graph, feeds, _ = _decoder(rng, 23, (1, 8, 2, 1, 1015, 64), "past", {"is_causal": 1})
    session = walle_rt.load(graph).session(threads=1)
    session.run(feeds)
    assert _operators(session) == ["raster", "raster", "attention"]  # the two results that are put together
    assert session.explain().arena_bytes < 1 << 19


def _spelled(
    steps: list[Any], weights: dict[str, Any], masks: dict[str, Array]
) -> tuple[ModelProto, dict[str, Array]]:
    """Scores `s` of 4 heads of 33 x 40 to `t`, by the steps; then softmax, guarded against NaN if asked."""
    rng = np.random.default_rng(7)
    feeds = {
        "q": rng.standard_normal((2, 4, 33, 16)).astype(np.float32),
        "k": rng.standard_normal((2, 4, 16, 40)).astype(np.float32),
        "v": rng.standard_normal((2, 4, 40, 16)).astype(np.float32),
        **masks,
    }
    nodes = [helper.make_node("MatMul", ["q", "k"], ["s"]), *steps]
    nodes.append(helper.make_node("Softmax", ["t"], ["p"], axis=-1))
    last = "p"
    if "guard" in weights:
        nodes.append(helper.make_node("IsNaN", ["p"], ["none"]))
        nodes.append(helper.make_node("Where", ["none", "guard", "p"], ["kept"]))
        last = "kept"
    nodes.append(helper.make_node("MatMul", [last, "v"], ["y"]))
    kinds = {name: list(x.shape) for name, x in feeds.items()}
    return model(nodes, kinds, {"y": (F, None)}, weights), feeds


def _add(a: str, b: str, to: str) -> Any:
    return helper.make_node("Add", [a, b], [to])


_LOWEST = np.finfo(np.float32).min
_TRIANGLE = np.triu(np.ones((33, 40), bool), 8)


@pytest.mark.parametrize(
    "case", ["lowest", "infinite", "both", "where", "guard", "window", "cap", "two", "given"]
)
def test_masks_as_decoders_spell_them(case: str) -> None:
    """Constant triangles, windows, sums of two masks, capped scores, rows without any key."""
    padding = np.where(np.arange(40) < np.array([25, 40]).reshape(2, 1, 1, 1), 0, -np.inf).astype(np.float32)
    infinite = np.where(_TRIANGLE, -np.inf, 0).astype(np.float32)
    lowest = np.where(_TRIANGLE, _LOWEST, 0).astype(np.float32)
    window = np.where(_TRIANGLE | np.tri(33, 40, -3, dtype=bool), -np.inf, 0).astype(np.float32)
    empty = np.array(infinite)
    empty[5] = -np.inf
    plain = [_add("s", "mask", "t")]
    noise = np.random.default_rng(1).standard_normal((4, 33, 40)).astype(np.float32)
    cap = [
        helper.make_node("Div", ["s", "cap"], ["s1"]),
        helper.make_node("Tanh", ["s1"], ["s2"]),
        helper.make_node("Mul", ["cap", "s2"], ["s3"]),
        _add("s3", "mask", "t"),
    ]
    steps, weights, masks = {
        "lowest": (plain, {"mask": lowest}, {}),
        "infinite": (plain, {"mask": infinite}, {}),
        "both": ([_add("s", "mask", "s1"), _add("pad", "s1", "t")], {"mask": infinite}, {"pad": padding}),
        "where": (
            [helper.make_node("Where", ["seen", "s", "low"], ["t"])],
            {"seen": ~_TRIANGLE, "low": np.float32(-np.inf)},
            {},
        ),
        "guard": (plain, {"guard": np.float32(0)}, {"mask": empty}),
        "window": (plain, {"mask": window}, {}),
        "cap": (cap, {"cap": np.float32(3)}, {"mask": lowest}),
        "two": ([_add("s", "mask", "s1"), _add("s1", "pad", "t")], {}, {"mask": noise, "pad": padding}),
        "given": (plain, {}, {"mask": np.broadcast_to(lowest, (2, 1, 33, 40)).copy()}),
    }[case]
    graph, feeds = _spelled(steps, weights, masks)
    loaded = walle_rt.load(graph)
    apart = loaded.session(debug="fuse=off").run(feeds)["y"]
    assert np.isfinite(apart).all()
    for asked in ({"threads": 1}, {"threads": 2}, {"debug": "search=off"}):
        session = loaded.session(**asked)
        got = session.run(feeds)["y"]
        np.testing.assert_allclose(got, apart, rtol=3e-5, atol=3e-6, err_msg=str(asked))
        if asked.get("debug") == "search=off":
            assert _operators(session) == ["attention"]


def test_a_finite_mask_that_hides_all_keys_is_the_mean_of_all() -> None:
    """The lowest float swallows the scores, so that all weights are equal: no band, and no key left out."""
    mask = np.where(_TRIANGLE, _LOWEST, 0).astype(np.float32)
    mask[4] = _LOWEST
    for weights, masks in (({"mask": mask}, {}), ({}, {"mask": mask})):
        graph, feeds = _spelled([_add("s", "mask", "t")], weights, masks)
        for asked in ({"threads": 1}, {"debug": "search=off"}, {"debug": "fuse=off"}):
            got = walle_rt.load(graph).session(**asked).run(feeds)["y"]
            np.testing.assert_allclose(
                got[:, :, 4], feeds["v"].mean(2), rtol=1e-5, atol=1e-6, err_msg=str(asked)
            )
