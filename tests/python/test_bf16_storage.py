"""What sessions with precision="bf16" keep as bfloat16 between layers: where, how far off, and where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from random_seed import random_seed
from test_bf16_convolutions import FORMS, convolution, rounded, snr_db
from test_layouts import Growing, image, random_network

import walle_rt
from walle_rt.bench import zoo

Array = np.ndarray[Any, Any]
MEMORY = "blocked_bf16"


@pytest.fixture(autouse=True, params=FORMS)
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", request.param)
    monkeypatch.setenv("WALLE_COSTS", "zen5")  # where it is the faster way
    try:
        walle_rt.load(convolution((1, 16, 4, 4), (16, 16, 1, 1))).session()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {request.param}: {error}")


def run(model: walle_rt.Model, feeds: dict[str, Array], **options: Any) -> tuple[Array, walle_rt.Session]:
    session = model.session(**{"precision": "bf16", "threads": 1, "plan_cache": "off", **options})
    return np.asarray(next(iter(session.run(feeds).values()))), session


def kept(session: walle_rt.Session) -> list[walle_rt.ExplainRow]:
    return [row for row in session.explain().rows if row.memory == MEMORY]


def bottlenecks() -> walle_rt.Model:
    """As in ResNet-50, twice, without what Winograd's filtering makes of windows."""
    g = Growing(7, (1, 256, 56, 56))
    for _ in range(2):
        start = g.last
        g.conv(1, 64)
        g.add("Relu", [g.last], 64)
        end = g.conv(1, 256)
        g.add("Add", [start, end], 256)
        g.add("Relu", [g.last], 256)
    g.add("GlobalAveragePool", [g.last], 256)
    return walle_rt.load(g.model())


@pytest.mark.parametrize("threads", [1, 2])
def test_images_between_convolutions_are_kept(threads: int) -> None:
    model = bottlenecks()
    got, session = run(model, image(model), threads=threads)
    steps = [row for row in session.explain().rows if row.op == "Conv"]
    assert len(steps) == 4
    assert {row.memory for row in steps} == {MEMORY}
    assert all(row.output.startswith("bfloat16[") for row in steps)
    (copy_in, copy_out) = [row for row in session.explain().rows if row.op == "copy"]
    assert (copy_in.memory, copy_out.memory) == (MEMORY, "host")
    want = model.session(threads=1).run(image(model))
    assert got.dtype == np.float32
    assert 38 < snr_db(next(iter(want.values())), got) < 70


def test_profiles_time_what_is_kept() -> None:
    model = bottlenecks()
    session = model.session(precision="bf16", threads=1)
    with session.profile():
        session.run(image(model))
    rows = kept(session)
    assert rows
    assert all(row.measured_runs == 1 and row.measured_ms > 0 for row in rows)


@pytest.mark.parametrize("options", [{"precision": "float32"}, {"precision": "auto"}, {"accuracy": "strict"}])
def test_only_sessions_that_may_round_keep_them(options: dict[str, str]) -> None:
    model = bottlenecks()
    for debug in ("", "placement=random:5"):
        got, session = run(model, image(model), debug=debug, **options)
        assert not kept(session)
        assert not [c for row in session.explain().rows for c in row.choices if "bf16_blocks" in c.backend]
        if "precision" in options and not debug:
            (want,) = model.session(threads=1).run(image(model)).values()
            np.testing.assert_array_equal(got, want)


def test_processors_without_the_instruction_keep_none(monkeypatch: pytest.MonkeyPatch) -> None:
    model = bottlenecks()
    for form in ("avx2", "avx512"):
        monkeypatch.setenv("WALLE_CPU", form)
        got, session = run(model, image(model))
        assert not kept(session)
        np.testing.assert_array_equal(got, next(iter(model.session(threads=1).run(image(model)).values())))


