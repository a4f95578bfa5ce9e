"""The exceptions of walle_rt: one base class, one subclass per group of causes."""

from __future__ import annotations

from typing import Self


class Error(Exception):
    """Base of every error walle_rt raises.

    The message says what was given, what was expected, where, and one next step; the four parts are also
    attributes.
    """

    def __init__(
        self, message: str, *, given: str = "", expected: str = "", where: str = "", next_step: str = ""
    ) -> None:
        """Store the message and its four parts."""
        super().__init__(message)
        self.given = given
        self.expected = expected
        self.where = where
        self.next_step = next_step

    @classmethod
    def of(cls, given: str, expected: str, where: str, next_step: str) -> Self:
        """From the four parts."""
        text = compose(given, expected, where, next_step)
        return cls(text, given=given, expected=expected, where=where, next_step=next_step)


def compose(given: str, expected: str, where: str, next_step: str) -> str:
    """Join the four parts exactly as the native core does."""
    return f"{given}; expected {expected} [at {where}]. Next: {next_step}"


class ArgumentError(Error, ValueError):
    """A value passed to the API is wrong: name, shape, dtype, range, option."""


class ModelError(Error):
    """A model file or graph is damaged, unsupported or inconsistent."""


class ResourceError(Error):
    """Memory, files or another limited resource ran out or a limit was exceeded."""


class BackendError(Error):
    """A requested backend is missing or failed."""


class TaskError(Error):
    """A task's script, bundle or configuration failed."""


class NetworkError(Error):
    """A connection failed or the peer answered wrongly."""


class DeadlineError(Error, TimeoutError):
    """A run was not done within its ``timeout``."""


class CancelledError(Error):
    """A run was ended by its ``CancelToken``."""


class InternalError(Error):
    """An invariant of the runtime does not hold: a bug worth reporting."""
