"""Details of files that exporters write, each of which one of the peers reads as they mean it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt


def run(
    op: str, feeds: dict[str, np.ndarray], constants: dict[str, Any] | None = None, **options: Any
) -> Any:
    """The first result of one node over feeds and constants, in this order; options are attributes."""
    opset, result = options.pop("opset", 17), options.pop("result", TensorProto.FLOAT)
    outputs = options.pop("outputs", ["y"])
    left_out, debug = options.pop("left_out", 0), options.pop("debug", "")
    constants = constants or {}
    names = [*feeds, *[""] * left_out, *constants]
    node = helper.make_node(op, names, outputs)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in options.items())
    inputs = [
        helper.make_tensor_value_info(
            name,
            TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype),
            x.shape,
        )
        for name, x in feeds.items()
    ]
    types = [result, *[TensorProto.INT64] * (len(outputs) - 1)]
    results = [helper.make_tensor_value_info(n, t, None) for n, t in zip(outputs, types, strict=True)]
    held = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph([node], "one", inputs, results, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    found = walle_rt.load(model).session(debug=debug).run(feeds)
    return found["y"] if len(outputs) == 1 else [found[name] for name in outputs]


def words(*items: Any) -> np.ndarray:
    return np.array(items, object)


def test_a_model_in_a_cache_of_links(tmp_path: Path) -> None:
    """Hugging Face's cache: the model's path and its data are links to files of other names."""
    (tmp_path / "blobs").mkdir()
    snapshot = tmp_path / "snapshots" / "main"
    snapshot.mkdir(parents=True)
    weights = numpy_helper.from_array(np.arange(100, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "add",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [100])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [100])],
        [weights],
    )
    onnx.save(
        helper.make_model(graph, ir_version=9),
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="model.onnx_data",
        size_threshold=0,
    )
    for name, blob in (("model.onnx", "6f2a"), ("model.onnx_data", "91bc")):
        (tmp_path / name).rename(tmp_path / "blobs" / blob)
        (snapshot / name).symlink_to(Path("../../blobs") / blob)
    session = walle_rt.load(snapshot / "model.onnx").session()
    y = session.run({"x": np.zeros(100, np.float32)})["y"]
    np.testing.assert_array_equal(y, np.arange(100))


def test_data_behind_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    graph = helper.make_graph(
        [helper.make_node("Neg", ["w"], ["y"])],
        "neg",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [tensor],
    )
    (inside / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (tmp_path / "secret").write_bytes(b"12345678")
    (inside / "w.bin").symlink_to(tmp_path / "secret")
    with pytest.raises(walle_rt.ModelError, match="a file inside the model's folder"):
        walle_rt.load(inside / "m.onnx")


def test_data_that_is_a_link_to_itself(tmp_path: Path) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"])], "neg", [], [output], [tensor])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (tmp_path / "w.bin").symlink_to("w.bin")
    with pytest.raises(walle_rt.ModelError, match=r"w\.bin"):
        walle_rt.load(tmp_path / "m.onnx")
    (tmp_path / "self.onnx").symlink_to("self.onnx")
    with pytest.raises(walle_rt.ResourceError, match=r"self\.onnx"):
        walle_rt.load(tmp_path / "self.onnx")


def test_nearest_upsampling_of_keras() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    y = run(
        "Resize",
        {"x": x},
        {"s": np.array([1, 1, 2, 2], np.float32)},
        left_out=1,
        opset=11,
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    np.testing.assert_array_equal(y, x.repeat(2, axis=2).repeat(2, axis=3))


@pytest.mark.parametrize(("length", "scale", "expected"), [(10, 0.7, 7), (100, 0.29, 29), (10, 0.3, 3)])
def test_lengths_by_scales_are_those_of_float32(length: int, scale: float, expected: int) -> None:
    x = np.arange(length, dtype=np.float32).reshape(1, 1, length)
    y = run("Resize", {"x": x}, {"s": np.array([1, 1, scale], np.float32)}, left_out=1, mode="nearest")
    assert y.shape == (1, 1, expected)


def test_a_tie_of_float32_goes_down() -> None:
    """(6 + 0.5) / 1.3 - 0.5 is 4.5 in float32, and 4.50000018 in float64."""
    x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    y = run("Resize", {"x": x}, {"s": np.array([1, 1, 1.3], np.float32)}, left_out=1, mode="nearest")
    np.testing.assert_array_equal(y.ravel(), [0, 1, 1, 2, 3, 4, 4, 5, 6])


@pytest.mark.parametrize("shape", [(4,), (1,), (1, 4), (3, 4), (2, 1, 4), (1, 1, 4), (2, 3, 1), (1, 3, 1)])
@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_scales_that_broadcast_to_the_data(op: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    scale, bias = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    centred = op == "LayerNormalization"
    constants = {"s": scale, "b": bias} if centred else {"s": scale}
    d = x - x.mean(-1, keepdims=True) if centred else x
    expected = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * scale + (bias if centred else 0)
    y = run(op, {"x": x}, constants, opset=23, axis=-1)
    np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("debug", ["", "search=off"])
def test_log_softmax_keeps_its_sum_beside_a_large_number(debug: str) -> None:
    x = np.array([[0, 1e4, 1e4 - 1]], np.float32)
    y = run("LogSoftmax", {"x": x}, axis=1, debug=debug)
    expected = x.astype(np.float64) - 1e4 - np.log1p(np.exp(-1.0))
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 3), (2, 3, 0), (2, 0)])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_the_flat_softmax_of_before_opset_13_over_nothing(op: str, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert run(op, {"x": x}, opset=11, axis=1).shape == shape


def test_nan_lies_neither_below_nor_above_a_bound() -> None:
    x = np.array([np.nan, -2, 0, 2] * 9, np.float32)
    np.testing.assert_array_equal(run("Shrink", {"x": x}, lambd=0.5, bias=0.5), [0, -1.5, 0, 1.5] * 9)
    np.testing.assert_array_equal(run("ThresholdedRelu", {"x": x}, alpha=1.0), [0, 0, 0, 2] * 9)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_shrink_of_integers(dtype: Any) -> None:
    x = np.array([-3, 0, 1, 5], dtype)
    y = run("Shrink", {"x": x}, lambd=0.5, bias=0.5, result=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    np.testing.assert_array_equal(y, [-2, 0, 0, 4])


def test_strings_are_scattered_reversed_and_chosen() -> None:
    x = np.array([["a", "b", "c"]], object)
    text = {"result": TensorProto.STRING}
    one = {"i": np.array([[1]], np.int64), "u": np.array([["z"]], object)}
    assert run("ScatterElements", {"x": x}, one, axis=1, **text).tolist() == [["a", "z", "c"]]
    at = {"i": np.array([[0, 1]], np.int64), "u": words("z")}
    assert run("ScatterND", {"x": x}, at, **text).tolist() == [["a", "z", "c"]]
    lengths = {"l": np.array([2, 1], np.int64)}
    two = np.array([["a", "b"], ["c", "d"]], object)
    assert run("ReverseSequence", {"x": two}, lengths, **text).tolist() == [["c", "b"], ["a", "d"]]
    depth = {"d": np.int64(2), "v": words("off", "on")}
    chosen = run("OneHot", {"x": np.array([0, 1], np.int64)}, depth, **text)
    assert chosen.tolist() == [["on", "off"], ["off", "on"]]


@pytest.mark.parametrize(("sorted_", "expected"), [(1, ["a", "b", "ß"]), (0, ["b", "a", "ß"])])
def test_unique_strings(sorted_: int, expected: list[str]) -> None:
    x = words("b", "a", "b", "ß", "a")
    y, first, inverse, counts = run(
        "Unique",
        {"x": x},
        sorted=sorted_,
        outputs=["y", "first", "inverse", "counts"],
        result=TensorProto.STRING,
    )
    assert y.tolist() == expected
    assert x[first].tolist() == expected
    assert y[inverse].tolist() == x.tolist()
    assert dict(zip(y, counts, strict=True)) == {"a": 2, "b": 2, "ß": 1}


def test_unique_rows_of_strings() -> None:
    x = np.array([["b", "a"], ["a", "b"], ["b", "a"]], object)
    assert run("Unique", {"x": x}, axis=0, result=TensorProto.STRING).tolist() == [["a", "b"], ["b", "a"]]


def test_case_of_letters_beyond_ascii() -> None:
    x = words("café", "ÉCOLE", "straße", "ΑΣ", "İ", "x\U00010400")
    for action, expected in [
        ("LOWER", ["café", "école", "straße", "ας".replace("ς", "σ"), "i̇", "x\U00010428"]),
        ("UPPER", ["CAFÉ", "ÉCOLE", "STRASSE", "ΑΣ", "İ", "X\U00010400"]),
    ]:
        y = run("StringNormalizer", {"x": x}, case_change_action=action, result=TensorProto.STRING)
        assert y.tolist() == expected
    left = run("StringNormalizer", {"x": x[:2]}, stopwords=["école"], result=TensorProto.STRING)
    assert left.tolist() == ["café"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?i)hello", [True, True, False, False]),
        ("(?i:he)llo", [False, True, False, False]),
        ("h(?i)ELLO", [False, True, False, False]),
        ("(h(?i)E)llo", [False, True, False, False]),
        ("(?i)É[a-z]+", [False, False, True, False]),
        ("(?s)a.b", [False, False, False, True]),
        ("(?is)[^B].B", [False, False, False, True]),
        ("(?i-i:he)llo", [False, True, False, False]),
    ],
)
def test_flags_of_patterns(pattern: str, expected: list[bool]) -> None:
    x = words("HELLO", "hello", "éCOLE", "a\nb")
    y = run("RegexFullMatch", {"x": x}, pattern=pattern, opset=20, result=TensorProto.BOOL)
    assert y.tolist() == expected


def test_numbers_of_float64_are_written_as_short_as_they_can_be_read() -> None:
    x = np.array([0.1, 1 / 3, 1e22, 123456789.123, 5e-324, 1e16, 100.0, -0.0, np.inf, np.nan])
    y = run("Cast", {"x": x}, to=TensorProto.STRING, result=TensorProto.STRING)
    assert y[:2].tolist() == ["0.1", "0.3333333333333333"]
    assert [float(text) for text in y[:8]] == x[:8].tolist()
    assert y[8:].tolist() == ["INF", "NaN"]


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((0, 5, 768), [0, -1, 12, 64], (0, 5, 12, 64)),
        ((0, 5, 768), [-1, 5, 12, 64], (0, 5, 12, 64)),
        ((0, 12, 5, 64), [0, -1, 768], (0, 5, 768)),
        ((0, 3), [-1, 3], (0, 3)),
        ((0, 3), [-1, 0], (0, 3)),
        ((2, 0), [0, -1], (2, 0)),
    ],
)
def test_what_is_inferred_beside_a_batch_of_none(
    shape: tuple[int, ...], target: list[int], expected: tuple[int, ...]
) -> None:
    y = run("Reshape", {"x": np.zeros(shape, np.float32)}, {"t": np.array(target, np.int64)})
    assert y.shape == expected


def test_a_rank_beyond_ours_is_not_the_files_fault() -> None:
    with pytest.raises(walle_rt.ModelError, match="this runtime's limit"):
        run("Relu", {"x": np.ones([1] * 11 + [2], np.float32)})


@pytest.mark.parametrize("depth", [17, 30])
def test_branches_within_branches(depth: int) -> None:
    def branch(name: str, node: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph(
            [node], name, [], [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)]
        )

    inner = helper.make_node("Neg", ["x"], ["y0"])
    for level in range(1, depth + 1):
        other = helper.make_node("Identity", ["x"], [f"e{level}"])
        inner = helper.make_node(
            "If",
            ["c"],
            [f"y{level}"],
            then_branch=branch(f"then{level}", inner),
            else_branch=branch(f"else{level}", other),
        )
    graph = helper.make_graph(
        [inner],
        "nested",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info(f"y{depth}", TensorProto.FLOAT, None)],
    )
    session = walle_rt.load(helper.make_model(graph, ir_version=9)).session()
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(session.run({"x": x, "c": np.array(True)})[f"y{depth}"], -x)
    np.testing.assert_array_equal(session.run({"x": x, "c": np.array(False)})[f"y{depth}"], x)
