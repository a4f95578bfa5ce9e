"""Tables: what the server remembers.

Times are seconds since 1970 in UTC. Digests are 64 hexadecimal digits. Secrets (passwords, tokens, codes)
stand here as hashes alone. No table has a row per device *and* release: exposure and reports are counters per
minute, beside a sample and all failures.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ..._core import names

_LOGIN, _SCENARIO, _TASK, _VERSION, _RELEASE, _DEVICE, _LABEL, _DIGEST = (
    String(names.longest(kind))
    for kind in ("login", "scenario", "task", "version", "release", "device", "label", "sha256")
)
# SQLite counts rows up by itself only in a column that is INTEGER to the letter.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """All tables of the server."""


class Operator(Base):
    """Somebody who may log in."""

    __tablename__ = "operators"
    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    name: Mapped[str] = mapped_column(_LOGIN, unique=True)
    password: Mapped[str] = mapped_column(String(200))  # Argon2id, with its salt and cost
    one_time: Mapped[bool] = mapped_column(Boolean)  # the password must be changed before anything else
    admin: Mapped[bool] = mapped_column(Boolean)
    disabled: Mapped[bool] = mapped_column(Boolean)
    created: Mapped[float] = mapped_column(Double)


class Grant(Base):
    """An operator's role in a scenario."""

    __tablename__ = "grants"
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"), primary_key=True)
    scenario: Mapped[str] = mapped_column(ForeignKey("scenarios.name"), primary_key=True)
    role: Mapped[str] = mapped_column(String(16))


class Token(Base):
    """What a request proves itself with: of a session, or of a program (CI)."""

    __tablename__ = "tokens"
    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"), index=True)
    digest: Mapped[str] = mapped_column(_DIGEST, unique=True)
    kind: Mapped[str] = mapped_column(String(16))  # session | api
    name: Mapped[str] = mapped_column(_LABEL)
    scenario: Mapped[str | None] = mapped_column(_SCENARIO)  # an API token may be narrower than its operator
    role: Mapped[str | None] = mapped_column(String(16))
    created: Mapped[float] = mapped_column(Double)
    expires: Mapped[float] = mapped_column(Double, index=True)


class Scenario(Base):
    """A team's area: one repository, one role of the trust."""

    __tablename__ = "scenarios"
    name: Mapped[str] = mapped_column(_SCENARIO, primary_key=True)
    created: Mapped[float] = mapped_column(Double)


class Version(Base):
    """One published version of a task; immutable."""

    __tablename__ = "versions"
    __table_args__ = (UniqueConstraint("scenario", "task", "version"),)
    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    scenario: Mapped[str] = mapped_column(ForeignKey("scenarios.name"))
    task: Mapped[str] = mapped_column(_TASK)
    version: Mapped[str] = mapped_column(_VERSION)
    path: Mapped[str] = mapped_column(String(300))  # the target of the trust
    sha256: Mapped[str] = mapped_column(_DIGEST)
    size: Mapped[int] = mapped_column(BigInteger)
    whole: Mapped[str | None] = mapped_column(
        _DIGEST
    )  # of the manifest with the server's files; None: no half
    by: Mapped[str] = mapped_column(_LOGIN)
    created: Mapped[float] = mapped_column(Double)


class Release(Base):
    """One version on its way to devices, and how far it is."""

    __tablename__ = "releases"
    id: Mapped[str] = mapped_column(_RELEASE, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, unique=True)
    scenario: Mapped[str] = mapped_column(ForeignKey("scenarios.name"), index=True)
    task: Mapped[str] = mapped_column(_TASK)
    version: Mapped[str] = mapped_column(_VERSION)
    state: Mapped[str] = mapped_column(String(16), index=True)
    reason: Mapped[str] = mapped_column(Text)
    policy: Mapped[str] = mapped_column(Text)
    replaces: Mapped[str] = mapped_column(_RELEASE)  # the release that this one takes back
    body: Mapped[str] = mapped_column(Text)  # JSON: all of it, as the controller reads it
    counts: Mapped[str] = mapped_column(Text)  # JSON: the controller's numbers
    by: Mapped[str] = mapped_column(_LOGIN)
    created: Mapped[float] = mapped_column(Double)
    changed: Mapped[float] = mapped_column(Double)


class Claim(Base):
    """A device that was let into a gray release and has not reported: as many as the guard allows."""

    __tablename__ = "claims"
    release_id: Mapped[str] = mapped_column(ForeignKey("releases.id"), primary_key=True)
    device: Mapped[str] = mapped_column(String(16), primary_key=True)  # pseudonym, hexadecimal
    control: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    until: Mapped[float] = mapped_column(Double)


class CountedDevices(Base):
    """Devices that a gray release has counted, 512 to a row, or those of them that failed: each counts once.

    Dropped when the release is gray no more.
    """

    __tablename__ = "counted_devices"
    release_id: Mapped[str] = mapped_column(ForeignKey("releases.id"), primary_key=True)
    failed: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    chunk: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    devices: Mapped[bytes] = mapped_column(LargeBinary)  # pseudonyms, 8 bytes each


class RampPoint(Base):
    """The share of devices that a release was open to, for plots."""

    __tablename__ = "ramp_points"
    release_id: Mapped[str] = mapped_column(ForeignKey("releases.id"), primary_key=True)
    at: Mapped[float] = mapped_column(Double, primary_key=True)
    share: Mapped[float] = mapped_column(Double)


class Kill(Base):
    """A task that runs nowhere."""

    __tablename__ = "kills"
    scenario: Mapped[str] = mapped_column(ForeignKey("scenarios.name"), primary_key=True)
    task: Mapped[str] = mapped_column(_TASK, primary_key=True)


