"""The generated models have the size that their papers give them, and the same bytes every time."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import walle_rt
from walle_rt.bench import accuracy, real, reference, zoo

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
    "efficientnet_b0": 388,
    "vgg": 15347,
    "yolo_n": 4372,
    "vit_s": 4600,
    "segmenter": 2010,
    "bert_base_256": 22951,
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
        if node.op_type == "ConvTranspose":
            total += math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type == "Conv":
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


# Small enough to be computed in float64 in a moment; BERT's layers are MiniLM's.
SMALL = {
    "resnet18": "s64", "resnet50": "s64", "mobilenet_v1": "s64", "mobilenet_v2": "s64",
    "mobilenet_v3_small": "s64", "squeezenet_1_1": "s64", "shufflenet_v2": "s64", "efficientnet_b0": "s64",
    "vgg": "s32", "yolo_n": "s96", "segmenter": "s48", "vit_s": "s48", "minilm": "s9", "gru_speech": "s7",
    "lstm_speech": "s7", "voice_rnn": "b3",
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("batch", [1, 2])
def test_runs_and_is_right(name: str, batch: int) -> None:
    text = f"{name}:b{batch}" + ("" if SMALL[name].startswith("b") else f":{SMALL[name]}")
    model = zoo.build(text)
    feeds = zoo.feeds(model)
    got = list(walle_rt.load(model).session(threads=1).run(feeds).values())
    assert accuracy.error(got, reference.evaluate(model, feeds)) < 1e-5
    assert got[0].shape[0] == batch


def test_voice_rnn_is_small() -> None:
    model = zoo.build("voice_rnn")
    floats = [t for t in model.graph.initializer if t.data_type == TensorProto.FLOAT]
    assert sum(math.prod(t.dims) for t in floats) == 7946


def test_variants() -> None:
    assert zoo.Variant.parse("vit_s:b2:s64") == zoo.Variant("vit_s", 2, 64)
    for text in ("resnet18", "resnet18:b8", "minilm:s32", "vgg:b2:s64"):
        assert zoo.Variant.parse(text).text == text
    for text, says in [
        ("resnet18:b0", "':b0'|'b0'"),
        ("resnet18:x3", "'x3'"),
        ("resnet18:b1:b2", "'b2'"),
        ("resnet18:b", "'b'"),
        ("din_b1:b2", "has one batch"),
        ("bert_base_256:s8", "has one size"),
        ("resnet19:b2", "resnet18"),
    ]:
        with pytest.raises(KeyError, match=says):
            zoo.Variant.parse(text)
    assert zoo.takes("vgg", "size") and not zoo.takes("din_b64", "batch")


@pytest.mark.parametrize("name", ["yolo_n:s40", "vit_s:s40", "shufflenet_v2:s40", "segmenter:s40"])
def test_sizes_that_do_not_fit_are_told(name: str) -> None:
    with pytest.raises(ValueError, match=r"size 40 .* multiple of"):
        zoo.build(name)


def test_a_file_is_named_by_its_variant(tmp_path: Path) -> None:
    file = zoo.path("voice_rnn:b2:s3", tmp_path)
    assert file.name == f"voice_rnn.b2.s3.r{zoo.REVISION}.onnx"
    written = file.stat().st_mtime_ns
    assert zoo.path("voice_rnn:b2:s3", tmp_path).stat().st_mtime_ns == written  # once


def test_trained_models_get_fixed_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(real.VARIABLE, str(tmp_path))
    assert "mtcnn_rnet.onnx is absent" in str(real.reason("real_mtcnn_rnet"))
    with pytest.raises(real.Absent, match=real.VARIABLE):
        zoo.path("real_mtcnn_rnet", tmp_path / "cache")
    ends = [
        helper.make_tensor_value_info("input_2", TensorProto.FLOAT, ["N", 24, 24, 3]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3], [1, 2, 3])
    graph = helper.make_graph(
        [helper.make_node("Mul", ["input_2", "w"], ["y"])], "g", ends[:2], ends[2:], [weight]
    )
    (tmp_path / "onnx").mkdir()
    onnx.save(helper.make_model(graph), str(tmp_path / "onnx" / "mtcnn_rnet.onnx"))
    file = zoo.path("real_mtcnn_rnet", tmp_path / "cache")
    (only,) = onnx.load(str(file)).graph.input  # the weight is no input any more
    assert [d.dim_value for d in only.type.tensor_type.shape.dim] == [8, 24, 24, 3]
    assert zoo.inputs("real_mtcnn_rnet", file)["input_2"].shape == (8, 24, 24, 3)


def test_inputs_that_choose_a_branch_are_given(tmp_path: Path) -> None:
    shapes = {"input": ["n", "m"], "state": [2, "n", 128]}
    ends = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in shapes.items()]
    ends += [helper.make_tensor_value_info("sr", TensorProto.INT64, [])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([helper.make_node("Relu", ["input"], ["y"])], "g", ends, outputs)
    file = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), str(file))
    feeds = zoo.inputs("real_silero_vad", file)
    assert feeds["input"].shape == (1, 576) and feeds["state"].shape == (2, 1, 128)
    assert feeds["sr"] == np.array(16_000)
