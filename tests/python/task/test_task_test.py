"""walle task test tells the truth: lines, time, order, budgets, the server's half, and what is expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_walle

from walle_rt.stream import Graph
from walle_rt.task import check
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(
    not (VM.available("device") and VM.available()), reason="no VM library: task run needs it"
)
FAILED, ARGUMENT = 7, 3
NOON = 1_700_049_600_000_000  # 2023-11-15 12:00 UTC
MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000


def answer(*arguments: object, **expected: Any) -> Any:
    return run_walle("task", "test", *arguments, "--json", **expected).json


def made(folder: Path, toml: str, main: str, events: list[dict[str, Any]], **files: str) -> Path:
    folder.mkdir()
    (folder / "task.toml").write_text(
        'task = {name = "t", version = "1.0.0"}\nentry = {main = "main"}\n'
        'resources.exclude = ["events.jsonl"]\n' + toml
    )
    (folder / "main.py").write_text(main)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


TAPS = """
triggers = {tapped = "tap"}
results.taps.columns = {n = "int"}
events.tap.fields = {n = {type = "int", sensitivity = "open"}}
"""
COUNT = "def main(event):\n    return {'n': event['fields']['n']}\n"


def taps(*times: int) -> list[dict[str, Any]]:
    return [{"event": "tap", "ts": ts, "contents": {"n": n}} for n, ts in enumerate(times, 1)]


def test_lines_stand_above_their_firing(tmp_path: Path) -> None:
    task = made(
        tmp_path / "t", TAPS, "def main(event):\n    print('tap', event['number'])\n", taps(NOON, NOON + 1)
    )
    shown = run_walle("task", "test", task).stdout.splitlines()
    assert shown[0] == "  info: tap 1" and shown[1].startswith("#1 tapped")
    assert shown[2] == "  info: tap 2" and shown[3].startswith("#2 tapped")


def test_a_task_set_aside_is_loud(tmp_path: Path) -> None:
    task = made(
        tmp_path / "t", TAPS, "def main(event):\n    raise ValueError\n", taps(*range(NOON, NOON + 9))
    )
    shown = run_walle("task", "test", task, code=FAILED).stdout
    assert "SET ASIDE, and 4 firings did not run: set aside after 5 failures in a row" in shown


def test_events_out_of_order_are_refused_or_sorted(tmp_path: Path) -> None:
    task = made(tmp_path / "t", TAPS, COUNT, taps(NOON, NOON + 2, NOON + 1))
    run_walle("task", "test", task, code=ARGUMENT, says="events.jsonl, line 3")
    told = answer(task, "--sort")
    assert [row["n"] for row in told["tables"]["taps"]] == [1, 3, 2]
    assert [firing["ts"] for firing in told["firings"]] == [NOON, NOON + 1, NOON + 2]


def test_time_passes_as_on_a_device_that_is_on(tmp_path: Path) -> None:
    toml = TAPS.replace('tapped = "tap"', 'night = "daily 03:00", gone = "tap !~ tap for 1d"')
    task = made(tmp_path / "t", toml, "def main(event):\n    pass\n", taps(NOON, NOON + 3 * DAY))
    fired = [(f["trigger"], (f["ts"] - NOON) // HOUR) for f in answer(task, "--after", "5d")["firings"]]
    nights = [("night", 15 + 24 * day) for day in range(8)]
    assert fired == sorted([*nights, ("gone", 24), ("gone", 96)], key=lambda each: each[1])
    run_walle("task", "test", task, "--after", "5x", code=ARGUMENT, says="a duration")


def test_more_than_can_fall_due_is_refused(tmp_path: Path) -> None:
    toml = TAPS.replace('tapped = "tap"', 'often = "every 1ms"')
    task = made(tmp_path / "t", toml, "def main(event):\n    pass\n", taps(NOON, NOON + DAY))
    run_walle("task", "test", task, code=ARGUMENT, says="falls due")


SENDS = (
    TAPS
    + """
capabilities.host_calls = ["walle.stream"]
egress.taps = {fields = {n = "int"}, bytes_per_day = "64K", sends_per_day = 2}
"""
)
SEND = """
import walle

def main(event):
    try:
        walle.stream.send("taps", walle.stream.run("n.graph", event))
    except PermissionError:
        print("refused")
