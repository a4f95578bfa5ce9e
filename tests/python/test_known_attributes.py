"""Attributes that an operator does not have are refused by name, with the one that is meant."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import walle_rt


def one_node(op: str, domain: str = "", opset: int = 17, **attributes: object) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], ["y"], name="only", domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    ("op", "given", "meant", "opset"),
    [
        ("LeakyRelu", {"alph": 0.3}, "alpha", 17),
        ("Softmax", {"axes": 1}, "axis", 17),
        ("Transpose", {"perms": [1, 0]}, "perm", 17),
        ("Flatten", {"axs": 1}, "axis", 17),
        ("LeakyRelu", {"Alpha": 0.3}, "alpha", 17),
        ("Relu", {"alpha": 0.3}, "none", 17),
        ("Clip", {"min": 0.0}, "none", 17),  # an input since opset 11
        ("Relu", {"consumed_inputs": [0]}, "none", 6),  # until opset 5
    ],
)
def test_an_unknown_attribute_is_refused(op: str, given: dict[str, object], meant: str, opset: int) -> None:
    with pytest.raises(walle_rt.ModelError) as error:
        walle_rt.load(one_node(op, opset=opset, **given))
    (name,) = given
    assert f"'{name}'" in str(error.value) and meant in str(error.value) and "only" in str(error.value)


def test_those_of_older_opsets_stay() -> None:
    walle_rt.load(one_node("Relu", opset=1, consumed_inputs=[0]))
    walle_rt.load(one_node("Clip", opset=6, min=0.0, max=6.0))


def test_a_near_miss_where_no_schema_is_known() -> None:
    with pytest.raises(walle_rt.ModelError, match="'alph' in it: 'alpha' is meant"):
        walle_rt.load(one_node("QuickGelu", "com.microsoft", alph=1.7))
    walle_rt.load(one_node("QuickGelu", "com.microsoft", alpha=1.7))


def test_a_function_says_which_it_has() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    graph (float[4] x) => (float[4] y) {{ y = own.Leaky<{name} = 0.5>(x) }}
    <domain: "own", opset_import: ["" : 17]>
    Leaky<alpha>(x) => (y) {{ y = LeakyRelu<alpha: float = @alpha>(x) }}"""
    walle_rt.load(onnx.parser.parse_model(text.format(name="alpha")))
    with pytest.raises(walle_rt.ModelError, match="'alpha' is meant"):
        walle_rt.load(onnx.parser.parse_model(text.format(name="alph")))
