"""Release: its content and states, and the TOML text that asks for one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from ..._core import names
from ..._core.task import pack_params
from ...errors import ArgumentError
from ...task._mistakes import nearest
from .policy import Policy
from .ramp import Guard, Ramp, fixed

Params = dict[str, bool | int | float | str]  # by name

_MANUAL = "see docs/reference/release-policy.md"


class State(StrEnum):
    """Where a release stands; docs/concepts/release.md has the picture."""

    DRAFT = "draft"  # in no plan
    GRAY = "gray"  # its ramp lets devices in
    PAUSED = "paused"  # who is in stays in, nobody else
    FULL = "full"  # everybody its policy suits
    HALTED = "halted"  # in no plan: devices go back to what is behind it
    ROLLED_BACK = "rolled_back"  # another release points at what was before it
    RETIRED = "retired"  # a newer one suits everybody


# In plans, newest first.
LIVE = (State.GRAY, State.PAUSED, State.FULL)


@dataclass(frozen=True)
class Package:
    """The content of a release: a signed manifest.

    Attributes:
        scenario, task, version: as its TUF path says them.
        sha256: of the manifest ``<scenario>/<task>/<task>-<version>.walp``, 64 hexadecimal digits.
        size: of it, bytes.
    """

    scenario: str
    task: str
    version: str
    sha256: str
    size: int

    def __post_init__(self) -> None:
        """Refuse names that no path has."""
        for kind in ("scenario", "task", "version", "sha256"):
            names.check(kind, getattr(self, kind), "release")

    @property
    def path(self) -> str:
        """The TUF target."""
        return names.package_path(self.scenario, self.task, self.version)


@dataclass(frozen=True)
class Wish:
    """What an operator writes: version, policy, parameters, ramp and guard of a release to come."""

    scenario: str
    task: str
    version: str
    policy: str = ""
    ramp: Ramp = field(default_factory=Ramp)
    guard: Guard = field(default_factory=Guard)
    params: Params = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """One release, as stores keep it. ``to_dict`` and ``from_dict`` are its form in JSON."""

    id: str
    number: int  # grows; of two releases of a task the one with the larger number is asked first
    package: Package
    policy: str
    ramp: Ramp
    guard: Guard
    state: State = State.DRAFT
    started_s: int = 0  # of the ramp: since when it runs as it stands
    held_share: float = 0.0  # while it is paused: the share that it stands at
    created_s: int = 0
    reason: str = ""  # why it stands where it stands
    replaces: str = ""  # of a rollback: the release it takes back
    params: Params = field(default_factory=dict)  # that it sets of the task's walle.params
    taken: str = ""  # of one that devices had and that was taken back: why, as `taken_back.Why` says

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "state": str(self.state)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Release:
        """The inverse of `to_dict`."""
        return cls(
            **{
                **given,
                "package": Package(**given["package"]),
                "ramp": Ramp(**given["ramp"]),
                "guard": Guard(**given["guard"]),
                "state": State(given["state"]),
            }
        )

    def moved(self, state: State, reason: str = "", **changes: Any) -> Release:
        """In another state."""
        return replace(self, state=state, reason=reason, **changes)

    @property
    def content(self) -> tuple[str, Params]:
        """What a device that has it runs: releases with the same one differ in whom they are for."""
        return self.package.sha256, self.params

    @property
    def task_key(self) -> tuple[str, str]:
        """(scenario, task)."""
        return self.package.scenario, self.package.task

    @property
    def gray(self) -> bool:
        """Whether its ramp decides who has it."""
        return self.state in (State.GRAY, State.PAUSED)

    def ripe(self, now_s: float) -> bool:
        """Whether its time as a gray one is over by its ramp's ``full_after``."""
        ramp = self.ramp
        return ramp.full_after >= 0 and now_s >= self.started_s + ramp.seconds + ramp.full_after

    def share(self, now_s: float) -> float:
        """The share of the devices it is for that may have it."""
        if self.state == State.FULL:
            return 1.0
        if self.state == State.PAUSED:
            return self.held_share
        return self.ramp.share(now_s - self.started_s) if self.gray else 0.0

    def control(self, now_s: float) -> float:
        """The share of them that is its control cohort."""
        share = self.share(now_s)
        return min(self.ramp.control_share, share, 1 - share) if self.gray else 0.0

    def native(self) -> Any:
        """As `_core.policy.write_plan` takes it."""
        p = self.package
        ramp = None
        if self.gray:
            r = self.ramp
            line = (r.start_share, r.end_share, r.seconds)
            if self.state == State.PAUSED:
                line = (self.held_share, self.held_share, 0)
            ends = (fixed(line[0]), fixed(line[1]))
            ramp = (*ends, self.started_s, line[2], fixed(r.control_share), r.report_seconds)
        digest, packed = bytes.fromhex(p.sha256), pack_params(self.params)
        segments = Policy(self.policy).segments
        return (self.id, p.scenario, p.task, p.version, p.path, digest, p.size, segments, ramp, packed)


