"""The modules under inside/ run in isolates: pytest neither collects them nor puts their folder on the path."""

from __future__ import annotations

collect_ignore = ["inside"]
