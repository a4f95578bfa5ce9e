"""Make one-time codes with which devices enrol."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import emit_json, out
from .exits import command
from .options import Json
from .server_api import Server, ServerApi


@command
def main(
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many.")] = 1,
    label: Annotated[str, typer.Option("--label", help="What the devices are, for lists.")] = "device",
    hours: Annotated[float, typer.Option("--hours", help="How long they count.")] = 24,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Make one-time codes with which devices enrol; printed once."""
    reply = ServerApi.of(server).post("/device-codes", {"count": count, "label": label, "hours": hours})
    if json_:
        emit_json(reply)
        return
    for code in reply["codes"]:
        out.print(code)
