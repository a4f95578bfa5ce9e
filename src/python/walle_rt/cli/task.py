"""``walle task``: author, compile, run and test tasks, describe the VM."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..vm import VM, Isolate, Limits, TaskBundle, TaskFailed, library_path
from ..vm.library import host_calls
from .console import emit_json, err, out, size_text
from .exits import command
from .options import Json
from .task_author import EXIT_TASK, compile_, init, lint, plain
from .task_options import parse_arguments, parse_limits, parse_names
from .task_package import fetch, pack, publish
from .task_test import bench, test

app = typer.Typer(help="Author, test, compile and run tasks.", no_args_is_help=True)


_COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "lint": lint,
    "test": test,
    "bench": bench,
    "compile": compile_,
    "pack": pack,
    "publish": publish,
    "fetch": fetch,
}
for _name, _made in _COMMANDS.items():
    app.command(_name)(_made)


def error_fields(error: TaskFailed) -> dict[str, Any]:
    """A task's exception and those it names, as JSON; what is empty is left out."""
    origin = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    related = {
        "notes": list(getattr(error, "__notes__", [])),
        "cause" if origin is error.__cause__ else "context": error_fields(origin)
        if isinstance(origin, TaskFailed)
        else None,
        "members": [error_fields(member) for member in error.members],
    }
    return {
        "type": error.type,
        "detail": error.detail,
        "limit": error.limit,
        "traceback": [dataclasses.asdict(frame) for frame in error.traceback],
    } | {name: value for name, value in related.items() if value}


def failed(error: TaskFailed, log: list[str]) -> None:
    """A task's failure as JSON, and the exit code of tasks."""
    emit_json(
        {
            "error": type(error).__name__,
            "message": str(error),
            **error_fields(error),
            "log": log,
            "exit": EXIT_TASK,
        }
    )
    raise typer.Exit(EXIT_TASK)


@app.command()
@command
def run(
    bundle: Annotated[Path, typer.Argument(help="A .wtask file.")],
    call: Annotated[str, typer.Option(help="The function, as NAME or MODULE.NAME.")] = "main",
    args: Annotated[str, typer.Option(help="Its arguments: a JSON list.")] = "[]",
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="heap=32M,wall=500,cpu=100,depth=200,stack=1M,state=64K,log=1M (times in ms); repeatable."
        ),
    ] = None,
    imports: Annotated[
        str | None, typer.Option(help="Modules the task may import, separated by commas.")
    ] = None,
    host_calls: Annotated[
        str | None,
        typer.Option(help="Host calls it may use, as walle.kv or walle.kv.get, separated by commas."),
    ] = None,
    state: Annotated[Path | None, typer.Option(help="File for walle.kv.")] = None,
    flavour: Annotated[
        str, typer.Option(help="device, as tasks are shipped (no compiler), or full.")
    ] = "device",
    json_: Json = False,
) -> None:
    """Run one function of a bundle, print its result as JSON; with --json also log, time, memory."""
    arguments = parse_arguments(args)
    allowed = Limits(
        imports=parse_names(imports), host_calls=parse_names(host_calls), **parse_limits(limits or [])
    )
    vm = VM(flavour)
    module, _, function = call.rpartition(".")
    log: list[str] = []
    write = (lambda level, line: log.append(line)) if json_ else (lambda level, line: err.print(line))
    with Isolate(vm, limits=allowed, log=write, state=state) as isolate:
        isolate.load(TaskBundle.load(bundle, vm))
        started = time.perf_counter()
        try:
            result = isolate.call(function, *arguments, module=module or "main")
        except TaskFailed as error:
            if json_:
                failed(error, log)
            err.print(error.formatted())
            raise
        seconds = time.perf_counter() - started
        if json_:
            stats = dataclasses.asdict(isolate.stats())
            emit_json({"result": plain(result), "seconds": round(seconds, 6), "log": log, "stats": stats})
        else:
            sys.stdout.write(json.dumps(plain(result), ensure_ascii=False) + "\n")


@app.command()
@command
def vm(json_: Json = False) -> None:
    """Say which VM libraries are there, and what tasks may import and call."""
    rows = []
    for flavour in ("full", "device"):
        path = library_path(flavour)
        row: dict[str, Any] = {"flavour": flavour, "path": str(path), "available": path.is_file()}
        if path.is_file():
            loaded = VM(flavour)
            row |= {
                "id": loaded.id,
                "python": loaded.python,
                "bytes": path.stat().st_size,
                "library": loaded.library,
            }
        rows.append(row)
    if json_:
        emit_json({"libraries": rows, "host_calls": host_calls()})
        return
    for row in rows:
        what = f"Python {row['python']}, {size_text(row['bytes'])}" if row["available"] else "not built"
        out.print(f"{row['flavour']:7s} {what}  {row['path']}")
    out.print("host calls: " + ", ".join(host_calls()))
