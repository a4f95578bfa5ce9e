"""Entry point of the commands ``walle`` and ``python -m walle_rt``; imports nothing that an extra brings."""

from __future__ import annotations

import sys
from importlib.util import find_spec

EXTRA_MISSING = (
    "walle needs the packages typer and rich; expected the extra [cli] to be installed [at walle]. "
    "Next: pip install 'walle_rt[cli]'"
)


def main() -> None:
    """Run the command line."""
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.stderr.write(EXTRA_MISSING + "\n")
        # EXIT_CODES of ResourceError: cli/exits.py itself needs typer, which is what is missing.
        raise SystemExit(5)
    from .app import build

    build()()
