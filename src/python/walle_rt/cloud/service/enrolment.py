"""Devices: codes that let one in, certificates, and how a request proves which device it comes from.

A request carries ``Authorization: Walle <device id>:<seconds>:<signature>``: the device's key signs

    walle-v1 LF <method> LF <path> LF <seconds> LF <SHA-256 of the body, hexadecimal>

with ECDSA on P-256 over SHA-256, DER in base64url without padding. The server takes it within five minutes of
its clock. A request that is sent again within that time says the same again, which the sequence numbers of
reports make harmless.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import threading
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update

from ..._core import names
from ...errors import ArgumentError
from ..model.accounts import digest_of
from ..model.audit import append
from ..model.tables import Certificate, Device, EnrolmentCode
from ..trust.authority import Issued, verify
from .state import ServerState

CODE_S = 7 * 86400
MOST_CODES = 1000
MOST_CERTIFICATES = 16  # of a device that count: each may have to be named when it is removed
SKEW_S = 300
_SCHEME = "Walle "
_MOST_DIGITS, _MOST_SIGNATURE = 12, 200  # of the seconds, of a signature in base64
_KEPT_KEYS = 20_000  # 91 bytes each


class CodeRefusedError(ArgumentError):
    """An enrolment code that does not count."""


@dataclass(frozen=True)
class Enrolled:
    """What a new device gets."""

    device: str
    certificate: str
    authority: str
    expires: float
    renew_at: float


def make_codes(state: ServerState, by: str, label: str, count: int, lasts: float = CODE_S) -> list[str]:
    """Codes for ``count`` devices; told once."""
    codes = [secrets.token_urlsafe(18) for _ in range(count)]
    now = state.now()
    with state.database.writing() as session:
        for code in codes:
            row = EnrolmentCode(
                digest=digest_of(code), label=label, by=by, created=now, expires=now + lasts, device=None
            )
            session.add(row)
        session.flush()
        append(session, now, by, "device-code.make", label, {"count": count})
    return codes


def enrol(state: ServerState, code: str, request: bytes) -> Enrolled:
    """Let one device in: its certificate for a code.

    The code is spent in the transaction that adds the device. A device whose answer was lost needs another
    code.

    Raises:
        CodeRefusedError: unknown, used, or over (from the second it expires in).
        ArgumentError: a certificate request that is none.
    """
    refused = CodeRefusedError.of(
        "a code that does not count", "a new one", "code", "ask for one: walle device-code"
    )
    if not names.valid("code", code):
        raise refused
    now = state.now()
    with state.database.reading() as session:  # before the signature, which costs more
        if session.scalars(_open_code(code, now)).first() is None:
            raise refused
    device = f"d-{secrets.token_hex(10)}"
    issued = state.authority.issue(device, request, state.utc())
    with state.database.writing() as session:
        row = session.scalars(_open_code(code, now).with_for_update()).first()
        if row is None:
            raise refused
        row.device = device
        session.add(_row(device, issued, row.label, now))
        session.flush()
        session.add(Certificate(serial=issued.serial, device=device, expires=issued.expires))
    return Enrolled(device, issued.pem, state.authority.pem, issued.expires, issued.renew_at)


def renew(state: ServerState, device: str, request: bytes) -> Enrolled:
    """A new certificate for a device that has proved itself with the old key.

    Those before count until they expire: the reply may be lost.

    Raises:
        ArgumentError: a certificate request that is none, the device was removed, or it has very many.
    """
    issued, now = state.authority.issue(device, request, state.utc()), state.now()
    with state.database.writing() as session:
        row = session.get(Device, device, with_for_update=True)
        if row is None or row.revoked:
            raise ArgumentError.of(f"device '{device}'", "one that is enrolled", "enrol", "enrol it again")
        session.execute(delete(Certificate).where(Certificate.device == device, Certificate.expires <= now))
        chosen = select(func.count()).select_from(Certificate).where(Certificate.device == device)
        if (session.scalar(chosen) or 0) >= MOST_CERTIFICATES:
            raise ArgumentError.of(
                f"device '{device}' with {MOST_CERTIFICATES} certificates that count",
                f"at most {MOST_CERTIFICATES}",
                "enrol",
                "use one of them",
            )
        row.public_key, row.serial, row.expires = issued.public_key, issued.serial, issued.expires
        session.add(Certificate(serial=issued.serial, device=device, expires=issued.expires))
    return Enrolled(device, issued.pem, state.authority.pem, issued.expires, issued.renew_at)


def removed(state: ServerState) -> dict[str, list[str]]:
    """Devices that were removed, and the serials of their certificates that have not expired."""
    out: dict[str, list[str]] = {}
    with state.database.reading() as session:
        chosen = select(Certificate).join(Device, Device.id == Certificate.device)
        counting = chosen.where(Device.revoked, Certificate.expires > state.now())
        for row in session.scalars(counting.order_by(Certificate.device, Certificate.serial)):
            out.setdefault(row.device, []).append(row.serial)
    return out


def revoke(state: ServerState, device: str, by: str) -> bool:
    """The device counts no more; False where there is none."""
    with state.database.writing() as session:
        row = session.get(Device, device)
        if row is None:
            return False
        row.revoked = True
        append(session, state.now(), by, "device.revoke", device)
    return True


class DeviceAuth:
    """Says which device a request comes from. Keeps the keys it has seen; any thread may ask."""

    def __init__(self, state: ServerState) -> None:
        """Nobody has asked yet."""
        self._state = state
        self._lock = threading.Lock()
        self._keys: dict[str, tuple[bytes, float]] = {}

    def device_of(self, header: str, method: str, path: str, body: bytes) -> str | None:
        """The device id; None where the header proves nothing."""
        parts = header.removeprefix(_SCHEME).split(":")
        if not header.startswith(_SCHEME) or len(parts) != 3 or not names.valid("device", parts[0]):
            return None
        device, seconds, given = parts
        if not (seconds.isascii() and seconds.isdigit()) or len(seconds) > _MOST_DIGITS:
            return None
        if not given or len(given) > _MOST_SIGNATURE or abs(int(seconds) - self._state.now()) > SKEW_S:
            return None
        try:
            signature = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4))
        except (binascii.Error, ValueError):
            return None
        key = self._key(device)
        if key is None or not verify(key, signature, signed_bytes(method, path, int(seconds), body)):
            return None
        return device

    def forget(self, device: str) -> None:
        """Its key has changed, or counts no more."""
        with self._lock:
            self._keys.pop(device, None)

    def _key(self, device: str) -> bytes | None:
        now = self._state.now()
        with self._lock:
            kept = self._keys.get(device)
        if kept is None:
            with self._state.database.reading() as session:
                row = session.get(Device, device)
            if row is None or row.revoked:
                return None
            kept = row.public_key, row.expires
            with self._lock:
                if len(self._keys) >= _KEPT_KEYS:
                    self._keys.clear()
                self._keys[device] = kept
        return kept[0] if now < kept[1] else None


def signed_bytes(method: str, path: str, seconds: int, body: bytes) -> bytes:
    """What a device signs."""
    return f"walle-v1\n{method}\n{path}\n{seconds}\n{hashlib.sha256(body).hexdigest()}".encode()


def note_seen(state: ServerState, devices: dict[str, float]) -> None:
    """When devices were last heard of."""
    with state.database.writing() as session:
        for device, at in devices.items():
            session.execute(update(Device).where(Device.id == device, Device.seen < at).values(seen=at))


def _open_code(code: str, now: float):  # type: ignore[no-untyped-def]
    return select(EnrolmentCode).where(
        EnrolmentCode.digest == digest_of(code), EnrolmentCode.device.is_(None), EnrolmentCode.expires > now
    )


def _row(device: str, issued: Issued, label: str, now: float) -> Device:
    return Device(
        id=device,
        public_key=issued.public_key,
        serial=issued.serial,
        label=label,
        enrolled=now,
        expires=issued.expires,
        seen=now,
        epoch=0,
        report_seq=0,
        revoked=False,
    )
