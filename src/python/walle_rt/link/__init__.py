"""The device's header on requests that an app makes anyway, and what replies say about it.

header = device_header(app="com.example.shop", app_version="2.1.0", device_id=device_id)
session.headers[HEADER] = header                    # requests.Session, httpx.Client: every request
...
epoch = up(reply.headers)                           # None: the device is up to date
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from .._core import policy as _native

__all__ = ["HEADER", "REPLY", "add_header", "device_header", "up"]

HEADER: str = _native.HEADER
REPLY: str = _native.REPLY
_MIB = 1 << 20
_MOST_DIGITS = 20  # of an unsigned number of 64 bits


def device_header(
    *,
    app: str,
    app_version: str,
    device_id: str,
    device: str = "",
    os_name: str = "",
    os_version: str = "",
    ram_mb: int | None = None,
    op_set: str = "",
    vm: str = "",
    active: int = 0,
    epoch: int = 0,
) -> str:
    """The 48 characters that say what a device is (docs/reference/formats/device-header.md).

    Args:
        app, app_version: of the app, as "com.example.shop" and "2.1.0"; "" is unknown.
        device_id: the id it enrolled with, or any that stays the same: its cohorts are made of it.
        device: the model, as "Pixel 8".
        os_name: "linux", "android", "ios", "macos", "windows"; "" is the one this runs on.
        os_version: "" is the release of the system this runs on, as far as it begins with numbers.
        ram_mb: memory in MiB; None is this machine's.
        op_set, vm: ids of the operator set and the VM.
        active: digest of the decision that was carried out last; 0 is none.
        epoch: of the plan it went by.

    Raises:
        ArgumentError: no device id, an unknown operating system, a version that does not begin with numbers.
    """
    if not os_version and not os_name:
        os_version = _numbers(platform.release())
    return _native.profile_header(
        app=app,
        app_version=app_version,
        os=os_name,
        os_version=os_version,
        device=device,
        ram_mb=_memory_mb() if ram_mb is None else max(ram_mb, 0),
        op_set=op_set,
        vm=vm,
        device_id=device_id,
        active=active,
        epoch=epoch & 0xFFFFFFFFFFFFFFFF,
    )


def add_header(headers: MutableMapping[str, str], header: str) -> None:
    """Puts a device's header among a request's: any mapping of names to texts."""
    headers[HEADER] = header


def up(headers: Mapping[str, str]) -> int | None:
    """The epoch that a reply asks the device to come up to; None where it asks nothing, or nonsense.

    Args:
        headers: a reply's; names in any case where the mapping is one of `requests` or `httpx`, and as HTTP
            writes them or in lower case in a plain one.
    """
    text = headers.get(REPLY) or headers.get(REPLY.lower()) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def request_hook(header: Callable[[], str]) -> Callable[[Any], Any]:
    """For ``httpx.Client(event_hooks={"request": [hook]})`` or the ``auth`` of `requests`: adds the header.

    Args:
        header: gives the device's header as it is now; called for each request.
    """

    def hook(request: Any) -> Any:
        add_header(request.headers, header())
        return request

    return hook


def response_hook(pull: Callable[[int], object]) -> Callable[..., None]:
    """For ``event_hooks={"response": [hook]}`` of `httpx`, ``hooks={"response": hook}`` of `requests`.

    Args:
        pull: called with the epoch of each reply that asks the device to come up; it should return at once.
    """

    def hook(response: Any, *_: object, **__: object) -> None:
        epoch = up(response.headers)
        if epoch is not None:
            pull(epoch)

    return hook


def _numbers(text: str) -> str:
    """The numbers between dots at the beginning of a text."""
    parts = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(digits)
        if digits != part:
            break
    return ".".join(parts)


def _memory_mb() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _MIB
    except (AttributeError, ValueError, OSError):  # systems without sysconf, or without these names
        return 0
