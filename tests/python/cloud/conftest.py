"""Databases that the server's tests run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    from cloud.servers import postgres

    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: Any) -> str | None:
    """Of the server's folder, and one by URL."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
