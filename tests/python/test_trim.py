"""What sessions give back when the system is short of memory: ``Session.trim`` and ``walle_rt.trim``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

K, N = 256, 384


def model(columns: int = N) -> onnx.ModelProto:
    """y = softmax(x w), whose weights are packed."""
    weights = np.random.default_rng(3).standard_normal((K, columns)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["v"]), helper.make_node("Softmax", ["v"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", K])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def rows(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((n, K)).astype(np.float32)


def test_a_session_gives_back_all_and_makes_it_again() -> None:
    session = walle_rt.load(model()).session(threads=1)
    kept = session.run({"x": rows(3)})["y"]
    before = kept.copy()
    session.run({"x": rows(70)})
    held = session.memory()
    assert held.packed >= K * N * 4
    assert session.trim() == held.total
    assert session.memory().total == 0 and session.memory().plans == 0
    assert session.trim() == 0
    np.testing.assert_array_equal(session.run({"x": rows(3)})["y"], before)
    np.testing.assert_array_equal(kept, before)
    assert session.memory().packed >= K * N * 4


def test_the_hundredth_trim_holds_no_more_than_the_first() -> None:
    session = walle_rt.load(model()).session(threads=1)
    held = set()
    for _ in range(100):
        session.run({"x": rows(5)})
        held.add(session.memory().total)
        session.trim()
        assert session.memory().total == 0
    assert len(held) == 1, held


def mapped(folder: Path) -> int:
    """How many parts of files of this folder the process has mapped."""
    return Path("/proc/self/maps").read_text().count(str(folder))


def test_files_of_packed_weights_are_mapped_no_longer(tmp_path: Path) -> None:
    large = model(2048)  # 2 MiB: below, files are read
    made = walle_rt.load(large)
    options = {"threads": 1, "plan_cache": "off", "weights_cache": str(tmp_path)}
    before = made.session(**options).run({"x": rows(70)})["y"]  # packs, and keeps it
    session = walle_rt.load(large).session(**options)
    for _ in range(100):
        np.testing.assert_array_equal(session.run({"x": rows(70)})["y"], before)
        assert mapped(tmp_path) == 1
        session.trim()
        assert mapped(tmp_path) == 0


def test_every_session_of_the_process_is_reached() -> None:
    sessions = [walle_rt.load(model()).session(threads=1) for _ in range(3)]
    walle_rt.trim()
    for session in sessions:
        session.run({"x": rows(2)})
    held = sum(session.memory().total for session in sessions)
    assert walle_rt.trim() >= held
    assert all(session.memory().total == 0 for session in sessions)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_plans_kept_in_a_folder_come_back(precision: str, tmp_path: Path) -> None:
    made = walle_rt.load(model())
    session = made.session(threads=1, plan_cache=str(tmp_path), precision=precision)
    before = session.run({"x": rows(9)})["y"]
    session.trim()
    np.testing.assert_array_equal(session.run({"x": rows(9)})["y"], before)
    assert session.explain().plan_sources.get("cache", 0) == 1, session.explain().plan_sources
