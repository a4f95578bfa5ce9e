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
import time
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update

from ..._core import names
from ...errors import ArgumentError
from ..model.accounts import digest_of
from ..model.audit import append
from ..model.tables import Certificate, Device, EnrolmentCode
from ..trust.authority import Issued, verify
from .state import ServerState
from .troubles import Troubles

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


class ProofRefusedError(ArgumentError):
    """A request that does not prove which device it comes from, or not now."""


def _unproved() -> ProofRefusedError:
    return ProofRefusedError.of(
        "no proof of an enrolled device", "Authorization: Walle ID:SECONDS:SIGNATURE", "HTTP", "enrol"
    )


def _removed() -> ProofRefusedError:
    return ProofRefusedError.of(
        "a device that was removed", "one that is enrolled", "HTTP", "ask who removed it, and for a new code"
    )


def _expired(expires: float) -> ProofRefusedError:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(expires))
    return ProofRefusedError.of(
        f"a certificate that expired at {when}", "one that counts", "HTTP", "enrol with a new code"
    )


def _other_time(ahead_s: float) -> ProofRefusedError:
    """A captured request, sent late, is told the same."""
    side = "ahead of" if ahead_s > 0 else "behind"
    return ProofRefusedError.of(
        f"a signature by a clock that is {abs(ahead_s):.0f} s {side} the server's",
        f"at most {SKEW_S} s",
        "HTTP",
        "set the device's clock; GET /v1/time says the server's",
    )


@dataclass(frozen=True)
class _Known:
    """A device's key, when its certificate expires, and whether it was taken out."""

    key: bytes
    expires: float
    removed: bool


class DeviceAuth:
    """Says which device a request comes from. Keeps the keys it has seen; any thread may ask."""

    def __init__(self, state: ServerState, troubles: Troubles) -> None:
        """Nobody has asked yet."""
        self._state, self._troubles = state, troubles
        self._lock = threading.Lock()
        self._keys: dict[str, _Known] = {}

    def device_of(self, header: str, method: str, path: str, body: bytes) -> str:
        """The device id.

        Raises:
            ProofRefusedError: the header proves nothing, or not now: what is wrong, as far as who asks has
                shown that it is his to know.
        """
        parts = header.removeprefix(_SCHEME).split(":")
        if not header.startswith(_SCHEME) or len(parts) != 3 or not names.valid("device", parts[0]):
            raise _unproved()
        device, seconds, given = parts
        if not (seconds.isascii() and seconds.isdigit()) or len(seconds) > _MOST_DIGITS:
            raise _unproved()
        if not given or len(given) > _MOST_SIGNATURE:
            raise _unproved()
        try:
            signature = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4))
        except (binascii.Error, ValueError):
            raise _unproved() from None
        known = self._key(device)
        if known is None or not verify(known.key, signature, signed_bytes(method, path, int(seconds), body)):
            raise _unproved()
        # From here on it is the device that asks, or has asked: what is wrong is its to know.
        now = self._state.now()
        if known.removed:
            raise self._refused(device, _removed())
        if now >= known.expires:
            raise self._refused(device, _expired(known.expires))
        if abs(int(seconds) - now) > SKEW_S:
            raise self._refused(device, _other_time(int(seconds) - now))
        return device

    def _refused(self, device: str, why: ProofRefusedError) -> ProofRefusedError:
        self._troubles.note(device, why.given, self._state.now())
        return why

    def forget(self, device: str) -> None:
        """Its key has changed, or counts no more."""
        with self._lock:
            self._keys.pop(device, None)

    def _key(self, device: str) -> _Known | None:
        with self._lock:
            kept = self._keys.get(device)
        if kept is None:
            with self._state.database.reading() as session:
                row = session.get(Device, device)
            if row is None:
                return None
            kept = _Known(row.public_key, row.expires, row.revoked)
            with self._lock:
                if len(self._keys) >= _KEPT_KEYS:
                    self._keys.clear()
                self._keys[device] = kept
        return kept


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
