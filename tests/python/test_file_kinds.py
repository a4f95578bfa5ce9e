"""What is no model says what it is, and what to do."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_walle
from onnx.helper import make_node

import walle_rt


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return out.getvalue()


def safetensors() -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + b"\0\0\0\0"


def numpy_bytes() -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(3))
    return out.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
KINDS: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "empty file", "copy or download"),
    "zeros": (bytes(5000), "zero bytes", "copy it again"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(60), "TensorFlow Lite", "tf2onnx"),
    "torch zip": (zipped("m/data.pkl", "m/data/0"), "PyTorch", "torch.onnx.export"),
    "torchscript": (zipped("m/data.pkl", "m/constants.pkl"), "TorchScript", "torch.onnx.export"),
    "torch pickle": (pickle.dumps({"w": [1.0]}, protocol=2), "pickle", "torch.onnx.export"),
    "keras": (zipped("config.json", "model.weights.h5"), "Keras", "tf2onnx"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5", "tf2onnx"),
    "safetensors": (safetensors(), "safetensors", "export"),
    "gguf": (b"GGUF\x03\0\0\0" + bytes(100), "GGUF", "export"),
    "lfs": (LFS, "Git LFS pointer", "git lfs pull"),
    "html": (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", "HTML page", "download the file"),
    "json": (b'{"model_type": "bert"}', "JSON file", "path of the model"),
    "long json": (json.dumps(list(range(5000))).encode(), "JSON file", "path of the model"),
    "gzip": (gzip.compress(b"x"), "gzip", "gunzip"),
    "zip": (zipped("a.txt"), "zip archive", "unpack"),
    "zip with a model": (zipped("deep/m.onnx"), "deep/m.onnx", "unpack"),
    "cut zip": (zipped("a.txt")[:30], "damaged or cut off", "again"),
    "npz": (zipped("x.npy"), "NumPy arrays", "session.run"),
    "npy": (numpy_bytes(), "NumPy array", "session.run"),
    "tar": (tarred(), "tar archive", "unpack"),
    "text": (b"hello, world\n", "text file", "path of the model"),
    "ort": (b"\x1c\0\0\0ORTM" + bytes(60), "ORT format", ".onnx"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["path", "bytes", "bytearray", "memoryview"])
def test_what_it_is_and_what_to_do(kind: str, way: str, tmp_path: Path) -> None:
    data, what, step = KINDS[kind]
    source: Any = {"bytes": data, "bytearray": bytearray(data), "memoryview": memoryview(data)}.get(way)
    if way == "path":
        source = tmp_path / "model.onnx"
        source.write_bytes(data)
    with pytest.raises(walle_rt.ModelError) as caught:
        walle_rt.load(source)
    assert what in caught.value.given and step in caught.value.next_step, str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_names_and_other_ways_in(tmp_path: Path) -> None:
    for name in ("model.walle", "model.pt", "model"):
        (tmp_path / name).write_bytes(KINDS["torch zip"][0])
        with pytest.raises(walle_rt.ModelError, match="PyTorch"):
            walle_rt.load(tmp_path / name)
    run_walle("convert", tmp_path / "model.pt", code=4, says="torch.onnx.export")
    run_walle("run", tmp_path / "model.pt", "-i", "x.npy", code=4, says="torch.onnx.export")


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(walle_rt.ModelError, match="folder without a model"):
        walle_rt.load(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"")
    with pytest.raises(walle_rt.ModelError, match=r"load a file in it: 'onnx/model\.onnx'"):
        walle_rt.load(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(walle_rt.ModelError, match="SavedModel"):
        walle_rt.load(str(tmp_path))


def test_objects() -> None:
    with pytest.raises(walle_rt.ArgumentError, match=r"walle_rt\.load\('m\.onnx'\)"):
        walle_rt.Model("m.onnx")  # type: ignore[arg-type]
    with pytest.raises(walle_rt.ArgumentError, match="read"):
        walle_rt.load(io.BytesIO(b""))
    with pytest.raises(walle_rt.ArgumentError, match="type int"):
        walle_rt.load(5)


def relu() -> onnx.ModelProto:
    return model([make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])


def test_models_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = relu().SerializeToString()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m.onnx").write_bytes(made)
    walle_rt.load(made).save("~/m.walle")
    assert (tmp_path / "m.walle").is_file()
    own = walle_rt.load(made).to_bytes()
    sources: list[Any] = [made, bytearray(made), memoryview(made), own, bytearray(own), memoryview(own)]
    sources += [
        "~/m.onnx",
        Path("~/m.onnx"),
        "~/m.walle",
        tmp_path / "m.onnx",
        os.fspath(tmp_path / "m.walle"),
    ]
    sources += [np.frombuffer(made, np.uint8).data, memoryview(made)[::1]]
    for source in sources:
        found = walle_rt.load(source).session(threads=1).run({"x": np.array([-1, 1], np.float32)})
        np.testing.assert_array_equal(found["y"], [0, 1])


def test_a_path_that_begins_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("~m.onnx").write_bytes(relu().SerializeToString())
    assert walle_rt.load("~m.onnx").inputs[0].name == "x"
    with pytest.raises(walle_rt.ResourceError, match="~no_such_user/absent"):
        walle_rt.load("~no_such_user/absent.onnx")


def test_an_onnx_model_that_is_damaged_is_told_as_one() -> None:
    with pytest.raises(walle_rt.ModelError, match="not an ONNX model"):
        walle_rt.load(relu().SerializeToString()[:-3])
