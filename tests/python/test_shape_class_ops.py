"""Which operators serve a class of shapes: the digits of a plan for each shape, and few plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

# The first size alone, then symbols; another class where an interval of sizes is left.
FEW = 4
SIZES = 10


@dataclass
class Case:
    """Nodes over x, whose shape has letters for the sizes that change."""

    nodes: list[onnx.NodeProto]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    shape: tuple[int | str, ...] = (2, "L", 16)
    dtype: Any = np.float32
    result: int = TensorProto.FLOAT
    opset: int = 22
    plans: int = FEW

    def model(self) -> onnx.ModelProto:
        given = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        graph = helper.make_graph(
            self.nodes,
            "shapes",
            [helper.make_tensor_value_info("x", given, list(self.shape))],
            [helper.make_tensor_value_info("y", self.result, None)],
            [numpy_helper.from_array(np.asarray(v), name) for name, v in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def feed(self, step: int, rng: np.random.Generator) -> np.ndarray:
        letters = {"L": 5 + step, "M": 7 + 2 * step, "E": 6 + 2 * step}
        shape = [letters[s] if isinstance(s, str) else s for s in self.shape]
        if self.dtype == np.int64:
            return rng.integers(0, 40, shape)
        return rng.standard_normal(shape).astype(self.dtype)


def node(op: str, *inputs: str, to: str = "y", **attributes: Any) -> onnx.NodeProto:
    out = helper.make_node(op, list(inputs), [to])
    out.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return out


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


PICTURE: tuple[int | str, ...] = (1, 4, "L", "M")
UNARY = [
    "Erf",
    "Gelu",
    "Relu",
    "Sigmoid",
    "HardSwish",
    "Elu",
    "Exp",
    "Sqrt",
    "Floor",
    "Softplus",
    "Mish",
    "Sign",
]
REDUCE = ["L2", "Sum", "Mean", "Max", "LogSumExp", "SumSquare", "Prod"]
SIZE = [node("Shape", "x", to="s"), node("Gather", "s", "one", to="l")]

CASES = {
    **{op: Case([node(op, "x")]) for op in UNARY},
    **{f"Reduce{r} over L": Case([node(f"Reduce{r}", "x", "a")], {"a": ints(1)}) for r in REDUCE},
    **{f"Reduce{r}": Case([node(f"Reduce{r}", "x", "a", keepdims=0)], {"a": ints(2)}) for r in REDUCE},
    "ArgMax": Case([node("ArgMax", "x", axis=1)], result=TensorProto.INT64),
    "Attention": Case([node("Attention", "x", "x", "x", q_num_heads=2, kv_num_heads=2)], opset=23),
    "AveragePool": Case([node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2])], shape=PICTURE),
    "BatchNormalization": Case(
        [node("BatchNormalization", "x", *"sbmv")],
        {**{name: weights(4) for name in "sbm"}, "v": np.ones(4, np.float32)},
        PICTURE,
    ),
    "CenterCropPad": Case([node("CenterCropPad", "x", "t", axes=[1])], {"t": ints(40)}),
    "Clip": Case([node("Clip", "x", "lo", "hi")], {"lo": np.float32(-1), "hi": np.float32(1)}),
    "Conv of one channel": Case([node("Conv", "x", "w", pads=[1, 1])], {"w": weights(1, 1, 3)}, (1, 1, "L")),
    "CumSum": Case([node("CumSum", "x", "a")], {"a": np.int64(1)}),
    "DepthToSpace": Case([node("DepthToSpace", "x", blocksize=2)], shape=PICTURE),
    "Einsum": Case([node("Einsum", "x", "w", equation="bij,jk->bik")], {"w": weights(16, 8)}),
    "Einsum of two": Case([node("Einsum", "x", "x", equation="bid,bjd->bij")]),
    "Flatten": Case([node("Flatten", "x")]),
    "GatherElements": Case([node("ArgMax", "x", to="a", axis=1), node("GatherElements", "x", "a", axis=1)]),
    "GatherND": Case([node("GatherND", "x", "i")], {"i": ints(0, 1).reshape(1, 2)}),
    "Gather of rows": Case([node("Gather", "w", "x")], {"w": weights(50, 8)}, (1, "L"), np.int64),
    "GlobalAveragePool": Case([node("GlobalAveragePool", "x")], shape=PICTURE),
    "GroupNormalization": Case(
        [node("GroupNormalization", "x", "s", "b", num_groups=2)], {"s": weights(4), "b": weights(4)}, PICTURE
    ),
    "GRU over a batch": Case(
        [node("GRU", "x", "w", "r", "b", hidden_size=8)],
        {"w": weights(1, 24, 16), "r": weights(1, 24, 8), "b": weights(1, 48)},
        (6, "L", 16),
    ),
    "Hardmax": Case([node("Hardmax", "x", axis=1)]),
    "InstanceNormalization": Case(
        [node("InstanceNormalization", "x", "s", "b")], {"s": weights(4), "b": weights(4)}, PICTURE
    ),
    "LSTM over a sequence": Case(
        [node("LSTM", "x", "w", "r", "b", hidden_size=8)],
        {"w": weights(1, 32, 16), "r": weights(1, 32, 8), "b": weights(1, 64)},
        ("L", 2, 16),
    ),
    "MaxPool": Case([node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)], shape=PICTURE),
    "OneHot": Case(
        [node("ArgMax", "x", to="a", axis=2, keepdims=0), node("OneHot", "a", "d", "v")],
        {"d": np.int64(16), "v": np.array([0, 1], np.float32)},
    ),
    "Pad": Case([node("Pad", "x", "p")], {"p": ints(0, 1, 0, 0, 2, 0)}),
    "Pad by reflection": Case([node("Pad", "x", "p", mode="reflect")], {"p": ints(0, 1, 0, 0, 2, 0)}),
    "Range": Case(
        [*SIZE, node("Range", "zero", "l", "one", to="r"), node("Cast", "r", to="y")],
        {"one": np.int64(1), "zero": np.int64(0)},
    ),
    "ScatterElements": Case(
        [node("ArgMax", "x", to="a", axis=1), node("ScatterElements", "x", "a", "u", axis=1)],
        {"u": weights(2, 1, 16)},
    ),
    "ScatterND": Case(
        [node("ScatterND", "x", "i", "u")], {"i": ints(0, 1).reshape(1, 2), "u": weights(1, 16)}
    ),
    "SpaceToDepth": Case([node("SpaceToDepth", "x", blocksize=2)], shape=(1, 2, "E", 4)),
    "Tile": Case([node("Tile", "x", "r")], {"r": ints(1, 2, 1)}),
    "TopK": Case([helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=1)], {"k": ints(2)}),
    "Trilu": Case([node("Trilu", "x")], shape=("L", "M")),
    "Trilu below": Case([node("Trilu", "x", "k", upper=0)], {"k": np.int64(-1)}, ("L", "M")),
    # The boundary, which docs/concepts/shape-classes.md names: each size has its plan.
    "DFT": Case([node("DFT", "x", axis=1)], shape=(1, "L", 2), opset=17, plans=SIZES),
    "Resize": Case(
        [node("Resize", "x", "", "s", mode="linear")],
        {"s": np.array([1, 1, 2, 2], np.float32)},
        PICTURE,
        plans=SIZES,
    ),
    "root of a size": Case(
        [*SIZE, node("Cast", "l", to="f"), node("Sqrt", "f", to="r"), node("Div", "x", "r")],
        {"one": np.int64(1)},
        plans=SIZES,
    ),
}
for case in CASES.values():
    for made in case.nodes:
        if made.op_type == "Cast":
            made.attribute.append(helper.make_attribute("to", TensorProto.FLOAT))


@pytest.mark.parametrize("name", list(CASES))
def test_one_operator_over_many_sizes(name: str) -> None:
    case = CASES[name]
    model = walle_rt.load(case.model())
    classes, exact = model.session(), model.session(debug="classes=off")
    rng = np.random.default_rng(0)
    for step in [*range(SIZES), 3, 0]:
        x = case.feed(step, rng)
        got, expected = classes.run({"x": x})["y"], exact.run({"x": x})["y"]
        assert got.shape == expected.shape and got.tobytes() == expected.tobytes(), f"{name}, x{x.shape}"
    assert exact.memory().plans == SIZES
    # Where another layout costs less, which is of the machine, steps lie in several memories.
    one_memory = model.session(debug="layouts=off")
    for step in range(SIZES):
        one_memory.run({"x": case.feed(step, rng)})
    plans = one_memory.memory().plans
    assert plans <= case.plans
    assert case.plans == FEW or plans == SIZES, "serves a class now: the page on classes says it does not"
