"""The Python API: what goes in, what comes out, names and signatures, threads, explain, profile."""

from __future__ import annotations

import array
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from build_model import F, model
from commands import run_python
from onnx import TensorProto, helper
from onnx.helper import make_node
from waits import PATIENCE_S

import walle_rt
from walle_rt import _core
from walle_rt.convert import convert

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def relu_plus() -> onnx.ModelProto:
    """z = relu(x) + w, with a free first dimension."""
    nodes = [make_node("Relu", ["x"], ["y"], name="clip"), make_node("Add", ["y", "w"], ["z"], name="sum")]
    return model(nodes, {"x": ["n", 3]}, {"z": ["n", 3]}, {"w": np.ones(3, np.float32)})


@pytest.fixture
def session() -> walle_rt.Session:
    return walle_rt.load(relu_plus()).session(threads=1)


WANT = X.clip(0) + 1


def test_declared_values() -> None:
    loaded = walle_rt.load(relu_plus())
    (x,), (z,) = loaded.inputs, loaded.outputs
    assert (x.name, x.kind, x.dtype, x.shape) == ("x", "tensor", "float32", ("n", 3))
    assert str(z) == "z: float32[n, 3]"
    assert loaded.metadata["source.opset"] == "ai.onnx:17"
    assert "2 nodes" in repr(loaded)


@pytest.mark.parametrize(
    "way", ["numpy", "strided", "dlpack", "buffer", "foreign order", "fortran", "read-only", "unaligned"]
)
def test_inputs_of_every_kind(session: walle_rt.Session, way: str) -> None:
    class Capsule:
        def __init__(self, held: Any) -> None:
            self.held = held

        def __dlpack__(self, **options: Any) -> Any:
            return self.held.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.held.__dlpack_device__()

    wide = np.repeat(X, 2, 1)
    frozen = X.copy()
    frozen.setflags(write=False)
    shifted = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape)
    given = {
        "numpy": X,
        "strided": wide[:, ::2],
        "dlpack": Capsule(X.copy()),
        "foreign order": X.astype(">f4"),
        "buffer": memoryview(array.array("f", X.ravel().tolist())).cast("B").cast("f", X.shape),
        "fortran": np.asfortranarray(X),
        "read-only": frozen,
        "unaligned": shifted,
    }[way]
    np.testing.assert_array_equal(session.run({"x": given})["z"], WANT)


def test_results_are_the_callers_own(session: walle_rt.Session) -> None:
    given = X.copy()
    first = session.run({"x": given})["z"]
    assert first.flags.writeable
    kept = first.copy()
    session.run({"x": np.zeros((2, 3), np.float32)})
    given[:] = 0
    np.testing.assert_array_equal(first, kept)
    first[:] = 7
    np.testing.assert_array_equal(session.run({"x": X})["z"], WANT)


def test_results_are_shared_through_dlpack(session: walle_rt.Session) -> None:
    result = session.run({"x": X})["z"]
    assert np.shares_memory(np.from_dlpack(result), result)


@pytest.mark.parametrize("way", ["array", "memoryview", "dlpack"])
def test_large_inputs_are_not_copied(way: str) -> None:
    """The first row of 256 MB in a process of its own, whose peak memory must not grow by that size."""
    program = f"""
import resource, numpy as np, walle_rt
from build_model import model
from onnx.helper import make_node
nodes = [make_node("Slice", ["x", "from", "to"], ["y"])]
made = model(nodes, {{"x": ["n", 1024]}}, ["y"], {{"from": np.array([0]), "to": np.array([1])}})
session = walle_rt.load(made).session(threads=1)
x = np.ones((65536, 1024), np.float32)
class Capsule:
    def __dlpack__(self, **o): return x.__dlpack__(**o)
    def __dlpack_device__(self): return x.__dlpack_device__()
given = {{"array": x, "memoryview": memoryview(x), "dlpack": Capsule()}}["{way}"]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
got = session.run({{"x": given}})["y"]
assert got.shape == (1, 1024) and (got == 1).all()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 64 * 1024, f"{{grown}} KiB"
"""
    here = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    run_python(program, environment={"PYTHONPATH": here})


def test_results_outlive_session_and_model() -> None:
    result = walle_rt.load(relu_plus()).session(threads=1).run({"x": X})["z"]
    np.testing.assert_array_equal(result, WANT)


def test_chosen_outputs_and_their_names(session: walle_rt.Session) -> None:
    assert list(session.run({"x": X}, ["z"])) == ["z"]
    assert session.run({"x": X}, []) == {}
    with pytest.raises(walle_rt.ArgumentError, match="did you mean 'z'"):
        session.run({"x": X}, ["zz"])


