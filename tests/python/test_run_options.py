"""Runs that end early (signals, deadlines, tokens) and results in the caller's own arrays."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_python
from onnx import TensorProto, helper
from onnx.helper import make_node
from waits import until

import walle_rt

INT64 = TensorProto.INT64


def endless() -> onnx.ModelProto:
    """A Loop that runs as many rounds as it is told, each of them short."""
    body = helper.make_graph(
        [make_node("Add", ["y_in", "one"], ["y_out"]), make_node("Identity", ["go"], ["go_out"])],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y_in", INT64, []),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y_out", INT64, []),
        ],
    )
    nodes = [make_node("Loop", ["rounds", "", "zero"], ["y"], body=body)]
    weights = {"zero": np.array(0, np.int64), "one": np.array(1, np.int64)}
    return model(nodes, {"rounds": (INT64, [])}, {"y": (INT64, [])}, weights)


FOREVER = {"rounds": np.array(10**9, np.int64)}
SHORT = {"rounds": np.array(3, np.int64)}


@pytest.fixture
def session() -> walle_rt.Session:
    return walle_rt.load(endless()).session(threads=1)


def test_a_deadline(session: walle_rt.Session) -> None:
    with pytest.raises(walle_rt.DeadlineError, match="deadline") as caught:
        session.run(FOREVER, timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert session.run(SHORT, timeout=60)["y"] == 3
    assert session.run(SHORT)["y"] == 3


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "1", True])
def test_a_deadline_is_a_number_of_seconds(session: walle_rt.Session, wrong: Any) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="timeout"):
        session.run(SHORT, timeout=wrong)


def test_a_very_distant_deadline(session: walle_rt.Session) -> None:
    assert session.run(SHORT, timeout=float("inf"))["y"] == 3
    assert session.run(SHORT, timeout=1e300)["y"] == 3
    assert session.run(SHORT, timeout=10**400)["y"] == 3
    assert session.run(SHORT, timeout=np.float32(60))["y"] == 3


def test_a_token_ends_a_run_from_another_thread(session: walle_rt.Session) -> None:
    token = walle_rt.CancelToken()
    timer = threading.Timer(0.05, token.cancel)
    timer.start()
    with pytest.raises(walle_rt.CancelledError, match="cancelled"):
        session.run(FOREVER, cancel=token)
    timer.join()
    assert token.cancelled
    with pytest.raises(walle_rt.CancelledError):
        session.run(SHORT, cancel=token)
    assert session.run(SHORT, cancel=walle_rt.CancelToken())["y"] == 3
    with pytest.raises(walle_rt.ArgumentError, match="CancelToken"):
        session.run(SHORT, cancel=True)  # type: ignore[arg-type]


def test_waiting_for_the_session_counts(session: walle_rt.Session) -> None:
    token = walle_rt.CancelToken()
    future = session.run_async(FOREVER, cancel=token)

    def waits() -> bool:
        try:
            session.run(SHORT, timeout=0.05)
        except walle_rt.DeadlineError:
            return True
        return False  # it came before the other one, which did not have the session yet

    until(waits)
    token.cancel()
    with pytest.raises(walle_rt.CancelledError):
        future.result()


def test_through_a_signature() -> None:
    from walle_rt import _core
    from walle_rt.convert import convert

    data, _ = convert(endless(), signatures=[("count", [("to", "rounds")], [("sum", "y")])])
    session = walle_rt.Model(_core.Model.create(data)).session(threads=1)
    with pytest.raises(walle_rt.DeadlineError):
        session.run({"to": FOREVER["rounds"]}, signature="count", timeout=0.05)
    out = np.empty((), np.int64)
    found = session.run({"to": SHORT["rounds"]}, signature="count", out={"sum": out})
    assert found["sum"] is out and out == 3
    with pytest.raises(walle_rt.ArgumentError, match="outputs of the signature"):
        session.run({"to": SHORT["rounds"]}, signature="count", out={"y": out})


INTERRUPTED = """
    import os, signal, sys, threading
    sys.path.insert(0, {folder!r})
    from test_run_options import FOREVER, SHORT, endless
    import walle_rt
    session = walle_rt.load(endless()).session(threads=1)
    session.run(SHORT)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        session.run(FOREVER)
    except KeyboardInterrupt:
        print("interrupted", session.run(SHORT)["y"])
"""


def test_ctrl_c_ends_a_run(request: pytest.FixtureRequest) -> None:
    """Without it the run would last for hours: the child's time limit is what fails."""
    script = INTERRUPTED.format(folder=str(request.path.parent))
    assert run_python(script).stdout.split() == ["interrupted", "3"]


def test_a_handler_that_runs_the_session_is_told_so(request: pytest.FixtureRequest) -> None:
    script = f"""
        import os, signal, sys, threading
        sys.path.insert(0, {str(request.path.parent)!r})
        from test_run_options import FOREVER, SHORT, endless
        import walle_rt
        session = walle_rt.load(endless()).session(threads=1)
        signal.signal(signal.SIGUSR1, lambda *_: session.run(SHORT))
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        try:
            session.run(FOREVER)
        except walle_rt.ArgumentError as error:
            print("refused" if "signal handler" in str(error) else error)
        print(session.run(SHORT)["y"])
    """
    assert run_python(script).stdout.split() == ["refused", "3"]


def sums() -> onnx.ModelProto:
    """A result that is computed, one that is an input, a constant, and a second name of the first."""
    nodes = [
        make_node("Add", ["x", "w"], ["sum"]),
        make_node("Identity", ["x"], ["same"]),
        make_node("Identity", ["w"], ["fixed"]),
        make_node("Identity", ["sum"], ["again"]),
        make_node("Mul", ["sum", "sum"], ["square"]),
    ]
    shape: list[Any] = ["n", 3]
    outputs = {"sum": shape, "same": shape, "fixed": [3], "again": shape, "square": shape}
    return model(nodes, {"x": shape}, outputs, {"w": np.array([1, 2, 3], np.float32)})


