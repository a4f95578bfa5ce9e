"""Values blocked by channels between operators: the same results, and conversions only where they must be."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands import run_python
from onnx import TensorProto, helper
from random_seed import random_seed

import walle_rt

SETS = walle_rt._core.machine()["backends"]["cpu"].partition("(of ")[2].rstrip(")").split(", ")


class Growing:
    """A chain of image operators with forks, as networks have them."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shape = shape
        self.channels: dict[str, int] = {"x": shape[1]}
        self.last = "x"

    def constant(self, *shape: int, most: float = 0.5) -> str:
        values = self.rng.uniform(-most, most, shape).astype(np.float32)
        return self.whole(values)

    def whole(self, values: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(values, name))
        return name

    def add(self, op: str, inputs: list[str], channels: int, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.channels[name] = channels
        self.last = name
        return name

    def conv(self, kernel: int, out: int | None = None, stride: int = 1, **attributes: Any) -> str:
        """Dense; with ``out`` left out depthwise.

        Weights keep the spread of their inputs (He et al., 2015). Without that, sums of 600 grow behind one
        another, and a Tanh at the end shows their last bits as if they were errors of its own size.
        """
        c = self.channels[self.last]
        group = c if out is None else 1
        most = (3 / (c // group * kernel * kernel)) ** 0.5  # whose square over 3 is the variance
        weights = self.constant(out or c, c // group, kernel, kernel, most=most)
        inputs = [self.last, weights] + ([self.constant(out or c)] if self.rng.random() < 0.7 else [])
        attributes |= {"pads": [kernel // 2] * 4, "strides": [stride] * 2, "group": group}
        return self.add("Conv", inputs, out or c, **attributes)

    def conv_transpose(self, kernel: int, out: int, stride: int) -> str:
        c = self.channels[self.last]
        taps = max(1, kernel / stride) ** 2  # those that meet one pixel of the result
        weights = self.constant(c, out, kernel, kernel, most=(3 / (c * taps)) ** 0.5)
        return self.add("ConvTranspose", [self.last, weights, self.constant(out)], out, strides=[stride] * 2)

    def model(self) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        y = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def random_network(seed: int) -> onnx.ModelProto:
    rng = random.Random(seed)
    shape = (rng.choice([1, 1, 2, 3]), rng.choice([1, 3, 16, 20]), rng.randrange(1, 24), rng.randrange(1, 24))
    g = Growing(seed, shape)
    for _ in range(rng.randrange(3, 12)):
        c = g.channels[g.last]
        kind = rng.randrange(13)
        if kind <= 2:
            g.conv(1, rng.choice([8, 16, 33, 48, 64]))
        elif kind == 3:
            g.conv(3, rng.choice([16, 24, 40]), rng.choice([1, 2]))
        elif kind == 4:
            g.conv(rng.choice([3, 5]), None, rng.choice([1, 2]))
        elif kind == 5:
            g.add(rng.choice(["Relu", "Sigmoid", "HardSwish", "Abs", "Exp"]), [g.last], c)
            g.add("Tanh", [g.last], c)  # so that values stay small
        elif kind == 6:
            before = g.last
            branch = g.conv(1, c)
            g.add(rng.choice(["Add", "Mul", "Sub"]), [branch, before], c)
        elif kind == 7:  # squeeze-excite
            before = g.last
            g.add("GlobalAveragePool", [before], c)
            g.conv(1, rng.choice([8, 16]))
            gate = g.conv(1, c)
            g.add(rng.choice(["Add", "Mul"]), rng.sample([before, gate], 2), c)
        elif kind == 8:
            op = rng.choice(["MaxPool", "AveragePool"])
            g.add(op, [g.last], c, kernel_shape=[3, 3], strides=[rng.choice([1, 2])] * 2, pads=[1] * 4)
        elif kind == 9:
            before = g.last
            parts = [g.conv(1, rng.choice([16, 32, 40])), before]
            rng.shuffle(parts)
            g.add("Concat", parts, sum(g.channels[p] for p in parts), axis=1)
        elif kind == 11:
            g.conv_transpose(rng.choice([2, 3, 4, 5]), rng.choice([16, 20, 32]), rng.choice([1, 2, 2, 3]))
            g.add(rng.choice(["Relu", "Tanh", "Exp"]), [g.last], g.channels[g.last])
            g.add("Tanh", [g.last], g.channels[g.last])
        elif kind == 12:
            g.add("Resize", [g.last, "", g.whole(np.float32([1, 1, 2, 2]))], c, mode="nearest")
        else:
            number = g.whole(np.float32([1.5]) if rng.random() < 0.5 else np.array(1.5, np.float32))
            g.add("Mul", [g.last, number if rng.random() < 0.5 else g.constant(1, c, 1, 1)], c)
    return g.model()


def image(model: walle_rt.Model) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).uniform(-1, 1, model.inputs[0].shape).astype(np.float32)}


def result(model: walle_rt.Model, **options: Any) -> np.ndarray:
    (value,) = model.session(**{"threads": 1, **options}).run(image(model)).values()
    return np.asarray(value)


@pytest.mark.parametrize("isa", SETS)
def test_random_networks_give_the_same_in_every_layout(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", isa)
    blocked = 0
    first = random_seed()
    for seed in range(first, first + 25):
        model = walle_rt.load(random_network(seed))
        want = result(model, debug="layouts=off,search=off")
        scale = max(1.0, float(np.abs(want).max()))
        options: dict[str, Any]
        for options in (
            {"accuracy": "strict"},
            {"threads": 2, "accuracy": "strict"},
            {"debug": "layouts=off", "accuracy": "strict"},
            {"debug": f"placement=random:{seed}"},
            {"debug": f"placement=random:{seed + 1},fuse=off", "threads": 2},
            {"debug": f"placement=random:{seed + 2},merge=off"},
            {"backend": "cpu,null", "debug": f"placement=random:{seed}"},
        ):
            np.testing.assert_allclose(
                result(model, **options), want, atol=2e-5 * scale, rtol=1e-4, err_msg=f"seed {seed} {options}"
            )
        session = model.session(threads=1, debug=f"placement=random:{seed}")
        session.run(image(model))
        blocked += sum(row.memory == "blocked" for row in session.explain().rows)
    assert blocked > 25


def rows_of(model: walle_rt.Model, **options: Any) -> list[walle_rt.ExplainRow]:
    session = model.session(threads=1, **options)
    session.run(image(model))
    return list(session.explain().rows)


def chain() -> walle_rt.Model:
    """An inverted residual of a mobile network, twice."""
    g = Growing(0, (1, 32, 28, 28))
    for _ in range(2):
        start = g.last
        g.conv(1, 192)
        g.add("Relu", [g.last], 192)
        g.conv(3)
        g.add("Relu", [g.last], 192)
        end = g.conv(1, 32)
        g.add("Add", [start, end], 32)
    return walle_rt.load(g.model())


def test_nothing_is_converted_between_convolutions() -> None:
    rows = [r for r in rows_of(chain()) if r.backend]
    assert {r.backend for r in rows if r.op == "Conv"} == {"cpu_blocked"}
    assert [r.algorithm for r in rows if r.op == "copy"] == ["copy_in", "copy_out"]
    assert rows[0].op == rows[-1].op == "copy"


def test_the_first_convolution_reads_rows_and_writes_blocks() -> None:
    """By the costs of one machine: by a measured profile another way may be as near."""
    run_python(
        """
        import test_layouts
        test_layouts.check_the_first_convolution()
        """,
        environment={"WALLE_MACHINE": "zen4", "WALLE_COSTS": "", "PYTHONPATH": str(Path(__file__).parent)},
    )


def check_the_first_convolution() -> None:
    g = Growing(4, (1, 3, 112, 112))
    g.conv(3, 32, stride=2)
    g.add("Relu", [g.last], 32)
    g.conv(3)
    g.conv(1, 64)
    model = walle_rt.load(g.model())
    rows = rows_of(model)
    first = next(r for r in rows if r.backend)
    assert (first.op, first.backend, first.memory) == ("Conv", "cpu_rows_to_blocks", "blocked")
    assert [r.algorithm for r in rows if r.op == "copy"] == ["copy_out"]
    np.testing.assert_allclose(result(model), result(model, debug="layouts=off"), rtol=1e-4, atol=1e-5)


def test_phases_of_a_transposed_convolution_are_interleaved_in_blocks() -> None:
    g = Growing(3, (1, 32, 20, 20))
    g.conv(3, 64, 2)
    g.conv_transpose(4, 32, 2)
    g.add("Relu", [g.last], 32)
    g.conv(3, 48, 2)
    rows = rows_of(walle_rt.load(g.model()))
    steps = [(r.op, r.backend) for r in rows if r.op != "copy" and r.backend]
    # One convolution of all phases that ends in the Relu, and a copy of whole pixels.
    assert [op for op, _ in steps] == ["Conv", "Conv", "raster", "Conv"]
    assert {backend for _, backend in steps} == {"cpu_blocked"}


def test_without_layouts_all_stays_row_major() -> None:
    rows = rows_of(chain(), debug="layouts=off")
    assert all(r.backend == "cpu" and r.memory == "host" for r in rows)
    assert not any(r.op == "copy" for r in rows)


def test_the_first_choice_is_row_major() -> None:
    assert not any(r.op == "copy" for r in rows_of(chain(), debug="search=off"))


def test_results_and_files_show_no_layout(tmp_path: Path) -> None:
    model = chain()
    assert result(model).shape == (1, 32, 28, 28)
    before = model.to_bytes()
    result(model)
    assert model.to_bytes() == before
    model.save(tmp_path / "m.walle")
    np.testing.assert_array_equal(result(walle_rt.load(str(tmp_path / "m.walle"))), result(model))


def test_views_of_blocked_values_are_read_row_major() -> None:
    # [1, 20, 4, 4] is no run of its elements in blocks of 16, whatever a Reshape says.
    g = Growing(0, (1, 16, 4, 4))
    g.conv(3, 20)
    shape = g.whole(np.array([1, 4, 20, 4], np.int64))
    g.add("Reshape", [g.last, shape], 4)
    g.channels[g.last] = 4
    g.conv(1, 8)
    model = walle_rt.load(g.model())
    want = result(model, debug="layouts=off,search=off")
    for seed in range(40):
        np.testing.assert_allclose(result(model, debug=f"placement=random:{seed}"), want, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 16, 4, 4), (1, 16, 0, 4), (2, 16, 4, 0)])
def test_images_without_pixels(shape: tuple[int, ...]) -> None:
    g = Growing(0, shape)
    g.conv(1, 32)
    g.add("Relu", [g.last], 32)
    g.conv(1, 8)
    model = walle_rt.load(g.model())
    for options in ({}, {"debug": "placement=random:3"}, {"debug": "layouts=off"}):
        assert result(model, **options).shape == (shape[0], 8, *shape[2:])


def test_kept_plans_are_of_one_choice_of_layouts(tmp_path: Path) -> None:
    model, sources = chain(), []
    for debug in ("", "layouts=off", "", "layouts=off"):
        session = model.session(threads=1, debug=debug, plan_cache=tmp_path)
        session.run(image(model))
        sources.append([k for k, n in session.explain().plan_sources.items() if n])
    assert sources[0] == sources[1] != sources[2] == sources[3]


def test_tuning_measures_both_layouts() -> None:
    session = chain().session(threads=1, tune=64, plan_cache="off")
    session.run(image(chain()))
    conv = next(r for r in session.explain().rows if r.op == "Conv")
    assert {c.backend for c in conv.choices if c.measured_ms > 0} == {"cpu", "cpu_blocked"}
