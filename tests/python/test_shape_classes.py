"""Plans for classes of shapes: the same digits as a plan for each shape, over random networks and sizes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

# Of `make test`; `make test-all PART=networks` takes 20,000.
NETWORKS = int(os.environ.get("WALLE_TEST_NETWORKS", "150"))
CHUNK = 25
# Small ones, among them those that have a form of their own, and some that cross the widths of registers.
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 65, 100]
WIDTH, HEADS = 16, 4


class Network:
    """A graph over x [batch, length, WIDTH] and past [batch, before, WIDTH], grown by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        # All of [batch, something, WIDTH], by what the middle is.
        self.alike: dict[str, list[str]] = {"length": ["x"], "before": ["past"]}
        self.others: list[str] = []

    def node(self, op: str, *inputs: str, count: int = 1, **attributes: object) -> list[str]:
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names

    def constant(self, *shape: int) -> str:
        return self.tensor(self.values.uniform(-1, 1, shape).astype(np.float32))

    def tensor(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def ints(self, *values: int) -> str:
        return self.tensor(np.array(values, np.int64))

    def pick(self) -> tuple[str, str]:
        middle = self.rng.choice(list(self.alike))
        return middle, self.rng.choice(self.alike[middle])

    def grow(self) -> None:
        steps: list[Callable[[], None]] = [
            self.unary, self.binary, self.channel, self.product, self.norm, self.attention, self.concat,
            self.slice, self.halves, self.turned, self.softmax, self.reduced, self.flat, self.gathered,
            self.tiled, self.positions, self.causal, self.repeated, self.padded, self.last_half,
        ]  # fmt: skip
        for _ in range(self.rng.randint(2, 9)):
            self.rng.choice(steps)()

    def keep(self, middle: str, name: str) -> None:
        self.alike.setdefault(middle, []).append(name)

    def unary(self) -> None:
        middle, x = self.pick()
        self.keep(middle, self.node(self.rng.choice(["Relu", "Tanh", "Sigmoid", "Neg"]), x)[0])

    def binary(self) -> None:
        middle, x = self.pick()
        y = self.rng.choice(self.alike[middle])
        self.keep(middle, self.node(self.rng.choice(["Add", "Mul", "Sub", "Max"]), x, y)[0])

    def channel(self) -> None:
        middle, x = self.pick()
        y = self.constant(*self.rng.choice([(WIDTH,), (1,), (1, 1, WIDTH)]))
        self.keep(middle, self.node(self.rng.choice(["Add", "Mul", "Div"]), x, y)[0])

    def product(self) -> None:
        middle, x = self.pick()
        self.keep(middle, self.node("MatMul", x, self.constant(WIDTH, WIDTH))[0])

    def norm(self) -> None:
        middle, x = self.pick()
        self.keep(middle, self.node("LayerNormalization", x, self.constant(WIDTH), self.constant(WIDTH))[0])

    def size(self, x: str, axis: int) -> str:
        """[1]: how long x is, as PyTorch's exporters write it."""
        one = self.node("Gather", self.node("Shape", x)[0], self.tensor(np.int64(axis)))[0]
        return self.node("Unsqueeze", one, self.ints(0))[0]

    def scalar(self, size: str) -> str:
        return self.node("Squeeze", size, self.ints(0))[0]

    def heads(self, x: str) -> str:
        if self.rng.random() < 0.5:
            target = self.ints(0, -1, HEADS, WIDTH // HEADS)
        else:
            each = self.node("Div", self.size(x, 2), self.ints(HEADS))[0]
            sizes = [self.size(x, 0), self.size(x, 1), self.ints(HEADS), each]
            target = self.node("Concat", *sizes, axis=0)[0]
        split = self.node("Reshape", x, target)[0]
        return self.node("Transpose", split, perm=[0, 2, 1, 3])[0]

    def attention(self) -> None:
        middle, q = self.pick()
        _, k = self.pick()
        turned = self.node("Transpose", self.heads(k), perm=[0, 1, 3, 2])[0]
        scores = self.node("MatMul", self.heads(q), turned)[0]
        if self.rng.random() < 0.7:
            scores = self.node("Mul", scores, self.tensor(np.float32(0.5)))[0]
        weights = self.node("Softmax", scores, axis=-1)[0]
        mixed = self.node("MatMul", weights, self.heads(k))[0]
        joined = self.node("Transpose", mixed, perm=[0, 2, 1, 3])[0]
        self.keep(middle, self.node("Reshape", joined, self.ints(0, -1, WIDTH))[0])

    def concat(self) -> None:
        (left, x), (right, y) = self.pick(), self.pick()
        self.keep(f"({left}+{right})", self.node("Concat", x, y, axis=1)[0])

    def slice(self) -> None:
        _, x = self.pick()
        start, end = self.rng.choice([(-3, 2**62), (0, -1), (1, 2**62), (0, 5), (-2, -1), (0, 2**62)])
        name = self.node("Slice", x, self.ints(start), self.ints(end), self.ints(1))[0]
        self.keep(name, name)

    def halves(self) -> None:
        middle, x = self.pick()
        for part in self.node("Split", x, self.ints(WIDTH // 2, WIDTH // 2), count=2, axis=2):
            self.keep(middle, self.node("Concat", part, part, axis=2)[0])

    def turned(self) -> None:
        _, x = self.pick()
        self.others.append(self.node("Transpose", x, perm=self.rng.sample(range(3), 3))[0])

    def softmax(self) -> None:
        middle, x = self.pick()
        self.keep(middle, self.node("Softmax", x, axis=self.rng.choice([1, 2]))[0])

    def reduced(self) -> None:
        _, x = self.pick()
        op = self.rng.choice(["ReduceSum", "ReduceMean", "ReduceMax"])
        shift = self.node("ReduceSum", x, self.ints(2), keepdims=1)[0]
        y = self.node(op, shift, keepdims=1, axes=[2]) if op != "ReduceSum" else [shift]
        self.others.append(y[0])

    def flat(self) -> None:
        _, x = self.pick()
        rows = self.node("Reshape", x, self.ints(-1, WIDTH))[0]
        gemm = self.node("Gemm", rows, self.constant(8, WIDTH), self.constant(8), transB=1)[0]
        self.others.append(self.node("Relu", gemm)[0])

    def gathered(self) -> None:
        middle, x = self.pick()
        self.keep(middle, self.node("Gather", x, self.tensor(self.values.permutation(WIDTH)), axis=2)[0])

    def tiled(self) -> None:
        middle, x = self.pick()
        column = self.node("ReduceMean", x, keepdims=1, axes=[2])[0]
        self.keep(middle, self.node("Expand", column, self.ints(1, 1, WIDTH))[0])

    def positions(self) -> None:
        """Rows of a table by their number, after those that another input has."""
        middle, x = self.pick()
        _, before = self.pick()
        first = self.scalar(self.size(before, 1))
        end = self.node("Add", first, self.scalar(self.size(x, 1)))[0]
        if self.rng.random() < 0.5:
            numbers = self.node("Range", first, end, self.tensor(np.int64(1)))[0]
            rows = self.node("Gather", self.constant(1200, WIDTH), numbers, axis=0)[0]
        else:
            ends = [self.node("Unsqueeze", n, self.ints(0))[0] for n in (first, end)]
            rows = self.node("Slice", self.constant(1200, WIDTH), *ends, self.ints(0))[0]
        self.keep(middle, self.node("Add", x, rows)[0])

    def causal(self) -> None:
        """Scores of what lies behind are masked: by a triangle of ones, or by comparing numbers."""
        middle, x = self.pick()
        scores = self.node("MatMul", x, self.node("Transpose", x, perm=[0, 2, 1])[0])[0]
        size = self.size(x, 1)
        square = self.node("Concat", size, size, axis=0)[0]
        if self.rng.random() < 0.5:
            one = numpy_helper.from_array(np.array([1], np.float32))
            ones = self.node("ConstantOfShape", square, value=one)[0]
            below = self.node("Trilu", ones, upper=self.rng.randint(0, 1))[0]
            mask = self.node("Cast", below, to=TensorProto.BOOL)[0]
        else:
            numbers = self.node(
                "Range", self.tensor(np.int64(0)), self.scalar(size), self.tensor(np.int64(1))
            )
            column = self.node("Unsqueeze", numbers[0], self.ints(1))[0]
            mask = self.node("LessOrEqual", numbers[0], column)[0]
        masked = self.node("Where", mask, scores, self.tensor(np.float32(-1e4)))[0]
        mixed = self.node("MatMul", self.node("Softmax", masked, axis=-1)[0], x)[0]
        self.keep(middle, mixed)

    def repeated(self) -> None:
        """A row for each of another's, by Expand of a computed shape or by Tile."""
        _, x = self.pick()
        row = self.node("ReduceMax", x, keepdims=1, axes=[1])[0]
        middle, like = self.pick()
        if self.rng.random() < 0.5:
            sizes = self.node("Concat", self.ints(1), self.size(like, 1), self.ints(1), axis=0)[0]
            self.keep(middle, self.node("Tile", row, sizes)[0])
            return
        sizes = self.node("Concat", self.size(like, 0), self.size(like, 1), self.ints(-1), axis=0)[0]
        unknown = self.node("Equal", sizes, self.ints(-1))[0]
        ones = self.node("ConstantOfShape", self.node("Shape", sizes)[0], value=numpy_helper.from_array(
            np.array([1], np.int64)))[0]  # fmt: skip
        self.keep(middle, self.node("Expand", row, self.node("Where", unknown, ones, sizes)[0])[0])

    def padded(self) -> None:
        middle, x = self.pick()
        before, after = self.rng.choice([(1, 0), (0, 2), (1, 2), (-1, 3)])
        mode = self.rng.choice(["constant", "edge", "reflect", "wrap"])
        name = self.node("Pad", x, self.ints(0, before, 0, 0, after, 0), mode=mode)[0]
        self.keep(f"{name}({middle})", name)

    def last_half(self) -> None:
        """From the middle on, where the middle is computed."""
        _, x = self.pick()
        size = self.size(x, 1)
        half = self.node("Div", size, self.ints(2))[0]
        name = self.node("Slice", x, half, size, self.ints(1))[0]
        self.keep(name, name)

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", WIDTH]),
            helper.make_tensor_value_info("past", TensorProto.FLOAT, ["batch", "before", WIDTH]),
        ]
        made = [name for names in self.alike.values() for name in names if name not in ("x", "past")]
        last = [*made[-2:], *self.others[-2:]]
        for name in last:
            self.nodes.append(helper.make_node("Identity", [name], [f"y{name}"]))
        outputs = [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, None) for n in last]
        graph = helper.make_graph(self.nodes, "shapes", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def feeds(self) -> dict[str, np.ndarray]:
        batch, length, before = (self.rng.choice(SIZES if i else SIZES[:6]) for i in range(3))
        draw = self.values.standard_normal
        return {
            "x": draw((batch, length, WIDTH), np.float32),
            "past": draw((batch, before, WIDTH), np.float32),
        }


def ran(session: walle_rt.Session, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray] | str:
    try:
        return session.run(feeds)
    except walle_rt.Error as error:
        return str(error)


def compare(seed: int, **options: object) -> None:
    network = Network(seed)
    network.grow()
    model = walle_rt.load(network.model())
    classes = model.session(**options)
    exact = model.session(debug="classes=off", **options)
    for _ in range(7):
        feeds = network.feeds()
        got, expected = ran(classes, feeds), ran(exact, feeds)
        shapes = {name: x.shape for name, x in feeds.items()}
        if isinstance(expected, str) or isinstance(got, str):
            assert got == expected, f"network {seed}, {shapes}"
            continue
        for name, y in expected.items():
            assert got[name].tobytes() == y.tobytes() and got[name].shape == y.shape, (
                f"network {seed}, {shapes}, {name}: WALLE_TEST_NETWORKS={seed + 1} repeats it"
            )


@pytest.mark.parametrize("first", range(0, NETWORKS, CHUNK))
def test_a_class_gives_the_digits_of_a_plan_for_each_shape(first: int) -> None:
    for seed in range(first, min(first + CHUNK, NETWORKS)):
        compare(seed, threads=1 + seed % 2)


@pytest.mark.parametrize(
    "debug", ["search=off", "merge=off", "fuse=off", "layouts=off", "fold=off,claim=off"]
)
def test_so_it_does_with_parts_of_planning_left_out(debug: str) -> None:
    for seed in range(8):
        network = Network(1000 + seed)
        network.grow()
        model = walle_rt.load(network.model())
        classes, exact = model.session(debug=debug), model.session(debug=f"classes=off,{debug}")
        for _ in range(5):
            feeds = network.feeds()
            got, expected = ran(classes, feeds), ran(exact, feeds)
            assert isinstance(got, str) == isinstance(expected, str)
            if isinstance(got, dict) and isinstance(expected, dict):
                assert all(got[n].tobytes() == expected[n].tobytes() for n in expected), f"network {seed}"


def test_one_plan_serves_every_length() -> None:
    network = Network(3)
    network.alike = {"length": ["x"]}
    network.attention()
    network.norm()
    session = walle_rt.load(network.model()).session()
    past = np.zeros((1, 3, WIDTH), np.float32)
    for length in [*range(2, 40), 1000]:
        session.run({"x": np.ones((1, length, WIDTH), np.float32), "past": past})
    # The first length, met alone, has a plan of its own; where another form of the attention costs less,
    # another class begins.
    assert session.memory().plans <= 5


def test_what_exporters_compute_of_shapes_needs_no_plan_of_its_own() -> None:
    """Positions, masks, heads and repeats whose sizes come of Shape nodes."""
    network = Network(0)
    network.alike = {"length": ["x"]}
    for step in (network.positions, network.causal, network.repeated, network.attention, network.last_half):
        step()
    session = walle_rt.load(network.model()).session()
    past = np.zeros((1, 3, WIDTH), np.float32)
    for length in range(2, 60):
        session.run({"x": np.ones((1, length, WIDTH), np.float32), "past": past})
    # One for each doubling of the table of positions, and where another form of the attention costs less.
    assert session.memory().plans <= 8


COMPUTED = {
    "Add": lambda n: n + 3,
    "Sub": lambda n: n - 3,
    "Mul": lambda n: n * 3,
    "Div": lambda n: n // 3,
    "Mod": lambda n: n % 3,
    "Min": lambda n: min(n, 3),
    "Max": lambda n: max(n, 3),
    "Sum": lambda n: n + 3,
}
SAID = {
    "Equal": lambda n: n == 3,
    "Less": lambda n: n < 3,
    "LessOrEqual": lambda n: n <= 3,
    "Greater": lambda n: n > 3,
    "GreaterOrEqual": lambda n: n >= 3,
}


def size_model(make: Callable[[Network, str], str], dtype: int) -> walle_rt.Model:
    """y has as many rows as `make` computes of the length of x, and is of zeros."""
    network = Network(0)
    size = network.node("Cast", network.size("x", 0), to=dtype)[0]
    count = network.node("Cast", make(network, size), to=TensorProto.INT64)[0]
    network.nodes.append(helper.make_node("ConstantOfShape", [count], ["y"]))
    graph = helper.make_graph(
        network.nodes,
        "sizes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        network.constants,
    )
    return walle_rt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def rows(session: walle_rt.Session, n: int) -> int:
    return len(session.run({"x": np.zeros(n, np.float32)})["y"])


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("op", [*COMPUTED, *SAID])
def test_each_operator_on_sizes(op: str, dtype: int) -> None:
    def make(network: Network, size: str) -> str:
        three = network.tensor(np.array([3], helper.tensor_dtype_to_np_dtype(dtype)))
        made = network.node(op, size, three)[0]
        return network.node("Where", made, size, three)[0] if op in SAID else made

    session = size_model(make, dtype).session()
    for n in [5, 9, 2, 3, 4, 100, 1, 0]:
        expected = COMPUTED[op](n) if op in COMPUTED else (n if SAID[op](n) else 3)
        if expected >= 0:  # fewer rows than none are refused
            assert rows(session, n) == expected, f"{op}, {n}"


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.INT32])
def test_sizes_that_are_turned_round_and_multiplied(dtype: int) -> None:
    def make(network: Network, size: str) -> str:
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        turned = network.node("Sub", network.tensor(np.array([200], kind)), network.node("Neg", size)[0])[0]
        both = network.node("Concat", turned, size, axis=0)[0]
        total = network.node("ReduceSum", both, network.ints(0))[0]
        return network.node("ReduceProd", network.node("Concat", total, size, axis=0)[0], axes=[0])[0]

    session = size_model(make, dtype).session()
    for n in [5, 9, 2, 33]:
        assert rows(session, n) == (200 + 2 * n) * n
    assert session.memory().plans == 2


def test_a_range_whose_step_leads_far() -> None:
    """Its table has room for its numbers, not for where the next one would lie."""

    def make(network: Network, size: str) -> str:
        end = network.scalar(size)
        numbers = network.node("Range", network.tensor(np.int64(0)), end, network.tensor(np.int64(10**12)))[0]
        return network.node("Add", network.node("Shape", numbers)[0], size)[0]

    session = size_model(make, TensorProto.INT64).session()
    for n in [5, 9, 2, 33]:
        assert rows(session, n) == n + 1


@pytest.mark.parametrize("k", [2**63 - 1, -(2**63), 3, -3])
@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_far_beyond_the_corners(upper: int, k: int) -> None:
    graph = helper.make_graph(
        [helper.make_node("Trilu", ["x", "k"], ["y"], upper=upper)],
        "triangle",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.int64(k), "k")],
    )
    session = walle_rt.load(helper.make_model(graph, ir_version=8)).session()
    for n, m in [(4, 5), (7, 9), (12, 6), (40, 41)]:
        x = np.ones((n, m), np.float32)
        near = max(-100, min(100, k))
        expected = np.triu(x, near) if upper else np.tril(x, near)
        np.testing.assert_array_equal(session.run({"x": x})["y"], expected)


