"""The whole loop: a server and two devices as processes, a release that works and one that is halted."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloud.servers import SOURCES

from walle_rt.vm import VM, library_path


@pytest.mark.timeout(300)
def test_author_sign_release_pull_run_upload_halt_roll_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not VM.available():
        pytest.skip(f"no VM library at {library_path()}")
    from walle_rt.cloud.loop import Loop

    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    said: list[str] = []
    loop = Loop(tmp_path, said.append)
    try:
        figures = dict(loop.run())
    finally:
        loop.close()
    print("\n".join([*said, *(f"{what}: {much}" for what, much in figures.items())]))
    assert "release to active on the first device" in figures
    assert int(figures["devices that tried the broken version"]) in (1, 2)
    assert any("was halted" in line for line in said) and "rolled back" in said[-1]
