"""``walle operator``: log in, and who may do what on a server."""

from __future__ import annotations

import getpass
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError
from .console import emit_json, out
from .exits import command
from .options import Json
from .server_api import Login, Server, ServerApi, keep_login, part

app = typer.Typer(help="Operators of a server: log in, add, roles, tokens.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The operator's name.")]
Scenario = Annotated[str, typer.Argument(help="The scenario's name.")]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", help="Its first line is the password; default: asked for.")
]


def _password(file: Path | None, what: str) -> str:
    if file is not None:
        lines = file.read_text().splitlines()
        if not lines or not lines[0]:
            raise ArgumentError.of(
                "an empty file", "a password in its first line", str(file), "write one into it"
            )
        return lines[0]
    if not sys.stdin.isatty():
        line = sys.stdin.readline().rstrip("\n")
        if line:
            return line
        raise ArgumentError.of("no password", "one on stdin", what, "use --password-file")
    return getpass.getpass(f"{what}: ")


def _show(reply: Any, json_: bool, text: str) -> None:
    if json_:
        emit_json(reply if isinstance(reply, dict) else {"result": reply})
    else:
        out.print(text)


@app.command("login")
@command
def login(
    url: Annotated[str, typer.Argument(help="The server's address.")],
    name: Name,
    password_file: PasswordFile = None,
    json_: Json = False,
) -> None:
    """Log in; other commands then use this server."""
    api = ServerApi(url)
    reply = api.post("/login", {"name": name, "password": _password(password_file, "password")})
    keep_login(Login(url, reply["token"]))
    more = "; change the one-time password now: walle operator password" if reply["one_time"] else ""
    _show(
        {"server": url, "name": name, "one_time": reply["one_time"]},
        json_,
        f"logged in to {url} as {name}{more}",
    )


@app.command("logout")
@command
def logout(server: Server = None, json_: Json = False) -> None:
    """The token stops counting and is forgotten."""
    ServerApi.of(server).post("/logout")
    keep_login(None)
    _show({"logged_out": True}, json_, "logged out")


@app.command("password")
@command
def password(
    old_file: Annotated[Path | None, typer.Option("--old-file", help="The present one.")] = None,
    new_file: Annotated[Path | None, typer.Option("--new-file", help="The next one.")] = None,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Change one's own password; other sessions end."""
    api = ServerApi.of(server)
    old, new = _password(old_file, "present password"), _password(new_file, "new password")
    api.put("/me/password", {"old": old, "new": new})
    _show({"changed": True}, json_, "changed")


@app.command("list")
@command
def list_(server: Server = None, json_: Json = False) -> None:
    """All operators and their roles."""
    rows = ServerApi.of(server).get("/operators")
    if json_:
        emit_json({"operators": rows})
        return
    for row in rows:
        roles = " ".join(f"{scenario}:{role}" for scenario, role in sorted(row["roles"].items()))
        marks = [mark for mark in ("admin", "disabled", "one_time") if row[mark]]
        out.print(f"{row['name']:20s} {' '.join([*marks, roles])}")


@app.command("add")
@command
def add(
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="May do everything.")] = False,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Add an operator; prints a one-time password."""
    reply = ServerApi.of(server).post("/operators", {"name": name, "admin": admin})
    _show(reply, json_, f"{name}'s one-time password: {reply['password']}")


@app.command("reset")
@command
def reset(name: Name, server: Server = None, json_: Json = False) -> None:
    """A new one-time password; sessions end."""
    reply = ServerApi.of(server).post(f"/operators/{part(name)}/password")
    _show(reply, json_, f"{name}'s one-time password: {reply['password']}")


@app.command("disable")
@command
def disable(
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Let in again.")] = False,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Let an operator in no more."""
    ServerApi.of(server).patch(f"/operators/{part(name)}", {"disabled": not undo})
    _show({"name": name, "disabled": not undo}, json_, f"{name} {'may log in' if undo else 'is disabled'}")


@app.command("grant")
@command
def grant(
    name: Name,
    scenario: Scenario,
    role: Annotated[str, typer.Argument(help="viewer, author, releaser, owner; none takes it away.")],
    server: Server = None,
    json_: Json = False,
) -> None:
    """Give an operator a role in a scenario."""
    path = f"/scenarios/{part(scenario)}/roles/{part(name)}"
    api = ServerApi.of(server)
    if role == "none":
        api.delete(path)
    else:
        api.put(path, {"role": role})
    _show({"name": name, "scenario": scenario, "role": role}, json_, f"{name} is {role} in {scenario}")


@app.command("token")
@command
def token(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scenario: Scenario,
    role: Annotated[str, typer.Option("--role", help="At most one's own.")] = "author",
    days: Annotated[int, typer.Option("--days", min=1, max=365, help="How long it counts.")] = 90,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Make a token for a program (CI); printed once."""
    given = {"name": name, "scenario": scenario, "role": role, "days": days}
    reply = ServerApi.of(server).post("/tokens", given)
    _show(reply, json_, reply["token"])


@app.command("scenario")
@command
def scenario_(
    name: Scenario,
    team: Annotated[
        Path | None,
        typer.Option("--team", help="What `walle keys team` wrote: the key stays with its team."),
    ] = None,
    server: Server = None,
    json_: Json = False,
) -> None:
    """Add a scenario."""
    given: dict[str, Any] = {"name": name}
    if team is not None:
        try:
            given["team"] = json.loads(team.read_text())
        except ValueError:
            raise ArgumentError.of(
                f"'{team}'", "the file that walle keys team wrote", "--team", "ask the team for it"
            ) from None
    reply = ServerApi.of(server).post("/scenarios", given)
    _show(reply, json_, f"added {name}")


@app.command("audit")
@command
def audit(
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many, newest first.")] = 20,
    server: Server = None,
    json_: Json = False,
) -> None:
    """What operators did, and whether the chain of the log holds."""
    reply = ServerApi.of(server).get(f"/audit?limit={limit}")
    if json_:
        emit_json(reply)
    else:
        for row in reply["entries"]:
            out.print(f"{row['n']:6d} {row['at']:.0f} {row['who']:16s} {row['act']:20s} {row['subject']}")
        out.print("the chain holds" if reply["broken"] is None else f"broken at entry {reply['broken']}")
