"""Initializers that are inputs too: constants until a run gives them another value, as in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_walle
from onnx import TensorProto
from onnx.helper import make_node

import walle_rt

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([1, 2, 3], np.float32)


def scaled(ir: int = 8, shape: list[Any] | None = None) -> onnx.ModelProto:
    """y = x * (2 w) + b, with w and b listed as inputs; what depends on w alone can be folded."""
    nodes = [
        make_node("Add", ["w", "w"], ["double"]),
        make_node("Mul", ["x", "double"], ["product"]),
        make_node("Add", ["product", "b"], ["y"]),
    ]
    inputs = {"x": ["n", 3], "w": shape or [3], "b": [1]}
    made = model(nodes, inputs, {"y": ["n", 3]}, {"w": W, "b": np.zeros(1, np.float32)})
    made.ir_version = ir
    return made


@pytest.mark.parametrize("through", ["memory", "file", "bytes"])
def test_a_default_is_overridden(through: str, tmp_path: Path) -> None:
    loaded = walle_rt.load(scaled())
    if through == "file":
        loaded.save(tmp_path / "m.walle")
        loaded = walle_rt.load(tmp_path / "m.walle")
    elif through == "bytes":
        loaded = walle_rt.load(loaded.to_bytes())
    assert [i.name for i in loaded.inputs] == ["x"]
    assert [str(i) for i in loaded.overridable_inputs] == ["w: float32[3]", "b: float32[1]"]
    session = loaded.session(threads=1)
    other, shift = np.array([5, 6, 7], np.float32), np.array([9], np.float32)
    for _ in range(2):  # one session, in any order, again and again
        np.testing.assert_array_equal(session.run({"x": X})["y"], X * 2 * W)
        np.testing.assert_array_equal(session.run({"x": X, "w": other})["y"], X * 2 * other)
        np.testing.assert_array_equal(session.run({"b": shift, "x": X})["y"], X * 2 * W + 9)
        np.testing.assert_array_equal(session.run({"x": X, "b": shift, "w": other})["y"], X * 2 * other + 9)


def test_they_are_constants_until_then() -> None:
    """Old exporters list every weight as an input: such a model is planned like one that lists none."""
    session = walle_rt.load(scaled()).session(threads=1)
    session.run({"x": X})
    ops = {row.op for row in session.explain().rows}
    plain = scaled()
    del plain.graph.input[1:]
    expected = walle_rt.load(plain).session(threads=1)
    expected.run({"x": X})
    assert ops == {row.op for row in expected.explain().rows}


def test_before_ir_version_4_none_can_be() -> None:
    loaded = walle_rt.load(scaled(ir=3))
    assert loaded.overridable_inputs == ()
    with pytest.raises(walle_rt.ArgumentError, match="'w'"):
        loaded.session(threads=1).run({"x": X, "w": W})


def test_another_shape_where_it_is_declared_open() -> None:
    session = walle_rt.load(scaled(shape=["k"])).session(threads=1)
    one = np.array([4], np.float32)
    np.testing.assert_array_equal(session.run({"x": X, "w": one})["y"], X * 8)
    with pytest.raises(walle_rt.ArgumentError, match="input 'w'"):
        walle_rt.load(scaled()).session(threads=1).run({"x": X, "w": one})
    with pytest.raises(walle_rt.ArgumentError, match="float64"):
        session.run({"x": X, "w": np.ones(3)})


def test_a_value_that_a_rule_was_built_on_cannot_be() -> None:
    """A tree's tables, a body's copies: nothing is overridden halfway."""
    then = onnx.helper.make_graph(
        [make_node("Add", ["x", "w"], ["t"])], "then", [], [onnx.ValueInfoProto(name="t")]
    )
    other = onnx.helper.make_graph(
        [make_node("Sub", ["x", "w"], ["e"])], "else", [], [onnx.ValueInfoProto(name="e")]
    )
    nodes = [make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    inputs = {"x": [2, 3], "c": (TensorProto.BOOL, []), "w": [3]}
    loaded = walle_rt.load(model(nodes, inputs, ["y"], {"w": W}))
    assert loaded.overridable_inputs == ()
    feeds = {"x": X, "c": np.array(True)}
    np.testing.assert_array_equal(loaded.session(threads=1).run(feeds)["y"], X + W)
    with pytest.raises(walle_rt.ArgumentError, match="'w'"):
        loaded.session(threads=1).run(feeds | {"w": W})


def test_one_that_nobody_reads() -> None:
    made = model([make_node("Relu", ["x"], ["y"])], {"x": [2, 3], "w": [3]}, ["y"], {"w": W})
    session = walle_rt.load(made).session(threads=1)
    np.testing.assert_array_equal(session.run({"x": X, "w": W})["y"], X)


def test_through_own_arrays_and_profiles() -> None:
    session = walle_rt.load(scaled()).session(threads=1)
    out = np.empty((2, 3), np.float32)
    with session.profile():
        session.run({"x": X, "w": np.ones(3, np.float32)}, out=[out])
    np.testing.assert_array_equal(out, X * 2)
    found = session.explain()
    assert found.profiled_runs == 1 and found.measured_ms <= found.wall_ms


def test_many_sets_of_names() -> None:
    names = [f"w{i}" for i in range(6)]
    sums = [make_node("Sum", ["x", *names], ["y"])]
    made = model(
        sums, {"x": [1], **{n: [1] for n in names}}, ["y"], dict.fromkeys(names, np.ones(1, np.float32))
    )
    session = walle_rt.load(made).session(threads=1)
    x = np.zeros(1, np.float32)
    for mask in range(1 << len(names)):
        chosen = [n for i, n in enumerate(names) if mask >> i & 1]
        given = {n: np.array([10], np.float32) for n in chosen}
        assert session.run({"x": x, **given})["y"][0] == 10 * len(chosen) + len(names) - len(chosen)


def test_against_onnxruntime() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="no package 'onnxruntime' (tools/setup.sh test)")
    for ir in (3, 8):
        peer = runtime.InferenceSession(scaled(ir).SerializeToString())
        ours = walle_rt.load(scaled(ir))
        assert [i.name for i in peer.get_overridable_initializers()] == [
            i.name for i in ours.overridable_inputs
        ]


def test_the_command_lists_them(tmp_path: Path) -> None:
    onnx.save(scaled(), str(tmp_path / "m.onnx"))
    assert "default  w: float32[3]" in run_walle("inspect", tmp_path / "m.onnx").stdout
    found = run_walle("inspect", tmp_path / "m.onnx", "--json").json
    assert [v["name"] for v in found["overridable_inputs"]] == ["w", "b"]
