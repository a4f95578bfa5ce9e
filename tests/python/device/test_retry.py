"""[retry]: what the task's code raised is tried again, in time, over restarts, and once in effect."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from device_tasks import Open
from waits import PATIENCE_S, until

from walle_rt.device import Device, TaskResult
from walle_rt.task import check

T0 = 1_700_000_000_000_000
SECOND = 1_000_000
TOML = """
task = {{name = "again", version = "{version}", breaker = {breaker}{more}}}
triggers = {{seen = "tap"}}
entry = {{main = "main"}}
capabilities.host_calls = ["walle.results", "walle.kv"]
retry = {{{retry}}}
results.again.columns = {{n = "int", attempt = "int"}}
events.tap.fields = {{n = "int"}}
"""
# Event n fails n times; what it appends before goes with the attempt.
MAIN = """
import walle

def main(event):
    n = event["fields"]["n"]
    walle.results.append("again", {"n": -n, "attempt": event["attempt"]})
    if event["attempt"] <= n:
        raise ValueError("attempt %d of event %d" % (event["attempt"], n))
    return {"n": n, "attempt": event["attempt"]}
"""
THRICE = 'attempts = 3, first_delay = "10s", factor = 3'
Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    made = 0

    def make(
        retry: str = THRICE, source: str = MAIN, version: str = "1.0.0", breaker: int = 5, more: str = ""
    ) -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"t{made}"
        path.mkdir()
        text = TOML.format(version=version, breaker=breaker, more=more, retry=retry)
        (path / "task.toml").write_text(text if retry else text.replace("retry = {}\n", ""))
        (path / "main.py").write_text(source)
        return path

    return make


def by_hand(opened: Open, **options: Any) -> Device:
    return opened(recorded=True, background=False, **options)


def tap(device: Device, n: int, after_s: int = 0) -> None:
    device.record("tap", contents={"n": n}, ts=T0 + after_s * SECOND)
    assert device.wait(PATIENCE_S)


def at(device: Device, after_s: int) -> list[tuple[int, int]]:
    """Rows when so much time has passed."""
    device.advance(T0 + after_s * SECOND)
    assert device.wait(PATIENCE_S)
    return [(row["n"], row["attempt"]) for row in device.results("again")]


def test_it_is_tried_again_after_each_delay_and_leaves_one_result(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    told: list[TaskResult] = []
    device.install(folder())
    device.on_result(told.append)
    tap(device, 2)
    info = device.task("again")
    assert (info.firings, info.failures, info.retries, info.retrying) == (0, 0, 1, 1)
    assert info.next_retry == T0 + 10 * SECOND and info.settled == 1 and "attempt 1 of 3" in info.error
    assert at(device, 9) == [] and device.task("again").retries == 1
    assert at(device, 10) == [] and device.task("again").next_retry == T0 + 40 * SECOND
    assert at(device, 39) == []
    assert at(device, 40) == [(-2, 3), (2, 3)]
    info = device.task("again")
    assert (info.firings, info.failures, info.retries, info.retrying, info.next_retry) == (1, 0, 2, 0, 0)
    assert info.failures_in_row == 0
    assert [(r.number, r.attempt, r.ok, r.retry_at and r.retry_at - T0) for r in told] == [
        (1, 1, False, 10 * SECOND),
        (1, 2, False, 30 * SECOND + 10 * SECOND),
        (1, 3, True, 0),
    ]
    assert at(device, 100_000) == [(-2, 3), (2, 3)]


def test_the_last_attempt_is_the_failure_that_counts(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    device.install(folder('attempts = 2, first_delay = "1s"', breaker=2))
    for n in (9, 8):
        tap(device, n)
    info = device.task("again")
    assert (info.failures_in_row, info.status, info.retrying) == (0, "idle", 2)
    assert at(device, 1) == []
    info = device.task("again")
    assert (info.failures, info.retries, info.failures_in_row, info.status) == (2, 2, 2, "set aside")


def test_others_go_on_meanwhile_and_what_is_due_goes_first(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    told: list[tuple[int, int]] = []
    device.install(folder())
    device.on_result(lambda result: told.append((result.number, result.attempt)))
    tap(device, 1)
    tap(device, 0, 2)
    tap(device, 1, 3)
    assert at(device, 60) == [(0, 1), (0, 1), (-1, 2), (1, 2), (-1, 2), (1, 2)]
    assert told == [(1, 1), (2, 1), (3, 1), (1, 2), (3, 2)]


@pytest.mark.parametrize(
    ("source", "phase"),
    [
        ("def main(event):\n    while True:\n        pass\n", "main"),
        ("def main(event):\n    return {'no such column': 1}\n", "results"),
    ],
)
def test_limits_and_refused_rows_are_not_tried_again(
    opened: Open, folder: Make, source: str, phase: str
) -> None:
    device = by_hand(opened)
    path = folder(source=source)
    with (path / "task.toml").open("a") as toml:
        toml.write("limits.main.wall_ms = 50\n")
    device.install(path)
    told: list[TaskResult] = []
    device.on_result(told.append)
    tap(device, 1)
    info = device.task("again")
    assert (info.failures, info.retries, info.retrying) == (1, 0, 0)
    assert told[0].error is not None and told[0].error.phase == phase and told[0].retry_at == 0


def test_it_waits_over_restarts(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    device.install(folder())
    tap(device, 2)
    device.close()
    device = by_hand(opened)
    info = device.task("again")
    assert (info.retrying, info.next_retry) == (1, T0 + 10 * SECOND)
    assert device.wait(PATIENCE_S) and device.task("again").retries == 0, "no time is known yet"
    assert at(device, 10) == []
    device.close()
    device = by_hand(opened)
    assert at(device, 40) == [(-2, 3), (2, 3)]
    device.close()
    device = by_hand(opened)
    assert device.task("again").retrying == 0 and at(device, 1000) == [(-2, 3), (2, 3)]


VICTIM = """
import os, signal, sys
from pathlib import Path
from walle_rt.device import Device
device = Device(sys.argv[1], recorded=True, background=False)
if len(sys.argv) > 3:
    device.install(Path(sys.argv[3]))
    device.record("tap", contents={"n": 2}, ts=1_700_000_000_000_000)