def test_a_plan_for_a_class_follows_sizes_back_and_forth() -> None:
    network = Network(5)
    network.alike = {"length": ["x"]}
    network.product()
    network.softmax()
    session = walle_rt.load(network.model()).session()
    past = np.zeros((2, 2, WIDTH), np.float32)
    rng = np.random.default_rng(0)
    feeds = {n: {"x": rng.standard_normal((2, n, WIDTH), np.float32), "past": past} for n in (3, 9, 90, 4)}
    first = {n: session.run(f) for n, f in feeds.items()}
    for n in (4, 90, 3, 9, 90, 4):
        again = session.run(feeds[n])
        assert all(again[name].tobytes() == y.tobytes() for name, y in first[n].items())


def test_sizes_that_were_equal_need_not_stay_so() -> None:
    """Two inputs of one length, then of two: the plan for the one is not taken for the other."""
    graph = helper.make_graph(
        [helper.make_node("Concat", ["a", "b"], ["c"], axis=0), helper.make_node("Neg", ["c"], ["y"])],
        "equal",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [f"len_{n}"]) for n in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["all"])],
    )
    session = walle_rt.load(helper.make_model(graph, ir_version=8)).session()
    for a, b in [(2, 2), (5, 5), (6, 6), (6, 7), (9, 2), (3, 3), (0, 4), (1, 1), (4, 0)]:
        feeds = {"a": np.arange(a, dtype=np.float32), "b": np.arange(b, dtype=np.float32)}
        y = session.run(feeds)["y"]
        np.testing.assert_array_equal(y, -np.concatenate([feeds["a"], feeds["b"]]))


