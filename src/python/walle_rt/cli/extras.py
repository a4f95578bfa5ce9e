"""What a command says where the extra that it needs is not installed."""

from __future__ import annotations

from ..errors import ResourceError


def without_extra(error: ModuleNotFoundError, command: str, extra: str = "cloud") -> ResourceError:
    """The error to raise for a missing package; ``extra`` may name several, as "cloud,convert"."""
    return ResourceError.of(
        f"no package '{error.name}'",
        f"the extra [{extra}]",
        command,
        f"pip install 'walle_rt[{extra}]'",
    )
