"""Make a server's folder of an archive of walle backup, so that its devices follow it."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .console import emit_json, out
from .exits import command
from .extras import without_extra
from .options import Json


@command
def main(
    archive: Annotated[Path, typer.Argument(help="The archive.")],
    folder: Annotated[Path, typer.Argument(help="The server's folder to be; new or empty.")],
    mqtt_port: Annotated[
        int | None,
        typer.Option("--mqtt-port", min=1, max=65535, help="Of the broker. Default: as before."),
    ] = None,
    db: Annotated[
        str | None, typer.Option("--db", help="The database, where it lies elsewhere: postgresql://...")
    ] = None,
    raised: Annotated[
        int | None,
        typer.Option(
            "--raise",
            min=1,
            max=2**31,
            help="By how much epoch and versions are raised. Default: by the age.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Make a server's folder of an archive of walle backup, so that its devices follow it."""
    try:
        from ..cloud.backup import restore
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle restore") from None
    made = restore(archive, folder, time.time(), db=db, mqtt_port=mqtt_port, raised=raised)
    if json_:
        emit_json({"folder": str(folder), **asdict(made)})
        return
    then = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(made.created))
    out.print(f"{folder}: as of {then} UTC; plans go on at epoch {made.epoch}, raised by {made.raised}")
    for release in made.paused:
        out.print(f"release {release} is paused: walle release resume {release}, when devices have come back")
    for role in made.unsigned:
        out.print(f"role '{role}' has the version of the backup, as its key is not here: docs, Restore")
    out.print(f"walle serve {folder}")
