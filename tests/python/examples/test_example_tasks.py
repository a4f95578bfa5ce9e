"""The example tasks: prepared as their READMEs say, run by walle task test, compared with what is true."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_command, run_walle

from walle_rt.vm import VM

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
pytestmark = pytest.mark.skipif(
    not (VM.available("device") and VM.available()), reason="no VM library: tasks cannot run"
)
# With the shared data where it is at hand, and without it.
DATA = [
    pytest.param({}, id="data"),
    pytest.param({"WALLE_TEST_DATA": "", "WALLE_TEST_MODELS": ""}, id="generated"),
]


def prepared(name: str, folder: Path, environment: dict[str, str], *options: object) -> dict[str, Any]:
    run_command([sys.executable, EXAMPLES / name / "prepare.py", folder, *options], environment=environment)
    return dict(json.loads((folder / "truth.json").read_text()))


def trial_of(task: Path, folder: Path, *options: object) -> Any:
    run_walle("task", "lint", task)
    told = run_walle("task", "test", task, "--events", folder / "events.jsonl", *options, "--json").json
    assert all(firing["error"] is None for firing in told["firings"])
    return told


@pytest.mark.parametrize("environment", DATA)
def test_voice_hears_words_of_speakers_it_never_heard(environment: dict[str, str], tmp_path: Path) -> None:
    truth = prepared("voice", tmp_path, environment, "--words", 20)
    assert sum(truth["accuracy"].values()) / len(truth["accuracy"]) >= 0.9
    told = trial_of(tmp_path / "task", tmp_path)
    rows = told["tables"]["words"]
    assert told["sent"] == [] and len(told["firings"]) == told["events"]
    right = 0
    for begin, end, word in truth["words"]:
        heard = [row for row in rows if row["start_ms"] < end * 1000 and row["end_ms"] > begin * 1000]
        right += [row["word"] for row in heard] == [word]
    assert right >= 0.85 * len(truth["words"]), rows


@pytest.mark.parametrize("environment", DATA)
def test_clicks_counts_what_is_counted_by_hand(environment: dict[str, str], tmp_path: Path) -> None:
    truth = prepared("clicks", tmp_path, environment, "--days", 5)
    told = trial_of(EXAMPLES / "clicks" / "task", tmp_path, "--after", "1d")
    days = {row["day"]: {end: row[end] for end in ("bought", "abandoned")} for row in told["tables"]["days"]}
    assert days == truth["days"]
    carts = told["tables"]["carts"]
    assert len(carts) == sum(day["bought"] + day["abandoned"] for day in days.values())
    assert all(0 <= row["minutes"] <= 60 for row in carts if row["end"] == "bought")
    assert told["sent"] == []


@pytest.mark.parametrize("environment", DATA)
def test_ipv_sends_codes_and_ranks(environment: dict[str, str], tmp_path: Path) -> None:
    truth = prepared("ipv", tmp_path, environment, "--pages", 12)
    told = trial_of(tmp_path / "task", tmp_path)
    assert [row["events"] for row in told["tables"]["pages"]] == truth["events"]
    assert [row["best"] for row in told["tables"]["pages"]] == truth["best"]
    # One code a page, as the encoder makes it of the page's feature by hand; nothing else leaves.
    assert [sorted(sent["columns"]) for sent in told["sent"]] == [["code", "ts"]] * len(truth["codes"])
    for sent, code in zip(told["sent"], truth["codes"], strict=True):
        assert sent["columns"]["code"][0] == pytest.approx(code, abs=1e-5)
    assert sum(sent["bytes"] for sent in told["sent"]) < truth["raw_bytes"] / 5


def test_ipv_keeps_what_nobody_agreed_to(tmp_path: Path) -> None:
    prepared("ipv", tmp_path, {"WALLE_TEST_DATA": ""}, "--pages", 3)
    events = tmp_path / "events.jsonl"
    arguments = ("task", "test", tmp_path / "task", "--events", events, "--consent", "other", "--json")
    told = run_walle(*arguments).json
    # The page's row stays on the device all the same.
    assert told["sent"] == [] and [firing["sends"] for firing in told["firings"]] == [0, 0, 0]
    assert len(told["tables"]["pages"]) == 3
