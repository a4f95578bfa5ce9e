"""find_package(walle CONFIG): the installed library serves a C99 and a C++ program that are built against it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


@pytest.mark.timeout(600)
def test_consumers(tmp_path: Path) -> None:
    assert BUILD.exists(), "build first (make build)"
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    source = Path(__file__).parent / "consumer"
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    for program in ("consumer_c", "consumer_cc"):
        done = subprocess.run([build / program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "walle" in done.stdout
