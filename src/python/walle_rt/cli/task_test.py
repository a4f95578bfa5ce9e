"""``walle task test|bench``: a task on recorded events, and what it makes of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..errors import ArgumentError
from ..task import Task
from ..task._events import Line, open_events
from ..task._folder import EXPECTED
from ..task._trial import Trial, try_task
from . import task_expected
from .app_file import stand_ins
from .console import emit_json, out, size_text
from .exits import command
from .options import Json
from .param_values import given_params
from .task_author import EXIT_TASK, Folder, plain

if TYPE_CHECKING:
    from ..device import TaskResult

PHASES = ("preprocess", "execute", "postprocess")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_EVENTS = "events.jsonl"
_SHOWN = 20  # numbers of a vector
_LEVELS = ("debug", "info", "warning", "error")

Events = Annotated[
    str,
    typer.Option(
        "--events",
        help="A recording or JSON lines, an event log's folder, or -; default: FOLDER/events.jsonl.",
    ),
]
Facts = Annotated[
    list[str] | None, typer.Option("--fact", help="A fact that holds; default: all that the task requires.")
]
Consents = Annotated[
    list[str] | None,
    typer.Option("--consent", help="A consent that was given; default: all that are asked for."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", help="NAME=VALUE of walle.params; default: what task.toml says."),
]
App = Annotated[Path | None, typer.Option(help="A Python file with functions in place of the application's.")]
After = Annotated[str, typer.Option(help="Time that passes behind the last event, as 90s, 2h or 1d.")]
Zone = Annotated[str, typer.Option(help="Time zone of daily and during, as Europe/Berlin.")]
Sorted = Annotated[bool, typer.Option("--sort", help="Feed events in order of their times.")]
Expect = Annotated[
    Path | None,
    typer.Option(
        help="Compare with this file, as --update writes it; default: FOLDER/expected.json, if it is there."
    ),
]
Update = Annotated[
    bool, typer.Option("--update", help="Write what came into that file, and compare nothing.")
]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds for the firings of one event.")]


@command
def test(
    folder: Folder,
    events: Events = "",
    fact: Facts = None,
    consent: Consents = None,
    param: Params = None,
    app: App = None,
    after: After = "0s",
    zone: Zone = "UTC",
    sort: Sorted = False,
    expect: Expect = None,
    update: Update = False,
    timeout: Timeout = 30.0,
    json_: Json = False,
) -> None:
    """Feed a task with recorded events: firings, results, times, memory, and what would leave the device.

    Runs on a device of its own that is gone afterwards, with the task's half for the server, too. Exit code 7
    where a firing failed, the task was set aside, or something else came than is expected.
    """
    task = Task(folder)
    with open_events(_source(folder, events)) as (catalog, lines):
        trial = try_task(
            task,
            sorted(lines, key=lambda line: line.ts) if sort else lines,
            catalog,
            facts=fact,
            consents=consent,
            app=stand_ins(task.spec.app, app),
            params=given_params(task.spec.params, param or []),
            after_us=_duration(after),
            timeout_s=timeout,
            zone=zone,
        )
    path = expect or folder / EXPECTED
    if update:
        task_expected.write(path, trial)
    compared = not update and (expect is not None or path.is_file())
    wrong = task_expected.differences(path, trial) if compared else []
    if json_:
        emit_json(_told(trial) | {"differences": wrong})
    else:
        _show(trial)
        out.print(f"not as {path} expects:\n{_indented(wrong)}") if wrong else None
        out.print(f"as {path} expects") if compared and not wrong else None
    aside = trial.info is not None and trial.info.status == "set aside"
    if wrong or aside or any(failed(trial)):
        raise typer.Exit(EXIT_TASK)


@command
def bench(
    folder: Folder,
    events: Events = "",
    repeat: Annotated[int, typer.Option(min=1, help="How often the events are fed.")] = 10,
    fact: Facts = None,
    timeout: Timeout = 30.0,
    json_: Json = False,
) -> None:
    """Feed a task with recorded events again and again, and say how long its phases take."""
    task = Task(folder)
    with open_events(_source(folder, events)) as (catalog, lines):
        repeated = _repeated(list(lines), repeat)
        trial = try_task(task, repeated, catalog, facts=fact, timeout_s=timeout)
    # The first firing makes the isolate, loads models and plans them.
    hot = trial.firings[1:]
    rows = {"waited": [f.waited_us for f in hot]}
    rows |= {phase: [getattr(f, f"{phase}_us") for f in hot] for phase in PHASES}
    rows = {name: values for name, values in rows.items() if any(values)}
    failures = sum(failed(trial))
    percentiles = {name: _percentiles(values) for name, values in rows.items()}
    first = sum(getattr(trial.firings[0], f"{phase}_us") for phase in PHASES) if trial.firings else 0
    if json_:
        emit_json(
            {"firings": len(trial.firings), "failed": failures, "first_us": first}
            | {"heap_bytes": trial.heap_bytes, "us": percentiles}
        )
    else:
        out.print(f"{trial.events} events, {len(trial.firings)} firings, {failures} failed")
        out.print(f"first firing {first / 1000:.2f} ms; the others in us:")
        for name, values in percentiles.items():
            out.print(f"  {name:12s}" + "".join(f"  {key} {value:8.0f}" for key, value in values.items()))
        out.print(f"memory of the isolate at most {size_text(trial.heap_bytes)}")
    if failures:
        raise typer.Exit(EXIT_TASK)


def _percentiles(values: Sequence[int]) -> dict[str, float]:
    return {f"p{q}": round(float(np.percentile(values, q)), 1) for q in (50, 95, 99)}


def _repeated(lines: list[Line], times: int) -> Iterator[Line]:
    """The same events again, an hour behind the end of those before."""
    span = (lines[-1].ts - lines[0].ts if lines else 0) + 3_600_000_000
    for turn in range(times):
        for line in lines:
            yield dataclasses.replace(line, ts=line.ts + turn * span)


def _source(folder: Path, events: str) -> str:
    if events or (folder / _EVENTS).is_file():
        return events or str(folder / _EVENTS)
    raise ArgumentError.of(
        f"no --events, and no {_EVENTS} in '{folder}'",
        "events to feed the task with",
        "--events",
        "name a file",
    )


def _duration(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise ArgumentError.of(
            f"--after {text}", "a duration, as 90s, 2h or 1d", "--after", "write --after 2h"
        )
    return int(found[1]) * _UNITS[found[2]] * 1_000_000


def firing_told(firing: TaskResult) -> dict[str, Any]:
    """One firing as JSON can say it."""
    fields = {f.name: getattr(firing, f.name) for f in dataclasses.fields(firing)}
    fields["value"] = plain(firing.value)
    fields["error"] = None if firing.error is None else dataclasses.asdict(firing.error)
    return fields


def failed(trial: Trial) -> list[bool]:
    """For each attempt, whether its firing has failed with it, or still waits to be tried again."""
    last = {firing.number: place for place, firing in enumerate(trial.firings)}
    return [f.error is not None and last[f.number] == place for place, f in enumerate(trial.firings)]


def firing_line(firing: TaskResult) -> str:
    """One firing for people."""
    times = " ".join(
        f"{phase} {us / 1000:.2f} ms" for phase in PHASES if (us := getattr(firing, f"{phase}_us"))
    )
    end = f"{firing.rows} rows, {firing.sends} sends" if firing.error is None else "FAILED"
    end += f", is tried again at {firing.retry_at}" if firing.retry_at else ""
    folded = f" (and {firing.coalesced} more)" if firing.coalesced else ""
    folded += f", attempt {firing.attempt}," if firing.attempt > 1 else ""
    return f"#{firing.number} {firing.trigger}{folded} at {firing.ts}: {times or 'not run'}; {end}"


def _told(trial: Trial) -> dict[str, Any]:
    return {
        "events": trial.events,
        "firings": [firing_told(firing) for firing in trial.firings],
        "heap_bytes": trial.heap_bytes,
        "tables": {name: [plain(row) for row in rows] for name, rows in trial.tables.items()},
        "sent": [dataclasses.asdict(sent) | {"columns": plain(sent.columns)} for sent in trial.sent],
        "answers": [dataclasses.asdict(answer) | {"rows": plain(answer.rows)} for answer in trial.answers],
        "log": trial.log,
        "task": None if trial.info is None else dataclasses.asdict(trial.info),
    }


def _show(trial: Trial) -> None:
    shown = 0
    for firing, lines in zip(trial.firings, trial.lines_before, strict=True):
        out.print(_indented(_logged(trial.log[shown:lines]))) if lines > shown else None
        shown = lines
        out.print(firing_line(firing))
        if firing.error is not None:
            out.print(_indented([firing.error.text, *firing.error.traceback.splitlines()]))
    out.print(_indented(_logged(trial.log[shown:]))) if shown < len(trial.log) else None
    for name, rows in trial.tables.items():
        out.print(f"table {name}: {len(rows)} rows")
        out.print(_indented(_row(row) for row in rows)) if rows else None
    out.print(f"would leave the device: {len(trial.sent)} records, {sum(s.bytes for s in trial.sent)} bytes")
    for sent in trial.sent:
        out.print(f"  {sent.stream} #{sent.seq}, {sent.bytes} bytes: {_row(sent.columns)}")
    for answer in trial.answers:
        shown_rows = "; ".join(_row(row) for row in answer.rows)
        out.print(f"  cloud answers #{answer.seq}: {answer.error or shown_rows or 'nothing'}")
    info = trial.info
    waiting = f", {info.parked} wait for {', '.join(info.missing_facts)}" if info and info.parked else ""
    firings = len({firing.number for firing in trial.firings})
    if info and info.retrying:
        waiting += f", {info.retrying} wait to be tried again (--after lets time pass)"
    out.print(
        f"{trial.events} events, {firings} firings, {sum(failed(trial))} failed{waiting}; memory of the "
        f"isolate at most {size_text(trial.heap_bytes)}"
    )
    if info is not None and info.status == "set aside":
        missed = info.waiting + info.in_flight
        out.print(f"SET ASIDE, and {missed} firings did not run: {info.error}")


def _logged(lines: Sequence[tuple[int, str]]) -> list[str]:
    return [f"{_LEVELS[level]}: {text}" for level, line in lines for text in line.splitlines() or [""]]


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _row(row: dict[str, Any]) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in row.items())


def _value(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        return _value(value[0])
    if isinstance(value, np.ndarray):
        text = " ".join(f"{x:.3g}" for x in value.ravel()[:_SHOWN])
        return f"[{text}{' ...' if value.size > _SHOWN else ''}] ({value.size} floats)"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value) if isinstance(value, str) else str(plain(value))
