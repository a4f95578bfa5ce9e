"""Sessions with and without packed weights on disk compute the same bits, in this process and in others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node
from waits import PATIENCE_S

import walle_rt

CHANNELS = 64


def small(seed: int = 3) -> onnx.ModelProto:
    """Convolutions and a product whose packed weights are worth keeping."""
    random = np.random.default_rng(seed)
    nodes = [
        make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        make_node("Relu", ["c"], ["r"]),
        make_node("Conv", ["r", "v"], ["d"]),
        make_node("Reshape", ["d", "s"], ["f"]),
        make_node("MatMul", ["f", "m"], ["y"]),
    ]
    weights = {
        "w": random.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32),
        "v": random.standard_normal((2 * CHANNELS, CHANNELS, 1, 1)).astype(np.float32),
        "s": np.array([-1, 400], np.int64),
        "m": random.standard_normal((400, 96)).astype(np.float32),
    }
    return model(nodes, {"x": [1, CHANNELS, 20, 20]}, {"y": [2 * CHANNELS, 96]}, weights)


FEEDS = {"x": np.random.default_rng(4).standard_normal((1, CHANNELS, 20, 20)).astype(np.float32)}


def computed(proto: onnx.ModelProto, **options: object) -> tuple[np.ndarray, dict[str, int]]:
    session = walle_rt.load(proto).session(threads=1, **options)  # type: ignore[arg-type]
    return session.run(FEEDS)["y"], session.explain().weight_sources


def test_results_are_the_same_and_the_second_model_packs_nothing(tmp_path: Path) -> None:
    want, none = computed(small(), weights_cache="off")
    assert none == {}, "off"
    got, first = computed(small(), weights_cache=tmp_path)
    np.testing.assert_array_equal(got, want)
    assert first["kept"] >= 2
    assert set(first) <= {"kept", "not_kept"}
    got, second = computed(small(), weights_cache=tmp_path)
    np.testing.assert_array_equal(got, want)
    assert second["cache"] == first["kept"]
    assert set(second) <= {"cache", "not_kept"}, "what is too small is packed"
    assert len(list(tmp_path.glob("*.packed"))) == first["kept"]


def test_other_weights_of_equal_shapes_are_other_blocks(tmp_path: Path) -> None:
    path = tmp_path / "model.walle"
    for seed in (3, 5):  # the second file takes the place of the first
        walle_rt.load(small(seed)).save(path)
        want = walle_rt.load(path).session(threads=1).run(FEEDS)["y"]
        session = walle_rt.load(path).session(threads=1, weights_cache=tmp_path / "cache")
        np.testing.assert_array_equal(session.run(FEEDS)["y"], want)
        assert "cache" not in session.explain().weight_sources


def test_damaged_files_are_mended(tmp_path: Path) -> None:
    want, kept = computed(small(), weights_cache=tmp_path)
    for at in (0, 9, 20, 30, 40, 62, 64, -1):
        for file in tmp_path.glob("*.packed"):
            whole = bytearray(file.read_bytes())
            whole[at] ^= 0x55
            file.write_bytes(whole)
        got, sources = computed(small(), weights_cache=tmp_path)
        np.testing.assert_array_equal(got, want)
        assert sources["mended"] == kept["kept"], f"byte {at}"
    for file in tmp_path.glob("*.packed"):
        os.truncate(file, file.stat().st_size // 2)
    got, sources = computed(small(), weights_cache=tmp_path)
    np.testing.assert_array_equal(got, want)
    assert sources["mended"] == kept["kept"]


def test_the_variable_names_the_folder_and_the_option_beats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLE_WEIGHTS_CACHE", str(tmp_path / "variable"))
    assert "kept" in computed(small())[1]
    assert "cache" in computed(small())[1]
    assert "kept" in computed(small(), weights_cache=tmp_path / "option")[1]
    assert computed(small(), weights_cache="off")[1] == {}
    monkeypatch.setenv("WALLE_WEIGHTS_CACHE", "off")
    assert computed(small())[1] == {}
    monkeypatch.delenv("WALLE_WEIGHTS_CACHE")
    assert computed(small())[1] == {}, "nothing is kept unless somebody asks"


CHILD = """
import sys, zlib
import numpy as np, walle_rt
session = walle_rt.load(sys.argv[1]).session(threads=1, weights_cache=sys.argv[2])
y = session.run({"x": np.load(sys.argv[3])})["y"]
print(zlib.crc32(y.tobytes()), sorted(session.explain().weight_sources))
"""


def test_processes_share_what_one_of_them_packed(tmp_path: Path) -> None:
    walle_rt.load(small()).save(tmp_path / "model.walle")
    np.save(tmp_path / "x.npy", FEEDS["x"])
    command = [sys.executable, "-c", CHILD, "model.walle", "cache", "x.npy"]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    said = []
    for number in (4, 1):  # at once into an empty folder, then one more
        children = [start() for _ in range(number)]
        for child in children:
            out, err = child.communicate(timeout=PATIENCE_S)
            assert (child.returncode, err) == (0, "")
            said.append(out.split(maxsplit=1))
    assert len({crc for crc, _ in said}) == 1
    assert all("mended" not in sources for _, sources in said)
    assert "'cache'" in said[-1][1]
    assert "'kept'" not in said[-1][1]
