"""``walle release``: versions on their way to devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .confirm import Reason, Yes, confirm
from .console import emit_json, out
from .exits import command
from .options import Json
from .param_values import with_params
from .release_text import release_lines
from .server_api import Server, ServerApi, part

app = typer.Typer(help="Releases: start, pause, halt, roll back, kill, look.", no_args_is_help=True)

Number = Annotated[str, typer.Argument(help="The release: TASK-NUMBER.")]


@app.command("start")
@command
def start(
    task: Annotated[str, typer.Argument(help="SCENARIO/TASK.")],
    version: Annotated[str, typer.Argument(help="A version that was published.")],
    policy: Annotated[Path | None, typer.Option("--policy", help="Whom and how fast (TOML).")] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", help="NAME=VALUE of the task's parameters, in TOML.")
    ] = None,
    reason: Reason = "",
    yes: Yes = False,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Start a release, once you have said yes to whom it changes."""
    scenario, _, name = task.partition("/")
    text = with_params(policy.read_text() if policy else "", param or [])
    given = {"task": name, "version": version, "policy": text, "reason": reason}
    api, where = ServerApi.of(server), f"/scenarios/{part(scenario)}/releases"
    preview = api.post(f"{where}/preview", given)
    confirm(f"walle release start {task} {version}", preview["lines"], yes, json_)
    _show(api.post(where, {**given, "epoch": preview["epoch"]}), json_)


@app.command("status")
@command
def status(number: Number, server: Server = None, json_: Json = False) -> None:
    """How far a release is."""
    _show(ServerApi.of(server).get(f"/releases/{part(number)}"), json_)


@app.command("list")
@command
def list_(
    scenario: Annotated[str, typer.Argument(help="The scenario's name.")],
    server: Server = None,
    json_: Json = False,
) -> None:
    """Releases of a scenario, newest first."""
    rows = ServerApi.of(server).get(f"/scenarios/{part(scenario)}/releases")
    if json_:
        emit_json({"releases": rows})
        return
    for row in rows:
        out.print(f"{row['id']:16s} {row['task']} {row['version']:12s} {row['state']:12s} {row['reason']}")


@app.command("failures")
@command
def failures(number: Number, server: Server = None, json_: Json = False) -> None:
    """Failures as devices reported them, newest first."""
    rows = ServerApi.of(server).get(f"/releases/{part(number)}/failures")
    if json_:
        emit_json({"failures": rows})
        return
    for row in rows:
        out.print(f"{row['at']:.0f} {row['cohort']:8s} {row['status']:14s} {row['phase']:12s} {row['error']}")


def _act(number: str, act: str, reason: str, yes: bool, server: str | None, json_: bool) -> None:
    api, where = ServerApi.of(server), f"/releases/{part(number)}/{act}"
    preview = api.get(f"{where}/preview")
    confirm(f"walle release {act} {number}", preview["lines"], yes, json_)
    _show(api.post(where, {"reason": reason, "epoch": preview["epoch"]}), json_)


@app.command("pause")
@command
def pause(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """Nobody else gets it until it is resumed; who has it keeps it."""
    _act(number, "pause", reason, yes, server, json_)


@app.command("resume")
@command
def resume(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """Go on where it was paused."""
    _act(number, "resume", reason, yes, server, json_)


@app.command("full")
@command
def full(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """Everybody whom its policy suits gets it."""
    _act(number, "full", reason, yes, server, json_)


@app.command("halt")
@command
def halt(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """End it: devices go back to what they had."""
    _act(number, "halt", reason, yes, server, json_)


@app.command("rollback")
@command
def rollback(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """A new release of the version before, to everybody."""
    _act(number, "rollback", reason, yes, server, json_)


@app.command("kill")
@command
def kill(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """Its task runs nowhere any more, at once."""
    _act(number, "kill", reason, yes, server, json_)


@app.command("revive")
@command
def revive(
    number: Number, reason: Reason = "", yes: Yes = False, server: Server = None, json_: Json = False
) -> None:
    """Take a kill back."""
    _act(number, "revive", reason, yes, server, json_)


def _show(reply: dict[str, Any], json_: bool) -> None:
    if json_:
        emit_json(reply)
        return
    for line in release_lines(reply):
        out.print(line)