"""


def test_budgets_go_by_the_days_of_the_recording(tmp_path: Path) -> None:
    times = [NOON, NOON + 1, NOON + 2, NOON + DAY, NOON + DAY + 1, NOON + DAY + 2]
    task = made(tmp_path / "t", SENDS, SEND, taps(*times))
    (task / "n.graph").write_bytes(Graph().select("n").to_bytes())
    told = answer(task)
    assert [sent["columns"]["n"] for sent in told["sent"]] == [[1], [2], [4], [5]]
    assert [line for _, line in told["log"]] == ["refused", "refused"]


def test_sending_no_rows_spends_nothing_and_writes_nothing(tmp_path: Path) -> None:
    toml = SENDS.replace("sends_per_day = 2", "sends_per_day = 1, consent = 'ads'")
    source = SEND.replace("walle.stream.send(", "print(walle.stream.send(").replace("event))", "event)))")
    task = made(tmp_path / "t", toml, source, taps(NOON, NOON + 1, NOON + 2, NOON + 3, NOON + 4))
    (task / "n.graph").write_bytes(Graph().filter("n == 2 or n == 4").select("n").to_bytes())
    told = answer(task)
    assert [sent["columns"]["n"] for sent in told["sent"]] == [[2]]
    assert [line for _, line in told["log"]] == ["False", "True", "False", "refused", "False"]
    told = answer(task, "--consent", "none")
    assert told["sent"] == [] and {line for _, line in told["log"]} == {"refused"}


def test_features_are_kept_as_on_a_device(tmp_path: Path) -> None:
    toml = TAPS.replace("{n = {", "{who = 'text', n = {")
    toml += 'features.sum = {event = "tap", by = ["who"], aggregate = "sum", value = "n", over = "1m"}\n'
    source = """
import walle

def main(event):
    print(walle.features.get("sum", ["ann", "bob"]))
"""
    events = taps(NOON, NOON + MINUTE, NOON + MINUTE + 1)
    for event, who in zip(events, ["ann", "ann", "bob"], strict=True):
        event["contents"]["who"] = who
    task = made(tmp_path / "t", toml, source, events)
    assert [line for _, line in answer(task)["log"]] == ["[1, None]", "[3, None]", "[2, 3]"]


def test_functions_of_a_file_stand_for_the_apps(tmp_path: Path) -> None:
    toml = TAPS + 'app.price = {arguments = ["int"], returns = "int"}\n'
    source = """
import walle

def main(event):
    print(walle.app.price(event["fields"]["n"]))
"""
    task = made(tmp_path / "t", toml, source, taps(NOON, NOON + 1))
    (tmp_path / "app.py").write_text("def price(n):\n    return n * 10\n")
    assert [line for _, line in answer(task, "--app", tmp_path / "app.py")["log"]] == ["10", "20"]
    assert "does not provide" in run_walle("task", "test", task, code=FAILED).stdout
    (tmp_path / "app.py").write_text("price = 1 / 0\n")
    run_walle("task", "test", task, "--app", tmp_path / "app.py", code=ARGUMENT, says="ZeroDivisionError")


def test_parameters_are_given_by_name(tmp_path: Path) -> None:
    toml = (
        TAPS
        + 'params = {least = {type = "int", default = 1, max = 9}, on = {type = "bool", default = true}}\n'
    )
    source = """
import walle

def main(event):
    if walle.params["on"] and event["fields"]["n"] >= walle.params["least"]:
        print(event["fields"]["n"])
"""
    task = made(tmp_path / "t", toml, source, taps(NOON, NOON + 1))
    assert [line for _, line in answer(task)["log"]] == ["1", "2"]
    assert [line for _, line in answer(task, "--param", "least=2")["log"]] == ["2"]
    assert answer(task, "--param", "on=false")["log"] == []
    for given, says in (
        ("least", "NAME=VALUE"),
        ("lest=1", "one of least, on"),
        ("least=x", "a value of type int"),
        ("least=10", "at most 9"),
        ("on=yes", "true or false"),
    ):
        run_walle("task", "test", task, "--param", given, code=ARGUMENT, says=says)


def test_attempts_stand_in_lines_of_their_own(tmp_path: Path) -> None:
    toml = TAPS + 'retry = {attempts = 2, first_delay = "1m"}\n'
    source = """
def main(event):
    if event["attempt"] <= event["fields"]["n"]:
        raise ValueError
