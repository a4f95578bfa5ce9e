"""The example tasks on real events: prepared by their own scripts, run on a device of their own each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..task import Task
from ..task._events import open_events
from ..task._trial import Trial, try_task
from ..vm import VM
from .report import heading, line

_DAY_US = 86_400_000_000
# How much of each is shown: what takes some seconds.
_OPTIONS = {"ipv": ("--pages", "60"), "voice": ("--words", "40"), "clicks": ("--days", "14")}


def run(examples: Path, shared: Path, output: Path) -> None:
    """All three, and what each makes of its events; ``shared`` holds data and models where nothing is set."""
    if not (VM.available() and VM.available("device")):
        heading("Tasks are left out")
        line("the VM's libraries are not built: walle doctor says why")
        return
    for name, tell in (("ipv", _ipv), ("voice", _voice), ("clicks", _clicks)):
        folder = output / "tasks" / name
        truth = _prepared(examples / name, folder, shared, _OPTIONS[name])
        task = Task(folder / "task" if (folder / "task").is_dir() else examples / name / "task")
        with open_events(str(folder / "events.jsonl")) as (catalog, lines):
            trial = try_task(task, lines, catalog, after_us=_DAY_US if name == "clicks" else 0)
        heading(f"Task {name} {task.spec.version}, on {truth['source']}")
        _show(trial)
        tell(trial, truth)


def _prepared(example: Path, folder: Path, shared: Path, options: tuple[str, ...]) -> dict[str, Any]:
    # A child: the script's imports lie beside it, and it is run as its README says.
    above = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (above, os.environ.get("PYTHONPATH"))))
    environment = {"WALLE_TEST_DATA": str(shared / "data"), "WALLE_TEST_MODELS": str(shared / "models")}
    environment |= {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, str(example / "prepare.py"), str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return dict(json.loads((folder / "truth.json").read_text()))


def _show(trial: Trial) -> None:
    times = np.array([f.preprocess_us + f.execute_us + f.postprocess_us for f in trial.firings[1:]] or [0])
    failed = sum(firing.error is not None for firing in trial.firings)
    counts = f"{trial.events} events, {len(trial.firings)} firings, {failed} failed"
    line(f"{counts}, isolate {trial.heap_bytes / 1e6:.1f} MB")
    line(f"a firing takes {np.median(times) / 1000:.2f} ms (95 %: {np.percentile(times, 95) / 1000:.2f} ms)")


def _ipv(trial: Trial, truth: dict[str, Any]) -> None:
    sent = sum(record.bytes for record in trial.sent)
    right = sum(row["best"] == best for row, best in zip(trial.tables["pages"], truth["best"], strict=False))
    line(f"{truth['raw_bytes']} bytes of events became {len(trial.sent)} codes, {sent} bytes with framing")
    line(f"the item to show next is the one computed by hand for {right} of {len(truth['best'])} pages")


def _voice(trial: Trial, truth: dict[str, Any]) -> None:
    heard = [
        [
            row["word"]
            for row in trial.tables["words"]
            if row["start_ms"] < end * 1000 and row["end_ms"] > begin * 1000
        ]
        for begin, end, _ in truth["words"]
    ]
    right = sum(words == [place[2]] for words, place in zip(heard, truth["words"], strict=True))
    known = sum(truth["accuracy"].values()) / len(truth["accuracy"])
    line(
        f"{right} of {len(heard)} words in {truth['seconds']:.0f} s of sound, by speakers that were held out"
    )
    line(f"the network alone tells {known:.0%} of their words; {len(trial.sent)} records leave the device")


def _clicks(trial: Trial, truth: dict[str, Any]) -> None:
    days = trial.tables["days"]
    found = {row["day"]: {"bought": row["bought"], "abandoned": row["abandoned"]} for row in days}
    for row in days[-3:]:
        took = f", {row['minutes']:.0f} minutes each" if row["minutes"] is not None else ""
        line(f"{row['day']}: {row['bought']} bought{took}, {row['abandoned']} abandoned")
    line(f"{len(days)} days, {'as' if found == truth['days'] else 'NOT as'} counted by hand")
