"""Trained models in sessions with precision="bf16": what their accuracy loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import MODELS, need
from trained import as_resnet20, cifar, expected, photographs, tflite

import walle_rt

Array = np.ndarray[Any, Any]
TESTED, BATCH = 2000, 50
FORM = "avx512+avx512_bf16"
POINTS = 0.2  # what accuracy may lose


@pytest.fixture(autouse=True)
def _form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", FORM)
    monkeypatch.setenv("WALLE_COSTS", "zen4")  # where such products are the faster ones
    try:
        walle_rt.load(tflite("mlperf_resnet8_float")).session()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {FORM}: {error}")


def outputs(model: Any, pictures: Array, **options: Any) -> Array:
    session = walle_rt.load(model).session(**options)
    batches = [pictures[i : i + BATCH] for i in range(0, len(pictures), BATCH)]
    found = np.concatenate([next(iter(session.run({"input": b}).values())) for b in batches])
    if options:
        assert "bfloat16" in {row.arithmetic for row in session.explain().rows}
    return found


def points_lost(model: Any, pictures: Array, labels: Array) -> float:
    plain, short = outputs(model, pictures), outputs(model, pictures, precision="bf16")
    right = [(found.argmax(1) == labels).mean() for found in (plain, short)]
    assert right[0] > 0.75, "the model is not what it was"
    return 100 * float(right[0] - right[1])


def test_resnet20_keeps_its_accuracy() -> None:
    pictures, labels = cifar("test", TESTED)
    model = need(MODELS / "onnx" / "resnet20_cifar10_from_th.onnx")
    assert points_lost(model, as_resnet20(pictures), labels) <= POINTS


def test_resnet8_keeps_its_accuracy() -> None:
    pictures, labels = cifar("test", TESTED)
    assert points_lost(tflite("mlperf_resnet8_float"), pictures.astype(np.float32), labels) <= POINTS


def test_the_person_detector_decides_as_before() -> None:
    """On 80 animals and 3 persons: one of 83 pictures is more than a point."""
    pictures = np.concatenate([photographs(96), expected("mlperf_vww96_float_person")[0]])
    labels = np.array([0] * 80 + [1] * 3)
    assert points_lost(tflite("mlperf_vww96_float"), pictures, labels) <= POINTS


def test_ultraface_finds_the_same_faces() -> None:
    with np.load(need(MODELS / "expected" / "ultraface_rfb320.npz")) as arrays:
        feeds = {key[4:]: arrays[key] for key in arrays.files if key.startswith("in__")}
    loaded = walle_rt.load(need(MODELS / "onnx" / "ultraface_rfb320.onnx"))
    plain, short = (loaded.session(precision=p).run(feeds) for p in ("float32", "bf16"))
    scores = [result["scores"][0, :, 1] for result in (plain, short)]
    assert np.abs(scores[0] - scores[1]).max() < 0.03
    found, clear = scores[0] > 0.7, np.abs(scores[0] - 0.7) > 0.03
    assert found.any() and (found == (scores[1] > 0.7))[clear].all()
    assert np.abs(plain["boxes"] - short["boxes"])[0][found].max() < 0.004  # of the picture's side
