"""Show the whole loop on this machine: a server, devices, questions and answers, a halted release."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from .console import emit_json, err, out
from .exits import command
from .extras import without_extra
from .options import Json


@command
def main(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave it running, to play with, until Ctrl-C.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="An empty folder of its own; default: a temporary one.")
    ] = None,
    json_: Json = False,
) -> None:
    """Show the whole loop on this machine; exit code 0 only if every step happened."""
    try:
        from ..cloud.loop import Loop
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle demo", "cloud,convert") from None
    with tempfile.TemporaryDirectory(prefix="walle-demo-") as scratch:
        root = folder or Path(scratch)
        root.mkdir(parents=True, exist_ok=True)
        loop = Loop(root, err.print if json_ else out.print)
        try:
            figures = loop.run()
            if json_:
                emit_json({"figures": dict(figures), "address": loop.url})
            else:
                for what, much in figures:
                    out.print(f"  {what:44s} {much:>12s}")
            if keep:
                out.print(f"it goes on at {loop.url} until Ctrl-C; devices' and server's logs are in {root}")
                while True:
                    time.sleep(1)
        finally:
            loop.close()
