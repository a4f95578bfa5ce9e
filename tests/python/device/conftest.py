"""Devices and tasks for the tests; without a VM library every test here is skipped, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from device_tasks import MAIN, TOML, Folder, Open

from walle_rt.device import Device
from walle_rt.vm import VM, library_path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """folder(source=..., name=..., version=..., more=..., wall_ms=...): a task's folder."""
    made = 0

    def make(
        source: str = MAIN, name: str = "shop", version: str = "1.0.0", more: str = "", wall_ms: int = 60_000
    ) -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"task{made}"
        path.mkdir()
        (path / "task.toml").write_text(TOML.format(name=name, version=version, more=more, wall_ms=wall_ms))
        (path / "main.py").write_text(source)
        return path

    return make


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """opened(**options): the device of this test's folder; closed in the end."""
    if not VM.available("device") or not VM.available("full"):
        pytest.skip(f"no VM library at {library_path()}")
    devices: list[Device] = []

    def make(**options: Any) -> Device:
        devices.append(Device(tmp_path / "device", **options))
        return devices[-1]

    yield make
    for device in devices:
        device.close()
