"""``walle stream``: replay recorded events through triggers, and show what triggers compile to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..stream import Catalog, EventLog, Trigger, TriggerSet, catalog_of, explain, load_triggers
from ..stream.record import replay_into
from .exits import command

app = typer.Typer(help="Events and triggers on the device.", no_args_is_help=True)


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
def replay(file: Recording, triggers: Triggers) -> None:
    """Print every firing of the triggers over the recorded events, in order."""
    with tempfile.TemporaryDirectory() as scratch:
        log = EventLog(file) if file.is_dir() else replay_into(file, Path(scratch) / "log")
        with log:
            found = TriggerSet(log.catalog)
            for name, trigger in load_triggers(triggers).items():
                found.add(name, trigger)
            firings = found.replay(log)
            for f in firings:
                typer.echo(f"{f.ts} {f.trigger} seq={f.seq} start={f.start_ts} key={f.idempotency:016x}")
            typer.echo(f"{log.last_seq} events, {len(firings)} firings", err=True)


@app.command("explain")
@command
def explain_command(trigger: Shown, catalog: Names = None, picture: Picture = None) -> None:
    """Show the trie the triggers compile to, with the linter's remarks."""
    path = Path(trigger)
    known = len(trigger) < 4096 and path.exists()
    texts = load_triggers([path]) if known else {"trigger": Trigger(trigger)}
    names = Catalog.from_bytes(catalog.read_bytes()) if catalog else catalog_of(texts.values())
    if picture:
        picture.write_text(explain(texts, names, form=picture.suffix.lstrip(".")), encoding="utf-8")
    typer.echo(explain(texts, names), nl=False)
    for name, t in texts.items():
        for finding in t.lint():
            typer.echo(f"{name}: {'error' if finding.error else 'warning'}: {finding.message}", err=True)
