"""What fits no run is told by load(); what some sizes, values or branches may cure waits for the run."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import walle_rt


def load(body: str, inputs: str = "float[N, 4] x", output: str = "float[M, K] y") -> walle_rt.Model:
    text = f'<ir_version: 8, opset_import: ["" : 17]> graph ({inputs}) => ({output}) {{ {body} }}'
    return walle_rt.load(onnx.parser.parse_model(text))


NEVER = [
    ("w = Constant<value = float[5, 3] {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}>() y = MatMul(x, w)", "float[N, 4] x"),
    ("y = Add(x, z)", "float[N, 4] x, float[N, 5] z"),
    ("y = Add(x, z)", "float[N, 4] x, int64[N, 4] z"),
    ("y = Concat<axis = 0>(x, z)", "float[N, 4] x, float[N, 3, 4] z"),
    ("y = Concat<axis = 0>(x, z)", "float[N, 4] x, float[M, 5] z"),
    ("y = Transpose<perm = [0, 2, 1]>(x)", "float[N, 4] x"),
    ("a = Add(x, x) b = Relu(a) y = Conv(b, w)", "float[N, 3, H, W] x, float[8, 4, 3, 3] w"),
    ("y = Gather<axis = 2>(x, i)", "float[N, 4] x, int64[2] i"),
    ("s = Constant<value = int64[2] {3, 5}>() y = Reshape(x, s)", "float[2, 4] x"),
    ("y = Softmax<axis = 3>(x)", "float[N, 4] x"),
]


@pytest.mark.parametrize(("body", "inputs"), NEVER)
def test_what_never_fits_is_told_by_load(body: str, inputs: str) -> None:
    with pytest.raises(walle_rt.ModelError):
        load(body, inputs)


def test_a_result_of_another_dtype_is_told_by_load() -> None:
    with pytest.raises(walle_rt.ModelError, match="declared as int64"):
        load("y = Relu(x)", output="int64[M, K] y")


MAYBE = [
    ("y = Add(x, z)", "float[N, 4] x, float[M, 4] z", [(3, 4), (3, 4)]),
    ("y = Add(x, z)", "float[N] x, float[4] z", [(4,), (4,)]),
    ("y = Add(x, z)", "float[N] x, float[4] z", [(1,), (4,)]),
    ("y = MatMul(x, z)", "float[N, K] x, float[4, 3] z", [(2, 4), (4, 3)]),
    ("a = Constant<value = int64[1] {0}>() y = Squeeze(x, a)", "float[N, 4] x", [(1, 4)]),
    ("s = Constant<value = int64[2] {3, 4}>() y = Reshape(x, s)", "float[N, 4] x", [(3, 4)]),
    ("y = Concat<axis = 1>(x, z)", "float[N, 4] x, float[M, 4] z", [(3, 4), (3, 4)]),
    ("y = Conv<group = 2>(x, w)", "float[N, C, 5, 5] x, float[4, 2, 3, 3] w", [(1, 4, 5, 5), (4, 2, 3, 3)]),
    ("s = Constant<value = int64[2] {2, 2}>() y, z = Split(x, s)", "float[N] x", [(4,)]),
    ("y = Add(x, z)", "float x, float[4] z", [(), (4,)]),
]


@pytest.mark.parametrize(("body", "inputs", "shapes"), MAYBE)
def test_what_some_sizes_cure_is_left_to_the_run(
    body: str, inputs: str, shapes: list[tuple[int, ...]]
) -> None:
    model = load(body, inputs, "float y")
    names = [v.name for v in model.inputs]
    feeds = {name: np.ones(shape, np.float32) for name, shape in zip(names, shapes, strict=True)}
    model.session().run(feeds)


def test_branches_that_never_run_may_be_wrong() -> None:
    body = """y = If(c) <then_branch = yes () => (float[A, B] a) { a = Relu(x) },
                        else_branch = no () => (float[A, B] b) { b = MatMul(x, x) }>"""
    model = load(body, "bool c, float[3, 4] x")
    model.session().run({"c": np.array(True), "x": np.ones((3, 4), np.float32)})


@pytest.mark.parametrize("shape", ["4611686018427387904, 4611686018427387904", "9223372036854775807"])
def test_sizes_beyond_every_tensor_are_no_question_of_types(shape: str) -> None:
    load("y = Flatten<axis = 1>(x)", f"float[{shape}, 2] x")
