"""How a task's exception or an exceeded limit looks to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ..errors import TaskError, compose


@dataclass(frozen=True)
class Frame:
    """One line of a task's traceback; `line` is 0 where it is not known (library code)."""

    file: str
    line: int
    function: str


class TaskFailed(TaskError):  # noqa: N818 (reads as what happened)
    """A task ended with an exception.

    Attributes:
        type: the exception's class name.
        detail: its message.
        limit: "" or the limit that was exceeded: heap, wall, cpu, stack, import, host_call, abandoned;
            "cancelled" after cancel().
        traceback: Frames, outermost first.
    """

    def __init__(self, type: str, detail: str, limit: str, traceback: tuple[Frame, ...]) -> None:
        """Build the message out of what the isolate reported."""
        # Library code has no line numbers.
        own = [frame for frame in traceback if frame.line] or list(traceback)
        last = f"{own[-1].file}:{own[-1].line}" if own else "the call"
        given = f"{type}: {detail}" if detail else type
        expected = "a task that runs to its end"
        step = f"raise the {limit} limit or make the task need less" if limit else "correct the task's source"
        super().__init__(
            compose(given, expected, last, step), given=given, expected=expected, where=last, next_step=step
        )
        self.type = type
        self.detail = detail
        self.limit = limit
        self.traceback = traceback

    def formatted(self) -> str:
        """The traceback as Python prints it."""
        lines = [
            f'  File "{f.file}"{f", line {f.line}" if f.line else ""}, in {f.function}'
            for f in self.traceback
        ]
        head = ["Traceback (most recent call last):"] if lines else []
        return "\n".join([*head, *lines, f"{self.type}: {self.detail}" if self.detail else self.type])


class LimitExceeded(TaskFailed):
    """A task exceeded one of its limits (`limit` names it) or was cancelled ("cancelled")."""


def raise_failure(failure: tuple[str, str, str, list[tuple[str, int, str]]]) -> NoReturn:
    """Raise what the native module reports: type, detail, limit and frames (file, line, function)."""
    kind, detail, limit, frames = failure
    cls = LimitExceeded if limit else TaskFailed
    raise cls(kind, detail, limit, tuple(Frame(*frame) for frame in frames))
