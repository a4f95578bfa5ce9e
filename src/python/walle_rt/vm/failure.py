"""How a task's exception or an exceeded limit looks to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ..errors import TaskError, compose

_AFTER = {
    "cause": "The above exception was the direct cause of the following exception:",
    "context": "During handling of the above exception, another exception occurred:",
}


@dataclass(frozen=True)
class Frame:
    """One line of a task's traceback.

    Attributes:
        file: as the bundle names it; library code is "<json.decoder>".
        line: 0 where it is not known (library code).
        function: its qualified name.
        source: the line's text; "" where the bundle came without its sources.
    """

    file: str
    line: int
    function: str
    source: str = ""


class TaskFailed(TaskError):  # noqa: N818 (reads as what happened)
    """A task ended with an exception.

    What it was raised from, or while it was handled, is `__cause__` or `__context__`, another TaskFailed;
    its notes are `__notes__`. At most 32 exceptions of one failure cross, and long messages are cut.

    Attributes:
        type: the exception's class name.
        detail: its message.
        limit: "" or the limit that was exceeded: heap, wall, cpu, stack, import, host_call; "cancelled" after
            cancel().
        traceback: Frames, outermost first.
        members: of an exception group, its exceptions as TaskFailed.
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
        self.members: tuple[TaskFailed, ...] = ()

    def formatted(self) -> str:
        """The traceback as Python prints it, with causes before it, notes and members after it."""
        lines = []
        origin = self.__cause__ or (None if self.__suppress_context__ else self.__context__)
        if isinstance(origin, TaskFailed):
            how = "cause" if origin is self.__cause__ else "context"
            lines += [origin.formatted(), "", _AFTER[how], ""]
        if self.traceback:
            lines.append("Traceback (most recent call last):")
        for frame in self.traceback:
            line = f", line {frame.line}" if frame.line else ""
            lines.append(f'  File "{frame.file}"{line}, in {frame.function}')
            if frame.source:
                lines.append(f"    {frame.source}")
        lines.append(f"{self.type}: {self.detail}" if self.detail else self.type)
        lines += getattr(self, "__notes__", [])
        for member in self.members:
            lines += ["", "One of the group:", member.formatted()]
        return "\n".join(lines)


class LimitExceeded(TaskFailed):
    """A task exceeded one of its limits (`limit` names it) or was cancelled ("cancelled")."""


def _made_of(failure: tuple[Any, ...]) -> TaskFailed:
    kind, detail, limit, frames, notes, related = failure
    cls = LimitExceeded if limit else TaskFailed
    error = cls(kind, detail, limit, tuple(Frame(*frame) for frame in frames))
    for note in notes:
        error.add_note(note)
    others = [(relation, _made_of(other)) for relation, other in related]
    error.members = tuple(other for relation, other in others if relation == "member")
    for relation, other in others:
        if relation == "cause":
            error.__cause__ = other
        elif relation == "context":
            error.__context__ = other
    return error


def raise_failure(failure: tuple[Any, ...]) -> NoReturn:
    """Raise what the native module reports.

    Args:
        failure: type, detail, limit, frames (file, line, function, source), notes, and what it is related to
            as pairs of "cause", "context" or "member" and such a tuple.
    """
    error = _made_of(failure)
    context = error.__context__
    try:
        raise error
    finally:
        if context is not None:  # not what the host itself is handling
            error.__context__ = context
