"""Errors as messages and exit codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from ..errors import ArgumentError, BackendError, Error, ModelError, NetworkError, ResourceError, TaskError
from .console import emit_json, err

# Documented in `walle --help`; 2 is the shell convention for wrong usage, which typer uses too.
EXIT_CODES: list[tuple[type[Error], int]] = [
    (ArgumentError, 3),
    (ModelError, 4),
    (ResourceError, 5),
    (BackendError, 6),
    (TaskError, 7),
    (NetworkError, 8),
]
EXIT_INTERNAL = 1
EXIT_DIFFERS = 9
EXIT_HELP = (
    "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 wrong argument, 4 model damaged or unsupported, "
    "5 file or memory, 6 backend, 7 task, 8 network, 9 results differ."
)

P = ParamSpec("P")


def exit_code(error: Error) -> int:
    """The exit code of an error's group."""
    return next((code for cls, code in EXIT_CODES if isinstance(error, cls)), EXIT_INTERNAL)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn walle_rt errors into a message (or JSON) and the group's exit code."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Error as error:
            raise typer.Exit(complain(error, bool(kwargs.get("json_")))) from None
        except OSError as error:
            given = f"cannot use file '{error.filename}': {error.strerror or error}"
            wrong = ResourceError.of(
                given, "a file that can be read or written", "file", "check the path and permissions"
            )
            raise typer.Exit(complain(wrong, bool(kwargs.get("json_")))) from None

    return wrapped


def complain(error: Error, as_json: bool) -> int:
    """Print an error; returns the exit code of its group."""
    code = exit_code(error)
    if as_json:
        report = getattr(error, "report", None)  # of a conversion: every node it could not take over
        emit_json(
            {
                "error": type(error).__name__,
                "message": str(error),
                "given": error.given,
                "expected": error.expected,
                "where": error.where,
                "next": error.next_step,
                "exit": code,
            }
            | ({"unsupported": report.as_dict()["unsupported"]} if report else {})
        )
    else:
        err.print(type(error).__name__, style="bold red", end=": ")
        err.print(str(error))
    return code
