"""ai.onnx.ml beside what onnxruntime answered, and what sessions make of strings and dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from onnx import TensorProto, helper
from tests.golden import classical_ml

import walle_rt
from walle_rt.made_up import made_up_inputs

TOLERANCE = 1e-4
CASES = {name: (model, feeds, wanted) for name, model, feeds, wanted in classical_ml.read()}


def check(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert [row.keys() for row in got] == [row.keys() for row in want]
        for ours, theirs in zip(got, want, strict=True):
            assert ours == pytest.approx(theirs, rel=TOLERANCE, abs=TOLERANCE)
        return
    assert got.shape == want.shape
    if want.dtype.kind == "f":
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, TOLERANCE, TOLERANCE)
    else:
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("name", list(CASES))
def test_equals_onnxruntime(name: str) -> None:
    model, feeds, wanted = CASES[name]
    loaded = walle_rt.load(model)
    for session in (loaded.session(threads=1), loaded.session(threads=1, debug="claim=off,fold=off")):
        for got, want in zip(session.run(feeds).values(), wanted, strict=True):
            check(got, want)


@pytest.mark.parametrize(
    "name", [n for n in CASES if n.startswith(("trees_many", "linear_3", "label_2", "zip_map"))]
)
def test_survives_saving(name: str) -> None:
    model, feeds, wanted = CASES[name]
    again = walle_rt.load(walle_rt.load(model).to_bytes())
    for got, want in zip(again.session(threads=1).run(feeds).values(), wanted, strict=True):
        check(got, want)


def test_zip_map_is_a_list_of_dictionaries() -> None:
    model, feeds, _ = CASES["zip_map_words"]
    loaded = walle_rt.load(model)
    assert loaded.outputs[0].kind == "maps"
    (rows,) = loaded.session(threads=1).run(feeds).values()
    assert isinstance(rows, list) and list(rows[0]) == ["a", "b", "c"]
    assert all(isinstance(value, float) for row in rows for value in row.values())


def text_model(nodes: list[Any], shape: list[int | None], outputs: list[tuple[str, int]]) -> walle_rt.Model:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return walle_rt.load(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def test_strings_move_like_numbers() -> None:
    make = helper.make_node
    nodes = [
        make("Constant", [], ["more"], value_strings=[b"longer", "ü".encode()]),
        make("Constant", [], ["row"], value_ints=[1, 2]),
        make("Reshape", ["more", "row"], ["more2"]),
        make("Concat", ["x", "more2"], ["joined"], axis=0),
        make("Transpose", ["joined"], ["turned"]),
        make("Constant", [], ["at"], value_ints=[-1, 0]),
        make("Gather", ["turned", "at"], ["y"], axis=1),
        make("Shape", ["turned"], ["shape"]),
        make("Equal", ["x", "more2"], ["same"]),
        make("Where", ["same", "x", "more2"], ["chosen"]),
        make("Split", ["x"], ["left", "right"], axis=1, num_outputs=2),
    ]
    kinds = [("y", TensorProto.STRING), ("shape", TensorProto.INT64), ("chosen", TensorProto.STRING),
             ("right", TensorProto.STRING)]  # fmt: skip
    x = np.array([["a", "b"], ["", "ü"], ["c", "d"]], object)
    got = text_model(nodes, [None, 2], kinds).session(threads=1).run({"x": x})
    joined = np.concatenate([x, np.array([["longer", "ü"]], object)])
    assert got["y"].tolist() == joined.T[:, [-1, 0]].tolist()
    assert got["shape"].tolist() == [2, 4]
    assert got["chosen"].tolist() == [["longer", "ü"]] * 3
    assert got["right"].tolist() == [["b"], ["ü"], ["d"]]


def test_strings_to_numbers_and_back() -> None:
    make = helper.make_node
    nodes = [
        make("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        make("Cast", ["f"], ["t"], to=TensorProto.STRING),
        make("Cast", ["f"], ["d"], to=TensorProto.DOUBLE),
        make("Cast", ["d"], ["dt"], to=TensorProto.STRING),
    ]
    model = text_model(
        nodes, [None], [("f", TensorProto.FLOAT), ("t", TensorProto.STRING), ("dt", TensorProto.STRING)]
    )
    session = model.session(threads=1)
    x = np.array(["0.1", "+1e3", "-INF", "NaN", "1.5e-10"])
    got = session.run({"x": x})
    np.testing.assert_array_equal(got["f"], x.astype(np.float32))
    assert got["t"].tolist() == ["0.1", "1000", "-INF", "NaN", "1.5e-10"]
    assert got["dt"].tolist()[0] == "0.10000000149011612"
    with pytest.raises(walle_rt.ModelError, match="the string 'two'"):
        session.run({"x": np.array(["two"])})


def test_tokenizer() -> None:
    def tokens(text: list[str], **attributes: Any) -> Any:
        node = helper.make_node(
            "Tokenizer", ["x"], ["y"], domain="com.microsoft", mark=0, mincharnum=1, **attributes
        )
        model = text_model([node], [None], [("y", TensorProto.STRING)])
        return model.session(threads=1).run({"x": np.array(text)})["y"].tolist()

    assert tokens(["a bc", "d"], pad_value="#", separators=[" "]) == [["a", "bc"], ["d", "#"]]
    assert tokens(["ab", "ü"], pad_value="#", separators=[""]) == [["a", "b"], ["ü", "#"]]
    assert tokens(["a, b!", ""], pad_value="#", tokenexp="[a-z]+") == [["a", "b"], ["#", "#"]]


def test_what_strings_cannot_do_is_named() -> None:
    with pytest.raises(walle_rt.ModelError, match="not supported on strings"):
        text_model([helper.make_node("Neg", ["x"], ["y"])], [None], [("y", TensorProto.STRING)])


def test_unknown_categories() -> None:
    node = helper.make_node(
        "OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["a", "b"], zeros=0
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, [None])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    session = walle_rt.load(helper.make_model(graph, opset_imports=opsets, ir_version=8)).session(threads=1)
    assert session.run({"x": np.array(["b", "a"])})["y"].tolist() == [[0, 1], [1, 0]]
    with pytest.raises(walle_rt.Error):
        session.run({"x": np.array(["b", "c"])})


def vectorizer(keys: list[Any], element: int, extra: str = "") -> onnx.ModelProto:
    """A dictionary as a row, times 2."""
    kind = "string_vocabulary" if isinstance(keys[0], str) else "int64_vocabulary"
    nodes = [
        helper.make_node("DictVectorizer", ["x"], ["row"], domain="ai.onnx.ml", **{kind: keys}),
        helper.make_node("Add", ["row", "row"], ["y"]),
    ]
    if extra:
        nodes.append(
            helper.make_node("DictVectorizer", ["x"], ["z"], domain="ai.onnx.ml", string_vocabulary=[extra])
        )
    key = TensorProto.STRING if isinstance(keys[0], str) else TensorProto.INT64
    kinds = {"x": helper.make_map_type_proto(key, helper.make_tensor_type_proto(element, []))}
    imports = [helper.make_opsetid("ai.onnx.ml", 1)]
    return model(nodes, kinds, {"y": (element, [None, None])}, imports=imports)


def test_dictionaries_are_inputs() -> None:
    loaded = walle_rt.load(vectorizer(["b", "a"], TensorProto.FLOAT))
    assert [(v.name, v.kind, v.dtype) for v in loaded.inputs] == [("x", "maps", "float32")]
    session = loaded.session()
    y = session.run({"x": {"a": 1.5, "other": 9.0}})["y"]
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, [[0, 3]])
    y = session.run({"x": [{"a": 1, "b": 2}, {}]})["y"]
    np.testing.assert_array_equal(y, [[4, 2], [0, 0]])
    assert session.run({"x": []})["y"].shape == (0, 2)
    np.testing.assert_array_equal(session.run(made_up_inputs(loaded, {}))["y"], [[0, 0]])
    numbered = walle_rt.load(vectorizer([7, 3], TensorProto.INT64)).session()
    np.testing.assert_array_equal(numbered.run({"x": {3: 5}})["y"], [[0, 10]])


def test_what_is_no_dictionary_is_refused() -> None:
    session = walle_rt.load(vectorizer(["a"], TensorProto.FLOAT)).session()
    for wrong in (np.zeros((1, 1), np.float32), [1.0], "a", {"a": "b"}, {"a": None}):
        with pytest.raises(walle_rt.ArgumentError, match="input 'x'"):
            session.run({"x": wrong})
    with pytest.raises(walle_rt.ModelError, match="vocabularies"):
        walle_rt.load(vectorizer(["a"], TensorProto.FLOAT, extra="b"))
    with pytest.raises(walle_rt.ModelError, match="dictionaries of"):
        walle_rt.load(vectorizer(["a"], TensorProto.STRING))
