"""The desk of releases: what operators decide and devices report, in the database, and the plans that follow."""

from __future__ import annotations

from typing import Any


class Desk:
    """Holds the controller of releases over the database."""
