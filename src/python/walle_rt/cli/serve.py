"""Serve devices and operators from a folder: releases, packages, reports, uploads."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ResourceError
from .console import emit_json, out
from .exits import command
from .extras import without_extra
from .options import Json


@command
def main(
    folder: Annotated[Path, typer.Argument(help="The server's folder; made when there is none.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 8470,
    mqtt_url: Annotated[
        str | None,
        typer.Option("--mqtt-url", help="Another broker: mqtts://host:port. Default: one beside us."),
    ] = None,
    mqtt_port: Annotated[
        int | None,
        typer.Option("--mqtt-port", min=1, max=65535, help="Of the broker beside us. Default: as before."),
    ] = None,
    db: Annotated[
        str | None, typer.Option("--db", help="postgresql://user@host/name; default: SQLite in the folder.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A name that devices reach the server by; may be repeated."),
    ] = None,
    https: Annotated[
        bool,
        typer.Option(
            "--https", help="Something before us ends TLS: the dashboard's cookie is for https alone."
        ),
    ] = False,
    tls: Annotated[
        bool, typer.Option("--tls", help="HTTPS with a certificate of the server's own authority.")
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="HTTPS with this certificate chain, PEM; with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The certificate's key, PEM.")] = None,
    plain_enrolment: Annotated[
        bool,
        typer.Option("--plain-enrolment", help="Devices of other machines may enrol over plain HTTP."),
    ] = False,
    device_days: Annotated[
        float,
        typer.Option(
            "--device-days",
            min=1e-5,
            max=3650,
            help="Days that a device's certificate counts; it is renewed after two thirds of them.",
        ),
    ] = 365.0,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Serve nothing: say what expires, and end with 5 where somebody must act."
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """Serve devices and operators from a folder."""
    if check:
        _check(folder, json_)
        return
    try:
        from ..cloud.serve.logs import to_stderr
        from ..cloud.serve.process import serve
        from ..cloud.service.private import UMASK
        from ..cloud.service.server import Server
        from ..cloud.service.state import FIRST_OPERATOR, Settings
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle serve") from None
    to_stderr()
    os.umask(UMASK)  # also of what others write for it: SQLite, git, the broker
    settings = Settings(
        folder, host, port, db, mqtt_url, list(name or []), public_https=https, device_days=device_days
    )
    settings.tls, settings.certificate, settings.key = tls, certificate, key
    settings.plain_enrolment, settings.mqtt_port = plain_enrolment, mqtt_port
    state = Server(settings)

    authority = str(folder / "keys" / "ca" / "ca.pem") if tls else None

    def ready(address: str) -> None:
        if json_:
            login = (
                {"name": FIRST_OPERATOR, "password": state.first_password} if state.first_password else None
            )
            emit_json({"address": address, "folder": str(folder), "login": login, "authority": authority})
        else:
            out.print(f"serving {folder} at {address}")
            if authority:
                out.print(f"who is to believe this server needs {authority}")
            if state.first_password:
                out.print(f"log in as {FIRST_OPERATOR} with the one-time password {state.first_password}")
                out.print(f"move {folder / 'keys' / 'offline'} to a medium that no network reaches")
        out.file.flush()

    try:
        serve(state, ready)
    finally:
        state.close()


def _check(folder: Path, json_: bool) -> None:
    """What expires in a server's folder, whether or not it is served now.

    Raises:
        ResourceError: something has to be signed anew by somebody.
    """
    try:
        from ..cloud.service.expiry import countdowns_in
        from ..cloud.trust import Level
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle serve") from None
    found = countdowns_in(folder)
    if json_:
        emit_json({"expires": [vars(each) for each in found]})
    for each in found if not json_ else ():
        ends = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(each.expires))} UTC"
        how = "renewed by itself" if each.by_itself else "renewed with its keys"
        out.print(f"{each.role:20s} {each.level:7s} {each.days:7.1f} days, until {ends}, {how}")
    due = [each for each in found if each.level != Level.OK]
    if due and not json_:
        raise ResourceError.of(
            f"'{due[0].role}', which counts for {max(0.0, due[0].days):.0f} days more",
            "one that counts for longer",
            "walle serve --check",
            due[0].next_step,
        )
    if due:
        raise typer.Exit(5)
