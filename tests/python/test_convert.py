"""The converter: old forms of operators, functions, bodies with captures,
constants in every spelling, refusals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import F, model, run
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

import walle_rt
from walle_rt.convert import convert
from walle_rt.convert.check import check_proto
from walle_rt.convert.report import UnsupportedModelError

X = np.arange(-12, 12, dtype=np.float32).reshape(2, 3, 4)


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# node, opset, what it means; weights where it needs them
OLD_FORMS: list[tuple[str, onnx.NodeProto, int, Any, dict[str, Any]]] = [
    (
        "softmax_flattens",
        make_node("Softmax", ["x"], ["y"]),
        9,
        softmax(X.reshape(2, 12), 1).reshape(2, 3, 4),
        {},
    ),
    ("softmax_axis_2", make_node("Softmax", ["x"], ["y"], axis=2), 11, softmax(X, 2), {}),
    ("clip_6", make_node("Clip", ["x"], ["y"], min=-2.0, max=3.0), 6, X.clip(-2, 3), {}),
    ("clip_6_one_side", make_node("Clip", ["x"], ["y"], max=3.0), 10, X.clip(None, 3), {}),
    (
        "squeeze_1",
        make_node("Squeeze", ["w"], ["y"], axes=[0, 2]),
        9,
        np.ones(3, np.float32),
        {"w": np.ones((1, 3, 1), np.float32)},
    ),
    ("unsqueeze_1", make_node("Unsqueeze", ["x"], ["y"], axes=[0, 3]), 11, X.reshape(1, 2, 3, 1, 4), {}),
    ("reduce_sum_11", make_node("ReduceSum", ["x"], ["y"], axes=[1], keepdims=0), 11, X.sum(1), {}),
    ("reduce_mean_13", make_node("ReduceMean", ["x"], ["y"], axes=[-1]), 13, X.mean(-1, keepdims=True), {}),
    ("reduce_max_all", make_node("ReduceMax", ["x"], ["y"], keepdims=0), 12, X.max(), {}),
    (
        "slice_1",
        make_node("Slice", ["x"], ["y"], starts=[1, 0], ends=[3, -1], axes=[1, 2]),
        9,
        X[:, 1:3, :-1],
        {},
    ),
    (
        "pad_2",
        make_node("Pad", ["x"], ["y"], pads=[0, 1, 0, 0, 0, 2], value=7.0),
        10,
        np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=7),
        {},
    ),
    ("dropout_7", make_node("Dropout", ["x"], ["y"], ratio=0.9), 7, X, {}),
    (
        "add_6_axis",
        make_node("Add", ["x", "w"], ["y"], broadcast=1, axis=1),
        6,
        X + np.arange(3, dtype=np.float32)[:, None],
        {"w": np.arange(3, dtype=np.float32)},
    ),
    (
        "prelu_6",
        make_node("PRelu", ["x", "w"], ["y"]),
        6,
        np.where(X > 0, X, X * np.array([1, 2, 3], np.float32)[:, None]),
        {"w": np.array([1, 2, 3], np.float32)},
    ),
    (
        "upsample_9",
        make_node("Upsample", ["x4", "s"], ["y"]),
        9,
        X.reshape(1, 2, 3, 4).repeat(2, 2).repeat(2, 3),
        {"x4": X.reshape(1, 2, 3, 4), "s": np.array([1, 1, 2, 2], np.float32)},
    ),
    (
        "batch_norm_per_element",
        make_node("BatchNormalization", ["x", "w", "b", "m", "v"], ["y"], spatial=0, epsilon=0.0),
        7,
        X * 2 + 1,
        {
            "w": np.full((3, 4), 2, np.float32),
            "b": np.ones((3, 4), np.float32),
            "m": np.zeros((3, 4), np.float32),
            "v": np.ones((3, 4), np.float32),
        },
    ),
    (
        "roi_align_10",  # the middle of the box is column 2 of a ramp; with half pixels it would be 1.5
        make_node("RoiAlign", ["image", "box", "of"], ["y"], sampling_ratio=1),
        10,
        np.full((1, 1, 1, 1), 2.0, np.float32),
        {
            "image": np.tile(np.arange(6, dtype=np.float32), (1, 1, 6, 1)),
            "box": np.array([[1, 1, 3, 3]], np.float32),
            "of": np.zeros(1, np.int64),
        },
    ),
    ("cast_9", make_node("Cast", ["x"], ["y"], to=TensorProto.INT64), 9, X.astype(np.int64), {}),
]


@pytest.mark.parametrize(
    ("name", "node", "opset", "want", "weights"), OLD_FORMS, ids=[c[0] for c in OLD_FORMS]
)
def test_old_form(name: str, node: onnx.NodeProto, opset: int, want: Any, weights: dict[str, Any]) -> None:
    got = run(model([node], {"x": [2, 3, 4]}, ["y"], weights, opset), x=X)["y"]
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_split_without_sizes() -> None:
    parts = run(
        model([make_node("Split", ["x"], ["a", "b"], axis=2)], {"x": [2, 3, 4]}, ["a", "b"], opset=11), x=X
    )
    np.testing.assert_array_equal(parts["a"], X[:, :, :2])
    np.testing.assert_array_equal(parts["b"], X[:, :, 2:])


def test_topk_1() -> None:
    got = run(
        model([make_node("TopK", ["x"], ["v", "i"], k=2, axis=1)], {"x": [2, 3, 4]}, ["v", "i"], opset=9), x=X
    )
    np.testing.assert_array_equal(got["v"], -np.sort(-X, 1)[:, :2])
    np.testing.assert_array_equal(got["i"], np.broadcast_to(np.array([2, 1])[:, None], (2, 2, 4)))


@pytest.mark.parametrize("spelling", ["value", "value_float", "value_floats", "sparse_value"])
def test_constants(spelling: str) -> None:
    tensor = numpy_helper.from_array(np.array([0, 5, 0], np.float32), "c")
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([5], np.float32), "v"),
        numpy_helper.from_array(np.array([1], np.int64), "i"),
        [3],
    )
    given, want = {
        "value": (tensor, [0, 5, 0]),
        "value_float": (5.0, 5),
        "value_floats": ([0.0, 5.0, 0.0], [0, 5, 0]),
        "sparse_value": (sparse, [0, 5, 0]),
    }[spelling]
    nodes = [make_node("Constant", [], ["c"], **{spelling: given}), make_node("Add", ["x", "c"], ["y"])]
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(
        run(model(nodes, {"x": [3]}, ["y"]), x=x)["y"], x + np.asarray(want, np.float32)
    )


def test_float16_and_bfloat16_fields() -> None:
    for element in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        made = model(
            [make_node("Cast", ["w"], ["y"], to=F), make_node("Add", ["x", "y"], ["z"])], {"x": [2]}, ["z"]
        )
        made.graph.initializer.append(helper.make_tensor("w", element, [2], [1.5, -2.0]))
        np.testing.assert_array_equal(
            run(made, x=np.zeros(2, np.float32))["z"], np.array([1.5, -2], np.float32)
        )


def branch(name: str, nodes: list[onnx.NodeProto], result: str) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=result)])


@pytest.mark.parametrize("condition", [True, False])
def test_if_captures(condition: bool) -> None:
    """Branches use values of the outer graph, a weight among them, and one shadows an outer name."""
    inner = branch("inner", [make_node("Mul", ["doubled", "w"], ["deep"])], "deep")
    then = branch("then", [make_node("If", ["c"], ["r"], then_branch=inner, else_branch=inner)], "r")
    other = branch(
        "other", [make_node("Neg", ["x"], ["local"]), make_node("Sub", ["local", "w"], ["r2"])], "r2"
    )
    nodes = [
        make_node("Add", ["x", "x"], ["doubled"]),
        make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    w = np.array([1, 2, 3, 4], np.float32)
    got = run(
        model(nodes, {"x": [2, 3, 4], "c": (TensorProto.BOOL, [])}, ["y"], {"w": w}),
        x=X,
        c=np.array(condition),
    )["y"]
    np.testing.assert_array_equal(got, 2 * X * w if condition else -X - w)


def test_loop_with_capture_and_scan_output() -> None:
    body = helper.make_graph(
        [
            make_node("Add", ["s", "x"], ["t"]),
            make_node("Identity", ["cond"], ["go"]),
            make_node("Identity", ["t"], ["u"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("cond", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", F, None),
        ],
        [onnx.ValueInfoProto(name=n) for n in ("go", "t", "u")],
    )
    nodes = [make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)]
    got = run(
        model(nodes, {"x": [2], "n": (TensorProto.INT64, [])}, ["last", "all"]),
        x=np.ones(2, np.float32),
        n=np.array(3),
    )
    np.testing.assert_array_equal(got["last"], [4, 4])
    np.testing.assert_array_equal(got["all"], [[2, 2], [3, 3], [4, 4]])


def test_functions_are_inlined() -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    scale = helper.make_function(
        "mine",
        "Scale",
        ["a"],
        ["b"],
        [make_node("Constant", [], ["k"]), make_node("Mul", ["a", "k"], ["b"])],
        imports,
        ["by"],
    )
    scale.node[0].attribute.append(
        onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="by")
    )
    twice = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [
            make_node("Scale", ["a"], ["t"], domain="mine", by=2.0),
            make_node("Scale", ["t"], ["b"], domain="mine", by=3.0),
        ],
        imports,
    )
    made = model(
        [make_node("Twice", ["x"], ["y"], domain="mine")],
        {"x": [2, 3, 4]},
        ["y"],
        imports=[helper.make_opsetid("mine", 1)],
        functions=[scale, twice],
    )
    np.testing.assert_array_equal(run(made, x=X)["y"], 6 * X)


def test_recursive_functions_are_refused() -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    again = helper.make_function(
        "mine", "Again", ["a"], ["b"], [make_node("Again", ["a"], ["b"], domain="mine")], imports
    )
    made = model(
        [make_node("Again", ["x"], ["y"], domain="mine")],
        {"x": [1]},
        ["y"],
        imports=imports[1:],
        functions=[again],
    )
    with pytest.raises(walle_rt.ModelError, match="nested"):
        walle_rt.load(made)


def test_operators_without_a_row_expand_through_onnx() -> None:
    """These have a function body in ONNX; native or not, the result is the same."""
    x = np.linspace(-3, 3, 7, dtype=np.float32)
    cases = {
        "Celu": x.clip(0) + np.minimum(0, np.expm1(x)),
        "HardSwish": x * (x / 6 + 0.5).clip(0, 1),
        "Mish": x * np.tanh(np.log1p(np.exp(x))),
    }
    for op, want in cases.items():
        got = run(model([make_node(op, ["x"], ["y"])], {"x": [7]}, ["y"], opset=18), x=x)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=op)


def test_nodes_out_of_order_are_sorted() -> None:
    nodes = [make_node("Neg", ["a"], ["y"]), make_node("Abs", ["x"], ["a"])]
    np.testing.assert_array_equal(run(model(nodes, {"x": [2, 3, 4]}, ["y"]), x=X)["y"], -np.abs(X))


def test_names_made_twice_are_refused() -> None:
    twice = [make_node("Neg", ["x"], ["y"], name="first"), make_node("Abs", ["x"], ["y"], name="second")]
    with pytest.raises(walle_rt.ModelError, match=r"'y' made a second time.*second"):
        walle_rt.load(model(twice, {"x": [1]}, ["y"]))
    with pytest.raises(walle_rt.ModelError, match="'w' made a second time"):
        walle_rt.load(
            model([make_node("Neg", ["x"], ["w"])], {"x": [1]}, ["w"], {"w": np.ones(1, np.float32)})
        )


def test_outputs_that_are_inputs_or_constants() -> None:
    made = model(
        [make_node("Neg", ["x"], ["n"])], {"x": [2, 3, 4]}, ["x", "w", "n"], {"w": np.ones(2, np.float32)}
    )
    got = run(made, x=X)
    np.testing.assert_array_equal(got["x"], X)
    np.testing.assert_array_equal(got["w"], np.ones(2))
    assert not np.shares_memory(got["x"], X)


def test_all_unsupported_nodes_at_once() -> None:
    nodes = [
        make_node("Frobnicate", ["x"], ["a"], name="first"),
        make_node("StringSplit", ["x"], ["b", "c"], name="second"),
        make_node("Relu", ["a"], ["y"], name="third"),
    ]
    made = model(nodes, {"x": [2], "waves": (99, [1])}, ["y"], opset=20)
    with pytest.raises(UnsupportedModelError) as caught:
        convert(made)
    listed = {(u.node, u.op, u.opset) for u in caught.value.report.unsupported}
    assert listed == {
        ("first", "Frobnicate", 20),
        ("second", "StringSplit", 20),
        ("waves", "graph input", 20),
    }
    assert all(u.reason for u in caught.value.report.unsupported)


def test_strings() -> None:
    """Words in, words out; an operator that cannot take strings is refused by name."""
    node = make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER", stopwords=["Monday"])
    strings = (TensorProto.STRING, ["n"])
    loaded = walle_rt.load(model([node], {"x": strings}, {"y": strings}))
    assert (loaded.inputs[0].dtype, loaded.inputs[0].shape) == ("string", ("n",))
    session = loaded.session(threads=1)
    assert session.run({"x": np.array(["monday", "tuesday", "may"])})["y"].tolist() == ["TUESDAY", "MAY"]
    assert session.run({"x": np.array(["monday"], object)})["y"].tolist() == [""]
    assert session.run({"x": np.array(["größe"])})["y"].tolist() == ["GRÖSSE"]
    with pytest.raises(walle_rt.ArgumentError, match="int64"):
        session.run({"x": np.array([1])})
    again = walle_rt.load(loaded.to_bytes()).session(threads=1)
    assert again.run({"x": np.array(["a", "b"])})["y"].tolist() == ["A", "B"]
    with pytest.raises(walle_rt.ModelError, match="string"):
        walle_rt.load(model([make_node("Neg", ["x"], ["y"])], {"x": strings}, {"y": strings}))
    same = walle_rt.load(model([make_node("Identity", ["x"], ["y"])], {"x": strings}, {"y": strings}))
    assert same.session(threads=1).run({"x": np.array(["a", ""])})["y"].tolist() == ["a", ""]


def test_string_pairs() -> None:
    words = (TensorProto.STRING, [None, 2])
    nodes = [make_node("StringConcat", ["a", "b"], ["c"]), make_node("Equal", ["c", "b"], ["e"])]
    made = model(
        nodes,
        {"a": words, "b": (TensorProto.STRING, [2])},
        {"c": words, "e": (TensorProto.BOOL, None)},
        opset=20,
    )
    got = run(made, a=np.array([["x", ""], ["größe", "z"]]), b=np.array(["1", "22"]))
    assert got["c"].tolist() == [["x1", "22"], ["größe1", "z22"]]
    assert got["e"].tolist() == [[False, True], [False, False]]


def test_external_data(tmp_path: Path) -> None:
    w = np.arange(4, dtype=np.float32)
    made = model([make_node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"], {"w": w})
    onnx.save(made, str(tmp_path / "m.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
    assert (tmp_path / "w.bin").exists()
    got = walle_rt.load(tmp_path / "m.onnx").session(threads=1).run({"x": np.zeros(4, np.float32)})["y"]
    np.testing.assert_array_equal(got, w)
    (tmp_path / "w.bin").write_bytes(b"\0" * 3)
    with pytest.raises(walle_rt.ModelError, match=r"w\.bin"):
        walle_rt.load(tmp_path / "m.onnx")


def test_opset_beyond_the_installed_onnx() -> None:
    with pytest.raises(walle_rt.ModelError, match="opset 999"):
        walle_rt.load(model([make_node("Neg", ["x"], ["y"])], {"x": [1]}, ["y"], opset=999))


def test_check_finds_the_first_differing_operator() -> None:
    """The reference is made to differ at the second node; the check names it."""
    made = model(
        [
            make_node("Abs", ["x"], ["a"], name="one"),
            make_node("Neg", ["a"], ["b"], name="two"),
            make_node("Relu", ["b"], ["c"], name="three"),
            make_node("Add", ["c", "b"], ["y"], name="four"),
        ],
        {"x": [2, 3, 4]},
        ["y"],
    )

    def reference(m: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
        a = np.abs(feeds["x"])
        values = {"a": a, "b": -a + 1, "c": (1 - a).clip(0)}
        values["y"] = values["c"] + values["b"]
        return {o.name: values[o.name] for o in m.graph.output}

    found = check_proto(made, {}, {"x": X}, ("a wrong reference", reference))
    assert not found.equal
    assert (found.first_node, found.first_value) == ("two", "b")
    assert check_proto(made, {}, {"x": X}).equal
