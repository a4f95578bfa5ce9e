"""Isolates that are ready before they are asked for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import _core
from ..errors import ArgumentError
from .isolate import Isolate, Log
from .library import VM
from .limits import Limits, native_terms

_MOST_READY: int = _core.vm.most_ready()


@dataclass(frozen=True)
class PoolStats:
    """Counters of one pool: isolates ready now, handed out, and made on demand."""

    ready: int
    handed_out: int
    cold: int


def _imports_of(profile: str | Sequence[str]) -> list[str]:
    if not isinstance(profile, str):
        return list(profile)
    named = {"bare": [], "std": _core.vm.std_imports()}
    if profile in named:
        return named[profile]
    expected = '"bare", "std" or a list of modules'
    raise ArgumentError.of(f"profile '{profile}'", expected, "Pool", "pass one of them")


class Pool:
    """Isolates that are ready before they are asked for, refilled in the background.

    Args:
        vm: the library to use.
        size: how many isolates to keep ready, at most 1024.
        profile: what a ready isolate has imported already: nothing ("bare"), what most tasks import ("std"),
            or the modules of the library that this pool's tasks declare, as ["json", "re"]. Ten usual imports
            cost 10 to 17 ms and 1.9 MB on a first call; from such a pool they cost it nothing.
        limits: of each isolate that take() is not told otherwise, as for Isolate.
        log: likewise.
        state: likewise.

    Raises:
        ArgumentError: a profile with a name that is no module of the library, a size out of range or a
            negative limit.
        BackendError: without `vm`, when the VM library is missing.
    """

    def __init__(
        self,
        vm: VM | None = None,
        *,
        size: int = 4,
        profile: str | Sequence[str] = "bare",
        limits: Limits | None = None,
        log: Log | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        """Create the first isolate and start filling."""
        if not 0 <= size <= _MOST_READY:
            raise ArgumentError.of(
                f"size={size}", f"0 to {_MOST_READY}", "Pool", "ask for as many as run at once"
            )
        self.vm = vm or VM()
        self._given = (limits, log, state)
        self._terms = native_terms(self.vm._native, limits, log, state)
        self._native = _core.vm.Pool.create(self.vm._native, size, _imports_of(profile))

    def _terms_for(
        self, limits: Limits | None, log: Log | None, state: str | os.PathLike[str] | None
    ) -> _core.vm.Terms:
        if limits is None and log is None and state is None:
            return self._terms
        own = self._given
        return native_terms(
            self.vm._native, limits or own[0], log or own[1], own[2] if state is None else state
        )

    def take(
        self,
        *,
        limits: Limits | None = None,
        log: Log | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> Isolate:
        """A warm isolate, the caller's to keep; made on the spot when none is ready.

        Ready isolates belong to nobody: what is given here takes the place of the pool's own limits, log and
        state, so that one pool serves tasks of every kind.

        Raises:
            ArgumentError: as for Isolate.
        """
        return Isolate._adopt(self.vm, self._native.take(self._terms_for(limits, log, state)))

    @contextlib.contextmanager
    def isolate(
        self,
        *,
        limits: Limits | None = None,
        log: Log | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> Iterator[Isolate]:
        """take() for a with block."""
        isolate = self.take(limits=limits, log=log, state=state)
        try:
            yield isolate
        finally:
            isolate.close()

    def wait_until_full(self) -> None:
        """Block until `size` isolates are ready."""
        self._native.wait_until_full()

    def stats(self) -> PoolStats:
        """Counters so far."""
        return PoolStats(*self._native.stats())
