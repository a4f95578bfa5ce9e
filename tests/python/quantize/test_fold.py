"""What is folded before weights are quantised: results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from onnx import helper
from onnx.helper import make_node
from small_models import convolutions, pictures, weights

import walle_rt
from walle_rt.quantize.constants import fold_constants
from walle_rt.quantize.fold import fold
from walle_rt.quantize.graph import prepared

Array = np.ndarray[Any, Any]


def folded(made: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    graph = prepared(made)
    fold_constants(graph)
    fold(graph)
    return graph.finish(), [node.op_type for node in graph.nodes]


def same(made: onnx.ModelProto, other: onnx.ModelProto, feeds: dict[str, Any]) -> None:
    want = walle_rt.load(made).session(threads=1).run(feeds)
    got = walle_rt.load(other).session(threads=1).run(feeds)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5)


def test_batch_normalisation() -> None:
    made, kinds = folded(convolutions())
    assert "BatchNormalization" not in kinds
    same(convolutions(), made, {"x": pictures()})


@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1), (1,), ()])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_sums_per_channel(op: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    w = weights(rng, 6, 3, 3, 3) if op == "Conv" else weights(rng, 3, 6, 3, 3)
    nodes = [make_node(op, ["x", "w", "b"], ["c"], name="c"), make_node("Add", ["o", "c"], ["y"], name="a")]
    given = {"w": w, "b": weights(rng, 6), "o": rng.standard_normal(shape).astype(np.float32)}
    made = model(nodes, {"x": ["n", 3, 8, 8]}, ["y"], given)
    found, kinds = folded(made)
    assert kinds == [op]
    same(made, found, {"x": pictures(2)})


@pytest.mark.parametrize("shape", [(6,), (6, 6), (2, 1, 1, 1)])
def test_other_sums_stay(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    nodes = [make_node("Conv", ["x", "w"], ["c"], name="c"), make_node("Add", ["c", "o"], ["y"], name="a")]
    given = {"w": weights(rng, 6, 3, 3, 3), "o": rng.standard_normal(shape).astype(np.float32)}
    made = model(nodes, {"x": ["n", 3, 8, 8]}, ["y"], given)
    found, kinds = folded(made)
    assert kinds == ["Conv", "Add"]
    same(made, found, {"x": pictures(2)})


def test_a_value_that_others_read_is_not_changed() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        make_node("Conv", ["x", "w"], ["c"], name="c"),
        make_node("Add", ["c", "o"], ["y"], name="a"),
        make_node("Neg", ["c"], ["z"], name="n"),
    ]
    given = {"w": weights(rng, 6, 3, 3, 3), "o": np.ones((6, 1, 1), np.float32)}
    made = model(nodes, {"x": ["n", 3, 8, 8]}, ["y", "z"], given)
    found, kinds = folded(made)
    assert kinds == ["Conv", "Add", "Neg"]
    same(made, found, {"x": pictures(2)})


def test_weights_that_are_turned_before_their_use() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        make_node("Reshape", ["wt", "s"], ["wr"]),
        make_node("MatMul", ["x", "wr"], ["y"]),
    ]
    given = {"w": weights(rng, 5, 8), "s": np.array([8, 5])}
    made = model(nodes, {"x": ["n", 8]}, ["y"], given)
    found, kinds = folded(made)
    assert kinds == ["MatMul"] and len(found.graph.initializer) == 1
    same(made, found, {"x": rng.standard_normal((3, 8)).astype(np.float32)})


def test_weights_that_are_listed_as_inputs_are_constants() -> None:
    made = convolutions()
    known = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in made.graph.initializer]
    made.graph.input.extend(known)
    found, kinds = folded(made)
    assert "BatchNormalization" not in kinds
    # The bounds of the Clip are no layer's: a run may still override them.
    assert [value.name for value in found.graph.input] == ["x", "zero", "six"]
    same(convolutions(), found, {"x": pictures()})


def test_models_of_old_opsets_are_raised() -> None:
    nodes = [
        make_node("Conv", ["x", "w"], ["c"]),
        make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
    ]
    given = {"w": weights(np.random.default_rng(0), 6, 3, 3, 3)} | {
        name: np.random.default_rng(i).uniform(0.5, 1, 6).astype(np.float32) for i, name in enumerate("sbmv")
    }
    made = model(nodes, {"x": ["n", 3, 8, 8]}, {"y": ["n", 6, 6, 6]}, given, opset=9)
    found, kinds = folded(made)
    assert kinds == ["Conv"] and found.opset_import[0].version == 13
    same(made, found, {"x": pictures(2)})