def test_threads_share_a_session_each_with_its_sizes() -> None:
    network = Network(11)
    network.alike = {"length": ["x"]}
    network.attention()
    network.norm()
    model = walle_rt.load(network.model())
    session, exact = model.session(), model.session(debug="classes=off")
    rng = np.random.default_rng(2)
    past = np.zeros((1, 3, WIDTH), np.float32)
    calls = [
        [
            {"x": rng.standard_normal((1, int(n), WIDTH), np.float32), "past": past}
            for n in rng.integers(2, 60, 25)
        ]
        for _ in range(4)
    ]
    expected = [[exact.run(feeds) for feeds in of_thread] for of_thread in calls]
    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(lambda of_thread: [session.run(feeds) for feeds in of_thread], calls))
    for ours, theirs in zip(got, expected, strict=True):
        for mine, right in zip(ours, theirs, strict=True):
            assert all(mine[name].tobytes() == y.tobytes() for name, y in right.items())


def test_a_loop_whose_state_grows() -> None:
    """One row more with each round: its body is planned for a class, not for each length."""
    body = helper.make_graph(
        [
            helper.make_node("Concat", ["rows", "row"], ["more"], axis=0),
            helper.make_node("Neg", ["more"], ["turned"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 3]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("turned", TensorProto.FLOAT, [None, 3]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["rounds", "", "start"], ["y"], body=body)],
        "growing",
        [
            helper.make_tensor_value_info("rounds", TensorProto.INT64, []),
            helper.make_tensor_value_info("start", TensorProto.FLOAT, ["n", 3]),
            helper.make_tensor_value_info("row", TensorProto.FLOAT, [1, 3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])],
    )
    session = walle_rt.load(helper.make_model(graph, ir_version=8)).session()
    for start, rounds in [(0, 40), (3, 50), (2, 0), (1, 7)]:
        expected = np.arange(3 * start, dtype=np.float32).reshape(start, 3)
        feeds = {"rounds": np.int64(rounds), "start": expected, "row": np.array([[7, 8, 9]], np.float32)}
        for _ in range(rounds):
            expected = -np.concatenate([expected, feeds["row"]])
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)
    assert session.memory().plans <= 6