else:
    device.advance(int(sys.argv[2]))
device.wait(60)
info = device.task("again")
print(info.retries, info.firings, info.retrying, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_neither_loses_nor_repeats_an_attempt(
    opened: Open, folder: Make, tmp_path: Path
) -> None:
    def killed(*args: object) -> str:
        command = [sys.executable, "-c", VICTIM, str(tmp_path / "device"), *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    opened().close()
    assert killed(T0, folder()) == "1 0 1"
    assert killed(T0 + 10 * SECOND) == "1 0 1"
    assert killed(T0 + 20 * SECOND) == "0 0 1", "the third is not due yet"
    assert killed(T0 + 40 * SECOND) == "0 1 0"
    device = by_hand(opened)
    assert at(device, 1000) == [(-2, 3), (2, 3)] and device.task("again").firings == 0


def test_no_more_wait_than_are_declared(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    device.install(folder('attempts = 2, first_delay = "1m", waiting = 2', breaker=100))
    for n in (5, 6, 7):
        tap(device, n)
    info = device.task("again")
    assert (info.retrying, info.failures) == (2, 1)
    assert "not tried again: 2 firings wait for that already" in info.error


def test_another_version_goes_on_with_them_and_a_removed_task_has_none(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    device.install(folder())
    tap(device, 5)
    device.install(folder("", MAIN.replace("<= n", "< 0"), version="2.0.0"))
    assert device.task("again").retrying == 1
    assert at(device, 10) == [(-5, 2), (5, 2)]
    device.install(folder(version="3.0.0"))
    tap(device, 5, 11)
    device.remove("again")
    device.install(folder())
    assert device.task("again").retrying == 0 and at(device, 1000) == [(-5, 2), (5, 2)]


def test_they_outlive_the_list_of_tasks(opened: Open, folder: Make, tmp_path: Path) -> None:
    """What waits when both copies are damaged is tried again once the task is installed again."""
    device = by_hand(opened)
    device.install(folder())
    tap(device, 1)
    where = device.path
    device.close()
    for copy in ("tasks.wals", "tasks.wals.mirror"):
        (where / copy).write_bytes(b"nothing of ours")
    device = by_hand(opened)
    assert [loss.what for loss in device.losses()] == ["tasks"] and device.tasks() == {}
    device.install(folder())
    assert device.task("again").retrying == 1
    assert at(device, 10) == [(-1, 2), (1, 2)]


def test_a_task_that_is_set_aside_keeps_them(opened: Open, folder: Make) -> None:
    device = by_hand(opened)
    device.install(folder(breaker=1))
    tap(device, 1)
    device.install(folder("", "def main(event):\n    raise ValueError\n", version="1.1.0", breaker=1))
    tap(device, 0, 1)
    assert device.task("again").status == "set aside" and at(device, 500) == []
    assert device.task("again").retrying == 1
    device.install(folder(version="1.2.0"))
    assert device.wait(PATIENCE_S) and at(device, 501) == [(-1, 2), (1, 2)]


def test_phases_begin_anew_when_the_facts_hold(opened: Open, folder: Make) -> None:
    source = """
def before(event):
    return {"n": event["fields"]["n"], "attempt": event["attempt"]}

def during(inputs):
    if inputs["attempt"] <= inputs["n"]:
        raise ValueError
    return inputs

def after(outputs, event):
    assert event["attempt"] == outputs["attempt"]
    return outputs
"""
    path = folder(source=source, more=', requires = ["idle"]')
    toml = (path / "task.toml").read_text()
    phases = '{preprocess = "before", execute = "during", postprocess = "after"}'
    (path / "task.toml").write_text(
        toml.replace('{main = "main"}', phases).replace(
            'capabilities.host_calls = ["walle.results", "walle.kv"]', ""
        )
    )
    device = by_hand(opened)
    device.install(path)
    device.set_facts(idle=True)
    tap(device, 1)
    device.set_facts(idle=False)
    assert at(device, 60) == [] and device.task("again").retrying == 1
    device.set_facts(idle=True)
    assert at(device, 60) == [(1, 2)]


def test_the_devices_own_time_passes(opened: Open, folder: Make) -> None:
    device = opened()
    device.install(folder('attempts = 2, first_delay = "1s"'))
    device.record("tap", contents={"n": 1})
    assert device.wait(PATIENCE_S) and device.task("again").retrying == 1
    until(lambda: len(device.results("again")) == 2, "nothing is tried again")


@pytest.mark.parametrize(
    ("retry", "says"),
    [
        ("attempts = 17", "an integer from 1 to 16"),
        ('attempts = 2, first_delay = "2h"', "exceeds max_delay"),
        ('attempts = 2, first_delay = "0s"', "a duration"),
        ("attempts = 2, factor = 11", "an integer from 1 to 10"),
        ("attempts = 2, waiting = 0", "an integer from 1 to 1,024"),
        ("attempts = 2, delay = 3", "key 'delay' in [retry]"),
    ],
)
def test_what_means_nothing_is_refused_with_its_line(folder: Make, retry: str, says: str) -> None:
    found = [m for m in check(folder(retry)) if m.error]
    assert [m.line for m in found] == [6] and says in str(found[0])
