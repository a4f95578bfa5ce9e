"""Where the trained models and data sets lie, and how a test says that they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("WALLE_TEST_MODELS", ROOT.parent / "shared" / "models"))
DATA = Path(os.environ.get("WALLE_TEST_DATA", ROOT.parent / "shared" / "data"))


def need(path: Path) -> Path:
    """The path, or a skip that names what is missing and the variable that would provide it."""
    if not path.exists():
        pytest.skip(f"{path.name} is absent: set WALLE_TEST_MODELS / WALLE_TEST_DATA to folders that hold it")
    return path