def test_no_more_plans_are_kept_than_allowed() -> None:
    network = Network(5)
    network.alike = {"length": ["x"]}
    network.product()
    session = walle_rt.load(network.model()).session(max_plans=1)
    for batch, length in [(2, 5), (2, 6), (1, 6), (0, 6), (2, 7), (3, 7), (2, 1), (2, 6)]:
        x = np.ones((batch, length, WIDTH), np.float32)
        y = session.run({"x": x, "past": np.zeros((batch, 2, WIDTH), np.float32)})
        assert next(iter(y.values())).shape == (batch, length, WIDTH)
        assert session.memory().plans <= 1


def masked() -> onnx.ModelProto:
    """Attention over x [batch, length, WIDTH], with a mask of its lengths or without."""
    network = Network(21)
    network.alike = {"length": ["x"]}
    network.norm()
    turned = network.node("Transpose", network.alike["length"][-1], perm=[0, 2, 1])[0]
    scores = network.node("MatMul", "x", turned)[0]
    has = network.node("OptionalHasElement", "mask")[0]

    def branch(op: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
        result = helper.make_tensor_value_info(op, TensorProto.FLOAT, None)
        return helper.make_graph(list(nodes), op, [], [result])

    kept = branch(
        "kept",
        helper.make_node("OptionalGetElement", ["mask"], ["given"]),
        helper.make_node("Add", [scores, "given"], ["kept"]),
    )
    plain = branch("plain", helper.make_node("Neg", [scores], ["plain"]))
    chosen = network.node("If", has, then_branch=kept, else_branch=plain)[0]
    weights = network.node("Softmax", chosen, axis=-1)[0]
    last = network.node("MatMul", network.node("MatMul", weights, "x")[0], network.constant(WIDTH, 8))[0]
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [None, None, None])
    graph = helper.make_graph(
        network.nodes,
        "masked",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", WIDTH]),
            helper.make_value_info("mask", helper.make_optional_type_proto(tensor)),
        ],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
        network.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("limits", [{}, {"max_plans": 1}, {"max_plans": 2}, {"max_plan_bytes": 1}])
