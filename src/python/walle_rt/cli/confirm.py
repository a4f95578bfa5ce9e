"""Asking before something is done to many devices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ..errors import ArgumentError, CancelledError
from .console import err, out

Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the audit log.")]


def confirm(what: str, lines: Sequence[str], yes: bool, json_: bool) -> None:
    """Say whom something changes, and ask for a yes, unless it was given.

    Args:
        what: as ``walle release halt rank-1``.
        lines: whom it changes.
        yes: of ``--yes``.
        json_: of ``--json``: stdout is for the answer alone, so it is said on stderr.

    Raises:
        ArgumentError: nobody is there to be asked.
        CancelledError: the answer was no.
    """
    for line in lines:
        (err if json_ else out).print(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise ArgumentError.of("nobody to ask", "a yes", what, "say --yes once you have read whom it changes")
    if not typer.confirm(f"{what}?", err=True):
        raise CancelledError.of("no", "a yes", what, "nothing was done")
