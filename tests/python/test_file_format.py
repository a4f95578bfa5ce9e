"""The .walle file: what is saved is what is loaded, in place, and damage is found."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_model import model
from onnx import TensorProto
from onnx.helper import make_graph, make_node

import walle_rt

RANDOM = np.random.default_rng(5)


def branchy() -> onnx.ModelProto:
    """Bodies that share a large weight with the main graph."""
    then = make_graph([make_node("Mul", ["x", "w"], ["a"])], "then", [], [onnx.ValueInfoProto(name="a")])
    other = make_graph([make_node("Sub", ["x", "w"], ["b"])], "other", [], [onnx.ValueInfoProto(name="b")])
    nodes = [
        make_node("If", ["c"], ["r"], then_branch=then, else_branch=other),
        make_node("Add", ["r", "w"], ["y"]),
    ]
    w = RANDOM.standard_normal((64, 256)).astype(np.float32)
    return model(nodes, {"x": [64, 256], "c": (TensorProto.BOOL, [])}, ["y"], {"w": w})


def test_round_trip(tmp_path: Path) -> None:
    original = walle_rt.load(branchy())
    original.save(tmp_path / "m.walle")
    loaded = walle_rt.load(tmp_path / "m.walle")
    assert (loaded.inputs, loaded.outputs, loaded.metadata) == (
        original.inputs,
        original.outputs,
        original.metadata,
    )
    assert loaded.text() == original.text()
    x = RANDOM.standard_normal((64, 256)).astype(np.float32)
    for c in (True, False):
        feeds = {"x": x, "c": np.array(c)}
        np.testing.assert_array_equal(
            loaded.session(threads=1).run(feeds)["y"], original.session(threads=1).run(feeds)["y"]
        )
    assert walle_rt.load(original.to_bytes()).text() == original.text()
    assert (tmp_path / "m.walle").read_bytes() == loaded.to_bytes()


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    walle_rt.load(branchy()).save(tmp_path / "m.walle")
    assert (tmp_path / "m.walle").stat().st_size < 1.2 * 64 * 256 * 4


def test_layout(tmp_path: Path) -> None:
    """The header is as docs/reference/formats/model.md describes it."""
    walle_rt.load(branchy()).save(tmp_path / "m.walle")
    data = (tmp_path / "m.walle").read_bytes()
    magic, version, flags, graph, graph_bytes, weights, weights_bytes = struct.unpack_from("<8sIIQQQQ", data)
    assert (magic, version, flags, graph) == (b"WALLEMDL", 1, 0, 64)
    assert data[graph + 4 : graph + 8] == b"WALM"
    assert weights % 64 == 0 and weights >= graph + graph_bytes and weights + weights_bytes == len(data)


def test_a_loaded_model_survives_its_replacement(tmp_path: Path) -> None:
    path = tmp_path / "m.walle"
    walle_rt.load(branchy()).save(path)
    loaded = walle_rt.load(path)
    feeds = {"x": np.ones((64, 256), np.float32), "c": np.array(True)}
    before = loaded.session(threads=1).run(feeds)["y"]
    walle_rt.load(model([make_node("Neg", ["x"], ["y"])], {"x": [1]}, ["y"])).save(path)
    np.testing.assert_array_equal(loaded.session(threads=1).run(feeds)["y"], before)
    path.unlink()
    np.testing.assert_array_equal(loaded.session(threads=1).run(feeds)["y"], before)


@pytest.mark.parametrize("offset", [0, 8, 16, 24, 32, 40, 48, 70, 200])
def test_a_changed_byte_is_found(tmp_path: Path, offset: int) -> None:
    walle_rt.load(branchy()).save(tmp_path / "m.walle")
    data = bytearray((tmp_path / "m.walle").read_bytes())
    data[offset] ^= 0x10
    (tmp_path / "m.walle").write_bytes(data)
    with pytest.raises(walle_rt.ModelError) as caught:
        walle_rt.load(tmp_path / "m.walle")
    assert str(tmp_path / "m.walle") in caught.value.where
    assert caught.value.next_step


def test_constant_parts_are_folded_into_the_file() -> None:
    nodes = [make_node("Add", ["v", "w"], ["s"]), make_node("Mul", ["x", "s"], ["y"])]
    made = model(
        nodes, {"x": [1000]}, ["y"], {"v": np.ones(1000, np.float32), "w": np.ones(1000, np.float32)}
    )
    loaded = walle_rt.load(made)
    assert "Add" not in loaded.text()
    assert len(loaded.to_bytes()) < 4000 + 2000  # the two weights themselves are gone
