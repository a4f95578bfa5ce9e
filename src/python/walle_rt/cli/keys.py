"""``walle keys``: the keys of a repository of tasks, and who may sign what."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from ..errors import ArgumentError
from .console import emit_json, out
from .exits import command
from .extras import without_extra
from .options import Json
from .server_api import Server, ServerApi, part

app = typer.Typer(help="Keys of a repository: make, show, rotate, revoke.", no_args_is_help=True)

Repository = Annotated[Path, typer.Argument(help="The repository's folder, which is served to devices.")]
Offline = Annotated[Path, typer.Option("--offline", help="Folder of the keys of root and targets.")]
Online = Annotated[Path, typer.Option("--online", help="Folder of the server's keys.")]
Into = Annotated[Path, typer.Option("--into", help="Folder that gets the new private keys.")]
Keys = Annotated[list[Path], typer.Option("--keys", help="A folder of private keys; may be repeated.")]
SchemeName = Annotated[str, typer.Option("--scheme", help="ed25519, ecdsa (P-256) or rsa (PSS).")]
Passphrase = Annotated[
    Path | None, typer.Option("--passphrase-file", help="Its first line encrypts and opens the keys.")
]
Role = Annotated[str, typer.Argument(help="root, targets, snapshot, timestamp, director or a scenario.")]


def _trust() -> ModuleType:
    """The server's part, which an extra brings."""
    try:
        from ..cloud import trust
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle keys") from None
    return trust


def _scheme(name: str) -> Any:
    trust = _trust()
    if name not in list(trust.Scheme):
        known = ", ".join(trust.Scheme)
        raise ArgumentError.of(f"'{name}'", f"one of {known}", "--scheme", "ed25519 suits most")
    return trust.Scheme(name)


def _folder(path: Path, passphrase: Path | None) -> Any:
    words = passphrase.read_bytes().splitlines() if passphrase else []
    if passphrase and not words:
        raise ArgumentError.of(
            "an empty file", "a passphrase in its first line", "--passphrase-file", "write one into it"
        )
    return _trust().KeyFolder(path, words[0] if words else None)


