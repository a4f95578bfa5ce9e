"""Random graphs: the planned engine against NumPy,
and every optimisation switched off against all of them on.

A graph grows node by node from a seeded generator while NumPy computes the same values beside it. Movement
operators are frequent on purpose: chains of them are what raster merging rewrites.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import walle_rt

GRAPHS = 150
SWITCHES = [
    {"debug": "merge=off"},
    {"debug": "search=off"},
    {"debug": "fuse=off"},
    {"debug": "layouts=off"},
    {"debug": "placement=random:11"},
    {"threads": 2},
    {"debug": "fold=off,claim=off"},
    {"backend": "null"},
]


@dataclass
class Growing:
    """A graph under construction with the value of everything in it."""

    rng: random.Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(value, name))
        return name

    def weights(self, *shape: int) -> np.ndarray:
        state = np.random.default_rng(self.rng.getrandbits(32))
        return state.uniform(-1, 1, shape).astype(np.float32)

    def add(self, op: str, inputs: list[str], value: np.ndarray, **attributes: object) -> None:
        name = f"v{len(self.values)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.values[name] = np.ascontiguousarray(value, dtype=np.float32)

    def pick(self) -> tuple[str, np.ndarray]:
        # Recent values more often: long chains say more than wide bushes.
        names = list(self.values)
        name = names[max(0, len(names) - 1 - int(self.rng.expovariate(0.7)))]
        return name, self.values[name]


def unary(g: Growing) -> None:
    name, x = g.pick()
    table: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "Relu": lambda v: np.maximum(v, 0),
        "Tanh": np.tanh,
        "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "Neg": np.negative,
        "Abs": np.abs,
    }
    op = g.rng.choice(list(table))
    g.add(op, [name], table[op](x))


def binary(g: Growing) -> None:
    name, x = g.pick()
    table: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum,
    }  # fmt: skip
    op = g.rng.choice(list(table))
    same = [n for n, v in g.values.items() if v.shape == x.shape]
    if g.rng.random() < 0.5:
        other = g.rng.choice(same)
        g.add(op, [name, other], table[op](x, g.values[other]))
    else:
        c = g.weights(*[d if g.rng.random() < 0.5 else 1 for d in x.shape])
        g.add(op, [name, g.constant(c)], table[op](x, c))


def transpose(g: Growing) -> None:
    name, x = g.pick()
    perm = g.rng.sample(range(x.ndim), x.ndim)
    g.add("Transpose", [name], x.transpose(perm), perm=perm)


def reshape(g: Growing) -> None:
    name, x = g.pick()
    sizes = list(x.shape)
    i = g.rng.randrange(len(sizes))
    divisors = [d for d in range(1, sizes[i] + 1) if sizes[i] % d == 0]
    d = g.rng.choice(divisors)
    target = [*sizes[:i], d, sizes[i] // d, *sizes[i + 1 :]]
    while len(target) > 4:
        j = g.rng.randrange(len(target) - 1)
        target[j : j + 2] = [target[j] * target[j + 1]]
    g.add("Reshape", [name, g.constant(np.array(target, np.int64))], x.reshape(target))


def crop(g: Growing) -> None:
    name, x = g.pick()
    axis = g.rng.randrange(x.ndim)
    size = x.shape[axis]
    start = g.rng.randrange(size)
    end = g.rng.randrange(start + 1, size + 1)
    step = g.rng.choice([1, 1, 2])
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, end, step)
    ends = [g.constant(np.array([v], np.int64)) for v in (start, end, axis, step)]
    g.add("Slice", [name, *ends], x[tuple(index)])


def pad(g: Growing) -> None:
    name, x = g.pick()
    if x.size > 20000:
        return
    widths = [(g.rng.randrange(2), g.rng.randrange(2)) for _ in range(x.ndim)]
    flat = np.array([w[0] for w in widths] + [w[1] for w in widths], np.int64)
    g.add("Pad", [name, g.constant(flat)], np.pad(x, widths))


def concat(g: Growing) -> None:
    name, x = g.pick()
    axis = g.rng.randrange(x.ndim)
    rest = [
        n
        for n, v in g.values.items()
        if v.ndim == x.ndim and np.delete(v.shape, axis).tolist() == np.delete(x.shape, axis).tolist()
    ]
    parts = [name, *g.rng.choices(rest, k=g.rng.randrange(1, 3))]
    value = np.concatenate([g.values[p] for p in parts], axis)
    if value.size <= 20000:
        g.add("Concat", parts, value, axis=axis)


def matmul(g: Growing) -> None:
    name, x = g.pick()
    if x.ndim < 2:
        return
    w = g.weights(x.shape[-1], g.rng.randrange(1, 20))
    g.add("MatMul", [name, g.constant(w)], np.matmul(x, w) / 1)


def residual_block(g: Growing) -> None:
    """Two convolutions added, then an activation: of the two, only one can take the other as its residual."""
    name, x = g.pick()
    if x.ndim != 4 or x.size > 4000:
        return
    channels = g.rng.randrange(1, 9)
    branches = []
    for _ in range(2):
        w = g.weights(channels, x.shape[1], 1, 1)
        g.add("Conv", [name, g.constant(w)], np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]))
        branches.append(list(g.values)[-1])
    g.rng.shuffle(branches)
    total = g.values[branches[0]] + g.values[branches[1]]
    g.add("Add", branches, total)
    g.add("Relu", [list(g.values)[-1]], np.maximum(total, 0))


def reduce_mean(g: Growing) -> None:
    name, x = g.pick()
    axis = g.rng.randrange(x.ndim)
    g.add("ReduceMean", [name], x.mean(axis, keepdims=True), axes=[axis], keepdims=1)


def softmax(g: Growing) -> None:
    name, x = g.pick()
    axis = g.rng.randrange(x.ndim)
    e = np.exp(x - x.max(axis, keepdims=True))
    g.add("Softmax", [name], e / e.sum(axis, keepdims=True), axis=axis)


GROWERS = [
    unary,
    binary,
    binary,
    transpose,
    transpose,
    reshape,
    reshape,
    crop,
    pad,
    concat,
    matmul,
    residual_block,
    residual_block,
    reduce_mean,
    softmax,
]


def grow(seed: int) -> tuple[onnx.ModelProto, np.ndarray, dict[str, np.ndarray]]:
    rng = random.Random(seed)
    g = Growing(rng)
    shape = [rng.randrange(1, 7) for _ in range(rng.randrange(2, 5))]
    x = g.weights(*shape)
    g.values["x"] = x
    while len(g.nodes) < rng.randrange(4, 24):
        rng.choice(GROWERS)(g)
    used = {name for node in g.nodes for name in node.input}
    outputs = [name for name in g.values if name != "x" and (name not in used or rng.random() < 0.1)]
    graph = helper.make_graph(
        g.nodes, "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        g.constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return model, x, {name: g.values[name] for name in outputs}


def assert_close(got: dict[str, np.ndarray], want: dict[str, np.ndarray], what: str) -> None:
    for name, value in want.items():
        np.testing.assert_allclose(
            got[name],
            value,
            rtol=1e-4,
            atol=1e-5 * max(1.0, float(np.abs(value).max(initial=0))),
            err_msg=f"{what}, {name}",
        )


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_random_graph(seed: int) -> None:
    model, x, want = grow(seed)
    loaded = walle_rt.load(model)
    full = loaded.session(threads=1).run({"x": x})
    assert_close(full, want, f"seed {seed} against NumPy")
    for switch in [*SWITCHES, {"backend": "cpu,null", "debug": f"placement=random:{seed}"}]:
        other = loaded.session(**{"threads": 1, **switch}).run({"x": x})
        assert_close(other, full, f"seed {seed} with {switch}")
