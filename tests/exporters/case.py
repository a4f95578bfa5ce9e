"""What an exporter's module gives: named models, each made in its turn, with inputs to run them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Feeds = dict[str, Any]
# Writes the model to the path (weights may lie beside it) and returns the inputs.
Make = Callable[[Path], Feeds]


@dataclass(frozen=True)
class Case:
    """One exported model."""

    name: str
    make: Make
