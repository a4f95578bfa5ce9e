"""Options that pytest must know before it has looked into the folders they belong to."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("vm").addoption(
        "--vm-attacks", type=int, default=7, metavar="N", help="every Nth attack on the VM (1: all of them)"
    )
    group = parser.getgroup("conformance")
    group.addoption(
        "--conformance-matrix", action="store_true", help="every switch also on every instruction set"
    )
    group.addoption("--update-passing", action="store_true", help="add newly passing cases to the lists")
    group.addoption(
        "--conformance-engine", default="walle", help="walle, or onnxruntime to check the suite's reader"
    )
