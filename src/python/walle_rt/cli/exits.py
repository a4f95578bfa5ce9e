"""Errors as messages and exit codes."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import typer

from .. import errors
from .console import emit_json, err

# Documented in `walle --help`; 2 is the shell convention for wrong usage, which typer uses too.
EXIT_CODES: list[tuple[type[errors.Error], int]] = [
    (errors.ArgumentError, 3),
    (errors.ModelError, 4),
    (errors.ResourceError, 5),
    (errors.BackendError, 6),
    (errors.TaskError, 7),
    (errors.NetworkError, 8),
    (errors.DeadlineError, 10),
    (errors.CancelledError, 11),
]
EXIT_INTERNAL = 1
EXIT_DIFFERS = 9
EXIT_INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it
EXIT_HELP = (
    "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 wrong argument, 4 model damaged or unsupported, "
    "5 file or memory, 6 backend, 7 task, 8 network, 9 results differ, 10 deadline, 11 cancelled, "
    "130 interrupted."
)

# Click's base class of what is wrong with arguments: typer 0.29 brings a click of its own instead of asking
# for the package, and names the base nowhere.
_WRONG_USAGE: type[Exception] = next(
    cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"
)

P = ParamSpec("P")


def exit_code(error: errors.Error) -> int:
    """The exit code of an error's group."""
    return next((code for cls, code in EXIT_CODES if isinstance(error, cls)), EXIT_INTERNAL)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn walle_rt errors into a message (or JSON) and the group's exit code."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except errors.Error as error:
            raise typer.Exit(complain(error, bool(kwargs.get("json_")))) from None
        except OSError as error:
            raise typer.Exit(complain(_of_file(error), bool(kwargs.get("json_")))) from None
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except (typer.Exit, typer.Abort, _WRONG_USAGE):
            raise
        except Exception as error:
            raise typer.Exit(complain(_fault(error), bool(kwargs.get("json_")))) from None

    return wrapped


def _of_file(error: OSError) -> errors.ResourceError:
    named = f"file '{error.filename}'" if error.filename is not None else "a file"
    return errors.ResourceError.of(
        f"cannot use {named}: {error.strerror or error}",
        "a file that can be read or written",
        "file",
        "check the path and permissions",
    )


def _fault(error: Exception) -> errors.InternalError:
    """What nobody foresaw, in one line: the place is what a report of it needs."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return errors.InternalError.of(
        f"{type(error).__name__}: {error}",
        "an error of walle_rt's own kinds",
        f"{Path(last.filename).name}, line {last.lineno}, in {last.name}",
        "report this with the command and the files it was given",
    )


def complain(error: errors.Error, as_json: bool) -> int:
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
        # Without the mark under a trigger's text, which would be a second line: the column is told too.
        err.print(re.sub(r"\n *\^", "", str(error)))
    return code
