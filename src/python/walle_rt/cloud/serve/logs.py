"""Log lines as JSON objects, one per line."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, logger, message, and whatever ``extra`` brought."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _KNOWN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def to_stderr(level: int = logging.INFO) -> None:
    """Everything of this process goes to stderr as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("alembic", "uvicorn.access"):  # steps of migrations, and a second line per request
        logging.getLogger(name).setLevel(logging.WARNING)
