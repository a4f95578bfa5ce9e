"""``walle stream``: replay recorded events through triggers, and show what triggers compile to."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ArgumentError
from ..stream import Catalog, Finding, Trigger, explain, load_triggers
from ..stream._log import EventLog, is_event_log
from ..stream._record import replay_into
from ..stream._triggers import Firing, KeyPrice, TriggerSet, catalog_of
from .console import emit_json, err, out
from .exits import command
from .options import Json, KeyFile, read_key

app = typer.Typer(help="Events and triggers on the device.", no_args_is_help=True)


# No absence waits longer: 366 days are the longest duration of the language.
_LONGEST_WAIT_US = 367 * 86400 * 1_000_000

Recording = Annotated[
    Path, typer.Argument(help="A recording (.jsonl or .jsonl.gz) or an event log's directory.")
]
Triggers = Annotated[list[Path], typer.Option("--triggers", help="Folders or files of triggers (*.trigger).")]
Shown = Annotated[str, typer.Argument(help="A trigger's text, a *.trigger file, or a folder of them.")]
Names = Annotated[
    Path | None, typer.Option("--catalog", help="A catalogue file; default: the triggers' own names.")
]
Picture = Annotated[Path | None, typer.Option("--picture", help="Also draw it into this .svg or .dot file.")]


@app.command("replay")
@command
def replay(file: Recording, triggers: Triggers, key_file: KeyFile = None, json_: Json = False) -> None:
    """Print every firing of the triggers over the recorded events, in order."""
    with tempfile.TemporaryDirectory() as scratch:
        log = _log_in(file, key_file) if file.is_dir() else replay_into(file, Path(scratch) / "log")
        with log:
            found = TriggerSet(log.catalog)
            for name, trigger in _some_triggers(triggers).items():
                found.add(name, trigger)
            firings, events = found.replay(log), log.last_seq
            waiting = _waiting(found)
            evicted = {name: n for name in found.triggers if (n := found.stats_of(name).evicted)}
    if json_:
        fields = {"events": events, "firings": [_firing(f) for f in firings]}
        emit_json(fields | {"waiting": [_firing(f) for f in waiting], "evicted": evicted})
        return
    for f in firings:
        out.print(_line(f))
    for f in waiting:
        out.print(f"{_line(f)} waiting")
    err.print(f"{events} events, {len(firings)} firings, {len(waiting)} absences waiting at the end")
    for name, n in evicted.items():
        err.print(f"{name}: {n} keys gave way to others while it had something under way in them")


def _line(f: Firing) -> str:
    return f"{f.ts} {f.trigger} seq={f.seq} start={f.start_ts} key={f.idempotency:016x}"


def _waiting(triggers: TriggerSet) -> list[Firing]:
    """What the absences that wait when the recording ends would fire, if nothing came after it."""
    absences = {name for name, t in triggers.triggers.items() if "!~" in t.text}
    newest = triggers.last_ts
    if not absences or newest is None:
        return []
    return [f for f in triggers.advance(newest + _LONGEST_WAIT_US) if f.trigger in absences]


def _firing(firing: Firing) -> dict[str, object]:
    # 64 bits as text: most readers of JSON have 53.
    return dataclasses.asdict(firing) | {"idempotency": f"{firing.idempotency:016x}"}


def _some_triggers(paths: list[Path]) -> dict[str, Trigger]:
    texts = load_triggers(paths)
    if not texts:
        raise ArgumentError.of(
            f"no trigger in {', '.join(map(str, paths))}",
            "files whose names end in .trigger",
            "--triggers",
            "check the folder",
        )
    return texts


def _log_in(directory: Path, key_file: Path | None) -> EventLog:
    """An existing log: opening another folder would begin one in it."""
    if is_event_log(directory):
        return EventLog(directory, read_only=True, key=read_key(key_file))
    raise ArgumentError.of(
        f"folder '{directory}' without an event log",
        "a recording (.jsonl or .jsonl.gz) or the folder of an event log",
        "walle stream replay",
        "check the path",
    )


@app.command("explain")
@command
def explain_command(
    trigger: Shown, catalog: Names = None, picture: Picture = None, json_: Json = False
) -> None:
    """Show the trie the triggers compile to, with the linter's remarks."""
    # os.path, because Path.exists raises for a text that is longer than any name.
    known = os.path.exists(trigger)  # noqa: PTH110
    texts = _some_triggers([Path(trigger)]) if known else {"trigger": Trigger(trigger)}
    names = Catalog.from_bytes(catalog.read_bytes()) if catalog else catalog_of(texts.values())
    if picture:
        picture.write_text(explain(texts, names, form=picture.suffix.lstrip(".")), encoding="utf-8")
    trie = explain(texts, names)
    memory = _memory(texts, names)
    remarks = [(name, finding) for name, t in texts.items() for finding in t.lint()]
    if json_:
        emit_json(
            {
                "triggers": {name: t.text for name, t in texts.items()},
                "trie": trie,
                "memory": dataclasses.asdict(memory),
                "remarks": [_remark(name, finding) for name, finding in remarks],
                "picture": None if picture is None else str(picture),
            }
        )
        return
    out.print(trie, end="")
    out.print(f"memory: {memory.bytes:,} bytes before the first event, at most {memory.bytes_at_most:,}")
    for p in memory.scopes:
        out.print(f"  {p.scope}: {p.keys:,} keys of {p.bytes_per_key:,} bytes, {p.bytes:,} in all")
    for name, finding in remarks:
        err.print(f"{name}: {'error' if finding.error else 'warning'}: {finding.message}")


@dataclasses.dataclass(frozen=True)
class _Memory:
    bytes: int
    bytes_at_most: int
    scopes: list[KeyPrice]


def _memory(texts: dict[str, Trigger], names: Catalog) -> _Memory:
    """What matching these triggers takes: known before they are deployed."""
    found = TriggerSet(names)
    for name, trigger in texts.items():
        found.add(name, trigger)
    stats = found.stats
    return _Memory(stats["memory_bytes"], stats["memory_bytes_at_most"], found.prices)


def _remark(name: str, finding: Finding) -> dict[str, object]:
    return {"trigger": name} | dataclasses.asdict(finding)
