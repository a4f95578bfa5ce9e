"""Admin API: devices and the codes that let them in; the audit log."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import select

from ... import _core
from ..._core import names
from ..model.audit import first_broken
from ..model.tables import AuditEntry, Device, ReportDetail
from ..service import enrolment
from ..service.device_tasks import tasks_of
from .auth import Admin, State
from .errors import not_found
from .named import DeviceId, Label

router = APIRouter(tags=["devices"])

MOST_ROWS = 1000
_FAILURES = 20


class DeviceRow(BaseModel):
    """An enrolled device."""

    id: str
    label: str
    enrolled: float
    expires: float
    seen: float
    epoch: int
    revoked: bool


class DeviceTrouble(BaseModel):
    """Why a device was refused last, and how often since the server was started."""

    at: float
    what: str
    times: int


class DeviceFailure(BaseModel):
    """A failure that it has reported."""

    at: float
    release: str
    task: str
    version: str
    status: str
    phase: str
    error: str


class DeviceTask(BaseModel):
    """What a device runs of a task, as it told, and what was taken back from it.

    ``taken_back`` is a version that it had before, ``why`` a word of `walle_rt.cloud.release.Why`.
    """

    scenario: str
    task: str
    version: str
    at: float
    taken_back: str
    why: str
    release: str


class DeviceStatus(DeviceRow):
    """A device, what is wrong with it, what it runs, and its newest failures."""

    trouble: DeviceTrouble | None
    tasks: list[DeviceTask]
    removed: bool
    expired: bool
    failures: list[DeviceFailure]


class NewCodes(BaseModel):
    """How many codes, for what, and for how long."""

    label: Label = "device"
    count: int = Field(default=1, ge=1, le=enrolment.MOST_CODES)
    hours: float = Field(default=24, gt=0, le=24 * 365)


class Codes(BaseModel):
    """Codes; each lets one device in, once. They are told once."""

    codes: list[str]


class AuditRow(BaseModel):
    """One act of an operator."""

    n: int
    at: float
    who: str
    act: str
    subject: str
    detail: dict[str, Any]
    hash: str


class Audit(BaseModel):
    """Entries, newest first; ``broken`` is the first entry that does not follow from those before."""

    entries: list[AuditRow]
    broken: int | None


@router.get("/devices")
def list_devices(
    _: Admin,
    state: State,
    after: Annotated[str, Query(max_length=names.longest("device"))] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> list[DeviceRow]:
    """Devices in the order of their ids, from the one behind ``after`` on."""
    with state.database.reading() as session:
        rows = session.scalars(select(Device).where(Device.id > after).order_by(Device.id).limit(limit))
        return [DeviceRow.model_validate(row, from_attributes=True) for row in rows]


@router.get("/devices/{device}")
def device(device: DeviceId, _: Admin, state: State) -> DeviceStatus:
    """One device: what is wrong with it, and what it has reported of failures."""
    with state.database.reading() as session:
        row = session.get(Device, device)
        if row is None:
            raise not_found(f"device '{device}'", "devices", "see /api/v1/devices")
        bucket = f"{_core.policy.device_pseudonym(device):016x}"
        bad = (ReportDetail.bucket == bucket, ReportDetail.status.not_in(("ok", "claim")))
        chosen = select(ReportDetail).where(*bad).order_by(ReportDetail.id.desc()).limit(_FAILURES)
        failures = [
            DeviceFailure(
                at=each.at,
                release=each.release_id,
                task=each.task,
                version=each.version,
                status=each.status,
                phase=each.phase,
                error=each.error,
            )
            for each in session.scalars(chosen)
        ]
        found = tasks_of(session, device, session.scalars(chosen).all(), state.releases.why_taken_back)
        tasks = [DeviceTask.model_validate(each, from_attributes=True) for each in found]
    known = DeviceRow.model_validate(row, from_attributes=True).model_dump()
    last = state.troubles.of(device)
    trouble = DeviceTrouble(at=last.at, what=last.what, times=last.times) if last else None
    expired = row.expires <= state.now()
    return DeviceStatus(
        **known, trouble=trouble, tasks=tasks, removed=row.revoked, expired=expired, failures=failures
    )


@router.delete("/devices/{device}", status_code=204)
def remove_device(device: DeviceId, person: Admin, state: State) -> None:
    """The device's key and certificates count no more, here and at the broker."""
    if not enrolment.revoke(state, device, person.name):
        raise not_found(f"device '{device}'", "devices", "see /api/v1/devices")
    state.device_auth.forget(device)
    state.refuse_removed()


@router.post("/device-codes", status_code=201)
def make_codes(given: NewCodes, person: Admin, state: State) -> Codes:
    """Codes that let devices in."""
    codes = enrolment.make_codes(state, person.name, given.label, given.count, given.hours * 3600)
    return Codes(codes=codes)


@router.get("/audit")
def audit(
    _: Admin,
    state: State,
    before: Annotated[int, Query(ge=1, le=2**53)] = 2**53,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Audit:
    """Acts of operators below number ``before``, and whether the whole chain holds."""
    with state.database.reading() as session:
        chosen = select(AuditEntry).where(AuditEntry.n < before).order_by(AuditEntry.n.desc()).limit(limit)
        entries = [
            AuditRow(
                n=row.n,
                at=row.at,
                who=row.who,
                act=row.act,
                subject=row.subject,
                detail=json.loads(row.detail),
                hash=row.hash,
            )
            for row in session.scalars(chosen)
        ]
        return Audit(entries=entries, broken=first_broken(session))