_RAMP_KEYS = {
    "from": "start_share",
    "to": "end_share",
    "seconds": "seconds",
    "per_minute": "per_minute",
    "control": "control_share",
    "report_seconds": "report_seconds",
    "full_after": "full_after",
}
_GUARD_KEYS = {f.name: f.name for f in fields(Guard)}


def _known(given: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    for key in given:
        if key not in known:
            near = nearest(key, known)
            raise ArgumentError.of(
                f"'{key}'",
                f"one of {', '.join(known)}",
                where,
                f"did you mean '{near}'?" if near else _MANUAL,
            )


def _table(given: Mapping[str, Any], name: str, keys: Mapping[str, str], kind: type[Any]) -> Any:
    table = given.get(name, {})
    if not isinstance(table, dict):
        raise ArgumentError.of(f"'{name}' = {table!r}", f"a table [{name}]", "release text", _MANUAL)
    _known(table, keys, f"[{name}]")
    values: dict[str, Any] = {}
    wanted = {f.name: f.type for f in fields(kind)}
    for key, value in table.items():
        whole = wanted[keys[key]] == "int"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            expected = "a whole number" if whole else "a number"
            raise ArgumentError.of(f"{key} = {value!r}", expected, f"[{name}]", _MANUAL)
        values[keys[key]] = value if whole else float(value)
    return kind(**values)


def _params(given: Mapping[str, Any]) -> Params:
    """Of what types they are, and whether the task has them, its manifest says."""
    table = given.get("params", {})
    if not isinstance(table, dict):
        raise ArgumentError.of(f"'params' = {table!r}", "a table [params]", "release text", _MANUAL)
    for name, value in table.items():
        if not isinstance(value, bool | int | float | str):
            raise ArgumentError.of(f"{name} = {value!r}", "a bool, int, float or text", "[params]", _MANUAL)
    return dict(table)


def read_wish(text: str, named: Mapping[str, str] | None = None) -> Wish:
    """A release's TOML text, as docs/reference/release-policy.md has it.

    Args:
        text: of the release.
        named: scenario, task and version as somebody has said them beside the text, which may leave them out.

    Raises:
        ArgumentError: no TOML, a key that is unknown or missing, a value of another type, a mistake in the
            policy.
    """
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ArgumentError.of(str(error), "TOML", "release text", _MANUAL) from None
    _known(given, {"release": 0, "params": 0, "ramp": 0, "guard": 0}, "release text")
    head = given.get("release", None if named is None else {})
    if not isinstance(head, dict):
        raise ArgumentError.of("no table [release]", "one", "release text", _MANUAL)
    head = {**(named or {}), **head}
    _known(head, {"scenario": 0, "task": 0, "version": 0, "policy": 0}, "[release]")
    for key in ("scenario", "task", "version"):
        if key not in head:
            raise ArgumentError.of(f"no '{key}'", "a text", "[release]", f'add {key} = "..."')
    for key, value in head.items():
        if not isinstance(value, str):
            raise ArgumentError.of(f"{key} = {value!r}", "a text", "[release]", _MANUAL)
    Policy(head.get("policy", ""))
    Package(
        head["scenario"], head["task"], head["version"], "0" * 64, 0
    )  # names are told now, not at the start
    return Wish(
        **head,
        ramp=_table(given, "ramp", _RAMP_KEYS, Ramp),
        guard=_table(given, "guard", _GUARD_KEYS, Guard),
        params=_params(given),
    )
