"""Quantised graphs run on codes: the nearest code for every layer, in every form and layout."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from quantized_graphs import HALFWAY, grown, wrong
from random_seed import random_seed

import walle_rt

GRAPHS = int(os.environ.get("WALLE_TEST_PAIRS", "25"))
FORMS = [
    "scalar",
    "sse4",
    "avx2",
    "avx2+avx_vnni",
    "avx512",
    "avx512+avx512_vnni",
    "avx512+avx512_vnni+amx_int8",
]
OPTIONS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 2},
    {"debug": "layouts=off"},
    {"debug": "fuse=off"},
    {"debug": "claim=off"},
    {"debug": "search=off"},
    {"debug": "placement=random:5"},
]


def _session(made: Any, options: dict[str, Any]) -> walle_rt.Session:
    return walle_rt.load(made).session(**{"threads": 1, **options})


@pytest.mark.parametrize("form", FORMS)
def test_every_layer_gives_the_nearest_codes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", form)
    seed = random_seed()
    for i in range(GRAPHS):
        made, layers, x = grown(seed + i)
        try:
            session = _session(made, OPTIONS[i % len(OPTIONS)])
        except walle_rt.ArgumentError as error:
            pytest.skip(f"this machine cannot run {form}: {error}")
        known = {"x": x, **{k: np.asarray(v) for k, v in session.run({"x": x}).items()}}
        for layer in layers:
            assert wrong(layer, known) <= HALFWAY, (seed + i, OPTIONS[i % len(OPTIONS)], layer.result)


@pytest.mark.parametrize("debug", ["", "classes=off", "layouts=off"])
def test_one_session_serves_pictures_of_many_sizes(debug: str) -> None:
    """A plan for a class of shapes, or one for each."""
    seed, served = random_seed(), 0
    for i in range(GRAPHS):
        made, layers, x = grown(seed + i, free=True)
        session = _session(made, {"debug": debug} if debug else {})
        rng = np.random.default_rng(seed + i)
        for images, more in [(1, 0), (2, 3), (1, 5), (3, 1), (1, 0), (2, 12)]:
            shape = (images, x.shape[1], x.shape[2] + more, x.shape[3])
            known = {"x": rng.normal(0, 1.5, shape).astype(np.float32)}
            try:
                known |= {k: np.asarray(v) for k, v in session.run(dict(known)).items()}
            except walle_rt.ModelError:  # two values that are equally high for the graph's own picture alone
                with pytest.raises(walle_rt.ModelError):
                    _session(made, {}).run({"x": known["x"]})
                break
            served += 1
            for layer in layers:
                assert wrong(layer, known) <= HALFWAY, (seed + i, shape, layer.result)
    assert served > 3 * GRAPHS


def test_codes_are_onnxruntimes_or_their_neighbours() -> None:
    """Layer by layer, where both were given the same codes; without the saturation that it has by default."""
    ort = pytest.importorskip("onnxruntime", reason="no package 'onnxruntime' (tools/setup.sh test)")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    seed = random_seed()
    compared = 0
    for i in range(GRAPHS):
        made, layers, x = grown(seed + i)
        try:
            peer = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # types that it has no kernel for
            assert "NOT_IMPLEMENTED" in str(error) or "NotImplemented" in repr(error), error
            continue
        names = [layer.result.name for layer in layers]
        theirs = {"x": x, **dict(zip(names, peer.run(names, {"x": x}), strict=True))}
        ours = {"x": x, **{k: np.asarray(v) for k, v in _session(made, {}).run({"x": x}).items()}}
        for layer in layers:
            if all(np.array_equal(ours[name], theirs[name]) for name in layer.reads):
                off = ours[layer.result.name].astype(int) - theirs[layer.result.name].astype(int)
                assert np.max(np.abs(off), initial=0) <= 1, (seed + i, layer.result)
                compared += 1
    assert compared >= GRAPHS


def test_codes_are_those_of_onnxs_evaluator_or_their_neighbours() -> None:
    """The same beside the definition as onnx has it, on graphs of its own operators."""
    seed = random_seed()
    compared = 0
    for i in range(GRAPHS):
        made, layers, x = grown(seed + i, standard=True)
        names = [layer.result.name for layer in layers]
        evaluator = ReferenceEvaluator(made)
        with np.errstate(all="ignore"):
            theirs = {"x": x, **dict(zip(names, evaluator.run(names, {"x": x}), strict=True))}
        ours = {"x": x, **{k: np.asarray(v) for k, v in _session(made, {}).run({"x": x}).items()}}
        for layer in layers:
            if all(np.array_equal(ours[name], theirs[name]) for name in layer.reads):
                off = ours[layer.result.name].astype(int) - theirs[layer.result.name].astype(int)
                assert np.max(np.abs(off), initial=0) <= 1, (seed + i, layer.result)
                compared += 1
    assert compared >= GRAPHS


def test_a_layer_of_codes_runs_on_codes() -> None:
    """No step of float32 stands between two convolutions, and none is left of a residual sum."""
    made, x = residual_block()
    session = _session(made, {})
    session.run({"x": x})
    steps = [line.split()[0] for line in str(session.explain()).splitlines() if " cpu" in line]
    assert steps.count("QuantizedConv") == 2
    assert steps.count("QLinearAdd") == 0  # joined to the second one
    assert "Conv" not in steps
    assert "Relu" not in steps


def residual_block() -> tuple[Any, np.ndarray[Any, Any]]:
    """Conv, Relu, Conv, Add, Relu between codes."""
    rng = np.random.default_rng(1)
    weights: dict[str, Any] = {
        "s": np.float32(0.05),
        "z": np.uint8(120),
        "ws": np.float32(0.01),
        "wz": np.int8(0),
    }
    for name in ("w1", "w2"):
        weights[name] = rng.integers(-128, 128, (32, 32, 3, 3)).astype(np.int8)

    def node(op: str, inputs: str, out: str, **attributes: Any) -> Any:
        return helper.make_node(op, inputs.split(), [out], **attributes)

    nodes = [node("QuantizeLinear", "x s z", "q0"), node("DequantizeLinear", "q0 s z", "d0")]
    for i in (1, 2):
        nodes += [
            node("DequantizeLinear", f"w{i} ws wz", f"f{i}"),
            node("Conv", f"d{i - 1} f{i}", f"c{i}", pads=[1] * 4),
            *([node("Relu", "c1", "r1")] if i == 1 else []),
            node("QuantizeLinear", f"{'r1' if i == 1 else 'c2'} s z", f"q{i}"),
            node("DequantizeLinear", f"q{i} s z", f"d{i}"),
        ]
    nodes += [node("Add", "d2 d0", "a"), node("Relu", "a", "r"), node("QuantizeLinear", "r s z", "y")]
    made = model(nodes, {"x": [1, 32, 9, 9]}, {"y": (TensorProto.UINT8, [1, 32, 9, 9])}, weights)
    return made, rng.normal(0, 1, (1, 32, 9, 9)).astype(np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_codes_do_not_depend_on_the_instruction_set(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, x = residual_block()
    monkeypatch.setenv("WALLE_CPU", "scalar")
    plain = _session(made, {}).run({"x": x})["y"]
    monkeypatch.setenv("WALLE_CPU", form)
    try:
        found = _session(made, {"threads": 2}).run({"x": x})["y"]
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {form}: {error}")
    np.testing.assert_array_equal(found, plain)


def test_a_scale_of_nothing_is_the_definitions() -> None:
    """Codes of a scale of 0 or of no number are not joined: results are those of the operators."""
    for scale in (0.0, np.inf, np.nan):
        made, x = residual_block()
        for initializer in made.graph.initializer:
            if initializer.name == "s":
                initializer.CopyFrom(helper.make_tensor("s", TensorProto.FLOAT, [], [scale]))
        joined = _session(made, {}).run({"x": x})["y"]
        apart = _session(made, {"debug": "fuse=off"}).run({"x": x})["y"]
        np.testing.assert_array_equal(joined, apart)