def test_optional_inputs_come_and_go_within_a_class(limits: dict[str, int]) -> None:
    """Present or not, at ever other sizes, with plans that leave and are made again."""
    model = walle_rt.load(masked())
    session, exact = model.session(**limits), model.session(debug="classes=off")  # type: ignore[arg-type]
    rng = np.random.default_rng(4)
    for batch, length, present in [
        (1, 5, True), (1, 6, False), (1, 7, True), (1, 8, False), (2, 9, True), (2, 1, True), (2, 9, False),
        (1, 0, False), (1, 17, True), (3, 17, True), (3, 64, False), (1, 5, True), (1, 6, False),
    ]:  # fmt: skip
        feeds = {"x": rng.standard_normal((batch, length, WIDTH), np.float32), "mask": None}
        if present:
            feeds["mask"] = rng.standard_normal((batch, 1, length), np.float32)
        got, expected = session.run(feeds), exact.run(feeds)
        assert all(got[name].tobytes() == y.tobytes() for name, y in expected.items()), (batch, length)
        if "max_plan_bytes" in limits:
            assert session.memory().plans == 1


@pytest.mark.parametrize("limits", [{"max_plans": 1}, {"max_plans": 2}, {"max_plan_bytes": 1}])
def test_plans_that_left_come_back_with_the_same_digits(limits: dict[str, int]) -> None:
    for seed in range(2000, 2012):
        network = Network(seed)
        network.grow()
        model = walle_rt.load(network.model())
        session, exact = model.session(**limits), model.session(debug="classes=off")  # type: ignore[arg-type]
        kept = [network.feeds() for _ in range(3)]
        for feeds in [*kept, *kept, network.feeds(), *kept]:
            got, expected = ran(session, feeds), ran(exact, feeds)
            assert isinstance(got, str) == isinstance(expected, str)
            if isinstance(got, dict) and isinstance(expected, dict):
                assert all(got[n].tobytes() == expected[n].tobytes() for n in expected), f"network {seed}"
            assert session.memory().plans <= limits.get("max_plans", 1)


def test_an_input_with_a_value_of_its_own_is_given_or_not() -> None:
    """Given, it makes another graph with plans of its own; both are classes."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])],
        "overridable",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [
            numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
            numpy_helper.from_array(np.ones(3, np.float32), "b"),
        ],
    )
    model = walle_rt.load(helper.make_model(graph, ir_version=8))
    session, exact = model.session(max_plans=2), model.session(debug="classes=off")
    rng = np.random.default_rng(5)
    for n in (2, 3, 9, 1, 40, 0, 7):
        x = rng.standard_normal((n, 4), np.float32)
        for feeds in ({"x": x}, {"x": x, "b": rng.standard_normal(3, np.float32)}):
            assert session.run(feeds)["y"].tobytes() == exact.run(feeds)["y"].tobytes()
    assert session.memory().plans <= 4
