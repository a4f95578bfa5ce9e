"""The tasks that the container's benches run, as bundles for a device and as functions for the host."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from _bench import Device

from walle_rt.task import Task
from walle_rt.vm.library import library_path

TOML = """
[task]
name = "{name}"
version = "1.0.0"
priority = {priority}

[triggers]
tapped = "{trigger}"

[queue]
size = {queue}

[entry]
{entry}

[limits.{phase}]
wall_ms = {wall_ms}

[capabilities]
imports = ["walle"]
host_calls = ["walle.log", "walle.time"]
{results}
[events.tap]
fields = {{ item = {{ type = "int", sensitivity = "open" }} }}
"""
ROWS = """
[results.rows]
columns = { item = "int" }
"""

# A loop that no interpreter makes shorter; `turns` says how long it is.
SPIN = """
def work(turns):
    x = 1
    for i in range(turns):
        x = (x * 31 + i) & 0xFFFFFF
    return x
"""


def bundle(
    source: str,
    *,
    name: str = "task",
    trigger: str = "tap",
    entry: str = 'main = "main"',
    rows: bool = False,
    priority: int = 5,
    queue: int = 65_536,
    wall_ms: int = 60_000,
    files: dict[str, bytes] | None = None,
) -> bytes:
    """A task of one module, compiled."""
    text = TOML.format(
        name=name,
        trigger=trigger,
        entry=entry,
        priority=priority,
        queue=queue,
        wall_ms=wall_ms,
        phase="main" if entry.startswith("main") else "execute",
        results=ROWS if rows else "",
    )
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "task.toml").write_text(text)
        (root / "main.py").write_text(source)
        for file, data in (files or {}).items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_bytes(data)
        return Task(root).compile().data


def library() -> str:
    """The device flavour's file: the full one is walle_rt's own in this process, with its host calls."""
    return str(library_path("device"))


@contextlib.contextmanager
def device(folder: Path, *bundles: bytes, workers: int = 2) -> Iterator[Device]:
    """A device with these tasks; at the end none of them has failed."""
    made = Device(str(folder), library(), workers)
    for data in bundles:
        made.install(data)
    yield made
    assert made.error() == ""
