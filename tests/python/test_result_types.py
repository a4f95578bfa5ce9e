"""Results have the declared dtype; a declaration that says otherwise is refused when the model is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model, run
from onnx import TensorProto, helper
from onnx.helper import make_node

import walle_rt

F, I64, I32, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
X = np.array([[3, 1, 2], [0, 5, 4]], np.float32)


def contradicting() -> dict[str, onnx.ModelProto]:
    """Models whose output is declared int64 and computed as something else."""
    out = {"y": (I64, None)}
    body = helper.make_graph(
        [make_node("Relu", ["x"], ["t"])], "b", [], [helper.make_tensor_value_info("t", F, None)]
    )
    constant = helper.make_tensor("v", F, [1], [2.0])
    return {
        "relu": model([make_node("Relu", ["x"], ["y"])], {"x": [2, 3]}, out),
        "input": model([make_node("Identity", ["x"], ["y"])], {"x": [2, 3]}, out),
        "cast": model([make_node("Cast", ["x"], ["y"], to=I32)], {"x": [2, 3]}, out),
        "shape": model(
            [make_node("Shape", ["x"], ["s"]), make_node("Cast", ["s"], ["y"], to=F)], {"x": [2, 3]}, out
        ),
        "chain": model(
            [
                make_node("Relu", ["x"], ["a"]),
                make_node("Add", ["a", "x"], ["b"]),
                make_node("Neg", ["b"], ["y"]),
            ],
            {"x": [2, 3]},
            out,
        ),
        "weight": model(
            [make_node("Identity", ["w"], ["y"])], {"x": [1]}, out, {"w": np.ones(3, np.float32)}
        ),
        "constant": model([make_node("Constant", [], ["y"], value=constant)], {"x": [1]}, out),
        "if": model(
            [make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
            {"x": [2, 3], "c": (B, [])},
            out,
        ),
    }


@pytest.mark.parametrize("name", sorted(contradicting()))
def test_a_contradicting_declaration_is_refused(name: str) -> None:
    with pytest.raises(walle_rt.ModelError, match="'y' declared as"):
        loaded = walle_rt.load(contradicting()[name])
        # What no schema fixes is found with the first plan, before anything is returned.
        loaded.session(threads=1).run(
            {
                i.name: np.array(True) if i.dtype == "bool" else X[: (i.shape or (2,))[0]]
                for i in loaded.inputs
            }
        )


@pytest.mark.parametrize("name", sorted(set(contradicting()) - {"if"}))
def test_most_are_found_while_loading(name: str) -> None:
    with pytest.raises(walle_rt.ModelError, match="'y' declared as int64"):
        walle_rt.load(contradicting()[name])


def test_a_file_with_one_is_refused_when_it_is_loaded() -> None:
    from walle_rt import _core

    builder = _core.GraphBuilder("g")
    x = builder.input("x", "tensor", "float32", [2, 3])
    y = builder.node("Relu", "relu", [x], ["y"], [])[0]
    builder.describe(y, "tensor", "int64", [2, 3])
    builder.outputs([y])
    with pytest.raises(walle_rt.ModelError, match="'y' declared as int64"):
        _core.Model.create(builder.finish([], {}))


def integer_models() -> dict[str, tuple[onnx.ModelProto, dict[str, Any]]]:
    """Integer results by every way they come about."""
    tensor = helper.make_tensor_type_proto(I64, None)
    sequence = helper.make_sequence_type_proto(tensor)
    then = helper.make_graph(
        [make_node("Shape", ["x"], ["t"])], "t", [], [helper.make_tensor_value_info("t", I64, None)]
    )
    other = helper.make_graph(
        [make_node("Size", ["x"], ["s"]), make_node("Unsqueeze", ["s", "zero"], ["e"])],
        "e",
        [],
        [helper.make_tensor_value_info("e", I64, None)],
    )
    body = helper.make_graph(
        [make_node("Identity", ["go"], ["go_out"]), make_node("Identity", ["i"], ["slice"])],
        "b",
        [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", B, [])],
        [helper.make_tensor_value_info("go_out", B, []), helper.make_tensor_value_info("slice", I64, [])],
    )
    out: dict[str, Any] = {"y": (I64, None)}
    zero = {"zero": np.array([0], np.int64)}
    shaped: dict[str, Any] = {"x": ["n", 3]}
    feeds = {"x": X}
    return {
        "argmax": (model([make_node("ArgMax", ["x"], ["y"])], shaped, out), feeds),
        "nonzero": (model([make_node("NonZero", ["x"], ["y"])], shaped, out), feeds),
        "shape": (model([make_node("Shape", ["x"], ["y"])], shaped, out), feeds),
        "topk": (
            model(
                [make_node("TopK", ["x", "one"], ["v", "y"])], shaped, out, {"one": np.array([1], np.int64)}
            ),
            feeds,
        ),
        "cast": (model([make_node("Cast", ["x"], ["y"], to=I64)], shaped, out), feeds),
        "cast twice": (
            model(
                [make_node("Cast", ["x"], ["a"], to=I64), make_node("Cast", ["a"], ["y"], to=I64)],
                shaped,
                out,
            ),
            feeds,
        ),
        "constant": (model([make_node("Constant", [], ["y"], value_ints=[1, 2])], shaped, out), feeds),
        "initializer": (
            model([make_node("Relu", ["x"], ["z"])], shaped, out, {"y": np.array([7], np.int64)}),
            feeds,
        ),
        "constant of shape": (
            model(
                [
                    make_node("Shape", ["x"], ["s"]),
                    make_node("ConstantOfShape", ["s"], ["y"], value=helper.make_tensor("v", I64, [1], [3])),
                ],
                shaped,
                out,
            ),
            feeds,
        ),
        "if": (
            model(
                [make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                {**shaped, "c": (B, [])},
                out,
                zero,
            ),
            feeds | {"c": np.array(False)},
        ),
        "loop": (
            model(
                [make_node("Loop", ["zero_trips", ""], ["y"], body=body)],
                shaped,
                out,
                {"zero_trips": np.array(0, np.int64)},
            ),
            feeds,
        ),
        "sequence at": (
            model(
                [
                    make_node("Shape", ["x"], ["s"]),
                    make_node("SequenceConstruct", ["s", "s"], ["q"]),
                    make_node("SequenceAt", ["q", "at"], ["y"]),
                ],
                shaped,
                out,
                {"at": np.array(1, np.int64)},
            ),
            feeds,
        ),
        "concat from sequence": (
            model(
                [
                    make_node("Shape", ["x"], ["s"]),
                    make_node("SequenceConstruct", ["s", "s"], ["q"]),
                    make_node("ConcatFromSequence", ["q"], ["y"], axis=0),
                ],
                shaped,
                out,
            ),
            feeds,
        ),
        "sequence": (
            model(
                [make_node("Shape", ["x"], ["s"]), make_node("SequenceConstruct", ["s"], ["y"])],
                shaped,
                {"y": sequence},
            ),
            feeds,
        ),
        "where": (
            model(
                [make_node("ArgMax", ["x"], ["a"]), make_node("Where", ["c", "a", "a"], ["y"])],
                {**shaped, "c": (B, [])},
                out,
            ),
            feeds | {"c": np.array(True)},
        ),
        "unique": (model([make_node("Unique", ["x"], ["u", "y"])], shaped, out), feeds),
        "range": (
            model(
                [make_node("Range", ["a", "b", "c"], ["y"])],
                shaped,
                out,
                {"a": np.array(0), "b": np.array(3), "c": np.array(1)},
            ),
            feeds,
        ),
    }


@pytest.mark.parametrize("name", sorted(integer_models()))
def test_results_have_the_declared_dtype(name: str) -> None:
    made, feeds = integer_models()[name]
    found = run(made, **feeds)["y"]
    for array in found if isinstance(found, list) else [found]:
        assert array.dtype == np.int64
    runtime = pytest.importorskip("onnxruntime", reason="no package 'onnxruntime' (tools/setup.sh test)")
    want = runtime.InferenceSession(made.SerializeToString()).run(["y"], feeds)[0]
    for array, expected in zip(found, want, strict=True) if isinstance(found, list) else [(found, want)]:
        np.testing.assert_array_equal(array, expected)
