"""The report's JSON holds what it says, and plots are made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from walle_rt.bench import durations, report
from walle_rt.bench.compare import Comparison
from walle_rt.bench.curves import Point
from walle_rt.bench.sessions import Throughput
from walle_rt.bench.startup import Start


def figures() -> dict[str, Any]:
    times = {"walle": 1.0, "onnxruntime": 2.0}
    compared = [
        Comparison(name, threads, dict(times), dict(times), {"walle": float("inf")},
                   {"walle": [1.0, 1.2], "onnxruntime": [2.0, 2.1]})
        for name, threads in (("a", 1), ("a", 2), ("b", 1))
    ]  # fmt: skip
    operator = {"name": "o", "flops": 1e9, "bytes": 1e6, "milliseconds": times, "errors": {}, "thrown": 0}
    return {
        "models": [c.as_dict() for c in compared],
        "curves": [Point("a", size, compared[0]).as_dict() for size in (10, 20)],
        "operators": [operator, {**operator, "name": "p", "bytes": 1e8}],
        "sessions": [Throughput("walle", 1, (5, 4), 1.0).as_dict()],
        "two_threads": [],
        "startup": [Start("a", "walle", 0.1, 10**7).as_dict()],
        "roof": {"gflops": 100.0, "gbytes": 10.0, "cached_gbytes": 80.0},
    }


def test_document_holds_its_sections() -> None:
    whole = report.document(figures())
    assert report.check(whole) == []
    assert whole["engines"]["onnxruntime"]["settings"]
    assert whole["machine"]["cores"] >= 1


def test_points_of_a_curve_share_their_model() -> None:
    point = Point("m", 10, Comparison("m:s10", 1, {"walle": 1.0})).as_dict()
    assert (point["model"], point["variant"], point["size"]) == ("m", "m:s10", 10)


def test_what_is_missing_is_told() -> None:
    whole = report.document(figures())
    del whole["roof"], whole["models"][1]["ratio"]
    whole["curves"] = None
    assert report.check(whole) == ["'roof' is missing", "models[1] has no 'ratio'", "'curves' is no list"]
    assert report.check({"format": 0}) == report.check([]) == [f"not a document of format {report.FORMAT}"]


def test_written_and_read_again(tmp_path: Path) -> None:
    said = report.write(tmp_path / "report", figures())
    read = json.loads((tmp_path / "report" / report.FILE).read_text())
    assert report.check(read) == []
    assert read["models"][0]["errors"] == {"walle": None}  # infinite
    assert str(tmp_path / "report" / report.FILE) in said[0]


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report.write(tmp_path, figures())
    names = ("roofline", "rounds", "ratios", "curves", "sessions")
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
    # What there is nothing for is not left over from an earlier run.
    empty = {key: [] for key in report.SECTIONS} | {"roof": {}}
    assert report.write(tmp_path, empty)[0].endswith("plots: none")
    assert not list(tmp_path.glob("*.png"))


def test_announcement_knows_the_last_time(tmp_path: Path) -> None:
    assert durations.read(tmp_path) == {}
    durations.add(tmp_path, "t::a", 60.0, first=True)
    durations.add(tmp_path, "t::a", 540.0, first=False)
    known = durations.read(tmp_path)
    assert known == {"t::a": 600.0}
    assert durations.announcement(["t::a"], known, 10) == "1 benches, about 10 minutes (as the last time)"
    assert "1 of them by a guess" in durations.announcement(["t::a", "t::b"], known, 10)
    durations.add(tmp_path, "t::a", 1.0, first=True)
    assert durations.read(tmp_path) == {"t::a": 1.0}
    (tmp_path / durations.FILE).write_text("[1, ")
    assert durations.read(tmp_path) == {}


def test_guesses_follow_rounds() -> None:
    full, few = (durations.guess("bench/test_peers.py::test_model[a]", rounds) for rounds in (10, 3))
    assert few == pytest.approx(full * 0.65)
    assert durations.guess("test_peers.py::test_model[a]", 10) == full
    assert durations.guess("bench/stream/test_x.py::t", 10) == durations.GUESS
