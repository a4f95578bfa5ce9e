"""Expiry: what counts for a time alone is made anew where that can be done here, and told of where it cannot.

Signed roles (``trust.signatures``), and the certificate of the authority that devices' are made with.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ...errors import Error, ResourceError
from .. import metrics
from ..trust import KeyFolder, Level, Signature, TaskRepository, renew_due, signatures
from ..trust.authority import Authority
from ..trust.signatures import level_of
from .state import ServerState

LOG = logging.getLogger("walle_rt.cloud")
_LOOK_S = 60.0
_TELL_S = 86_400.0
AUTHORITY = "devices' authority"


@dataclass(frozen=True)
class Countdown:
    """How long something counts.

    Attributes:
        role: a role of the trust, or `AUTHORITY`.
        expires: seconds since 1970.
        days: left, negative behind it.
        level: ok, soon, urgent, over.
        by_itself: it is made anew here.
        next_step: what somebody has to do; empty where nothing.
    """

    role: str
    expires: float
    days: float
    level: Level
    by_itself: bool
    next_step: str

    def text(self) -> str:
        """``'targets' counts for 12 days more, until 2027-03-01: ...``."""
        until = datetime.fromtimestamp(self.expires).astimezone().date().isoformat()
        if self.level == Level.OVER:
            return f"'{self.role}' is over since {until}, and no device follows: {self.next_step}"
        return f"'{self.role}' counts for {self.days:.0f} days more, until {until}: {self.next_step}"


def countdowns(repository: TaskRepository, authority_until: datetime, folder: str) -> list[Countdown]:
    """Of everything that expires, the first to do so in front.

    Args:
        repository: whose roles.
        authority_until: when the certificate of the devices' authority stops counting.
        folder: of the server, as the next step names it.
    """
    found = [_of_role(each, folder) for each in signatures(repository)]
    left = authority_until - repository.now()
    level = level_of(left)
    step = "make a new one, and have devices enrol again: docs/how-to/keys-and-expiry.md"
    days, until = left / timedelta(days=1), authority_until.timestamp()
    mine = Countdown(AUTHORITY, until, days, level, False, "" if level == Level.OK else step)
    return sorted([*found, mine], key=lambda each: each.expires)


def countdowns_of(state: ServerState) -> list[Countdown]:
    """Of everything that a server has."""
    until = state.authority.certificate.not_valid_after_utc
    return countdowns(state.repository, until, str(state.settings.folder))


def countdowns_in(folder: Path) -> list[Countdown]:
    """Of everything in a server's folder, which may be served meanwhile; nothing is changed.

    Raises:
        ResourceError: no server's folder, or damage in it.
    """
    keys = folder / "keys"
    scenarios = keys / "scenarios"
    teams = sorted(scenarios.iterdir()) if scenarios.is_dir() else []
    folders = [KeyFolder(each) for each in (keys / "online", keys / "offline", *teams)]
    repository = TaskRepository(folder / "repository", folders)
    repository.roles()  # says what is missing
    if not (keys / "ca" / "ca.pem").is_file():
        raise ResourceError.of(
            f"'{folder}' without keys/ca/ca.pem", "a server's folder", "walle serve --check", "check the path"
        )
    return countdowns(repository, Authority(keys / "ca").certificate.not_valid_after_utc, str(folder))


def worst(found: list[Countdown]) -> Level:
    """The level of what stands worst."""
    return max((each.level for each in found), key=list(Level).index, default=Level.OK)


def _of_role(signature: Signature, folder: str) -> Countdown:
    at = (signature.role, signature.expires.timestamp(), signature.days, signature.level, signature.at_hand)
    if signature.level == Level.OK:
        return Countdown(*at, "")
    if signature.at_hand:
        return Countdown(*at, "its keys are here, and signing has failed: look into the server's log")
    online = f"{folder}/keys/online"
    if signature.role in ("root", "targets"):
        step = f"walle keys renew {folder}/repository --keys OFFLINE --keys {online}"
    elif signature.role in ("snapshot", "timestamp", "director"):
        step = f"bring its key back into {online}: docs/how-to/keys-and-expiry.md"
    else:
        step = f"its team signs anew: walle keys renew --scenario {signature.role} --keys DIR"
    return Countdown(*at, step)


class Expiries:
    """Looks once a minute. Threads: `look` by one, `found` is replaced as a whole."""

    def __init__(self, state: ServerState) -> None:
        """As it stands; nothing is made anew yet."""
        self._state = state
        self.found = countdowns_of(state)
        self._looked = self._told = float("-inf")

    def look(self) -> None:
        """Make anew what is due and can be, and tell of what somebody else has to make anew."""
        now = self._state.now()
        if abs(now - self._looked) < _LOOK_S:
            return
        self._looked = now
        try:
            self._renew()
        except (Error, OSError) as error:  # a full disk: the next look tries again, and the level says so
            LOG.error("signatures are not made anew", extra={"because": str(error)})
        self.found = countdowns_of(self._state)
        metrics.expiry({each.role: each.days for each in self.found})
        if abs(now - self._told) >= _TELL_S:
            self._told = now
            self._tell()

    def _renew(self) -> None:
        with self._state.signing:
            for role in renew_due(self._state.repository, signatures(self._state.repository)):
                if role not in ("timestamp", "snapshot", "director"):
                    LOG.info("signed anew", extra={"role": role})

    def _tell(self) -> None:
        for each in self.found:
            if each.level != Level.OK:
                severe = logging.WARNING if each.level == Level.SOON else logging.ERROR
                LOG.log(severe, each.text(), extra={"role": each.role, "days": round(each.days, 1)})
