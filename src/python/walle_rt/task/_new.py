"""The first files of a new task: small, right, and run by ``walle task test``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .._core import names
from ..errors import ArgumentError

_TOML = """\
# What the task is, when it runs and what it may do: docs/reference/task-toml.md of walle_rt.
[task]
name = "{name}"
version = "0.1.0"

[triggers]
# Somebody opens the page of an item and looks closer.
seen = "page_enter@item ~ click@item within 10m"

[entry]
{entry}

[limits.{phase}]
wall_ms = 200

[capabilities]
host_calls = ["walle.kv", "walle.log"]

[results.visits]
columns = {{ item = "int", visits = "int" }}
max_age = "30d"

[events.click]
fields = {{ item = {{ type = "int", sensitivity = "open" }} }}

[catalog]
pages = ["item"]

[resources]
exclude = ["events.jsonl"]
"""

_MAIN = '''\
"""Counts how often each item was looked at closer."""

import walle


def main(event):
    """Called for every firing of a trigger; what it returns is a row of the first result table."""
    item = event["fields"]["item"]
    visits = walle.kv.get(f"item {item}", 0) + 1
    walle.kv.put(f"item {item}", visits)
    walle.log.info(f"item {item}: visit {visits}")
    return {"item": item, "visits": visits}
'''

_START = 1_700_000_000_000_000


def new_task(folder: str | os.PathLike[str], name: str = "") -> list[Path]:
    """Write task.toml, main.py and events.jsonl of a task that counts visits; returns what was written.

    Args:
        folder: is made; may exist, without files of these names.
        name: of the task (default: the folder's).

    Raises:
        ArgumentError: the name is none for a task, or a file is there already.
        OSError: the folder cannot be written.
    """
    root = Path(folder)
    name = name or root.resolve().name
    names.check("task", name, "task init")
    texts = {
        "task.toml": _TOML.format(name=name, entry='main = "main"', phase="main"),
        "main.py": _MAIN,
        "events.jsonl": "".join(json.dumps(event) + "\n" for event in _events()),
    }
    for file in texts:
        if (root / file).exists():
            raise ArgumentError.of(
                f"'{root / file}', which is there", "a new folder", "task init", "choose another"
            )
    root.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (root / file).write_text(text, encoding="utf-8")
    return [root / file for file in texts]


def _events() -> list[dict[str, object]]:
    """Three visits of two items."""
    out: list[dict[str, object]] = []
    for visit, item in enumerate([7, 8, 7]):
        ts = _START + visit * 60_000_000
        out += [
            {"event": "page_enter", "page": "item", "ts": ts},
            {"event": "click", "page": "item", "ts": ts + 2_000_000, "contents": {"item": item}},
            {"event": "page_exit", "page": "item", "ts": ts + 9_000_000},
        ]
    return out
