"""Trained models against the outputs of a reference engine with its optimisations off.

The bound everywhere: the largest absolute difference is at most 1e-3 of the expected output's range.
"""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from PIL import Image
from places import DATA, MODELS, need

import walle_rt

Array = np.ndarray[Any, Any]

# expected file -> model; its input and expected output are both in the file
STORED = {
    "fastestdet": "fastestdet",
    "mtcnn_pnet_120x160": "mtcnn_pnet",
    "mtcnn_rnet_batch7": "mtcnn_rnet",
    "mtcnn_onet_batch3": "mtcnn_onet",
    "squeezenet_v11_cat": "squeezenet_v11_from_ncnn",
    "ultraface_rfb320": "ultraface_rfb320",
    "yunet_n_320_320": "yunet_n_320_320",
}


def check(got: Array, want: Array, name: str) -> None:
    """Hold one output to the bound."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype), name
    spread = float(want.max() - want.min())
    worst = float(np.abs(got - want).max())
    assert worst <= 1e-3 * spread, f"{name}: worst difference {worst:.3g}, range {spread:.3g}"


def load(name: str, threads: int = 1) -> Any:
    """A session of one of the models."""
    return walle_rt.load(str(need(MODELS / "onnx" / f"{name}.onnx"))).session(threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stored", list(STORED))
def test_stored_input_and_output(stored: str, threads: int) -> None:
    session = load(STORED[stored], threads)
    with np.load(need(MODELS / "expected" / f"{stored}.npz")) as arrays:
        feeds = {key[4:]: arrays[key] for key in arrays.files if key.startswith("in__")}
        wanted = {key[5:]: arrays[key] for key in arrays.files if key.startswith("out__")}
    got = session.run(feeds)
    for name, want in wanted.items():
        check(got[name], want, name)
    # A second run of the same session must not see anything the first one left behind.
    again = session.run(feeds)
    for name in wanted:
        np.testing.assert_array_equal(again[name], got[name])


def test_squeezenet_sees_a_cat() -> None:
    session = load("squeezenet_v11_from_ncnn")
    with np.load(need(MODELS / "expected" / "squeezenet_v11_cat.npz")) as arrays:
        got = session.run({"data": arrays["in__data"]})
    assert int(got["prob"].argmax()) == 285


@pytest.mark.parametrize("case", [0, 1, 2])
def test_mnist8_upstream_vectors(case: int) -> None:
    session = load("mnist8")
    folder = need(MODELS / "onnx" / f"mnist8_test_data_set_{case}")
    given, want = (
        numpy_helper.to_array(onnx.TensorProto.FromString((folder / name).read_bytes()))
        for name in ("input_0.pb", "output_0.pb")
    )
    check(session.run({"Input3": given})["Plus214_Output_0"], want, "Plus214_Output_0")


def test_resnet20_on_cifar10() -> None:
    with np.load(need(DATA / "cifar10" / "cifar10_jpeg_test_10000.npz"), allow_pickle=False) as arrays:
        pictures = decode_pictures(arrays, 64)
    mean = np.array([0.485, 0.456, 0.406], np.float32)
    deviation = np.array([0.229, 0.224, 0.225], np.float32)
    batch = ((pictures.astype(np.float32) / 255 - mean) / deviation).transpose(0, 3, 1, 2)
    with np.load(need(MODELS / "expected" / "resnet20_cifar10_64.npz")) as arrays:
        want = arrays["out__logits"]
    session = load("resnet20_cifar10_from_th")
    check(session.run({"input": np.ascontiguousarray(batch)})["logits"], want, "logits")
    # The batch size is a free dimension: the same session serves another one.
    check(session.run({"input": np.ascontiguousarray(batch[:5])})["logits"], want[:5], "logits of five")


def test_silero_vad_streams() -> None:
    """1,875 chunks of speech with the state carried from chunk to chunk."""
    session = load("silero_vad")
    with wave.open(str(need(MODELS / "inputs" / "silero_test.wav"))) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768
    with np.load(need(MODELS / "expected" / "silero_vad_stream.npz")) as arrays:
        want = {name: arrays[name] for name in arrays.files}
    chunk, context = 512, 64
    state = np.zeros((2, 1, 128), np.float32)
    left = np.zeros(context, np.float32)
    rate = np.array(16000, np.int64)
    probabilities = []
    for i in range(len(want["prob"])):
        piece = samples[i * chunk : (i + 1) * chunk]
        out = session.run({"input": np.concatenate([left, piece])[None], "state": state, "sr": rate})
        state, left = out["stateN"], piece[-context:]
        probabilities.append(float(out["output"].ravel()[0]))
        if i == 100:
            check(state, want["state_after_chunk_100"], "state after chunk 100")
    assert len(probabilities) == 1875
    check(np.array(probabilities, np.float32), want["prob"], "probability per chunk")
    check(state, want["final_state"], "final state")


def decode_pictures(arrays: Any, count: int) -> Array:
    """The first pictures of the data set, which keeps each one as a JPEG in a shared byte array."""
    jpeg, offset = arrays["jpeg"], arrays["offset"]
    pictures = [
        Image.open(io.BytesIO(jpeg[offset[i] : offset[i + 1]].tobytes())).convert("RGB") for i in range(count)
    ]
    return np.stack([np.asarray(picture) for picture in pictures])
