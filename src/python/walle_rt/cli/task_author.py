"""``walle task init|lint|compile``: from an empty folder to a bundle."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import TaskError
from ..task import Mistake, Task, check
from ..task._mistakes import of_compiler
from ..task._new import new_task
from ..vm import TaskBundle
from .console import emit_json, file_size, out, size_text
from .exits import EXIT_CODES, command
from .options import Json

EXIT_TASK = dict(EXIT_CODES)[TaskError]
TASK_FILE = "task.toml"

Folder = Annotated[Path, typer.Argument(help="The task's folder, with its task.toml.")]


def plain(value: Any) -> Any:
    """A task's result as JSON can say it: arrays as lists, bytes as hexadecimal text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes | memoryview):
        return value.hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


@command
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    name: Annotated[str, typer.Option(help="Of the task; default: the folder's name.")] = "",
    json_: Json = False,
) -> None:
    """Write a small task to begin with: task.toml, main.py and events to test it with."""
    files = new_task(folder, name)
    if json_:
        emit_json({"files": [str(file) for file in files]})
        return
    for file in files:
        out.print(str(file))
    out.print(f"next: walle task test {folder}")


@command
def lint(folder: Folder, json_: Json = False) -> None:
    """Say everything that is wrong with a task's folder, with file and line; exit code 7 for errors."""
    found = check(folder)
    errors = sum(mistake.error for mistake in found)
    if json_:
        emit_json({"errors": errors, "mistakes": [_told(mistake) for mistake in found]})
    else:
        for mistake in found:
            out.print(f"{'error' if mistake.error else 'warning'}: {mistake}")
        out.print(f"{folder}: {errors} errors, {len(found) - errors} warnings")
    if errors:
        raise typer.Exit(EXIT_TASK)


def _told(mistake: Mistake) -> dict[str, Any]:
    return {**dataclasses.asdict(mistake), "message": str(mistake)}


@command
def compile_(
    source: Annotated[Path, typer.Argument(help="A task's folder, or one with main.py alone.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The bundle to write (.wtask).")],
    sources: Annotated[
        bool, typer.Option(help="Keep the Python text in the bundle: tracebacks show its lines.")
    ] = True,
    json_: Json = False,
) -> None:
    """Compile a folder into a bundle: with a task.toml one that devices install, else one for `task run`."""
    is_task = (source / TASK_FILE).is_file()
    bundle = Task(source).compile(sources=sources) if is_task else TaskBundle.compile(source, sources=sources)
    bundle.save(output)
    size = file_size(output)
    resources = {name: size for name, size in bundle.resources.items() if not name.startswith(".walle/")}
    if json_:
        emit_json(
            {
                "warnings": [_told(of_compiler(warning)) for warning in bundle.warnings],
                "output": str(output),
                "bytes": size,
                "modules": bundle.modules,
                "resources": resources,
                "vm": bundle.vm.id,
            }
        )
        return
    for warning in bundle.warnings:
        out.print(f"warning: {of_compiler(warning)}")
    files = f", {len(resources)} other files" if resources else ""
    out.print(f"{output}: {len(bundle.modules)} modules{files}, {size_text(size)}, for {bundle.vm.id}")
