"""A device and its server, as the app sees it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from .. import _core
from ..errors import ArgumentError
from ..link import REPLY
from ._transport import Headers, HttpTransport, Sink


class Transport(Protocol):
    """What carries a device's requests, instead of libcurl or ``http.client``.

    ``get`` and ``post`` return the HTTP status of the reply and give pieces of its body to ``sink``: of 200
    and 206 to a GET, of any 2xx and 429 to a POST. ``start`` asks for the bytes from there on (``Range``); of
    a server that sends all of it, what lies before is left out. They raise where there was no reply or it was
    cut off, and pass on what ``sink`` raises. Called from one thread.
    """

    name: str

    def get(self, url: str, start: int, headers: Headers, sink: Sink) -> int:
        """Fetch."""
        ...

    def post(self, url: str, content_type: str, body: bytes, headers: Headers, sink: Sink) -> int:
        """Send."""
        ...


@dataclass(frozen=True)
class CloudTask:
    """A task that the server's plan manages.

    Attributes:
        name: the task's.
        scenario: whose it is.
        version: that runs; "" while none does.
        release: that brought it.
        coming: version that is under way; "".
        stage: none, fetching, trying (on probation), activating, returning, removing.
        last_good: version that takes over if this one fails; "".
        trial: gray release in which the device has a place, treated or control; "".
    """

    name: str
    scenario: str
    version: str
    release: str
    coming: str
    stage: str
    last_good: str
    trial: str


@dataclass(frozen=True)
class CloudStep:
    """What the newest pull has done with one task.

    Attributes:
        task: its name.
        version: that the plan names.
        what: kept, activated, turned_down (it failed here), removed, waits (for a place in a gray release),
            later, absent (no place, or the control cohort, and nothing of it is here).
        error: why, of ``waits`` and ``later``.
    """

    task: str
    version: str
    what: str
    error: str


@dataclass(frozen=True)
class TakenBack:
    """A version that a device had and has no more.

    Attributes:
        task: its name.
        version: that ran here, or was to.
        release: that it came by, or that was taken back.
        why: halted (by an operator), guard (by the release's guard), rolled_back, killed, or refused (it
            failed here).
    """

    task: str
    version: str
    release: str
    why: str


def taken_back_in(folder: Path) -> tuple[TakenBack, ...]:
    """What was taken back from the device whose folder this is, as its newest plan said; nobody is asked."""
    return tuple(TakenBack(*each) for each in _core.device.taken_back(str(folder)) or ())


@dataclass(frozen=True)
class CloudState:
    """How a device stands with its server.

    Attributes:
        device: its id there.
        transport: what carries its requests: "libcurl", "http.client", or the app's.
        epoch: of the plan that it follows; 0: none yet.
        pulling: whether a pull is under way.
        pulls: that have ended since connect.
        pulled_at: when the newest one worked, seconds since 1970; 0.0: none has.
        error: of the newest pull; "" where it worked.
        trouble: what keeps reports from being sent, or a version from being taken back; "".
        tasks: that the plan manages, by name.
        steps: of the newest pull.
        taken_back: versions that the device had and has no more, one of a task, as long as the plan says so.
        pending_reports: that the server has not got yet.
        lost_reports: that found the queue full, or were refused.
    """

    device: str
    transport: str
    epoch: int
    pulling: bool
    pulls: int
    pulled_at: float
    error: str
    trouble: str
    tasks: dict[str, CloudTask]
    steps: tuple[CloudStep, ...]
    taken_back: tuple[TakenBack, ...]
    pending_reports: int
    lost_reports: int


def state_of(fields: dict[str, Any]) -> CloudState:
    """From what the native side says."""
    fields = dict(fields)
    fields["pulled_at"] = fields.pop("pulled_at_us") / 1e6
    fields["tasks"] = {task[0]: CloudTask(*task) for task in fields["tasks"]}
    fields["steps"] = tuple(CloudStep(*step) for step in fields["steps"])
    fields["taken_back"] = tuple(TakenBack(*each) for each in fields["taken_back"])
    return CloudState(**fields)


def make_transport(given: str | Transport, authorities: str) -> str | Transport:
    """A transport for the native side: the name "libcurl", or an object.

    Raises:
        ArgumentError: another name, or an object without ``get``, ``post`` and ``name``.
    """
    if given == "auto":
        return "libcurl" if _core.device.has_libcurl() else HttpTransport(authorities or None)
    if given == "libcurl":
        return "libcurl"
    if given == "python":
        return HttpTransport(authorities or None)
    if isinstance(given, str) or not all(hasattr(given, name) for name in ("name", "get", "post")):
        raise ArgumentError.of(
            f"transport={given!r}",
            '"auto", "libcurl", "python", or an object with name, get and post',
            "Device.connect",
            "leave it out",
        )
    return given


def root_bytes(root: bytes | str | PathLike[str] | None) -> bytes:
    """The first root, from a file or as it is.

    Raises:
        ArgumentError: there is no such file.
    """
    if root is None:
        return b""
    if isinstance(root, bytes):
        return root
    try:
        return Path(fspath(root)).read_bytes()
    except OSError as error:
        raise ArgumentError.of(
            f"root {fspath(root)!r}: {error.strerror}",
            "the file root.json that came with the app",
            "Device.connect",
            "give its path",
        ) from None


def os_version() -> str:
    """Of this machine, as far as it is a number: "6.1" for Linux."""
    parts = platform.release().split("-")[0].split(".")[:2]
    return ".".join(parts) if all(part.isdigit() for part in parts) else ""


def epoch_said(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> str | None:
    """The value of X-Walle-Up among the headers of a reply, whatever their case; None without one."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    for name, value in pairs:
        if name.lower() == REPLY.lower():
            return value
    return None