def test_did_you_mean(session: walle_rt.Session) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="did you mean 'x'"):
        session.run({"X": X})


def test_changing_shapes(session: walle_rt.Session) -> None:
    for n in (1, 5, 2, 5, 0):
        x = np.full((n, 3), 2, np.float32)
        np.testing.assert_array_equal(session.run({"x": x})["z"], np.full((n, 3), 3))


def test_signatures() -> None:
    data, _ = convert(relu_plus(), signatures=[("serve", [("pixels", "x")], [("scores", "z")])])
    loaded = walle_rt.Model(_core.Model.create(data))
    assert loaded.signatures["serve"].inputs == {"pixels": "x"}
    session = loaded.session(threads=1)
    assert list(session.run({"pixels": X}, signature="serve")) == ["scores"]
    np.testing.assert_array_equal(session.run({"pixels": X}, ["scores"], signature="serve")["scores"], WANT)
    for bad in ({"inputs": {"x": X}}, {"inputs": {"pixels": X}, "outputs": ["z"]}):
        with pytest.raises(walle_rt.ArgumentError, match="serve"):
            session.run(signature="serve", **bad)  # type: ignore[arg-type]
    with pytest.raises(walle_rt.ArgumentError, match="nope"):
        session.run({"x": X}, signature="nope")
    again = walle_rt.load(loaded.to_bytes())
    assert again.signatures == loaded.signatures


def test_run_async(session: walle_rt.Session) -> None:
    futures = [session.run_async({"x": np.full((1, 3), i, np.float32)}) for i in range(20)]
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(timeout=PATIENCE_S)["z"], np.full((1, 3), i + 1))
    with pytest.raises(walle_rt.ArgumentError):
        session.run_async({"y": X}).result(timeout=PATIENCE_S)


def test_many_threads_on_one_and_on_many_sessions() -> None:
    loaded = walle_rt.load(relu_plus())
    shared = loaded.session(threads=1)
    problems: list[str] = []

    def work(number: int) -> None:
        mine = loaded.session(threads=2)
        for i in range(50):
            x = np.full((1 + (i + number) % 3, 3), number, np.float32)
            for s in (shared, mine):
                if not (s.run({"x": x})["z"] == number + 1).all():
                    problems.append(f"thread {number}, run {i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems


def test_bfloat16_travels_as_bits_and_as_ml_dtypes() -> None:
    made = model(
        [make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)], {"x": (TensorProto.BFLOAT16, [2])}, ["y"]
    )
    bits = np.array([0x3F80, 0xC000], np.uint16)
    got = walle_rt.load(made).session(threads=1).run({"x": bits})["y"]
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got.view(np.uint16), bits)
    again = walle_rt.load(made).session(threads=1).run({"x": got})["y"]
    np.testing.assert_array_equal(again, got)


def test_booleans_of_any_byte(tmp_path: Path) -> None:
    """A mask of 0 and 255 seen as booleans is what NumPy takes it for: in constants, inputs and sequences."""
    mask = np.array([0, 255, 2, 1], np.uint8).view(bool)
    kind = (TensorProto.BOOL, [4])
    made = model([make_node("Xor", ["x", "m"], ["y"])], {"x": kind}, {"y": kind}, {"m": mask})
    file = str(tmp_path / "mask.walle")
    walle_rt.load(made).save(file)
    for loaded in (walle_rt.load(made), walle_rt.load(file)):
        session = loaded.session(threads=1)
        for x, want in ((mask, [0, 0, 0, 0]), (~(mask.view(np.uint8) > 0), [1, 1, 1, 1])):
            np.testing.assert_array_equal(session.run({"x": x})["y"].view(np.uint8), want)
    assert mask.view(np.uint8)[1] == 255  # the caller's memory is not touched

    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.BOOL, None))
    made = model([make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"s": sequence}, {"y": kind})
    got = walle_rt.load(made).session(threads=1).run({"s": [mask[:2], mask[2:]]})["y"]
    np.testing.assert_array_equal(got.view(np.uint8), [0, 1, 1, 1])


def test_sequences_and_optionals() -> None:
    tensor = helper.make_tensor_type_proto(F, None)
    sequence = helper.make_sequence_type_proto(tensor)
    made = model([make_node("SequenceInsert", ["s", "x"], ["t"])], {"s": sequence, "x": [2]}, {"t": sequence})
    session = walle_rt.load(made).session(threads=1)
    x = np.array([1, 2], np.float32)
    got = session.run({"s": [x, 2 * x], "x": 3 * x})["t"]
    assert isinstance(got, list)
    np.testing.assert_array_equal(np.stack(got), [x, 2 * x, 3 * x])
    assert len(session.run({"s": [], "x": x})["t"]) == 1
    with pytest.raises(walle_rt.ArgumentError, match="list"):
        session.run({"s": x, "x": x})

    optional = helper.make_optional_type_proto(tensor)
    made = model([make_node("OptionalHasElement", ["o"], ["y"])], {"o": optional}, ["y"], opset=18)
    session = walle_rt.load(made).session(threads=1)
    assert not session.run({"o": None})["y"]
    assert session.run({"o": x})["y"]


