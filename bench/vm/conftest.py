"""The libraries under test: every figure names the flavour it was measured on."""

from __future__ import annotations

from typing import Any

import pytest

from walle_rt.vm import VM


@pytest.fixture(scope="session", params=["full", "device"])
def vm(request: Any) -> VM:
    if not VM.available(request.param):
        pytest.skip(f"no {request.param} VM library")
    return VM(request.param)
