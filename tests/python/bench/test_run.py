"""A bench run as make starts it: its options, what it says beforehand, and the report it leaves."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from commands import Finished, run_command
from places import ROOT

from walle_rt.bench import report

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def collected(*options: str) -> list[str]:
    """The ids of the comparisons that a run would make."""
    found = run_command([*PYTEST, "bench/test_peers.py", "--collect-only", *options], folder=ROOT)
    lines = [line for line in found.stdout.splitlines() if "::" in line]
    return [line.partition("[")[2].rstrip("]") for line in lines]


def test_default_set() -> None:
    ids = collected()
    assert {"yolo_n-1t", "yolo_n-2t", "vit_s-1t", "real_mnist8-2t", "resnet18:b8-1t"} <= set(ids)
    assert "resnet18:b8-2t" not in ids  # larger batches at the fewest threads
    assert len(ids) == len(set(ids))


def test_options() -> None:
    assert collected("--models", "vgg:s64,minilm", "--threads", "2") == ["vgg:s64-2t", "minilm-2t"]
    quick = collected("--quick")
    assert all(name.endswith("-1t") and ":b" not in name for name in quick) and "vgg-1t" in quick
    assert collected("--threads", "2,2,1", "--batches", "1", "--models", "vgg") == ["vgg-2t", "vgg-1t"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--models", "resnet19"], "unknown model 'resnet19'"),
        (["--models", "vgg:x8"], "'x8' in 'vgg:x8'"),
        (["--threads", "0"], "--threads 0: expected numbers"),
        (["--threads", "1,two"], "--threads 1,two: expected numbers"),
        (["--batches", ""], "--batches : expected numbers"),
    ],
)
def test_wrong_options_are_told(options: list[str], says: str) -> None:
    run_command([*PYTEST, "bench/test_peers.py", "--collect-only", *options], code=4, says=says, folder=ROOT)


def test_report_of_one_model(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    command = [*PYTEST, "bench/test_peers.py", "--models", "voice_rnn", "--quick", "--report", tmp_path]
    done: Finished = run_command(command, folder=ROOT)
    assert "1 benches, about" in done.stdout and "how each engine is set" in done.stdout
    found = json.loads((tmp_path / report.FILE).read_text())
    assert report.check(found) == []
    (model,) = found["models"]
    assert (model["model"], model["threads"]) == ("voice_rnn", 1)
    assert {"walle", "onnxruntime"} <= set(model["milliseconds"]) and model["ratio"] > 0
    assert model["errors"]["walle"] < 1e-5