@app.command("init")
@command
def init(
    repository: Repository,
    offline: Offline,
    online: Online,
    root_keys: Annotated[int, typer.Option("--root-keys", min=1, max=16, help="Keys of root.")] = 1,
    root_threshold: Annotated[int, typer.Option("--root-threshold", min=1, help="How many must sign.")] = 1,
    scheme: SchemeName = "ed25519",
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """Make the keys of a new repository and sign it, empty."""
    made = _trust().TaskRepository(repository, [])
    made.create(
        offline=_folder(offline, passphrase),
        online=_folder(online, passphrase),
        scheme=_scheme(scheme),
        root_keys=root_keys,
        root_threshold=root_threshold,
    )
    _show(made, json_)
    if not json_:
        out.print(f"devices begin with {repository / 'metadata' / '1.root.json'}")
        out.print(f"keep {offline} on a medium that no network reaches")


@app.command("list")
@command
def list_(repository: Repository, json_: Json = False) -> None:
    """The roles and the ids of the keys that may sign them."""
    _show(_trust().TaskRepository(repository, []), json_)


@app.command("scenario")
@command
def scenario(
    repository: Repository,
    name: Annotated[str, typer.Argument(help="Its name: the first part of its tasks' paths.")],
    keys: Keys,
    into: Into,
    scheme: SchemeName = "ed25519",
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """Add a scenario with a key of its own; the key of targets must be among --keys."""
    opened = _open(repository, keys, passphrase)
    opened.add_scenario(name, _folder(into, passphrase), _scheme(scheme))
    _show(opened, json_)


@app.command("team")
@command
def team(
    into: Into,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for whoever adds the scenario.")],
    scheme: SchemeName = "ed25519",
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """A key that stays with its team, and the file with which a server's administrator adds the scenario."""
    trust = _trust()
    made = trust.first_role(
        _folder(into, passphrase), _scheme(scheme), datetime.now(UTC), trust.Expiry().scenario
    )
    output.write_text(json.dumps(made, indent=1) + "\n")
    if json_:
        emit_json({"keyid": made["keyid"], "output": str(output)})
        return
    out.print(f"key {made['keyid'][:16]} in {into}: keep it, nobody else has it")
    out.print(f"an administrator adds the scenario: walle operator scenario NAME --team {output}")


@app.command("rotate")
@command
def rotate(
    repository: Repository,
    role: Role,
    keys: Keys,
    into: Into,
    scheme: SchemeName = "ed25519",
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """New keys for a role, as many as it has."""
    opened = _open(repository, keys, passphrase)
    opened.replace_keys(role, opened.keyids(role), _folder(into, passphrase), _scheme(scheme))
    _show(opened, json_)


@app.command("revoke")
@command
def revoke(
    repository: Repository,
    role: Role,
    keyid: Annotated[str, typer.Argument(help="The key's id, or how it begins.")],
    keys: Keys,
    into: Into,
    scheme: SchemeName = "ed25519",
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """A new key in the place of one that was lost or stolen: it signs nothing from then on.

    What the role lists is signed again as it stands: look at it first where the thief may have changed it.
    """
    opened = _open(repository, keys, passphrase)
    found = [known for known in opened.keyids(role) if known.startswith(keyid)]
    if len(found) != 1:
        raise ArgumentError.of(
            f"{len(found)} keys of '{role}' begin with '{keyid}'",
            "one key",
            "walle keys revoke",
            "see `walle keys list --json`",
        )
    opened.replace_keys(role, found, _folder(into, passphrase), _scheme(scheme))
    _show(opened, json_)


@app.command("renew")
@command
def renew(
    repository: Annotated[
        Path | None, typer.Argument(help="The repository's folder; without it --scenario says which role.")
    ] = None,
    keys: Keys = [],  # noqa: B006  # typer reads it, and nobody changes it
    role: Annotated[
        list[str] | None, typer.Option("--role", help="This one; may be repeated. Default: root and targets.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", help="The role of a team, which a server has.")
    ] = None,
    server: Server = None,
    passphrase: Passphrase = None,
    json_: Json = False,
) -> None:
    """Sign roles anew as they stand, before they expire.

    In a repository's folder with the keys of the roles, of snapshot and of timestamp among --keys; or the
    role of a scenario at a server, with the key that its team keeps.
    """
    folders = [_folder(path, passphrase) for path in keys]
    if (repository is None) == (scenario is None) or not folders:
        raise ArgumentError.of(
            "no keys" if not folders else "a repository's folder and --scenario, or neither",
            "one of them, and --keys",
            "walle keys renew",
            "walle keys renew REPOSITORY --keys DIR, or walle keys renew --scenario NAME --keys DIR",
        )
    if scenario is not None:
        until = _renew_at_server(scenario, folders, server)
    else:
        opened = _trust().TaskRepository(repository, folders)
        opened.renew(role or ["root", "targets"])
        until = {name: opened.expires(name) for name in opened.roles()}
    _show_until(until, json_)


def _renew_at_server(scenario: str, folders: list[Any], server: str | None) -> dict[str, datetime]:
    trust, api = _trust(), ServerApi.of(server)
    where = f"/scenarios/{part(scenario)}/role"
    told = api.get(where)
    days = trust.Expiry().scenario
    role = trust.renewed_role(told["role"], folders, told["keyids"], datetime.now(UTC), days)
    api.put(where, {"role": role})
    return {scenario: datetime.fromisoformat(json.loads(role)["signed"]["expires"])}


def _show_until(until: dict[str, datetime], json_: bool) -> None:
    if json_:
        emit_json({"expires": {role: at.isoformat() for role, at in until.items()}})
        return
    for role, at in until.items():
        out.print(f"{role:12s} counts until {at:%Y-%m-%d %H:%M:%S} UTC")


def _open(repository: Path, keys: list[Path], passphrase: Path | None) -> Any:
    return _trust().TaskRepository(repository, [_folder(path, passphrase) for path in keys])


def _show(repository: Any, json_: bool) -> None:
    roles = {role: repository.keyids(role) for role in repository.roles()}
    if json_:
        emit_json({"roles": roles})
        return
    for role, keyids in roles.items():
        out.print(f"{role:12s} {' '.join(keyid[:16] for keyid in keyids)}")
