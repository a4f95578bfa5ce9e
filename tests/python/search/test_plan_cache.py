"""Sessions with and without kept decisions compute the same, and a damaged file costs a search at most."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt

CHANNELS = 16


def small() -> onnx.ModelProto:
    """A convolution with several candidates, an activation and a product."""
    random = np.random.default_rng(3)
    nodes = [
        make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        make_node("Relu", ["c"], ["r"]),
        make_node("GlobalAveragePool", ["r"], ["p"]),
        make_node("Flatten", ["p"], ["f"]),
        make_node("MatMul", ["f", "m"], ["y"]),
    ]
    weights = {
        "w": random.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32),
        "m": random.standard_normal((CHANNELS, 8)).astype(np.float32),
    }
    return model(nodes, {"x": [1, CHANNELS, 20, 20]}, {"y": [1, 8]}, weights)


FEEDS = {"x": np.random.default_rng(4).standard_normal((1, CHANNELS, 20, 20)).astype(np.float32)}


def planned(loaded: walle_rt.Model, **options: object) -> tuple[np.ndarray, walle_rt.Explanation]:
    session = loaded.session(threads=1, **options)  # type: ignore[arg-type]
    return session.run(FEEDS)["y"], session.explain()


def test_plans_from_the_cache_are_those_of_the_search(tmp_path: Path) -> None:
    loaded = walle_rt.load(small())
    want, searched = planned(loaded, plan_cache="off")
    assert searched.plan_sources == {"search": 1}
    for source in ("kept", "cache"):
        got, found = planned(loaded, plan_cache=tmp_path)
        assert found.plan_sources == {source: 1}
        assert [r.algorithm for r in found.rows] == [r.algorithm for r in searched.rows]
        np.testing.assert_array_equal(got, want)
    assert len(list(tmp_path.glob("*.plan"))) == 1
    _, strict = planned(loaded, plan_cache=tmp_path, accuracy="strict")
    assert strict.plan_sources == {"kept": 1}, "options are part of the key"


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    loaded = walle_rt.load(small())
    want, _ = planned(loaded, plan_cache=tmp_path)
    (file,) = tmp_path.glob("*.plan")
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        got, found = planned(loaded, plan_cache=tmp_path)
        assert found.plan_sources == {"mended": 1}, f"byte {at}"
        np.testing.assert_array_equal(got, want)
    for size in (0, 10, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert planned(loaded, plan_cache=tmp_path)[1].plan_sources == {"mended": 1}


def test_the_variable_names_the_folder_and_the_option_beats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = walle_rt.load(small())
    monkeypatch.setenv("WALLE_PLAN_CACHE", str(tmp_path / "variable"))
    assert planned(loaded)[1].plan_sources == {"kept": 1}
    assert planned(loaded)[1].plan_sources == {"cache": 1}
    assert planned(loaded, plan_cache=tmp_path / "option")[1].plan_sources == {"kept": 1}
    assert planned(loaded, plan_cache="off")[1].plan_sources == {"search": 1}
    monkeypatch.setenv("WALLE_PLAN_CACHE", "off")
    assert planned(loaded, tune=2)[1].plan_sources == {"search": 1}
    monkeypatch.delenv("WALLE_PLAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert planned(loaded)[1].plan_sources == {"search": 1}, "not by default: searching takes milliseconds"
    assert planned(loaded, tune=2)[1].plan_sources == {"kept": 1}
    assert list((tmp_path / "user" / "walle").glob("*.plan"))


def test_a_folder_that_cannot_be_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"no folder")
    got, found = planned(walle_rt.load(small()), plan_cache=file / "below")
    assert found.plan_sources == {"not_kept": 1}
    assert np.isfinite(got).all()


def test_tuned_plans_agree_and_say_what_was_measured(tmp_path: Path) -> None:
    loaded = walle_rt.load(small())
    want, _ = planned(loaded, debug="search=off")
    got, found = planned(loaded, tune=64, plan_cache=tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    conv = next(r for r in found.rows if r.op == "Conv")
    measured = [c for c in conv.choices if c.measured_ms > 0]
    assert len(measured) > 1 and conv.choices[0].taken
    # In its layout: what blocks would spare, copies into and out of them may cost, as machines go.
    like = [c for c in measured if c.backend == conv.choices[0].backend]
    assert conv.choices[0].measured_ms == min(c.measured_ms for c in like)
    again, kept = planned(loaded, tune=64, plan_cache=tmp_path)
    assert kept.plan_sources == {"cache": 1}
    np.testing.assert_array_equal(again, got)
    assert [c.measured_ms for c in next(r for r in kept.rows if r.op == "Conv").choices] == [
        c.measured_ms for c in conv.choices
    ]


@pytest.mark.parametrize("wrong", [-1, 65, True, 1.5, "3"])
def test_tune_is_a_number_of_choices(wrong: object) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="tune="):
        walle_rt.load(small()).session(tune=wrong)  # type: ignore[arg-type]


def test_the_summary_comes_first() -> None:
    session = walle_rt.load(small()).session(threads=1)
    session.run(FEEDS)
    with session.profile():
        session.run(FEEDS)
    found = session.explain()
    lines = found.text().splitlines()
    assert lines[: len(found.summary())] == found.summary()
    assert any(line.startswith(f"costs: {found.costs}; plans: 1 searched") for line in lines)
    assert any(line.startswith("worst predictions: ") for line in lines)
    off = [abs(r.predicted_ms - r.measured_ms) for r in found.mispredicted()]
    assert off == sorted(off, reverse=True)
    rows = session.explain(top=0).text()
    assert "by algorithm" in rows and "GFLOP/s" not in rows, "rows on demand"


def test_costs_of_a_profile_give_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = walle_rt.load(small())
    want, _ = planned(loaded, debug="search=off")
    monkeypatch.setenv("WALLE_PLAN_CACHE", str(tmp_path))
    monkeypatch.setenv("WALLE_COSTS", "profile")
    got, found = planned(loaded)
    assert found.costs.endswith("scaled by a profile")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert (tmp_path / "machine.profile").is_file()
    assert planned(loaded)[1].plan_sources == {"cache": 1}, "the profile is kept, or the key would change"
    monkeypatch.delenv("WALLE_COSTS")
    assert planned(loaded)[1].plan_sources == {"kept": 1}, "another table, another key"
