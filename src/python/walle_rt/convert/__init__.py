"""Conversion of models from other formats into walle_rt's own; needs the extra ``convert``."""

from __future__ import annotations

from .report import Report, Unsupported
from .source import convert

__all__ = ["Report", "Unsupported", "convert"]
