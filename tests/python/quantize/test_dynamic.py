"""Dynamic quantisation: int8 weights, activations quantised in each run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from small_models import attention, convolutions, pictures, texts

import walle_rt
from walle_rt import quantize


def peer(made: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return ort.InferenceSession(made.SerializeToString(), options).run(None, feeds)[0]


def test_products_and_tables() -> None:
    made = quantize.dynamic(attention(width=64), [{"ids": texts()}])
    onnx.checker.check_model(made.onnx, full_check=True)
    found = Counter(node.op_type for node in made.onnx.graph.node)
    # Query and key read the same value, which is quantised once; products of activations stay.
    assert found["DynamicQuantizeLinear"] == 2 and found["MatMulInteger"] == 3 and found["MatMul"] == 2
    assert {layer.name: layer.form for layer in made.report.layers} == dict.fromkeys(
        ["embed", "query", "key", "out"], "int8"
    )
    assert made.report.outputs[0].snr_db > 30
    arrays = {t.name: numpy_helper.to_array(t) for t in made.onnx.graph.initializer}
    assert arrays["table_codes"].dtype == np.int8 and arrays["table_scales"].shape == (20, 1)
    got = made.load().session(threads=1).run({"ids": texts(3, 9)})["y"]
    wanted = peer(made.onnx, {"ids": texts(3, 9)})
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-3 * np.ptp(wanted))


@pytest.mark.parametrize("per_channel", [True, False])
def test_convolutions_where_they_are_asked_for(per_channel: bool) -> None:
    made = quantize.dynamic(
        convolutions(), [{"x": pictures()}], operators=["Conv", "Gemm"], per_channel=per_channel
    )
    found = Counter(node.op_type for node in made.onnx.graph.node)
    assert found["ConvInteger"] == 4 and found["Conv"] == found["BatchNormalization"] == 0
    assert made.report.outputs[0].snr_db > 25
    feeds = {"x": pictures(5, 8)}
    got = made.load().session(threads=1).run(feeds)["prob"]
    np.testing.assert_allclose(got, peer(made.onnx, feeds), atol=2e-3)


def test_usual_operators_leave_convolutions() -> None:
    made = quantize.dynamic(convolutions())
    reasons = {layer.name: layer.reason for layer in made.report.layers}
    assert reasons["first"] == "Conv is not among the operators" and reasons["last"] == ""
    assert made.report.outputs == []


def test_zeros_and_single_rows() -> None:
    """A run whose input is constant, or zero throughout, has a scale nevertheless."""
    float_, made = walle_rt.load(attention()), quantize.dynamic(attention(), operators=["MatMul"]).load()
    for ids in (np.zeros((1, 1), np.int64), np.full((2, 5), 3)):
        want = float_.session().run({"ids": ids})["y"]
        np.testing.assert_allclose(made.session().run({"ids": ids})["y"], want, atol=0.05)


def test_operators_that_it_does_not_know() -> None:
    with pytest.raises(walle_rt.ArgumentError, match="operators='Add'; expected one of MatMul, Gemm"):
        quantize.dynamic(attention(), operators=["Add"])
