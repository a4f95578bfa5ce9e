"""WALLE_PARTS=engine: a libwalle that only runs models, with the header of that alone, serves a C program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def configure(build: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython3_EXECUTABLE={sys.executable}", *options,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False)


# Compiled anew where there is no compiler cache, or an empty one.
@pytest.mark.timeout(1800)
def test_the_engine_alone_runs_models(tmp_path: Path) -> None:
    # As deep as the release build, whose batches a compiler cache knows by their relative names.
    build, prefix = ROOT / "build" / "engine", tmp_path / "prefix"
    off = [f"-DWALLE_BUILD_{part}=OFF" for part in ("PYTHON", "TESTS", "BENCH")]
    done = configure(build, "-DWALLE_PARTS=engine", *off)
    assert done.returncode == 0, done.stderr
    subprocess.run(["cmake", "--build", build, "--target", "walle"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    assert sorted(f.name for f in (prefix / "include" / "walle").iterdir()) == ["walle.h", "walle.hpp"]
    library = next(prefix.rglob("libwalle.so")).resolve()
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, check=True).stdout
    assert b"walle_session_run" in shown and b"walle_vm" not in shown and b"walle_device" not in shown
    source = Path(__file__).parent / "consumer" / "main.c"
    program = tmp_path / "consumer"
    link = ["cc", "-std=c99", source, f"-I{prefix}/include", library, f"-Wl,-rpath,{library.parent}"]
    subprocess.run([*link, "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["-DWALLE_PARTS=models"], "expected all or engine"),
        (["-DWALLE_PARTS=engine"], "WALLE_BUILD_PYTHON=OFF"),
    ],
)
def test_what_does_not_go_together_is_told(tmp_path: Path, options: list[str], reason: str) -> None:
    done = configure(tmp_path / "build", *options)
    assert done.returncode != 0 and reason in " ".join(done.stderr.split())