@pytest.mark.parametrize(
    ("name", "least"),
    [("resnet50", 38), ("mobilenet_v2", 30), ("squeezenet_1_1", 38), ("shufflenet_v2", 30)],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_networks_stay_within_the_class(name: str, least: float, threads: int) -> None:
    proto = zoo.build(name)
    model, feeds = walle_rt.load(proto), zoo.feeds(proto)
    got, session = run(model, feeds, threads=threads)
    assert kept(session)
    (want,) = model.session().run(feeds).values()
    assert snr_db(np.asarray(want), got) > least


def test_random_networks_are_rounded_and_no_more() -> None:
    """On any backend by lot: fused and not, threads 1 and 2."""
    first, found, noise = random_seed(), 0, []
    for seed in range(first, first + 40):
        model = walle_rt.load(random_network(seed))
        (want,) = model.session(threads=1, debug="layouts=off,search=off").run(image(model)).values()
        for debug, threads in ((f"placement=random:{seed}", 1), (f"placement=random:{seed},fuse=off", 2)):
            got, session = run(model, image(model), debug=debug, threads=threads)
            found += len(kept(session))
            assert got.shape == np.shape(want)
            scale = max(float(np.abs(want).max()), 1.0)
            assert float(np.abs(got - want).max()) < 0.15 * scale, f"seed {seed} {debug}"
            noise.append(snr_db(np.asarray(want), got))
    assert found > 100
    assert float(np.median(noise)) > 40


CASES = {
    "1 x 1, odd channels": ((2, 37, 9, 11), (33, 37, 1, 1), {}),
    "1 x 1, even channels": ((1, 38, 9, 11), (21, 38, 1, 1), {}),
    "1 x 1 with steps": ((1, 48, 13, 17), (40, 48, 1, 1), {"strides": [2, 2]}),
    "3 x 3 at borders": ((1, 19, 7, 5), (18, 19, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3 x 3, even channels": ((1, 32, 15, 18), (40, 32, 3, 3), {"pads": [1, 1, 1, 1]}),
    "5 x 5 with steps": ((1, 20, 16, 19), (24, 20, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
    "depthwise": ((1, 21, 12, 15), (21, 1, 3, 3), {"group": 21, "pads": [1, 1, 1, 1]}),
    "depthwise 5 x 5 with steps": ((2, 40, 12, 15), (40, 1, 5, 5), {"group": 40, "strides": [2, 2]}),
    "in groups": ((1, 64, 9, 9), (64, 32, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "from rows": ((1, 3, 33, 31), (20, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
}


def behind_a_copy(proto: Any) -> walle_rt.Model:
    """What a session hands out is never kept rounded: the convolution's result is moved before."""
    proto.graph.initializer.append(numpy_helper.from_array(np.array([-1], np.int64), "all"))
    proto.graph.node.append(helper.make_node("Reshape", ["y", "all"], ["z"]))
    proto.graph.output[0].name = "z"
    return walle_rt.load(proto)


def every_way(model: walle_rt.Model, feeds: dict[str, Array], threads: int) -> dict[str, Array]:
    """The results of all that a convolution may be made by, by what keeps it: placements by lot find them."""
    out = {}
    for seed in range(24):
        got, session = run(model, feeds, debug=f"placement=random:{seed}", threads=threads)
        (row,) = [row for row in session.explain().rows if row.op == "Conv"]
        out[row.backend] = got
    return out


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_convolutions_round_what_they_keep(case: str, threads: int) -> None:
    shape, weights, attributes = CASES[case]
    model = behind_a_copy(convolution(shape, weights, **attributes))
    x = {"x": rounded(np.random.default_rng(random_seed(41)).standard_normal(shape).astype(np.float32))}
    (want,) = model.session(threads=1).run(x).values()
    ways = every_way(model, x, threads)
    name = "cpu_rows_to_bf16" if case == "from rows" else "cpu_bf16_blocks"
    assert name in ways
    # Weights are rounded, and the result; Winograd's tiles are as well.
    np.testing.assert_allclose(ways[name], want, rtol=2**-7, atol=0.02 * float(np.abs(want).max()))
    np.testing.assert_array_equal(ways[name], rounded(ways[name]))
    exact = [got for backend, got in ways.items() if backend == "cpu_bf16_to_blocks"]
    assert all((got != rounded(got)).any() for got in exact), "results in float32 are not rounded"


def test_results_are_never_kept_rounded() -> None:
    model = walle_rt.load(convolution((1, 64, 14, 14), (64, 64, 1, 1)))
    for seed in range(24):
        got, session = run(model, image(model), debug=f"placement=random:{seed}")
        assert not [row for row in kept(session) if row.op == "Conv"]
        assert (got != rounded(got)).any()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_in_its_windows(odd: float) -> None:
    g = Growing(5, (1, 24, 20, 20))
    g.conv(1, 40)
    g.conv(3)
    g.conv(1, 24)
    model = walle_rt.load(g.model())
    x = image(model)
    x["x"][0, 3, 11, 6] = odd
    found = 0
    for seed in range(12):
        got, session = run(model, x, debug=f"placement=random:{seed}")
        found += len(kept(session))
        met = np.zeros((20, 20), bool)
        met[10:13, 5:8] = True
        assert np.isfinite(got[0, :, ~met]).all()
        assert not np.isfinite(got[0, :, met]).all()
    assert found > 6


@pytest.mark.parametrize("shape", [(0, 16, 4, 4), (1, 16, 0, 4), (2, 16, 4, 0)])
def test_images_without_pixels(shape: tuple[int, ...]) -> None:
    g = Growing(0, shape)
    g.conv(1, 32)
    g.add("Relu", [g.last], 32)
    g.conv(3)
    g.conv(1, 8)
    model = walle_rt.load(g.model())
    for seed in range(6):
        got, _ = run(model, image(model), debug=f"placement=random:{seed}")
        assert got.shape == (shape[0], 8, *shape[2:])


def test_tuning_measures_them() -> None:
    model = bottlenecks()
    _, session = run(model, image(model), tune=64)
    conv = next(row for row in session.explain().rows if row.op == "Conv")
    assert "cpu_bf16_blocks" in {c.backend for c in conv.choices if c.measured_ms > 0}
