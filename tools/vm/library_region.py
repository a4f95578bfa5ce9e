"""A part of a standard module that is replaced as a whole."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Region:
    """In `module`, all from `first` up to `after` (or the end) becomes `text` (or our file of that name)."""

    module: str
    first: str
    after: str = ""
    text: str = ""

    def apply(self, text: str, own: Path) -> str:
        """The module's text without it. SystemExit: it is not there, or more than once."""
        start = text.find(self.first)
        end = text.find(self.after, start) if self.after else len(text)
        if start < 0 or end < 0 or text.count(self.first) != 1:
            raise SystemExit(f"{self.module}: region not found: {self.first!r} .. {self.after!r}")
        body = (own / self.text).read_text() + "\n\n" if self.text.endswith(".py") else self.text
        return text[:start] + body + text[end:]
