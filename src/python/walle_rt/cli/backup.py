"""Back a server's folder up into one archive, while it serves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .console import emit_json, out
from .exits import command
from .extras import without_extra
from .options import Json


@command
def main(
    folder: Annotated[Path, typer.Argument(help="The server's folder.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The archive; default: walle-backup-TIME.tar.")
    ] = None,
    json_: Json = False,
) -> None:
    """Back a server's folder up into one archive, while it serves. It holds private keys."""
    try:
        from ..cloud.backup import back_up
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle backup") from None
    now = time.time()
    path = output or Path(time.strftime("walle-backup-%Y%m%dT%H%M%SZ.tar", time.gmtime(now)))
    manifest = back_up(folder, path, now)
    offline = any(name.startswith("keys/offline/") for name in manifest.files)
    size = path.stat().st_size
    if json_:
        told = {"archive": str(path), "files": len(manifest.files), "bytes": size}
        emit_json({**told, "database": manifest.database, "offline_keys": offline})
        return
    out.print(f"{path}: {len(manifest.files)} files, {size:,} bytes")
    out.print("it holds private keys: whoever reads it can publish to your devices")
    if offline:
        out.print("those of root and targets among them: keep it off the network, or move keys/offline away")
    if not manifest.database:
        out.print("the database lies elsewhere (--db) and is not in it: dump that one, too, and before this")
