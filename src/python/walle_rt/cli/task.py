"""walle task: compile a folder of Python into a task bundle, run one call of it under limits, describe the VM."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .common import Json, command, emit_json, err, out, size_text, usage_error

app = typer.Typer(help="Compile, run and inspect tasks.", no_args_is_help=True)

LIMIT_NAMES = {"heap": "heap_bytes", "wall": "wall_ms", "cpu": "cpu_ms", "depth": "depth"}
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_limits(pairs: list[str]) -> dict[str, Any]:
    """["heap=32M", "wall=500"] as keyword arguments of Limits; heap in bytes with K, M, G, times in milliseconds."""
    limits: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        unit = UNITS.get(text[-1:].lower(), 0) if name == "heap" else 0
        digits = text[:-1] if unit else text
        if name not in LIMIT_NAMES or not digits.isdigit():
            expected = f"NAME=NUMBER with NAME one of {', '.join(LIMIT_NAMES)}"
            raise usage_error(
                f"limit '{pair}'", expected, "--limits", "for example --limits heap=32M --limits wall=500"
            )
        limits[LIMIT_NAMES[name]] = int(digits) * (unit or 1)
    return limits


def plain(value: Any) -> Any:
    """A task's result as JSON can say it: arrays as lists, bytes as hexadecimal text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


@app.command("compile")
@command
def compile_(
    source: Annotated[Path, typer.Argument(help="Folder with main.py and whatever it imports.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The bundle to write (.wtask).")],
    json_: Json = False,
) -> None:
    """Compile a folder of Python files into a task bundle."""
    from ..vm import TaskBundle

    bundle = TaskBundle.compile(source)
    bundle.save(output)
    if json_:
        emit_json({"output": str(output), "bytes": len(bundle.data), "modules": bundle.modules, "vm": bundle.vm.id})
    else:
        out.print(f"{output}: {len(bundle.modules)} modules, {size_text(len(bundle.data))}, for {bundle.vm.id}")


@app.command()
@command
def run(
    bundle: Annotated[Path, typer.Argument(help="A .wtask file.")],
    call: Annotated[str, typer.Option(help="The function, as NAME or MODULE.NAME.")] = "main",
    args: Annotated[str, typer.Option(help="Its arguments: a JSON list.")] = "[]",
    limits: Annotated[
        list[str] | None, typer.Option(help="heap=32M, wall=500, cpu=100, depth=200; repeatable.")
    ] = None,
    imports: Annotated[str | None, typer.Option(help="Modules the task may import, separated by commas.")] = None,
    state: Annotated[Path | None, typer.Option(help="File for walle.kv.")] = None,
    flavour: Annotated[str, typer.Option(help="full or device.")] = "full",
) -> None:
    """Run one function of a bundle and print its result as JSON."""
    from ..vm import VM, Isolate, Limits, TaskBundle, TaskFailed

    try:
        arguments = json.loads(args)
    except json.JSONDecodeError as error:
        raise usage_error(
            f"--args {args}", "a JSON list", f"position {error.pos}", "for example --args '[1, \"x\"]'"
        ) from None
    if not isinstance(arguments, list):
        raise usage_error(f"--args {args}", "a JSON list", "--args", "put the single argument into brackets")
    allowed = None if imports is None else [name for name in imports.split(",") if name]
    vm = VM(flavour)
    module, _, function = call.rpartition(".")
    with Isolate(
        vm,
        limits=Limits(imports=allowed, **parse_limits(limits or [])),
        log=lambda level, line: err.print(line, markup=False),
        state=state,
    ) as isolate:
        isolate.load(TaskBundle.load(bundle, vm))
        try:
            result = isolate.call(function, *arguments, module=module or "main")
        except TaskFailed as error:
            err.print(error.formatted(), markup=False)
            raise
    sys.stdout.write(json.dumps(plain(result), ensure_ascii=False) + "\n")


@app.command()
@command
def vm(json_: Json = False) -> None:
    """Say which VM libraries are there, and what tasks may import and call."""
    from ..vm import VM, host_calls, library_path

    rows = []
    for flavour in ("full", "device"):
        path = library_path(flavour)
        row: dict[str, Any] = {"flavour": flavour, "path": str(path), "available": path.is_file()}
        if path.is_file():
            loaded = VM(flavour)
            row |= {"id": loaded.id, "python": loaded.python, "bytes": path.stat().st_size, "library": loaded.library}
        rows.append(row)
    if json_:
        emit_json({"libraries": rows, "host_calls": host_calls()})
        return
    for row in rows:
        what = f"Python {row['python']}, {size_text(row['bytes'])}" if row["available"] else "not built"
        out.print(f"{row['flavour']:7s} {what}  {row['path']}")
    out.print("host calls: " + ", ".join(host_calls()))
