"""walle task init | lint | test | bench | compile and walle device run | status, as a user runs them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_command, run_walle

from walle_rt.stream._log import EventLog
from walle_rt.stream._record import record
from walle_rt.task import Task
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(
    not (VM.available("device") and VM.available()), reason="no VM library: task run needs it"
)
TASK_FAILED, NOT_AN_ARGUMENT, BAD_MODEL, NO_FILE, USAGE = 7, 3, 4, 5, 2


def answer(*arguments: object, **expected: Any) -> Any:
    return run_walle(*arguments, "--json", **expected).json


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """What init writes."""
    assert "next: walle task test" in run_walle("task", "init", tmp_path / "visits").stdout
    return tmp_path / "visits"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_what_init_writes_is_right(visits: Path) -> None:
    assert answer("task", "lint", visits) == {"errors": 0, "mistakes": []}
    told = answer("task", "test", visits)
    assert told["tables"] == {
        "visits": [{"item": 7, "visits": 1}, {"item": 8, "visits": 1}, {"item": 7, "visits": 2}]
    }
    assert told["events"] == 9 and told["sent"] == [] and told["heap_bytes"] > 0
    assert [f["number"] for f in told["firings"]] == [1, 2, 3]
    assert all(f["error"] is None and f["execute_us"] > 0 and f["rows"] == 1 for f in told["firings"])
    assert told["log"] == [[1, "item 7: visit 1"], [1, "item 8: visit 1"], [1, "item 7: visit 2"]]
    shown = run_walle("task", "test", visits).stdout
    assert "9 events, 3 firings, 0 failed" in shown
    assert (
        "table visits: 3 rows\n  item=7 visits=1\n" in shown and "would leave the device: 0 records" in shown
    )


def test_init_writes_over_nothing(visits: Path, tmp_path: Path) -> None:
    before = (visits / "main.py").read_text()
    run_walle("task", "init", visits, code=NOT_AN_ARGUMENT, says="which is there")
    assert (visits / "main.py").read_text() == before
    run_walle("task", "init", tmp_path / "My Task", code=NOT_AN_ARGUMENT, says="1 to 64 of a-z")
    assert not (tmp_path / "My Task").exists()
    assert len(answer("task", "init", tmp_path / "My Task", "--name", "mine")["files"]) == 3
    assert Task(tmp_path / "My Task").spec.name == "mine"


def test_what_the_compiler_warns_of_is_a_finding(visits: Path) -> None:
    file = visits / "main.py"
    file.write_text('PATTERN = "\\d"\n' + file.read_text() + "\nassert (PATTERN, 1)\n")
    last = len(file.read_text().splitlines())
    told = answer("task", "lint", visits)
    assert told["errors"] == 0
    assert [(m["file"], m["line"], m["error"]) for m in told["mistakes"]] == [
        ("main.py", 1, False),
        ("main.py", last, False),
    ]
    done = run_walle("task", "compile", visits, "-o", visits / "x.wtask")
    assert f"[at main.py, line {last}]" in done.stdout and "assertion is always true" in done.stdout
    assert done.stderr == "" and (visits / "x.wtask").is_file()


def test_lint_shows_every_mistake(visits: Path) -> None:
    edit(visits / "task.toml", "wall_ms", "wal_ms")
    edit(visits / "main.py", "def main(event)", "def mian(event)")
    told = answer("task", "lint", visits, code=TASK_FAILED)
    assert told["errors"] == 2
    assert [m["next_step"] for m in told["mistakes"]] == ["did you mean 'mian'?", "did you mean 'wall_ms'?"]
    shown = run_walle("task", "lint", visits, code=TASK_FAILED).stdout
    assert "2 errors, 0 warnings" in shown
    assert shown.startswith(
        "error: main = 'main', which main.py does not define; expected one of mian [at task.toml"
    )
    for command in (["test"], ["bench"], ["compile", "-o", visits / "x.wtask"]):
        run_walle(
            "task", *command[:1], visits, *command[1:], code=TASK_FAILED, says="walle task lint shows all"
        )


def test_a_firing_that_fails(visits: Path) -> None:
    edit(visits / "main.py", "    walle.log", "    1 / (visits - 1)\n    walle.log")
    done = run_walle("task", "test", visits, code=TASK_FAILED)
    assert (
        "3 firings, 3 failed" in done.stdout
        and "ZeroDivisionError" in done.stdout
        and "1 / (visits - 1)" in done.stdout
    )
    told = answer("task", "test", visits, code=TASK_FAILED)
    error = told["firings"][0]["error"]
    assert (error["phase"], error["type"], error["file"], error["line"]) == (
        "main",
        "ZeroDivisionError",
        "main.py",
        11,
    )
    assert told["tables"]["visits"] == []  # a firing that fails changes no state: all are the first


def test_a_firing_that_does_not_end(visits: Path) -> None:
    edit(visits / "main.py", "    walle.log", "    while True: pass\n    walle.log")
    told = answer("task", "test", visits, code=TASK_FAILED)
    assert [f["error"]["limit"] for f in told["firings"]] == ["wall"] * 3
    assert told["firings"][0]["error"]["allowed"] == "200 ms"


def test_a_row_of_another_schema(visits: Path) -> None:
    edit(visits / "main.py", '"visits": visits}', '"visit": visits}')
    told = answer("task", "test", visits, code=TASK_FAILED)
    assert "did you mean 'visits'?" in told["firings"][0]["error"]["text"]


def test_facts_are_waited_for(visits: Path) -> None:
    edit(visits / "task.toml", "[triggers]", 'requires = ["charging"]\n[triggers]')
    assert len(answer("task", "test", visits)["firings"]) == 3
    told = answer("task", "test", visits, "--fact", "idle")
    assert told["firings"] == [] and told["task"]["status"] == "waiting"
    assert told["task"]["missing_facts"] == ["charging"]


def test_time_passes_behind_the_last_event(visits: Path) -> None:
    edit(visits / "task.toml", "page_enter@item ~ click@item within 10m", "click@item !~ click@item for 10m")
    edit(visits / "main.py", 'event["fields"]["item"]', "1")
    assert len(answer("task", "test", visits)["firings"]) == 0
    assert len(answer("task", "test", visits, "--after", "9m")["firings"]) == 0
    assert len(answer("task", "test", visits, "--after", "10m")["firings"]) == 1
    run_walle("task", "test", visits, "--after", "10 minutes", code=NOT_AN_ARGUMENT, says="as 90s, 2h or 1d")


def test_bench_gives_percentiles(visits: Path) -> None:
    told = answer("task", "bench", visits, "--repeat", 4)
    assert told["firings"] == 12 and told["failed"] == 0
    assert 0 < told["us"]["execute"]["p50"] <= told["us"]["execute"]["p99"]
    assert "execute" in run_walle("task", "bench", visits, "--repeat", 2).stdout
    run_walle("task", "bench", visits, "--repeat", 0, code=USAGE, says="Invalid value")


# Files of events, and what is said of them.
BAD_EVENTS = [
    (b"{", BAD_MODEL, "a line that is no JSON"),
    (b'{"event": "click", "ts": 1700000000000000}\n[1]\n', BAD_MODEL, "line 2"),
    (b'{"evnt": "click"}', BAD_MODEL, "key 'evnt'"),
    (b'{"page": "item"}', BAD_MODEL, "without the name of an event"),
    (b'{"event": "click", "ts": "now"}', BAD_MODEL, "ts 'now'"),
    (b'{"event": "click", "ts": 1e300}', BAD_MODEL, "ts 1e+300"),
    (b'{"event": "click", "contents": 1}', BAD_MODEL, "contents 1"),
    (b'{"event": "buy"}', NOT_AN_ARGUMENT, "line 1"),
    (b'{"event": "click", "page": "items"}', NOT_AN_ARGUMENT, "line 1"),
    (b'{"event": "click", "contents": {"item": "x"}}', NOT_AN_ARGUMENT, "line 1"),
    (b'{"event": "\xff"}', BAD_MODEL, "no UTF-8"),
    (b'{"catalog": "zz"}', BAD_MODEL, "no hexadecimal"),
    (b"[" * 100_000, BAD_MODEL, "line 1"),
]


@pytest.mark.parametrize(("data", "code", "says"), BAD_EVENTS, ids=[says for _, _, says in BAD_EVENTS])
def test_bad_events_are_told_with_their_line(data: bytes, code: int, says: str, visits: Path) -> None:
    file = visits / "events.jsonl"
    file.write_bytes(data)
    run_walle("task", "test", visits, code=code, says=says)


def test_no_events(visits: Path, tmp_path: Path) -> None:
    (visits / "events.jsonl").write_text("")
    assert answer("task", "test", visits)["events"] == 0
    assert answer("task", "bench", visits)["firings"] == 0
    (visits / "events.jsonl").unlink()
    run_walle("task", "test", visits, code=NOT_AN_ARGUMENT, says="no --events")
    run_walle("task", "test", visits, "--events", tmp_path / "no", code=NO_FILE, says="No such file")
    run_walle("task", "test", visits, "--events", tmp_path, code=NO_FILE, says="an event log")
    run_walle("task", "test", tmp_path / "no", code=NO_FILE, says="walle task init")


def test_events_of_a_recording_a_log_and_a_pipe(visits: Path, tmp_path: Path) -> None:
    with EventLog(tmp_path / "log", Task(visits).spec.catalog(), max_age_s=1e9) as log:
        for ts in (1_700_000_000_000_000, 1_700_000_100_000_000):
            log.append("page_enter", "item", ts=ts)
            log.append("click", "item", {"item": 3}, ts=ts + 1)
            log.append("page_exit", "item", ts=ts + 2)
        record(log, tmp_path / "log.jsonl.gz")
    for source in (tmp_path / "log", tmp_path / "log.jsonl.gz"):
        told = answer("task", "test", visits, "--events", source)
        assert told["tables"]["visits"] == [{"item": 3, "visits": 1}, {"item": 3, "visits": 2}], source
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(b'{"event": "click"}\n' * 99)[:-9])
    run_walle("task", "test", visits, "--events", tmp_path / "log.jsonl.gz", code=BAD_MODEL, says="damaged")
    line = f"cat {visits}/events.jsonl | walle task test {visits} --events - --json"
    assert len(run_command(["bash", "-c", line]).json["firings"]) == 3


def test_a_device_runs_a_bundle(visits: Path, tmp_path: Path) -> None:
    bundle, device, events = tmp_path / "visits.wtask", tmp_path / "device", visits / "events.jsonl"
    run_walle("task", "compile", visits, "-o", bundle)
    done = run_walle("device", "run", device, "--tasks", bundle, "--events", events)
    assert "9 events recorded" in done.stdout
    assert done.stdout.count("1 rows, 0 sends") == 3
    # The task is installed, its table and walle.kv are there; a folder does as well as a bundle.
    done = run_walle("device", "run", device, "--tasks", visits, "--events", events, "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [t["value"]["visits"] for t in told[:-1]] == [3, 2, 4]
    assert told[-1]["device"]["tables"] == {"visits.visits": {"rows": 6, "newest": 6, "removed": 0}}
    told = answer("device", "status", device)
    assert told["tasks"]["visits"]["version"] == "0.1.0" and told["stats"]["last_event"] >= 18
    assert told["tables"]["visits.visits"]["rows"] == 6
    assert "visits 0.1.0: idle" in run_walle("device", "status", device).stdout


def test_a_device_tells_of_damage_until_it_is_acknowledged(visits: Path, tmp_path: Path) -> None:
    device = tmp_path / "device"
    run_walle("device", "run", device, "--tasks", visits, "--events", visits / "events.jsonl")
    [segment] = (device / "tables").glob("visits.visits.*.wtab")
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    segment.write_bytes(damaged)
    # Nobody has read it: a start does not.
    assert answer("device", "status", device)["losses"] == []
    [loss] = answer("device", "status", device, "--verify")["losses"]
    assert (loss["what"], loss["kind"], loss["name"], loss["count"]) == (
        "rows",
        "damaged_segment",
        "visits.visits",
        3,
    )
    assert answer("device", "status", device)["losses"] == [loss]
    assert "lost: 3 rows of visits.visits from 1 to 3: " in run_walle("device", "status", device).stdout
    run_walle("device", "status", device, "--acknowledge")
    assert answer("device", "status", device, "--verify")["losses"] == []


def test_a_device_that_is_none(visits: Path, tmp_path: Path) -> None:
    run_walle("device", "status", tmp_path / "no", code=NOT_AN_ARGUMENT, says="a device's folder")
    assert not (tmp_path / "no").exists()
    device, events = tmp_path / "device", visits / "events.jsonl"
    (tmp_path / "bad.wtask").write_bytes(b"WTASK001" + bytes(40))
    run_walle(
        "device",
        "run",
        device,
        "--tasks",
        tmp_path / "bad.wtask",
        "--events",
        events,
        code=TASK_FAILED,
        says="task",
    )
    run_walle(
        "device",
        "run",
        device,
        "--tasks",
        tmp_path / "no.wtask",
        "--events",
        events,
        code=NO_FILE,
        says="no.wtask",
    )
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "main.py").write_text("def main(event):\n    return None\n")
    run_walle("task", "compile", plain, "-o", tmp_path / "plain.wtask")
    run_walle(
        "device",
        "run",
        device,
        "--tasks",
        tmp_path / "plain.wtask",
        "--events",
        events,
        code=TASK_FAILED,
        says="manifest",
    )