"""
    task = made(tmp_path / "t", toml, source, taps(NOON, NOON + 10 * MINUTE))
    shown = run_walle("task", "test", task, code=FAILED).stdout
    assert f"#1 tapped at {NOON}: execute" in shown and f"FAILED, is tried again at {NOON + MINUTE}" in shown
    assert f"#1 tapped, attempt 2, at {NOON}" in shown
    assert "2 events, 2 firings, 1 failed, 1 wait to be tried again (--after lets time pass)" in shown
    shown = run_walle("task", "test", task, "--after", "1h", code=FAILED).stdout
    assert "2 firings, 1 failed;" in shown and "#2 tapped, attempt 2" in shown
    (task / "main.py").write_text(source.replace('["n"]', '["n"] - 1'))
    told = answer(task, "--after", "1h")
    assert [(f["number"], f["attempt"], f["error"] is None) for f in told["firings"]] == [
        (1, 1, True),
        (2, 1, False),
        (2, 2, True),
    ]
    run_walle("task", "test", task, "--after", "1h", "--update")
    assert '"attempt": 2' in (task / "expected.json").read_text()


def test_a_graph_that_gives_no_rows_sends_nothing(tmp_path: Path) -> None:
    toml = SENDS.replace("sends_per_day = 2", "sends_per_day = 1, graph = 'n.graph'")
    task = made(tmp_path / "t", toml, "def main(event):\n    pass\n", taps(NOON, NOON + 1, NOON + 2))
    (task / "n.graph").write_bytes(Graph().filter("n == 3").select("n").to_bytes())
    told = answer(task)
    assert [sent["columns"]["n"] for sent in told["sent"]] == [[3]] and told["log"] == []


def test_the_servers_half_answers(tmp_path: Path) -> None:
    toml = SENDS.replace("sends_per_day = 2", "sends_per_day = 9") + (
        'cloud = {question = "taps", answers = "known"}\nresults.known.columns = {n = "int", even = "bool"}\n'
    )
    cloud = """
def answer(question):
    n = int(question["columns"]["n"][0])
    if n == 3:
        raise ValueError("three")
    return {"n": n, "even": n % 2 == 0}
"""
    task = made(tmp_path / "t", toml, SEND, taps(NOON, NOON + 1, NOON + 2), cloud=cloud)
    (task / "n.graph").write_bytes(Graph().select("n").to_bytes())
    told = answer(task)
    assert told["tables"]["known"] == [{"n": 1, "even": False}, {"n": 2, "even": True}]
    assert [a["error"][:10] for a in told["answers"]][:2] == ["", ""] and "three" in told["answers"][2][
        "error"
    ]
    assert "cloud answers #2: n=2 even=True" in run_walle("task", "test", task).stdout


def test_what_is_expected_is_compared(tmp_path: Path) -> None:
    task = made(tmp_path / "t", TAPS, COUNT, taps(NOON, NOON + 1))
    run_walle("task", "test", task, "--update")
    expected = json.loads((task / "expected.json").read_text())
    assert expected["tables"] == {"taps": [{"n": 1}, {"n": 2}]} and len(expected["firings"]) == 2
    assert "as " in run_walle("task", "test", task).stdout
    assert answer(task)["differences"] == []
    (task / "main.py").write_text(COUNT.replace("['n']}", "['n'] * 10}"))
    shown = run_walle("task", "test", task, code=FAILED).stdout
    assert "expects:" in shown and '-      {"n": 1}' in shown and '+      {"n": 10}' in shown
    assert answer(task, code=FAILED)["differences"]
    run_walle("task", "test", task, "--expect", tmp_path / "other.json", "--update")
    assert "as " in run_walle("task", "test", task, "--expect", tmp_path / "other.json").stdout
    run_walle("task", "compile", task, "-o", tmp_path / "t.wtask")
    assert "expected.json" not in run_walle("task", "lint", task).stdout


@pytest.mark.parametrize(
    ("trigger", "source", "told"),
    [
        ("tap", "import numpy\ndef main(event):\n    pass\n", "walle.Tensor"),
        ("(tap | tap@home)[n > 1]", COUNT, "(a[x > 1] | b[x > 1])"),
        ("tap once or tap", COUNT, "a or b within 5m"),
        ("tap", "def main(event):\n    return {'n': event['fields']['num']}\n", "did you mean 'number'?"),
        (
            "tap",
            "def main(event):\n    return {'n': event['fields'].get('numbr')}\n",
            "did you mean 'number'?",
        ),
        ("tap[numbr > 1]", COUNT, "did you mean 'number'?"),
    ],
)
def test_common_mistakes_name_the_way_out(tmp_path: Path, trigger: str, source: str, told: str) -> None:
    toml = (
        TAPS.replace("{n = {", "{number = {").replace('"tap"', f'"{trigger}"') + 'catalog.pages = ["home"]\n'
    )
    task = made(tmp_path / "t", toml, source, [])
    assert any(told in str(mistake) for mistake in check(task)), [str(m) for m in check(task)]
