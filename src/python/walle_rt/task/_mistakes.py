"""What is wrong with a task's folder: each mistake with its file, line and what would have been right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import TaskError, compose
from ..vm import SourceWarning


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong, or with ``error`` false surely not meant.

    ``file`` is relative to the task's folder, ``line`` counts from 1 (0: the file as a whole).
    """

    file: str
    line: int
    given: str
    expected: str
    next_step: str
    error: bool = True

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}, line {self.line}" if self.line else self.file

    def __str__(self) -> str:
        """One line, as the messages of errors are."""
        return compose(self.given, self.expected, self.where, self.next_step)


def of_compiler(warning: SourceWarning) -> Mistake:
    """What the compiler warns of, which is surely not meant."""
    return Mistake(
        warning.file,
        warning.line,
        warning.text,
        "code that does what it reads like",
        "correct the line",
        error=False,
    )


def nearest(given: str, known: Iterable[str]) -> str:
    """The known name that a misspelt one surely meant, or ""."""
    return next(iter(difflib.get_close_matches(given, list(known), 1, 0.5)), "")


def one_of(given: str, known: Iterable[str], otherwise: str) -> str:
    """The next step of a mistake about a name: the nearest valid one, or what to do where none is near."""
    near = nearest(given, known)
    return f"did you mean '{near}'?" if near else otherwise


def raise_first(mistakes: list[Mistake]) -> None:
    """TaskError for the first error, which says how many follow; nothing where there is none."""
    errors = [m for m in mistakes if m.error]
    if not errors:
        return
    first, more = errors[0], len(errors) - 1
    what = "mistake" if more == 1 else "mistakes"
    next_step = first.next_step + (f" ({more} more {what}: walle task lint shows all)" if more else "")
    raise TaskError.of(first.given, first.expected, first.where, next_step)
