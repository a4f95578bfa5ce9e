"""Admin API: scenarios, tasks, versions, and the files of packages."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from ...errors import ArgumentError
from ..model.accounts import Role
from ..model.tables import Scenario, Version
from ..service.catalogue import MOST_MANIFEST, publish, renew
from ..trust.team import MOST_ROLE
from .auth import Admin, Author, Somebody, State, Viewer
from .errors import not_found
from .named import Digest, ScenarioName, TaskName, VersionName

router = APIRouter(tags=["tasks"])

# Said by hand, as the body is read piece by piece.
_BYTES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class TeamKey(BaseModel):
    """The public key of a team that signs by itself, and the empty role that it has signed."""

    keyid: Digest
    key: dict[str, Any]
    role: str = Field(max_length=MOST_ROLE)


class SignedRole(BaseModel):
    """A scenario's role as it is signed; ``held``: whether the server signs it; ``named``: what it must go on
    listing."""

    role: str
    keyids: list[str]
    held: bool
    named: list[str]


class RenewedRole(BaseModel):
    """The next version of a scenario's role, that lists what it listed."""

    role: str = Field(max_length=MOST_ROLE)


class SignedVersion(BaseModel):
    """A manifest (base64) with the server's files, and the role that lists the one without them, signed by
    the scenario's team."""

    manifest: Annotated[bytes, Field(max_length=2 * MOST_MANIFEST)]
    role: str = Field(max_length=MOST_ROLE)


class NewScenario(BaseModel):
    """A scenario to add."""

    name: ScenarioName
    team: TeamKey | None = None


class ScenarioRow(BaseModel):
    """A scenario, and what the asker may do in it."""

    name: str
    role: str


class TaskRow(BaseModel):
    """A task and its newest version."""

    name: str
    versions: int
    newest: str


class VersionRow(BaseModel):
    """A published version; ``sha256`` and ``size`` are the manifest's."""

    version: str
    path: str
    sha256: str
    size: int
    by: str
    created: float


class Digests(BaseModel):
    """Digests of files."""

    digests: list[Digest] = Field(max_length=10_000)


@router.get("/scenarios")
def list_scenarios(person: Somebody, state: State) -> list[ScenarioRow]:
    """The scenarios that one may see."""
    with state.database.reading() as session:
        names = session.scalars(select(Scenario.name).order_by(Scenario.name)).all()
    held = [(name, person.role(name)) for name in names]
    return [ScenarioRow(name=name, role=role.name.lower()) for name, role in held if role is not None]


@router.post("/scenarios", status_code=201)
def add_scenario(given: NewScenario, person: Admin, state: State) -> ScenarioRow:
    """A scenario with a key of its own; needs the offline keys of ``targets`` on the server.

    With ``team`` the private key stays where it is, and the server cannot publish in the scenario.
    """
    state.add_scenario(given.name, person.name, given.team.model_dump() if given.team else None)
    return ScenarioRow(name=given.name, role=Role.OWNER.name.lower())


@router.get("/scenarios/{scenario}/tasks")
def list_tasks(scenario: ScenarioName, _: Viewer, state: State) -> list[TaskRow]:
    """The tasks that have a version."""
    found: dict[str, TaskRow] = {}
    with state.database.reading() as session:
        for row in session.scalars(_versions(scenario)):
            task = found.setdefault(row.task, TaskRow(name=row.task, versions=0, newest=row.version))
            task.versions, task.newest = task.versions + 1, row.version
    return sorted(found.values(), key=lambda task: task.name)


@router.get("/scenarios/{scenario}/tasks/{task}/versions")
def list_versions(scenario: ScenarioName, task: TaskName, _: Viewer, state: State) -> list[VersionRow]:
    """The versions of a task, oldest first."""
    with state.database.reading() as session:
        rows = session.scalars(_versions(scenario).where(Version.task == task)).all()
    if not rows:
        raise not_found(f"task '{task}'", f"scenario '{scenario}'", "publish a version of it")
    return [VersionRow.model_validate(row, from_attributes=True) for row in rows]


@router.post("/scenarios/{scenario}/blobs/missing")
def missing_blobs(scenario: ScenarioName, given: Digests, _: Author, state: State) -> Digests:
    """Those of the digests whose files the scenario's team has not uploaded, whoever else has."""
    mine = state.team_blobs(scenario)
    return Digests(digests=[digest for digest in given.digests if digest not in mine])


@router.put("/scenarios/{scenario}/blobs/{digest}", status_code=204, openapi_extra=_BYTES)
async def upload_blob(
    scenario: ScenarioName, digest: Digest, request: Request, _: Author, state: State
) -> None:
    """A file of a package; a second time changes nothing."""
    mine = await run_in_threadpool(state.team_blobs, scenario)
    upload = await run_in_threadpool(mine.receive, digest)
    try:
        async for chunk in request.stream():
            upload.write(chunk)  # into the page cache: waits for the disk only where it cannot keep up
        await run_in_threadpool(upload.keep)
    except BaseException:
        upload.drop()
        raise


@router.put("/scenarios/{scenario}/tasks/{task}/versions/{version}", openapi_extra=_BYTES)
async def publish_version(
    scenario: ScenarioName,
    task: TaskName,
    version: VersionName,
    request: Request,
    person: Author,
    state: State,
) -> VersionRow:
    """Publish a version: the body is its manifest, whose files were uploaded before.

    It names the files of the server's half, too; devices get the manifest that does not.

    The same bytes a second time change nothing; other bytes are refused for ever.
    """
    manifest = await request.body()
    row = await run_in_threadpool(publish, state, scenario, task, version, manifest, person.name)
    return VersionRow.model_validate(row, from_attributes=True)


@router.get("/scenarios/{scenario}/role")
def show_role(scenario: ScenarioName, _: Author, state: State) -> SignedRole:
    """The scenario's signed role, to list a version in and to sign anew."""
    role, keyids, held = state.repository.role(scenario)
    return SignedRole(role=role, keyids=keyids, held=held, named=sorted(state.repository.named(scenario)))


@router.put("/scenarios/{scenario}/role")
def renew_role(scenario: ScenarioName, given: RenewedRole, person: Author, state: State) -> SignedRole:
    """Take the scenario's role as it stands, which its team has signed for another time."""
    renew(state, scenario, given.role.encode(), person.name)
    return show_role(scenario, person, state)


@router.put("/scenarios/{scenario}/tasks/{task}/versions/{version}/signed")
def publish_signed(
    scenario: ScenarioName,
    task: TaskName,
    version: VersionName,
    given: SignedVersion,
    person: Author,
    state: State,
) -> VersionRow:
    """Publish a version that the scenario's team has signed; renew the signature of one that is listed."""
    try:
        manifest = base64.b64decode(given.manifest, validate=True)
    except ValueError:
        raise ArgumentError.of("a manifest that is no base64", "base64", "manifest", "encode it") from None
    row = publish(state, scenario, task, version, manifest, person.name, given.role.encode())
    return VersionRow.model_validate(row, from_attributes=True)


def _versions(scenario: str):  # type: ignore[no-untyped-def]
    return select(Version).where(Version.scenario == scenario).order_by(Version.id)
