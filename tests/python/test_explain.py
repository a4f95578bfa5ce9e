"""What is shown adds up to the time a run took, control operators included."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_walle
from onnx import TensorProto, helper
from onnx.helper import make_node

import walle_rt
from walle_rt.name_groups import by_prefix, prefix

BOXES = 2000


def boxes_model() -> onnx.ModelProto:
    """Boxes moved a little, then NonMaxSuppression, which the executor runs."""
    nodes = [
        make_node("Add", ["boxes", "shift"], ["moved"], name="/head/move/Add"),
        make_node("NonMaxSuppression", ["moved", "scores", "limit", "iou"], ["kept"], name="/head/nms"),
    ]
    weights = {
        "shift": np.float32(0.5),
        "limit": np.array([BOXES], np.int64),
        "iou": np.array([0.9], np.float32),
    }
    kept = (TensorProto.INT64, [None, 3])
    return model(nodes, {"boxes": [1, BOXES, 4], "scores": [1, 1, BOXES]}, {"kept": kept}, weights)


def boxes() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    corners = random.random((1, BOXES, 4), np.float32)
    return {"boxes": corners, "scores": random.random((1, 1, BOXES), np.float32)}


def loop_model(rounds: int = 200) -> onnx.ModelProto:
    """Rounds of y = y @ w in the body of a Loop."""
    body = helper.make_graph(
        [
            make_node("MatMul", ["y_in", "w"], ["y_out"], name="/body/matmul"),
            make_node("Identity", ["go"], ["go_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y_in", TensorProto.FLOAT, [64, 64]),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y_out", TensorProto.FLOAT, [64, 64]),
        ],
    )
    nodes = [make_node("Loop", ["rounds", "", "x"], ["y"], name="rounds", body=body)]
    weights = {"rounds": np.array(rounds, np.int64), "w": np.eye(64, dtype=np.float32)}
    return model(nodes, {"x": [64, 64]}, {"y": [64, 64]}, weights)


def profiled(made: onnx.ModelProto, feeds: dict[str, np.ndarray], runs: int = 3) -> walle_rt.Session:
    session = walle_rt.load(made).session(threads=1)
    session.run(feeds)
    with session.profile():
        for _ in range(runs):
            session.run(feeds)
    return session


def test_operators_of_the_executor_have_rows() -> None:
    session = profiled(boxes_model(), boxes())
    found = session.explain()
    row = next(r for r in found.rows if r.op == "NonMaxSuppression")
    assert row.backend == "host" and row.plan == 0 and row.algorithm == "host_NonMaxSuppression"
    assert row.measured_runs == found.profiled_runs == 3
    assert row.measured_ms > 0.5 * found.wall_ms, "thousands of boxes take longer than one addition of them"


@pytest.mark.parametrize("made", ["boxes", "loop"])
def test_what_is_shown_adds_up_to_the_wall_time(made: str) -> None:
    session = (
        profiled(boxes_model(), boxes())
        if made == "boxes"
        else profiled(loop_model(), {"x": np.ones((64, 64), np.float32)})
    )
    found = session.explain()
    assert 0 < found.measured_ms <= found.wall_ms
    assert found.measured_ms + found.unaccounted_ms == pytest.approx(found.wall_ms)
    assert sum(ms for _, ms in found.by_algorithm()) == pytest.approx(found.measured_ms)
    assert sum(ms for _, ms in found.by_name()) == pytest.approx(found.measured_ms)
    assert "not accounted for" in str(found)
    assert "not accounted for" in found._repr_html_()


def test_steps_of_a_loop_count_as_often_as_they_run() -> None:
    found = profiled(loop_model(200), {"x": np.ones((64, 64), np.float32)}).explain()
    inside = next(r for r in found.rows if r.node.endswith("/body/matmul"))
    around = next(r for r in found.rows if r.op == "Loop")
    assert inside.per_run == 200 and inside.measured_runs == 600
    assert inside.ms == pytest.approx(200 * inside.measured_ms)
    assert around.measured_runs == 3
    assert "x200" in str(found)


def test_making_plans_is_a_row() -> None:
    session = walle_rt.load(boxes_model()).session(threads=1)
    with session.profile():
        session.run(boxes())
    row = next(r for r in session.explain().rows if r.op == "plan")
    assert row.measured_runs >= 1 and row.measured_ms > 0


def test_a_trace_holds_the_executor_and_whole_runs(tmp_path: Path) -> None:
    session = walle_rt.load(boxes_model()).session(threads=1)
    session.run(boxes())
    with session.profile(tmp_path / "trace.json"):
        session.run(boxes())
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert [e["cat"] for e in events].count("run") == 1
    run = next(e for e in events if e["cat"] == "run")
    inside = [e for e in events if e is not run]
    assert {"NonMaxSuppression"} <= {e["cat"] for e in inside}
    assert all(run["ts"] <= e["ts"] and e["ts"] + e["dur"] <= run["ts"] + run["dur"] + 1e-3 for e in inside)


def test_the_costliest_rows() -> None:
    session = profiled(loop_model(), {"x": np.ones((64, 64), np.float32)})
    found = session.explain(top=1)
    text = str(found)
    assert text.startswith(found.summary()[0]) and "the 1 costliest of " in text
    assert "by algorithm" in text and "by name" in text and "other rows" in text
    assert len(found.as_dict()["rows"]) == 1 and json.dumps(found.as_dict())
    times = [found.time_of(r) for r in found.costliest(10)]
    assert times == sorted(times, reverse=True)


def test_prefixes_of_names() -> None:
    assert prefix("/block1/conv/Conv", 1) == "block1"
    assert prefix("/block1/conv/Conv", 5) == "block1/conv"
    assert prefix("Conv_12", 1) == "Conv"
    assert prefix("encoder.layer.3", 2) == "encoder.layer"
    deep = [("/model/a/MatMul", 3.0), ("/model/b/MatMul", 2.0), ("/model/b/Add", 2.0)]
    assert by_prefix(deep, 1) == [("model", 7.0)]
    assert by_prefix(deep) == [("model/b", 4.0), ("model/a", 3.0)]


def test_the_command(tmp_path: Path) -> None:
    onnx.save(boxes_model(), str(tmp_path / "boxes.onnx"))
    command = ["inspect", tmp_path / "boxes.onnx", "--stage=plan", "--runs", 2, "--top", 1]
    text = run_walle(*command).stdout
    assert "host_NonMaxSuppression" in text and "not accounted for" in text
    found = run_walle(*command, "--json").json
    assert [r["op"] for r in found["rows"]] == ["NonMaxSuppression"]
    assert found["wall_ms"] > 0 and found["by_algorithm"][0][0] == "host_NonMaxSuppression"
