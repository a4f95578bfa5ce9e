"""The server's side needs packages of its own (the extra ``cloud``)."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

MISSING = [package for package in ("tuf", "securesystemslib", "cryptography") if find_spec(package) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_report_header(config: pytest.Config) -> str:
    return f"tests/python/cloud: skipped, no package {MISSING}" if MISSING else ""
