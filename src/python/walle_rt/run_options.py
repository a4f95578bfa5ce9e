"""What a run is asked for beside its results: when it ends, and where its results go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .errors import ArgumentError
from .values import Array

# Arrays for results: by name, or in the order of the results with None for those the engine makes.
Out = Mapping[str, Array] | Sequence[Array | None]


class CancelToken:
    """Ends runs from any thread.

    Given to ``Session.run`` as ``cancel``, by any number of runs. Once cancelled it stays so: a run that
    begins later with it ends at once.
    """

    def __init__(self) -> None:
        """Make a token that has not been cancelled."""
        self._native = _core.CancelToken()

    def cancel(self) -> None:
        """End the runs that have this token; each finishes the step under way."""
        self._native.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._native.cancelled

    def __repr__(self) -> str:
        """Whether it was cancelled."""
        return f"CancelToken(cancelled={self.cancelled})"


@dataclass(frozen=True)
class RunOptions:
    """The options of one run."""

    timeout: float | None = None
    cancel: CancelToken | None = None
    out: Out | None = None

    def run(
        self, native: _core.Session, inputs: dict[str, Any], outputs: Iterable[str] | None
    ) -> dict[str, Any]:
        """Run with these options, checked."""
        names = outputs if outputs is None or isinstance(outputs, str) else _as_list(outputs)
        out = dict(self.out) if isinstance(self.out, Mapping) else self.out
        return native.run_with(inputs, names, self._seconds(), self._token(), out)

    def _seconds(self) -> float | None:
        if self.timeout is None:
            return None
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float):
            raise ArgumentError.of(
                f"timeout={self.timeout!r}", "a number of seconds", "run", "leave it out for no limit"
            )
        return float(self.timeout)

    def _token(self) -> _core.CancelToken | None:
        if self.cancel is None:
            return None
        if not isinstance(self.cancel, CancelToken):
            raise ArgumentError.of(
                f"cancel of type {type(self.cancel).__name__}",
                "a walle_rt.CancelToken",
                "run",
                "make one with walle_rt.CancelToken()",
            )
        return self.cancel._native

    def renamed(self, names: Mapping[str, str]) -> Out | None:
        """``out`` by the graph's names; by the public names of a signature it was given."""
        if not isinstance(self.out, Mapping):
            return self.out
        unknown = [name for name in self.out if name not in names]
        if unknown:
            raise ArgumentError.of(
                f"out for {unknown[0]!r}",
                f"outputs of the signature: {', '.join(names)}",
                "out",
                "check the spelling",
            )
        return {names[name]: array for name, array in self.out.items()}

    def refuse_translated(
        self, outputs: Sequence[str], translated: set[str], wanted: Iterable[str] | None
    ) -> None:
        """ArgumentError when ``out`` names a result that Python translates: strings, dictionaries."""
        if self.out is None:
            return
        names = list(outputs) if wanted is None else list(wanted)
        if isinstance(self.out, Mapping):
            given = list(self.out)
        else:
            given = [n for n, array in zip(names, self.out, strict=False) if array is not None]
        for name in given:
            if name in translated:
                raise ArgumentError.of(
                    f"out for '{name}', which holds strings or dictionaries",
                    "results that are arrays of numbers",
                    "out",
                    f"leave '{name}' out of out",
                )


def _as_list(outputs: Iterable[str]) -> list[str]:
    try:
        return list(outputs)
    except TypeError:
        raise ArgumentError.of(
            f"outputs={outputs!r}", "a list of output names", "run", "put the names into a list"
        ) from None