class Counter(Base):
    """How many reports of one kind came within one minute."""

    __tablename__ = "report_counters"
    release_id: Mapped[str] = mapped_column(_RELEASE, primary_key=True)
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    cohort: Mapped[str] = mapped_column(String(16), primary_key=True)
    status: Mapped[str] = mapped_column(String(16), primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)


class ReportDetail(Base):
    """A report as it came: every failure, and a sample of the others."""

    __tablename__ = "report_details"
    __table_args__ = (
        Index("report_details_of_release", "release_id", "at"),
        Index("report_details_of_device", "bucket", "id"),
    )
    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    release_id: Mapped[str] = mapped_column(_RELEASE)
    at: Mapped[float] = mapped_column(Double)
    bucket: Mapped[str] = mapped_column(String(32))  # the device's pseudonym
    cohort: Mapped[str] = mapped_column(String(16))
    status: Mapped[str] = mapped_column(String(16))
    task: Mapped[str] = mapped_column(_TASK)
    version: Mapped[str] = mapped_column(_VERSION)
    phase: Mapped[str] = mapped_column(String(128))
    error: Mapped[str] = mapped_column(String(200))
    firings: Mapped[int] = mapped_column(BigInteger)
    failures: Mapped[int] = mapped_column(BigInteger)


class Device(Base):
    """An enrolled device: who it is, not what it runs."""

    __tablename__ = "devices"
    id: Mapped[str] = mapped_column(_DEVICE, primary_key=True)
    public_key: Mapped[bytes] = mapped_column(LargeBinary)  # SubjectPublicKeyInfo, DER
    serial: Mapped[str] = mapped_column(String(48), unique=True)  # of its certificate
    label: Mapped[str] = mapped_column(_LABEL)
    enrolled: Mapped[float] = mapped_column(Double)
    expires: Mapped[float] = mapped_column(Double)
    seen: Mapped[float] = mapped_column(Double, index=True)
    epoch: Mapped[int] = mapped_column(BigInteger)  # of its last report
    report_seq: Mapped[int] = mapped_column(BigInteger)  # the highest that was counted
    revoked: Mapped[bool] = mapped_column(Boolean)


class Running(Base):
    """The version of a task that a device has told of last; "" where it gave one up. A row for each task.

    ``before`` is the version that ran before this one.
    """

    __tablename__ = "running"
    __table_args__ = (Index("running_by_version", "scenario", "task", "version"),)
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"), primary_key=True)
    scenario: Mapped[str] = mapped_column(_SCENARIO, primary_key=True)
    task: Mapped[str] = mapped_column(_TASK, primary_key=True)
    version: Mapped[str] = mapped_column(_VERSION)
    before: Mapped[str | None] = mapped_column(_VERSION)
    at: Mapped[float] = mapped_column(Double)


class AdoptionPoint(Base):
    """How many devices ran a version in one hour, for plots."""

    __tablename__ = "adoption_points"
    scenario: Mapped[str] = mapped_column(_SCENARIO, primary_key=True)
    task: Mapped[str] = mapped_column(_TASK, primary_key=True)
    version: Mapped[str] = mapped_column(_VERSION, primary_key=True)
    hour: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    devices: Mapped[int] = mapped_column(BigInteger)


class Certificate(Base):
    """A certificate that a device has got; kept until it expires, as a removed device's are to be named."""

    __tablename__ = "certificates"
    serial: Mapped[str] = mapped_column(String(48), primary_key=True)
    device: Mapped[str] = mapped_column(ForeignKey("devices.id"), index=True)
    expires: Mapped[float] = mapped_column(Double, index=True)


class EnrolmentCode(Base):
    """Lets one device in, once."""

    __tablename__ = "enrolment_codes"
    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    digest: Mapped[str] = mapped_column(_DIGEST, unique=True)
    label: Mapped[str] = mapped_column(_LABEL)
    by: Mapped[str] = mapped_column(_LOGIN)
    created: Mapped[float] = mapped_column(Double)
    expires: Mapped[float] = mapped_column(Double)
    device: Mapped[str | None] = mapped_column(_DEVICE)  # who took it


class WebhookEvent(Base):
    """Something that the webhook has to tell and has not told yet, oldest first."""

    __tablename__ = "webhook_events"
    n: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    id: Mapped[str] = mapped_column(String(64), unique=True)  # as receivers know it, also when it comes again
    kind: Mapped[str] = mapped_column(String(64))
    body: Mapped[bytes] = mapped_column(LargeBinary)


class Lease(Base):
    """Which server holds this database, and until when it is believed to live; one row."""

    __tablename__ = "leases"
    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    root: Mapped[str] = mapped_column(_DIGEST)  # of the repository's first root: whose database this is
    holder: Mapped[str] = mapped_column(String(400))
    until: Mapped[float] = mapped_column(Double)


class AuditEntry(Base):
    """One act of an operator; each names the hash of the one before."""

    __tablename__ = "audit"
    n: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[float] = mapped_column(Double)
    who: Mapped[str] = mapped_column(_LOGIN)
    act: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(300))
    detail: Mapped[str] = mapped_column(Text)  # JSON
    before: Mapped[str] = mapped_column(_DIGEST)
    hash: Mapped[str] = mapped_column(_DIGEST)


class Epoch(Base):
    """A plan that was decided on. The newest whose signature is out is what devices get."""

    __tablename__ = "epochs"
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    plan: Mapped[bytes] = mapped_column(LargeBinary)
    sha256: Mapped[str] = mapped_column(_DIGEST)
    reason: Mapped[str] = mapped_column(Text)
    urgent: Mapped[bool] = mapped_column(Boolean)  # a kill: devices ask at once, without jitter
    created: Mapped[float] = mapped_column(Double)
    signed: Mapped[float | None] = mapped_column(Double)
    announced: Mapped[float | None] = mapped_column(Double)
