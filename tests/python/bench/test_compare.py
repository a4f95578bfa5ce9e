"""Engines in child processes: what becomes of those that fail, and what is kept of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import walle_rt
from walle_rt.bench import compare as module
from walle_rt.bench import real, zoo
from walle_rt.bench.compare import answer_file, compare, probe
from walle_rt.bench.peers import NAMES, settings, version


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return zoo.path("voice_rnn", tmp_path)


def stub(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a module in the place of the interpreter's, for children alone."""
    folder.mkdir()
    (folder / "onnxruntime.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(module.__file__).parents[2]}")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "crashes with signal 11"),
        ("raise RuntimeError('broken')", "fails: RuntimeError: broken"),
        ("raise ImportError('x')", "not installed (pip install onnxruntime)"),
        ("import time\ntime.sleep(60)", "hangs for more than"),
    ],
)
def test_a_child_that_fails_is_a_reason(
    body: str, says: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(tmp_path / "stub", body, monkeypatch)
    if "sleep" in body:
        monkeypatch.setattr(module, "PROBE_SECONDS", 1.0)
    reason = probe("onnxruntime", model, "voice_rnn", 1, tmp_path)
    assert reason is not None and says in reason
    refusal = answer_file("onnxruntime", model, 1, tmp_path).with_suffix(".txt")
    assert refusal.exists() is ("not installed" not in says)


def test_an_answer_is_kept_until_the_model_changes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probe("walle", model, "voice_rnn", 1, tmp_path) is None
    with np.load(answer_file("walle", model, 1, tmp_path)) as arrays:
        assert arrays["arr_0"].shape == (1, 2)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert probe("walle", model, "voice_rnn", 1, tmp_path) is None  # no child was needed
    model.write_bytes(model.read_bytes())
    reason = probe("walle", model, "voice_rnn", 1, tmp_path)
    assert reason is not None and reason.startswith("fails")
    assert probe("walle", model, "voice_rnn", 1, tmp_path) == reason  # kept as well


def test_ours_alone(tmp_path: Path) -> None:
    found = compare("voice_rnn", tmp_path, 1, 1, peers=())
    assert found.milliseconds["walle"] > 0 and found.errors["walle"] < 1e-5
    assert found.ratio is None and not found.no_reference
    assert found.as_dict()["best_peer"] is None


def test_without_a_reference_peers_are_held_against_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("op")

    monkeypatch.setattr(module, "reference", fails)
    found = compare("voice_rnn", tmp_path, 1, 1, peers=())
    assert found.errors == {} and "KeyError" in found.no_reference


def test_absent_models_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(real.VARIABLE, str(tmp_path))
    with pytest.raises(real.Absent, match=r"mnist8\.onnx is absent"):
        compare("real_mnist8", tmp_path, 1, 1, peers=())


def test_every_engine_says_how_it_is_set() -> None:
    for name in NAMES:
        assert settings(name) and version(name)
    assert version("walle") == walle_rt.__version__
