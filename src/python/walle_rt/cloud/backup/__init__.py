"""Backups of a server's folder, taken while it serves, and what makes a fleet follow a restored one."""

from __future__ import annotations

from ._archive import Manifest, read_archive
from ._collect import back_up
from ._restore import Restored, restore

__all__ = ["Manifest", "Restored", "back_up", "read_archive", "restore"]
