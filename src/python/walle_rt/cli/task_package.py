"""``walle task pack|publish|fetch``: from a task's folder to what devices fetch."""

from __future__ import annotations

import getpass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from ..errors import ArgumentError
from ..task import Task
from .console import emit_json, file_size, out, size_text
from .exits import command
from .extras import without_extra
from .options import Json
from .server_api import Server, ServerApi, find_login
from .task_author import Folder

Scenario = Annotated[str, typer.Option("--scenario", help="Whose task it is: the repository it lies in.")]
To = Annotated[
    Path | None,
    typer.Option("--to", help="Publish into this folder with --keys, instead of a server."),
]
Keys = Annotated[
    list[Path] | None,
    typer.Option("--keys", help="A folder of private keys, to sign here and not on the server; repeatable."),
]


def _publishing() -> ModuleType:
    """The server's part, which an extra brings."""
    try:
        from ..cloud.service import publishing
    except ModuleNotFoundError as error:
        raise without_extra(error, "walle task publish") from None
    return publishing


@command
def pack(
    folder: Folder,
    scenario: Scenario,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write into.")],
    json_: Json = False,
) -> None:
    """Compile a task into a package: TASK-VERSION.walp, and its files in blobs/ by their SHA-256.

    The same folder gives the same bytes on every machine and day.
    """
    packed = Task(folder).pack(scenario)
    path = packed.save(output)
    package = packed.package
    if json_:
        files = {file.name: {"sha256": file.sha256, "bytes": file.size} for file in package.files}
        emit_json(
            {
                "output": str(path),
                "digest": packed.digest,
                "bytes": file_size(path),
                "vm": package.vm,
                "op_set": package.op_set,
                "ram_bytes": package.ram_bytes,
                "files": files,
            }
        )
        return
    content = sum(map(len, packed.blobs.values()))
    out.print(f"{path}: {len(package.files)} files, {size_text(content)}, for {package.vm}")
    out.print(f"package sha256:{packed.digest}")


@command
def publish(
    folder: Folder,
    scenario: Scenario,
    to: To = None,
    keys: Keys = None,
    server: Server = None,
    author: Annotated[str, typer.Option(help="NAME <MAIL>; default: git's user.name and user.email.")] = "",
    message: Annotated[str, typer.Option("-m", "--message", help="Of the commit.")] = "",
    json_: Json = False,
) -> None:
    """Publish the version that task.toml names: upload its files, commit and tag it, list it as authentic.

    The same bytes a second time change nothing; other bytes under a version that was published are refused.
    """
    publishing = _publishing()
    target = _target(publishing, scenario, to, keys, server)
    made = publishing.publish(folder, scenario, target, _author(publishing, author), message)
    package = made.package
    if json_:
        emit_json(
            {
                "path": package.path,
                "digest": made.digest,
                "commit": made.commit,
                "uploaded": made.uploaded,
            }
        )
        return
    sent = size_text(sum(made.uploaded.values()))
    out.print(f"{package.path}: {len(made.uploaded)} of {len(package.files)} files uploaded, {sent}")
    out.print(f"tag {package.task}/{package.version}, package sha256:{made.digest}")


@command
def fetch(
    folder: Folder,
    scenario: Scenario,
    to: To = None,
    keys: Keys = None,
    server: Server = None,
    json_: Json = False,
) -> None:
    """In a clone: put the files of more than 64 KiB in the place of the pointers to them."""
    publishing = _publishing()
    names = publishing.fetch_files(folder, _target(publishing, scenario, to, keys, server))
    if json_:
        emit_json({"files": names})
        return
    for name in names:
        out.print(name)


def _target(
    publishing: ModuleType, scenario: str, to: Path | None, keys: list[Path] | None, server: str | None
) -> Any:
    if to is not None and server is not None:
        raise ArgumentError.of("--to and --server", "one of both", "walle task publish", "leave one out")
    folders = [publishing.KeyFolder(path) for path in keys or []]
    if to is not None:
        return publishing.FolderTarget(to, scenario, folders)
    login = find_login(server)
    return publishing.ServerTarget(ServerApi(login.url, login.token), login.token, scenario, folders)


def _author(publishing: ModuleType, given: str) -> Any:
    name, _, mail = given.partition("<")
    if given:
        return publishing.Author(name.strip(), mail.rstrip("> "))
    name, mail = publishing.git_author()
    return publishing.Author(name or getpass.getuser(), mail)
