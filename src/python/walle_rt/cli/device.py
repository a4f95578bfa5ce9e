"""``walle device``: run tasks on a device's folder, and look into one."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from ..device import CloudState, Device, TaskResult
from ..device._cloud import taken_back_in
from ..errors import ArgumentError, Error, ResourceError
from ..link._why import WORDS
from ..task._events import Line, open_events
from .console import emit_json, out, size_text
from .exits import command
from .options import Json
from .task_author import EXIT_TASK
from .task_test import firing_line, firing_told

app = typer.Typer(help="Record events on a device and run its tasks.", no_args_is_help=True)

# Enough for the bundles of a release; beyond it a shell pattern has surely gone astray.
_MOST_TASKS = 256
Directory = Annotated[Path, typer.Argument(help="The device's folder.")]


@app.command()
@command
def run(
    directory: Directory,
    events: Annotated[
        str, typer.Option(help="A recording or JSON lines, an event log's folder, or - for standard input.")
    ],
    tasks: Annotated[
        list[str] | None, typer.Option("--tasks", help="A task's folder or .wtask to install; repeatable.")
    ] = None,
    fact: Annotated[list[str] | None, typer.Option("--fact", help="A fact that holds; repeatable.")] = None,
    consent: Annotated[
        list[str] | None, typer.Option("--consent", help="What the user has agreed to; repeatable.")
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option(help="Events keep their own times, and only they make time pass; else they are new."),
    ] = True,
    zone: Annotated[
        str | None, typer.Option(help="Time zone of daily and during, as Europe/Berlin; else the host's.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Threads that run tasks.")] = 2,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait for the last firings.")] = 60.0,
    cloud: Annotated[
        str | None, typer.Option(help="Address of a server to follow: its plans install.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The server's root.json; else the one it shows.")] = None,
    enrol: Annotated[str | None, typer.Option(help="A one-time code, where the device is new there.")] = None,
    authorities: Annotated[Path | None, typer.Option(help="PEM file: whom the server is signed by.")] = None,
    transport: Annotated[str, typer.Option(help="auto, libcurl or python.")] = "auto",
    app_name: Annotated[str, typer.Option("--app", help="The app's name, for policies.")] = "walle",
    app_version: Annotated[str, typer.Option(help="The app's version, for policies.")] = "1.0.0",
    json_: Json = False,
) -> None:
    """Install tasks, record events as they come, and print every firing; exit code 7 where one failed.

    With --json one object a firing, and a last one for the device.
    """
    failed = 0

    def tell(result: TaskResult) -> None:
        nonlocal failed
        failed += result.error is not None
        _print_firing(result, json_)

    with (
        open_events(events) as (catalog, lines),
        Device(directory, catalog, workers=workers, recorded=recorded, zone=zone) as device,
    ):
        if consent is not None:
            device.set_consents(*consent)
        device.set_facts(**dict.fromkeys(fact or (), True))
        device.on_result(tell)
        for task in _some(tasks or []):
            device.install(task)
        if cloud is not None:
            device.connect(
                cloud,
                root=root,
                app=app_name,
                app_version=app_version,
                enrol_code=enrol,
                authorities=authorities,
                transport=transport,
            )
            _tell_pull(device.pull(timeout), json_)
        count = 0
        for line in lines:
            _record(device, line, recorded)
            count += 1
        ended = device.wait(timeout)
        status = _status(device)
    if json_:
        emit_json({"device": status | {"recorded": count}})
    else:
        out.print(f"{count} events recorded")
        _show(status)
    if not ended:
        raise ResourceError.of(
            f"firings that did not end within {timeout:g} s",
            "idle tasks",
            "--timeout",
            "open it again: they go on",
        )
    if failed:
        raise typer.Exit(EXIT_TASK)


@app.command()
@command
def status(
    directory: Directory,
    verify: Annotated[bool, typer.Option("--verify", help="Read all tables first, to find damage.")] = False,
    acknowledge: Annotated[
        bool, typer.Option("--acknowledge", help="What it says is lost is known: it is not said again.")
    ] = False,
    json_: Json = False,
) -> None:
    """Say which tasks a device has, how they are, what their tables hold and wait to send, and what is lost.

    Opens the folder, so that what was under way goes on; nobody else may have it open.
    """
    if not (directory / "log").is_dir():
        raise ArgumentError.of(f"'{directory}'", "a device's folder", "walle device status", "check the path")
    with Device(directory, background=False) as device:
        report = _status(device, verify)
        if acknowledge:
            device.acknowledge_losses()
    if json_:
        emit_json(report)
    else:
        _show(report)


def _tell_pull(state: CloudState, as_json: bool) -> None:
    if as_json:
        emit_json({"cloud": dataclasses.asdict(state)})
        return
    out.print(f"{state.device} follows epoch {state.epoch} by {state.transport}")
    for step in state.steps:
        out.print(f"  {step.task} {step.version}: {step.what}{': ' + step.error if step.error else ''}")
    if state.error:
        out.print(f"  {state.error}")


def _some(tasks: list[str]) -> list[str]:
    if len(tasks) > _MOST_TASKS:
        raise ArgumentError.of(
            f"{len(tasks)} tasks", f"at most {_MOST_TASKS}", "--tasks", "check the pattern"
        )
    return tasks


def _record(device: Device, line: Line, recorded: bool) -> None:
    try:
        device.record(line.event, line.page, line.contents, ts=line.ts if recorded else None, on=line.on)
    except Error as error:
        where = f"{line.place}, {error.where}" if error.where else line.place
        raise type(error).of(error.given, error.expected, where, error.next_step) from None


def _print_firing(result: TaskResult, as_json: bool) -> None:
    """From a worker: one write a line, so that lines of two workers do not mix."""
    if as_json:
        emit_json(firing_told(result))
        return
    text = f"{result.task} {firing_line(result)}\n"
    if result.error is not None:
        text += "".join(f"  {line}\n" for line in [result.error.text, *result.error.traceback.splitlines()])
    # A reader that has left, as `head` does, must not end the worker.
    with suppress(BrokenPipeError):
        sys.stdout.write(text)


def _status(device: Device, verify: bool = False) -> dict[str, Any]:
    losses = device.losses(verify=verify)  # before the tables are shown: they hold what is left
    tables = {}
    tasks = device.tasks()
    for name in tasks:
        for table in device.tables(name):
            results = device.results(name, table)
            tables[f"{name}.{table}"] = {
                "rows": len(results),
                "newest": results.newest,
                "removed": results.removed,
            }
    return {
        "path": str(device.path),
        "stats": dataclasses.asdict(device.stats()),
        "tasks": {name: dataclasses.asdict(info) for name, info in tasks.items()},
        "tables": tables,
        "losses": [dataclasses.asdict(loss) for loss in losses],
        "outbox": {name: dataclasses.asdict(stream) for name, stream in device.outbox().items()},
        "facts": device.facts,
        "consents": device.consents,
        "server": _of_server(device.path),
        "taken_back": [dataclasses.asdict(each) for each in taken_back_in(device.path)],
    }


def _of_server(folder: Path) -> dict[str, str] | None:
    """What was wrong between the device and its server when it was last connected; None: it never was."""
    file = folder / "cloud" / "agent" / "trouble.txt"
    if not (folder / "cloud" / "identity.wals").exists():
        return None
    lines = file.read_text(errors="replace").splitlines() if file.exists() else []
    return dict(zip(("error", "trouble"), [*lines, "", ""], strict=False))


def _show(report: dict[str, Any]) -> None:
    out.print(f"{report['path']}: {report['stats']['last_event']} events, {len(report['tasks'])} tasks")
    for what, text in (report["server"] or {}).items():
        if text:
            out.print(f"  server, {'last pull' if what == 'error' else 'reports'}: {text}")
    for name, info in report["tasks"].items():
        out.print(f"  {name} {info['version']}: {_state(info)}")
    for each in report["taken_back"]:
        out.print(
            f"  {each['task']} {each['version']} was taken back: {WORDS[each['why']]} ({each['release']})"
        )
    for name, table in report["tables"].items():
        out.print(f"  table {name}: {table['rows']} rows")
    for loss in report["losses"]:
        out.print(f"  lost: {_lost(loss)}: {loss['cause']}")
    for name, stream in report["outbox"].items():
        out.print(f"  outbox {name}: {stream['waiting']} records wait, {stream['waiting_bytes']} bytes")
    if report["stats"]["trouble"]:
        out.print(f"  trouble: {report['stats']['trouble']}")


def _lost(loss: dict[str, Any]) -> str:
    count = "" if loss["exact"] else "at most " if loss["count"] else ""
    count += f"{loss['count']} " if loss["count"] else ""
    of = f" of {loss['name']}" if loss["name"] else ""
    numbers = f" from {loss['first']} to {loss['last']}" if loss["last"] else ""
    return f"{count}{loss['what']}{of}{numbers}"


def _state(info: dict[str, Any]) -> str:
    parts = [info["status"], f"{info['firings']} firings", f"{info['failures']} failed"]
    if info["waiting"] or info["in_flight"] or info["parked"]:
        parts.append(f"{info['waiting'] + info['in_flight'] + info['parked']} wait")
    if info["retrying"]:
        parts.append(f"{info['retrying']} wait to be tried again, the next at {info['next_retry']}")
    if info["params"]:
        parts.append(" ".join(f"{name}={value}" for name, value in info["params"].items()))
    if info["missing_facts"]:
        parts.append(f"waits for {', '.join(info['missing_facts'])}")
    if evicted := sum(each["evicted"] for each in (*info["triggers"], *info["features"])):
        parts.append(f"{evicted} keys gave way to newer ones")
    if reads := sum(feature["reads"] for feature in info["features"]):
        parts.append(f"{reads} lookups of features read the log")
    if info["heap_bytes"]:
        parts.append(f"isolate {size_text(info['heap_bytes'])}")
    if info["error"]:
        parts.append(info["error"])
    return ", ".join(parts)
