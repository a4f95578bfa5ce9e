"""One file per family of generated models."""

from __future__ import annotations
