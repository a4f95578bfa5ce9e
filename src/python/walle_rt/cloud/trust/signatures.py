"""Signatures: how long each role's counts, which are renewed by themselves, and which somebody must renew.

A role that expires stops every device: nothing behind it is believed any more, kill orders included. So a
role whose keys are at hand is signed anew long before, and of every other one it is said early that somebody
must bring its keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from .metadata_folder import DIRECTOR
from .repository import TaskRepository

SOON = timedelta(days=60)  # somebody has to act
URGENT = timedelta(days=14)
# Left of a signature's time when it is made anew. Of the short ones early: a weekend's outage of two nights
# is told in time.
_ONLINE = ("timestamp", "snapshot", DIRECTOR)
_LEFT_ONLINE, _LEFT_OFFLINE = 2 / 3, 1 / 3
_LATE = 1 / 2  # of that: it was not made anew though its keys are here


class Level(StrEnum):
    """How a signature stands."""

    OK = "ok"
    SOON = "soon"
    URGENT = "urgent"
    OVER = "over"  # devices believe nothing behind it


@dataclass(frozen=True)
class Signature:
    """One role's.

    Attributes:
        role: its name.
        expires: from this second on it counts no more.
        left: until then; negative behind it.
        at_hand: the keys for it are here: it is renewed by itself.
        renew_from: left when it is made anew, where its keys are at hand.
    """

    role: str
    expires: datetime
    left: timedelta
    at_hand: bool
    renew_from: timedelta

    @property
    def days(self) -> float:
        """Left."""
        return self.left / timedelta(days=1)

    @property
    def due(self) -> bool:
        """Whether it is to be made anew now, by whoever has its keys."""
        return self.left <= self.renew_from

    @property
    def level(self) -> Level:
        """How it stands; of one that is renewed by itself a word only where that has failed."""
        late = self.left <= self.renew_from * _LATE
        return level_of(self.left) if late or not self.at_hand else Level.OK


def level_of(left: timedelta) -> Level:
    """How something stands that somebody has to renew, and that counts for so long."""
    if left <= timedelta(0):
        return Level.OVER
    if left <= URGENT:
        return Level.URGENT
    return Level.SOON if left <= SOON else Level.OK


def signatures(repository: TaskRepository) -> list[Signature]:
    """Of every role, the one that expires first in front."""
    now, found = repository.now(), []
    for role, (expires, at_hand) in repository.standing().items():
        period = timedelta(days=repository.expiry.days(role))
        left = period * (_LEFT_ONLINE if role in _ONLINE else _LEFT_OFFLINE)
        found.append(Signature(role, expires, expires - now, at_hand, left))
    return sorted(found, key=lambda each: each.expires)


def renew_due(repository: TaskRepository, roles: Iterable[Signature]) -> list[str]:
    """Sign anew what is due and whose keys are here; returns the roles."""
    due = [each.role for each in roles if each.due and each.at_hand]
    if due:
        repository.renew(due)
    return due
