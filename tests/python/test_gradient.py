"""ONNX's Gradient: bodies cut out of the graph, points, what lies outside, refusals; a network's
gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model, run
from onnx import helper
from onnx.helper import make_node

import walle_rt

DOMAIN = "ai.onnx.preview.training"
A = np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)
B = np.array([0.5, 1, 2], np.float32)
SQUARES = [make_node("Mul", ["a", "a"], ["s"]), make_node("ReduceSum", ["s"], ["y"], keepdims=0)]


def gradient(inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return make_node("Gradient", inputs, outputs, domain=DOMAIN, **attributes)


def made(nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: list[str], **more: Any) -> Any:
    return model(nodes, inputs, outputs, imports=[helper.make_opsetid(DOMAIN, 1)], **more)


def test_by_two_inputs() -> None:
    """d(sum(tanh(a b) / b)), one of them broadcast."""
    nodes = [
        make_node("Mul", ["a", "b"], ["p"]),
        make_node("Tanh", ["p"], ["t"]),
        make_node("Div", ["t", "b"], ["q"]),
        make_node("ReduceSum", ["q"], ["y"], keepdims=0),
        gradient(["a", "b"], ["da", "db"], xs=["a", "b"], y="y"),
    ]
    got = run(made(nodes, {"a": [2, 3], "b": [3]}, ["y", "da", "db"]), a=A, b=B)
    c = 1 - np.tanh(A * B) ** 2
    np.testing.assert_allclose(got["da"], c, rtol=1e-4)
    np.testing.assert_allclose(got["db"], (c * A / B - np.tanh(A * B) / B**2).sum(0), rtol=1e-4, atol=1e-6)


def test_by_an_initializer() -> None:
    """Folded with everything that hangs on it, but not where it is differentiated by."""
    nodes = [*SQUARES, gradient(["a"], ["da"], xs=["a"], y="y")]
    got = run(made(nodes, {}, ["y", "da"], weights={"a": A}))
    np.testing.assert_allclose(got["da"], 2 * A)
    np.testing.assert_allclose(got["y"], (A**2).sum(), rtol=1e-6)


def test_at_another_point() -> None:
    nodes = [
        make_node("Mul", ["a", "z"], ["p"]),
        make_node("Mul", ["p", "a"], ["y"]),
        gradient(["b", "w"], ["d"], xs=["a"], zs=["z"], y="y"),
        gradient(["b", "z"], ["e"], xs=["a"], zs=["z"], y="y"),
        gradient(["b", "b"], ["f", "g"], xs=["a", "z"], y="y"),
    ]
    shape = {name: [3] for name in "abwz"}
    got = run(made(nodes, shape, ["d", "e", "f", "g"]), a=B * 0, b=B, w=B + 1, z=B + 5)
    np.testing.assert_allclose(got["d"], 2 * B * (B + 1))
    np.testing.assert_allclose(got["e"], 2 * B * (B + 5))
    np.testing.assert_allclose(got["f"], 2 * B * B)  # one value at two points has two gradients
    np.testing.assert_allclose(got["g"], B * B)


def test_of_a_gradient() -> None:
    nodes = [
        make_node("Mul", ["a", "a"], ["s"]),
        make_node("Mul", ["s", "a"], ["y"]),
        gradient(["a"], ["first"], xs=["a"], y="y"),
        gradient(["a"], ["second"], xs=["a"], y="first"),
    ]
    got = run(made(nodes, {"a": [2, 3]}, ["first", "second"]), a=A)
    np.testing.assert_allclose(got["first"], 3 * A**2, rtol=1e-6)
    np.testing.assert_allclose(got["second"], 6 * A, rtol=1e-6)


def test_what_does_not_depend_on_x_stays_outside() -> None:
    """Control flow too: NonZero gives what only a run can tell, and is no part of the body."""
    nodes = [
        make_node("NonZero", ["b"], ["places"]),
        make_node("Cast", ["places"], ["numbers"], to=1),
        make_node("ReduceSum", ["numbers"], ["factor"], keepdims=0),
        make_node("Mul", ["a", "factor"], ["y"]),
        gradient(["a"], ["da"], xs=["a"], y="y"),
        gradient(["b"], ["db"], xs=["b"], y="a"),
    ]
    got = run(made(nodes, {"a": [2, 3], "b": [3]}, ["da", "db"]), a=A, b=B)
    np.testing.assert_array_equal(got["da"], np.full((2, 3), 3))
    np.testing.assert_array_equal(got["db"], np.zeros(3))


def test_inside_a_branch() -> None:
    """A name of the outer graph is differentiated by within a body."""
    output = [helper.make_tensor_value_info("r", 1, None)]
    then = helper.make_graph([gradient(["a"], ["r"], xs=["a"], y="y")], "then", [], output)
    other = helper.make_graph([make_node("Neg", ["a"], ["r"])], "else", [], output)
    nodes = [*SQUARES, make_node("If", ["flag"], ["d"], then_branch=then, else_branch=other)]
    loaded = walle_rt.load(made(nodes, {"a": [2, 3], "flag": (9, [])}, ["d"]))
    session = loaded.session()
    np.testing.assert_allclose(session.run({"a": A, "flag": np.array(True)})["d"], 2 * A)
    np.testing.assert_allclose(session.run({"a": A, "flag": np.array(False)})["d"], -A)


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        (
            [make_node("Det", ["a"], ["y"], name="volume")],
            r"Det, which has no gradient: it takes the inverse.*/volume' \(Det\)",
        ),
        (
            [make_node("SequenceConstruct", ["a"], ["q"]), make_node("SequenceAt", ["q", "i"], ["y"])],
            "executor",
        ),
        ([make_node("ArgMax", ["a"], ["y"])], "y of int64"),
    ],
)
def test_refusals(nodes: list[onnx.NodeProto], says: str) -> None:
    model_ = made(
        [*nodes, gradient(["a"], ["da"], xs=["a"], y="y")],
        {"a": [2, 2]},
        ["da"],
        weights={"i": np.array(0)},
    )
    with pytest.raises(walle_rt.ModelError, match=says):
        run(model_, a=np.eye(2, dtype=np.float32))


def test_refusals_while_converting() -> None:
    for bad in (
        gradient(["a"], ["da"], xs=["a", "b"], y="y"),
        gradient([], [], y="y"),
        gradient(["a"], ["da"], xs=["a"], y="nowhere"),
    ):
        with pytest.raises(walle_rt.ModelError, match=r"names in xs|without xs|nothing produces"):
            walle_rt.load(made([*SQUARES, bad], {"a": [2], "b": [2]}, ["y"]))


def network() -> Any:
    """Convolution, normalisation, pooling, a product and a loss; gradients by all that is trained."""
    rng = np.random.default_rng(3)
    weights = {
        "w": rng.normal(size=(4, 2, 3, 3)) * 0.3,
        "scale": np.linspace(0.5, 1.5, 4),
        "bias": np.zeros(4),
        "mean": np.linspace(-0.1, 0.1, 4),
        "var": np.linspace(0.8, 1.2, 4),
        "m": rng.normal(size=(36, 3)) * 0.2,
        "c": np.zeros(3),
    }
    trained = ["w", "scale", "bias", "m", "c"]
    nodes = [
        make_node("Conv", ["x", "w"], ["h1"], pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", ["h1", "scale", "bias", "mean", "var"], ["h2"]),
        make_node("Relu", ["h2"], ["h3"]),
        make_node("MaxPool", ["h3"], ["h4"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Flatten", ["h4"], ["h5"]),
        make_node("Gemm", ["h5", "m", "c"], ["scores"]),
        make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss"]),
        gradient(trained, [f"d{n}" for n in trained], xs=trained, y="loss"),
    ]
    inputs = {"x": [5, 2, 6, 6], "labels": (7, [5])} | {n: list(weights[n].shape) for n in trained}
    held = {n: v.astype(np.float32) for n, v in weights.items() if n not in trained}
    loaded = walle_rt.load(made(nodes, inputs, ["loss", *(f"d{n}" for n in trained)], weights=held))
    return loaded, {n: weights[n].astype(np.float32) for n in trained}


DATA = {
    "x": np.random.default_rng(4).normal(size=(5, 2, 6, 6)).astype(np.float32),
    "labels": np.array([0, 2, 1, 1, 0]),
}


def test_a_network_along_its_gradient() -> None:
    """The loss along each gradient falls as steeply as the gradient is long."""
    loaded, values = network()
    session = loaded.session()
    got = session.run(DATA | values)
    for name in values:
        g = got[f"d{name}"]
        step = 1e-2 / np.linalg.norm(g)
        ends = [session.run(DATA | values | {name: values[name] + s * step * g})["loss"] for s in (1, -1)]
        want = float(np.sum(g.astype(np.float64) ** 2))
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(want, rel=2e-2), name


def test_a_network_learns_and_is_saved() -> None:
    loaded, values = network()
    session = walle_rt.load(loaded.to_bytes()).session()
    losses = []
    for _ in range(30):
        got = session.run(DATA | values)
        losses.append(float(got["loss"]))
        values = {n: v - np.float32(0.3) * got[f"d{n}"] for n, v in values.items()}
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("debug", ["merge=off,fuse=off", "layouts=off", "claim=off"])
def test_plans_agree(debug: str) -> None:
    loaded, values = network()
    want = loaded.session(threads=1).run(DATA | values)
    got = loaded.session(threads=2, debug=debug).run(DATA | values)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-3, atol=2e-5, err_msg=name)
