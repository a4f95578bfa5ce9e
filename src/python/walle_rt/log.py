"""The core's log lines, as records of Python's logger ``walle_rt``."""

from __future__ import annotations

import atexit
import logging

from . import _core
from .errors import ArgumentError

_LOGGER = logging.getLogger("walle_rt")
# As base/log.h counts them; the position is the number the core uses.
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


def set_log_level(level: int | str) -> None:
    """Say how much the runtime logs: lines of ``level`` and above become records of the logger ``walle_rt``.

    level: a level of the module logging (10, ``logging.INFO``) or its name ("debug", "INFO"). At first
    "warning": events lost in a damaged log, threads given up. "info" adds what was mended or rebuilt,
    "debug" every plan made. "critical" silences the core. Raises ArgumentError for anything else.

    Nothing is printed before the program sets logging up, for example with ``logging.basicConfig()``.
    Lines arrive on the main thread, soon after what they tell of; one below ``level`` is not even composed.
    """
    names = logging.getLevelNamesMapping()
    number = names.get(level.upper()) if isinstance(level, str) else level
    # A bool is an int to Python, but log_level=True is a mistake.
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        known = ", ".join(logging.getLevelName(n).lower() for n in (*_LEVELS, logging.CRITICAL))
        expected = f"a level of logging or one of: {known}"
        raise ArgumentError.of(f"level={level!r}", expected, "set_log_level", "pass 'info', for example")
    _LOGGER.setLevel(number)
    # The first of the core's levels that is not below `number`; beyond the last one: off.
    _core.set_log_level(sum(number > known for known in _LEVELS))


def _record(level: int, text: str) -> None:
    _LOGGER.log(_LEVELS[level], "%s", text)


# A library's logger stays silent until the program wants it: without a handler, logging would print warnings.
_LOGGER.addHandler(logging.NullHandler())
_core.set_log_sink(_record)
# Threads of the core outlive the interpreter's last instruction.
atexit.register(_core.set_log_sink, None)
