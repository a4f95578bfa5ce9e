"""Admin API: releases - start, look, pause, resume, halt, roll back, kill."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import select

from ..model.accounts import Role
from ..model.tables import Counter, Epoch, Release, ReportDetail
from ..service.server import Server
from .auth import InLane, Releaser, Somebody, State, Viewer, need
from .errors import RefusalError, not_found
from .named import ReleaseId, ScenarioName, TaskName, VersionName

router = APIRouter(tags=["releases"])

MOST_ROWS = 1000
MOST_REASON = 500
SeenEpoch = Annotated[int | None, Field(ge=0, le=2**53)]
Act = Literal["pause", "resume", "full", "halt", "rollback", "kill", "revive"]


class NewRelease(BaseModel):
    """A version on its way, and the policy (TOML) that says to whom and how fast."""

    task: TaskName
    version: VersionName
    policy: str = Field(default="", max_length=64 * 1024)
    reason: str = Field(default="", max_length=MOST_REASON)
    epoch: SeenEpoch = None


class Reason(BaseModel):
    """Why; it stands in the audit log. ``epoch``: of the preview that was looked at."""

    reason: str = Field(default="", max_length=MOST_REASON)
    epoch: SeenEpoch = None


class ChangeRow(BaseModel):
    """Devices that have told what they run, and what they run then."""

    devices: int
    before: str
    after: str
    up_to: float
    seconds: int


class PreviewRow(BaseModel):
    """Whom an act changes; ``lines`` says it for people. Send ``epoch`` along with the act."""

    act: str
    epoch: int
    changes: list[ChangeRow]
    lines: list[str]


class ReleaseRow(BaseModel):
    """A release and how far it is."""

    id: str
    scenario: str
    task: str
    version: str
    state: str
    reason: str
    by: str
    created: float
    changed: float
    replaces: str


class ReleaseStatus(ReleaseRow):
    """With its policy and parameters, the controller's figures, counters by cohort and status, and how many
    devices run which version of its task."""

    policy: str
    params: dict[str, bool | int | float | str]
    progress: dict[str, Any]
    reports: dict[str, dict[str, int]]
    adoption: dict[str, int]


class MinuteRow(BaseModel):
    """Reports of one minute."""

    minute: int
    cohort: str
    status: str
    count: int


class FailureRow(BaseModel):
    """One report that tells of a failure."""

    at: float
    bucket: str
    cohort: str
    status: str
    version: str
    phase: str
    error: str
    firings: int
    failures: int


class EpochRow(BaseModel):
    """The plan that is out."""

    epoch: int
    sha256: str
    reason: str
    created: float


@router.get("/scenarios/{scenario}/releases")
def list_releases(
    scenario: ScenarioName,
    _: Viewer,
    state: State,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> list[ReleaseRow]:
    """Releases of a scenario, newest first."""
    chosen = select(Release).where(Release.scenario == scenario).order_by(Release.number.desc()).limit(limit)
    with state.database.reading() as session:
        return [ReleaseRow.model_validate(row, from_attributes=True) for row in session.scalars(chosen)]


@router.post("/scenarios/{scenario}/releases", status_code=201)
def start_release(scenario: ScenarioName, given: NewRelease, person: Releaser, state: State) -> ReleaseStatus:
    """Start a release; devices learn of it within a second."""
    more = (person.name, given.reason, given.epoch)
    number = state.releases.start(scenario, given.task, given.version, given.policy, *more)
    return status_of(state, number)


@router.post("/scenarios/{scenario}/releases/preview")
def preview_start(scenario: ScenarioName, given: NewRelease, _: Releaser, state: State) -> PreviewRow:
    """Whom a release would change; nothing is done."""
    epoch, made = state.releases.preview_start(scenario, given.task, given.version, given.policy)
    return _preview("start", epoch, made)


@router.get("/releases/{number}")
def release(number: ReleaseId, person: Somebody, state: State) -> ReleaseStatus:
    """How far a release is."""
    _allowed(state, number, person, Role.VIEWER)
    return status_of(state, number)


@router.get("/releases/{number}/minutes")
def minutes(
    number: ReleaseId,
    person: Somebody,
    state: State,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> list[MinuteRow]:
    """Reports per minute (since 1970), cohort and status; a day of them at most."""
    _allowed(state, number, person, Role.VIEWER)
    chosen = (
        select(Counter)
        .where(Counter.release_id == number, Counter.minute >= since)
        .order_by(Counter.minute)
        .limit(24 * 60 * 12)
    )
    with state.database.reading() as session:
        return [MinuteRow.model_validate(row, from_attributes=True) for row in session.scalars(chosen)]


@router.get("/releases/{number}/failures")
def failures(
    number: ReleaseId,
    person: Somebody,
    state: State,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> list[FailureRow]:
    """Failures as they were reported, newest first."""
    _allowed(state, number, person, Role.VIEWER)
    chosen = (
        select(ReportDetail)
        .where(ReportDetail.release_id == number, ReportDetail.status.not_in(("ok", "claim")))
        .order_by(ReportDetail.at.desc())
        .limit(limit)
    )
    with state.database.reading() as session:
        return [FailureRow.model_validate(row, from_attributes=True) for row in session.scalars(chosen)]


@router.get("/releases/{number}/{act}/preview")
async def preview_act(
    number: ReleaseId, act: Annotated[Act, Path()], person: InLane, state: State
) -> PreviewRow:
    """Whom an act would change; nothing is done."""

    def work() -> PreviewRow:
        _allowed(state, number, person, Role.VIEWER)
        return preview_of(state, number, act)

    return await state.lane.run(work)


def preview_of(state: Server, number: str, act: Act) -> PreviewRow:
    """The same for pages."""
    epoch, made = state.releases.preview(number, act)
    return _preview(act, epoch, made)


def _preview(act: str, epoch: int, made: Any) -> PreviewRow:
    changes = [ChangeRow.model_validate(change, from_attributes=True) for change in made.changes]
    return PreviewRow(act=act, epoch=epoch, changes=changes, lines=made.lines())


@router.post("/releases/{number}/{act}")
async def act_on(
    number: ReleaseId,
    act: Annotated[Act, Path()],
    given: Reason,
    person: InLane,
    state: State,
) -> ReleaseStatus:
    """Pause, resume, open to all, halt, roll back, kill, or take a kill back.

    ``rollback`` starts a release of the version before; the reply is that one.
    """

    def work() -> ReleaseStatus:
        _allowed(state, number, person, Role.RELEASER)
        return status_of(state, state.releases.act(number, act, given.reason, person.name, given.epoch))

    return await state.lane.run(work)


@router.get("/epoch")
def epoch(_: Somebody, state: State) -> EpochRow:
    """The plan that is out."""
    chosen = select(Epoch).where(Epoch.signed.is_not(None)).order_by(Epoch.number.desc()).limit(1)
    with state.database.reading() as session:
        row = session.scalars(chosen).first()
    if row is None:
        return EpochRow(epoch=0, sha256="", reason="nothing was released yet", created=0)
    return EpochRow(epoch=row.number, sha256=row.sha256, reason=row.reason, created=row.created)


def status_of(state: Server, number: str) -> ReleaseStatus:
    """Everything about a release."""
    with state.database.reading() as session:
        row = session.get_one(Release, number)
        reports: dict[str, dict[str, int]] = {}
        for counter in session.scalars(select(Counter).where(Counter.release_id == number)):
            cohort = reports.setdefault(counter.cohort, {})
            cohort[counter.status] = cohort.get(counter.status, 0) + counter.count
    known = ReleaseRow.model_validate(row, from_attributes=True).model_dump()
    progress = state.releases.progress(number)
    params = state.releases.params(number)
    more: dict[str, Any] = {"params": params, "progress": progress, "reports": reports}
    return ReleaseStatus(**known, policy=row.policy, adoption=state.releases.adoption(number), **more)


def scenario_of(state: Server, number: str) -> str:
    """The scenario of a release; empty where there is none."""
    with state.database.reading() as session:
        row = session.get(Release, number)
        return row.scenario if row else ""


def _allowed(state: Server, number: str, person: Any, least: Role) -> None:
    """A release of a scenario that one may not see is no release, and neither is one that there is not."""
    with state.database.reading() as session:
        row = session.get(Release, number)
    if row is None:
        if person.admin and not person.narrowed:
            raise not_found(f"release {number}", "releases", "see /api/v1/scenarios/NAME/releases")
        raise RefusalError(
            403, f"release {number}", "one that you may see", "releases", "ask an owner of its scenario"
        )
    need(person, row.scenario, least)