def test_explain(session: walle_rt.Session) -> None:
    session.run({"x": X})
    found = session.explain()
    assert {r.op for r in found.rows} >= {"Relu"} or found.rows
    assert all(r.backend == "cpu" and r.algorithm for r in found.rows)
    assert found.predicted_ms >= 0
    assert "cpu" in str(found)
    assert json.dumps(found.as_dict())


def test_profile(session: walle_rt.Session, tmp_path: Path) -> None:
    with session.profile(tmp_path / "trace.json"):
        session.run({"x": X})
        session.run({"x": X})
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert [e["name"] for e in trace["traceEvents"] if e["ph"] == "M"] == ["process_name", "thread_name"]
    events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
    assert len(events) >= 2
    assert all(e["ph"] == "X" and e["dur"] >= 0 and e["args"]["algorithm"] for e in events)
    assert events == sorted(events, key=lambda e: e["ts"])


def test_explain_measures_after_a_profile(session: walle_rt.Session) -> None:
    session.run({"x": X})
    before = session.explain()
    assert before.measured_ms == 0
    assert before.rows
    assert all(r.output and r.storage and r.bytes > 0 for r in before.rows)
    with session.profile():
        for _ in range(3):
            session.run({"x": X})
    after = session.explain()
    assert {r.measured_runs for r in after.rows} == {3}
    assert 0 < after.measured_ms == pytest.approx(sum(r.ms for r in after.rows))
    assert sum(ms for _, ms in after.by_algorithm()) == pytest.approx(after.measured_ms)
    assert "measured" in str(after)


def test_explain_shows_what_lost() -> None:
    weights = {"w": np.ones((32, 16, 3, 3), np.float32)}
    node = make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    session = walle_rt.load(model([node], {"x": [1, 16, 28, 28]}, ["y"], weights)).session(threads=1)
    session.run({"x": np.ones((1, 16, 28, 28), np.float32)})
    conv = next(r for r in session.explain().rows if r.op == "Conv")
    lost = {name for name, _ in conv.losers}
    assert lost and conv.algorithm not in lost
    assert all(f"over {name}" in session.explain().text(losers=True) for name in lost)


def test_a_trace_that_cannot_be_written(session: walle_rt.Session, tmp_path: Path) -> None:
    with (
        pytest.raises(walle_rt.ResourceError, match="no/trace"),
        session.profile(tmp_path / "no" / "trace.json"),
    ):
        session.run({"x": X})


def test_runs_in_the_background_keep_their_order(session: walle_rt.Session) -> None:
    futures = [session.run_async({"x": X * k}) for k in range(8)]
    for k, future in enumerate(futures):
        np.testing.assert_array_equal(future.result()["z"], session.run({"x": X * k})["z"])
    with pytest.raises(walle_rt.ArgumentError):
        session.run_async({"x": X}, signature="absent").result()


def test_every_switch_gives_the_same_result() -> None:
    loaded = walle_rt.load(relu_plus())
    for switch in ("search", "merge", "fuse", "layouts", "claim", "fold"):
        session = loaded.session(threads=1, debug=f"{switch}=off")
        np.testing.assert_array_equal(session.run({"x": X})["z"], WANT)


@pytest.mark.parametrize(
    "given", [X.tolist(), [[1, -2, 3], [-4, 5, -6]], tuple(map(tuple, X.tolist())), [*X]], ids=str
)
def test_nested_lists_take_the_declared_dtype(session: walle_rt.Session, given: Any) -> None:
    np.testing.assert_array_equal(session.run({"x": given})["z"], WANT)


def test_lists_of_integers_stay_within_their_dtype() -> None:
    small = (TensorProto.INT8, ["n"])
    made = model([make_node("Identity", ["x"], ["y"])], {"x": small}, {"y": small})
    session = walle_rt.load(made).session(threads=1)
    assert session.run({"x": [1, -128, 127]})["y"].tolist() == [1, -128, 127]
    assert session.run({"x": []})["y"].shape == (0,)
    for wrong in ([128], [1.5], ["1"], [None], [1 + 2j]):
        with pytest.raises(walle_rt.ArgumentError, match="'x'"):
            session.run({"x": wrong})
