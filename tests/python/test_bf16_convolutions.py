"""Convolutions of sessions with precision="bf16": what they compute, where, and how far networks are off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto, helper
from random_seed import random_seed

import walle_rt
from walle_rt.bench import zoo

Array = np.ndarray[Any, Any]
FORMS = ("avx512+avx512_bf16", "avx512+avx512_bf16+amx_bf16")


def rounded(x: Array) -> Array:
    """To bfloat16, half to even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def snr_db(want: Array, got: Array) -> float:
    want, got = want.astype(np.float64), got.astype(np.float64)
    return float(10 * np.log10((want**2).sum() / max(((want - got) ** 2).sum(), 1e-300)))


@pytest.fixture(autouse=True, params=FORMS)
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", request.param)
    monkeypatch.setenv("WALLE_COSTS", "zen4")  # where such products are the faster ones
    try:
        walle_rt.load(convolution((1, 16, 4, 4), (16, 16, 1, 1))).session()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {request.param}: {error}")


def convolution(x: tuple[int, ...], w: tuple[int, ...], **attributes: Any) -> Any:
    rng = np.random.default_rng(random_seed(40))
    weights = rng.standard_normal(w).astype(np.float32)
    bias = rng.standard_normal(w[0]).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    return model(
        [node],
        {"x": (TensorProto.FLOAT, list(x))},
        {"y": (TensorProto.FLOAT, None)},
        {"w": weights, "b": bias},
    )


def arithmetics(session: walle_rt.Session, op: str = "Conv") -> set[str]:
    return {row.arithmetic for row in session.explain().rows if row.op == op}


CASES = {
    "1 x 1": ((1, 256, 14, 14), (256, 256, 1, 1), {}),
    "1 x 1 with steps": ((1, 128, 28, 28), (64, 128, 1, 1), {"strides": [2, 2]}),
    "5 x 5": ((2, 64, 19, 23), (96, 64, 5, 5), {"pads": [2, 2, 2, 2]}),
    "3 x 3 with steps": ((1, 64, 30, 30), (64, 64, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "in groups": ((1, 128, 14, 14), (128, 32, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "from rows": ((1, 3, 64, 64), (64, 3, 7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_products_are_of_bfloat16(case: str, threads: int) -> None:
    shape, weights, attributes = CASES[case]
    made = walle_rt.load(convolution(shape, weights, **attributes))
    x = np.random.default_rng(random_seed(41)).standard_normal(shape).astype(np.float32)
    session = made.session(precision="bf16", threads=threads)
    got = session.run({"x": x})["y"]
    assert arithmetics(session) == {"bfloat16"}
    # The definition: operands rounded, sums in float32.
    proto = convolution(shape, weights, **attributes)
    proto.graph.initializer[0].CopyFrom(
        helper.make_tensor(
            "w",
            TensorProto.FLOAT,
            weights,
            rounded(np.frombuffer(proto.graph.initializer[0].raw_data, np.float32)).ravel(),
        )
    )
    want = walle_rt.load(proto).session(threads=1).run({"x": rounded(x)})["y"]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * float(np.abs(want).max()))


def test_only_sessions_that_ask_get_them() -> None:
    made = walle_rt.load(convolution((1, 256, 14, 14), (256, 256, 1, 1)))
    x = {"x": np.ones((1, 256, 14, 14), np.float32)}
    for precision in ("float32", "auto"):
        session = made.session(precision=precision)
        session.run(x)
        rows = session.explain().rows
        assert arithmetics(session) == {"float32"}
        assert not [c for row in rows for c in row.choices if "bf16" in c.algorithm]


def test_processors_without_the_instruction_stay_with_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    made = walle_rt.load(convolution((1, 256, 14, 14), (256, 256, 1, 1)))
    x = {"x": np.ones((1, 256, 14, 14), np.float32)}
    for form in ("avx2", "avx512"):
        monkeypatch.setenv("WALLE_CPU", form)
        session = made.session(precision="bf16")
        session.run(x)
        assert arithmetics(session) == {"float32"}


@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2", "squeezenet_1_1", "yolo_n"])
def test_networks_stay_within_the_class(name: str) -> None:
    proto = zoo.build(name)
    made, feeds = walle_rt.load(proto), zoo.feeds(proto)
    session = made.session(precision="bf16")
    got, want = session.run(feeds), made.session().run(feeds)
    assert "bfloat16" in arithmetics(session)
    for output in want:
        assert snr_db(want[output], got[output]) > 30, output


@pytest.mark.parametrize(("accuracy", "units"), [("strict", ""), ("normal", "2"), ("fast", "24")])
def test_winograd_in_bfloat16_follows_accuracy(accuracy: str, units: str) -> None:
    made = walle_rt.load(convolution((1, 64, 28, 28), (64, 64, 3, 3), pads=[1, 1, 1, 1]))
    session = made.session(precision="bf16", accuracy=accuracy)
    session.run({"x": np.ones((1, 64, 28, 28), np.float32)})
    (row,) = [row for row in session.explain().rows if row.op == "Conv"]
    offered = {
        choice.kernel for choice in row.choices if "winograd" in choice.kernel and "bf16" in choice.kernel
    }
    assert offered == {f"blocked_winograd_{unit}x{unit}_bf16" for unit in units}
