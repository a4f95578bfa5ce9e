"""Random graphs, quantised: layer by layer the codes that onnxruntime finds, and results near float32's."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from random_seed import random_seed
from small_models import exposed, layer_by_layer
from test_random_graphs import grow

import walle_rt
from walle_rt import quantize

GRAPHS = 40


@pytest.mark.parametrize("number", range(GRAPHS))
@pytest.mark.parametrize("activations", ["uint8", "int8"])
def test_codes_of_random_graphs(number: int, activations: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    made, x, values = grow(random_seed() * GRAPHS + number)
    quantised = quantize.static(made, [{"x": x}], activations=activations)
    got = walle_rt.load(exposed(quantised.onnx, "QuantizeLinear")).session(threads=1).run({"x": x})
    assert set(values) <= set(got)
    kind = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}[activations]
    layers, given = layer_by_layer(quantised.onnx, kind)
    if not given:
        assert all(layer.form == "float32" for layer in quantised.report.layers)
        return
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = ort.InferenceSession(layers.SerializeToString(), options)
    codes = {given[name]: got[name] for name in given}
    for name, want in zip(given, peer.run(list(given), {"x": x} | codes), strict=True):
        assert want.dtype == activations and want.shape == got[name].shape
        assert np.abs(got[name].astype(int) - want.astype(int)).max(initial=0) <= 1, name