X = np.arange(6, dtype=np.float32).reshape(2, 3)
NAMES = ("sum", "same", "fixed", "again", "square")


def arrays() -> dict[str, np.ndarray]:
    return {n: np.full((3,) if n == "fixed" else (2, 3), -1, np.float32) for n in NAMES}


def test_results_in_own_arrays() -> None:
    session = walle_rt.load(sums()).session(threads=1)
    want = session.run({"x": X})
    for _ in range(2):
        out = arrays()
        found = session.run({"x": X}, out=out)
        assert list(found) == list(NAMES)
        for name in NAMES:
            assert found[name] is out[name]
            np.testing.assert_array_equal(out[name], want[name])


@pytest.mark.parametrize("name", NAMES)
def test_one_result_in_an_own_array_leaves_the_others_alone(name: str) -> None:
    session = walle_rt.load(sums()).session(threads=1)
    want = session.run({"x": X})
    out = arrays()[name]
    found = session.run({"x": X}, out={name: out})
    assert found[name] is out
    out[:] = 99
    for other in NAMES:
        if other != name:
            np.testing.assert_array_equal(found[other], want[other])


def test_own_arrays_as_a_list() -> None:
    session = walle_rt.load(sums()).session(threads=1)
    square, added = np.empty((2, 3), np.float32), np.empty((2, 3), np.float32)
    found = session.run({"x": X}, ["square", "sum"], out=[square, added])
    assert found["square"] is square and found["sum"] is added
    np.testing.assert_array_equal(square, added**2)
    found = session.run({"x": X}, (n for n in ("square", "sum")), out=[None, added])
    assert found["sum"] is added and found["square"] is not square


def test_nothing_is_written_outside_an_own_array() -> None:
    session = walle_rt.load(sums()).session(threads=1)
    for offset in range(5):
        around = np.full(64, -7, np.float32)
        out = around[offset : offset + 6].reshape(2, 3)
        session.run({"x": X}, out={"square": out})
        np.testing.assert_array_equal(out, (X + np.float32([1, 2, 3])) ** 2)
        assert (around[:offset] == -7).all() and (around[offset + 6 :] == -7).all()


def read_only() -> np.ndarray:
    array = np.empty((2, 3), np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ({"sum": np.empty((2, 3), np.float64)}, "float64"),
        ({"sum": np.empty((3, 2), np.float32)}, r"float32\[2, 3\]"),
        ({"same": np.empty((3, 2), np.float32)}, r"float32\[2, 3\]"),
        ({"sum": np.empty((3, 2), np.float32).T}, "C-contiguous"),
        ({"sum": read_only()}, "may not be written"),
        ({"sum": X}, "overlaps input 'x'"),
        ({"sum": [[0.0]]}, "type list"),
        ({"summ": np.empty((2, 3), np.float32)}, "summ"),
        ([np.empty((2, 3), np.float32)], "5, one per result"),
        (np.empty((2, 3), np.float32), "type ndarray"),
    ],
    ids=str,
)
def test_arrays_that_do_not_fit(out: Any, says: str) -> None:
    session = walle_rt.load(sums()).session(threads=1)
    with pytest.raises(walle_rt.ArgumentError, match=says):
        session.run({"x": X}, out=out)
    assert session.run({"x": X})["sum"].shape == (2, 3)


def test_arrays_that_overlap_each_other() -> None:
    session = walle_rt.load(sums()).session(threads=1)
    memory = np.empty(9, np.float32)
    out = {"sum": memory[:6].reshape(2, 3), "square": memory[3:].reshape(2, 3)}
    with pytest.raises(walle_rt.ArgumentError, match="overlaps that of result 'sum'"):
        session.run({"x": X}, out=out)


def test_a_result_that_is_not_wanted(session: walle_rt.Session) -> None:
    sum_session = walle_rt.load(sums()).session(threads=1)
    with pytest.raises(walle_rt.ArgumentError, match="results that are wanted: 'sum'"):
        sum_session.run({"x": X}, ["sum"], out={"square": np.empty((2, 3), np.float32)})
    out = np.empty((), np.int64)
    assert session.run(SHORT, out=[out])["y"] is out and out == 3


def test_strings_and_sequences_have_no_own_arrays() -> None:
    text = (TensorProto.STRING, [2])
    made = model([make_node("Identity", ["s"], ["t"])], {"s": text}, {"t": text})
    session = walle_rt.load(made).session(threads=1)
    with pytest.raises(walle_rt.ArgumentError, match="strings"):
        session.run({"s": np.array(["a", "b"])}, out={"t": np.empty(2, "U1")})
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    sequence = helper.make_sequence_type_proto(tensor)
    made = model([make_node("SequenceConstruct", ["x"], ["t"])], {"x": [2, 3]}, {"t": sequence})
    session = walle_rt.load(made).session(threads=1)
    with pytest.raises(walle_rt.ArgumentError, match="kind sequence"):
        session.run({"x": X}, out={"t": np.empty((2, 3), np.float32)})


def test_a_sequence_of_inputs_is_no_view_of_them() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    sequence = helper.make_sequence_type_proto(tensor)
    made = model([make_node("SequenceConstruct", ["x"], ["t"])], {"x": [2, 3]}, {"t": sequence})
    x = X.copy()
    found = walle_rt.load(made).session(threads=1).run({"x": x})["t"]
    x[:] = 0
    np.testing.assert_array_equal(found[0], X)
