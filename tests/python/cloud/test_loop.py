"""The whole loop: a server and two devices as processes, a release that works and one that is halted."""

from __future__ import annotations

import os
import subprocess
import sys
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
    assert int(figures["items"]) >= 100
    assert figures["of them handed to the cloud phase"].endswith("%")
    assert 12 <= int(figures["records that one trace shows on both sides"]) <= int(figures["items"]) // 3
    alone, both = (
        float(figures[f"agreement with the large model, {who}"][:-1]) for who in ("device alone", "both")
    )
    assert alone < both
    assert any("was halted" in line for line in said) and "rolled back" in said[-1]


@pytest.mark.timeout(300)
def test_the_command_fails_where_a_step_did_not_happen(tmp_path: Path) -> None:
    if not VM.available():
        pytest.skip(f"no VM library at {library_path()}")
    # The server's half answers otherwise than the large model does.
    code = (
        "import sys\n"
        "from walle_rt.demo import topics\n"
        "topics.CLOUD = topics.CLOUD.replace('scores.index(max(scores))', 'scores.index(min(scores))')\n"
        "from walle_rt.cli.main import main\n"
        f"sys.argv = ['walle', 'demo', '--folder', {str(tmp_path / 'demo')!r}]\n"
        "sys.exit(main())\n"
    )
    env = os.environ | {"PYTHONPATH": str(SOURCES)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=250)
    assert done.returncode == 7, done.stdout + done.stderr
    assert "of the answers are the large model's" in done.stderr
    assert "was halted" not in done.stdout
