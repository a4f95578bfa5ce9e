"""Troubles: why devices were refused lately, for whoever looks at one of them.

What a device could not be told stands nowhere else: it is refused before anything of its request is kept. In
memory alone, and of the newest so many devices: each of them has proved that it is one, so nobody fills this
in another's name.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

MOST = 20_000


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong with a device.

    Attributes:
        at: seconds since 1970, of the last time.
        what: in words.
        times: how often since the server was started, or since it was first among so many.
    """

    at: float
    what: str
    times: int = 1


class Troubles:
    """The newest trouble of each device. Any thread."""

    def __init__(self) -> None:
        """None."""
        self._lock = threading.Lock()
        self._of: dict[str, Trouble] = {}  # noted last is last

    def note(self, device: str, what: str, now_s: float) -> None:
        """A device was refused, because of this."""
        with self._lock:
            before = self._of.pop(device, None)
            times = before.times + 1 if before else 1
            self._of[device] = Trouble(now_s, what, times)
            if len(self._of) > MOST:
                del self._of[next(iter(self._of))]

    def of(self, device: str) -> Trouble | None:
        """What is wrong with one; None: nothing that is known."""
        with self._lock:
            return self._of.get(device)

    def __len__(self) -> int:
        """Devices with one."""
        return len(self._of)
