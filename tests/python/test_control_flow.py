"""Loops, scans and sequences: zero rounds, directions, captures, and mistakes that must end in errors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name: str, kind: int, shape: list[int | str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def counting_loop(condition: bool = True) -> onnx.ModelProto:
    """Doubles `v` and adds the outer `k` M times; stacks every value."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["twice"]),
            helper.make_node("Add", ["twice", "k"], ["next"]),
            helper.make_node("Identity", ["next"], ["slice"]),
            helper.make_node("Identity", ["go"], ["again"]),
        ],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, [2])],
        [info("again", BOOL, []), info("next", FLOAT, [2]), info("slice", FLOAT, [2])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["M", "start", "x"], ["last", "all"], body=body)],
        "main",
        [info("M", INT64, []), info("x", FLOAT, [2]), info("k", FLOAT, [2])],
        [info("last", FLOAT, [2]), info("all", FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.array(condition), "start")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_loop_carries_captures_and_stacks() -> None:
    session = walle_rt.load(counting_loop()).session(threads=1)
    x, k = np.array([1, 2], np.float32), np.array([1, 0], np.float32)
    for rounds in (3, 1, 5):
        out = session.run({"M": np.array(rounds), "x": x, "k": k})
        v, rows = x, []
        for _ in range(rounds):
            v = 2 * v + k
            rows.append(v)
        np.testing.assert_array_equal(out["last"], v)
        np.testing.assert_array_equal(out["all"], np.stack(rows))


@pytest.mark.parametrize(("rounds", "condition"), [(0, True), (4, False), (-2, True)])
def test_a_loop_of_no_rounds(rounds: int, condition: bool) -> None:
    session = walle_rt.load(counting_loop(condition)).session(threads=1)
    x = np.array([1, 2], np.float32)
    out = session.run({"M": np.array(rounds), "x": x, "k": x})
    np.testing.assert_array_equal(out["last"], x)
    assert out["all"].shape == (0, 2)
    assert out["all"].dtype == np.float32


def scanning(directions: list[int]) -> onnx.ModelProto:
    """Running sums of the columns of x."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "column"], ["next"]),
            helper.make_node("Identity", ["next"], ["out"]),
        ],
        "body",
        [info("sum", FLOAT, [2]), info("column", FLOAT, [2])],
        [info("next", FLOAT, [2]), info("out", FLOAT, [2])],
    )
    node = helper.make_node(
        "Scan",
        ["start", "x"],
        ["total", "sums"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[-1],
        scan_input_directions=directions[:1],
        scan_output_directions=directions[1:],
    )
    graph = helper.make_graph(
        [node],
        "main",
        [info("start", FLOAT, [2]), info("x", FLOAT, [2, "n"])],
        [info("total", FLOAT, [2]), info("sums", FLOAT, [2, "n"])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("directions", [[0, 0], [1, 0], [0, 1], [1, 1]])
def test_scan_axes_and_directions(directions: list[int]) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    out = (
        walle_rt.load(scanning(directions)).session(threads=1).run({"start": np.zeros(2, np.float32), "x": x})
    )
    sums = np.cumsum(x[:, ::-1] if directions[0] else x, axis=1)
    np.testing.assert_array_equal(out["sums"], sums[:, ::-1] if directions[1] else sums)
    np.testing.assert_array_equal(out["total"], x.sum(axis=1))


def picking(position: int) -> onnx.ModelProto:
    graph = helper.make_graph(
        [
            helper.make_node("SequenceConstruct", ["a", "b"], ["s"]),
            helper.make_node("SequenceAt", ["s", "at"], ["y"]),
        ],
        "main",
        [info("a", FLOAT, ["n"]), info("b", FLOAT, ["m"])],
        [info("y", FLOAT, None)],
        [numpy_helper.from_array(np.array(position), "at")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("position", "which"), [(0, "a"), (1, "b"), (-1, "b"), (-2, "a")])
def test_sequence_positions_count_from_both_ends(position: int, which: str) -> None:
    given = {"a": np.ones(2, np.float32), "b": np.zeros(3, np.float32)}
    np.testing.assert_array_equal(
        walle_rt.load(picking(position)).session(threads=1).run(given)["y"], given[which]
    )


@pytest.mark.parametrize("position", [2, -3, 1 << 40])
def test_sequence_positions_outside_are_errors(position: int) -> None:
    given = {"a": np.ones(2, np.float32), "b": np.zeros(3, np.float32)}
    with pytest.raises(walle_rt.Error, match="position"):
        walle_rt.load(picking(position)).session(threads=1).run(given)
