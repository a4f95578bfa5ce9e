"""The generated models have the size that their papers give them, and the same bytes every time."""

from __future__ import annotations

import math

import onnx
import pytest

from walle_rt.bench import zoo

# Multiply-adds in millions as published for these networks (ours: two-layer recurrent nets and DIN, by hand).
PUBLISHED = {
    "resnet18": 1814,
    "resnet50": 4089,
    "mobilenet_v1": 569,
    "mobilenet_v2": 301,
    "mobilenet_v3_small": 56.5,
    "squeezenet_1_1": 349,
    "shufflenet_v2": 145,
    "bert_base_128": 11174,
    "din_b1": 2.35,
    "din_b64": 150,
}


def millions_of_macs(model: onnx.ModelProto) -> float:
    """Multiply-adds of convolutions and matrix products, from inferred shapes."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    shapes = {t.name: list(t.dims) for t in model.graph.initializer}
    for value in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]:
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    total = 0.0
    for node in model.graph.node:
        if node.op_type == "Conv":
            total += math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type == "Gemm":
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[1]][1]
        elif node.op_type == "MatMul":
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    return total / 1e6


@pytest.mark.parametrize("name", [name for name in zoo.MODELS if name in PUBLISHED])
def test_size(name: str) -> None:
    assert millions_of_macs(zoo.build(name)) == pytest.approx(PUBLISHED[name], rel=0.03)


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "gru_speech", "din_b1"])
def test_same_bytes_every_time(name: str) -> None:
    assert zoo.build(name).SerializeToString() == zoo.build(name).SerializeToString()


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match="resnet18"):
        zoo.build("resnet19")
