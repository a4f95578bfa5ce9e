"""The node cases that the generator inside onnx makes, as data: opsets far newer than the stored release's.

The generator computes every expected output when it runs, so it runs once, in a release of its own that is
installed beside the environment's (which may be older or newer), and its cases are kept as the files of the
stored suite are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = "1.23.2"
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / f"onnx-generated-{RELEASE}"
DATA = CACHE / "data"
PASSING = Path(__file__).with_name("generated_passing.txt")


def fetch() -> None:
    """Bring the generated cases into .cache/ once; later calls do nothing."""
    done = CACHE / "complete"
    if done.exists():
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    package = CACHE / "package"
    package.mkdir(parents=True)
    _run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--only-binary=:all:", f"--target={package}", f"onnx=={RELEASE}",
        ],
        os.environ,
    )  # fmt: skip
    script = Path(__file__).with_name("generate_cases.py")
    _run([sys.executable, str(script), str(DATA)], {**os.environ, "PYTHONPATH": str(package)})
    shutil.rmtree(package)
    done.write_text(f"{sum(1 for _ in DATA.glob('*/model.onnx'))} cases\n")


def _run(command: list[str], env: os._Environ[str] | dict[str, str]) -> None:
    finished = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"cannot make the node cases of onnx=={RELEASE}:\n{finished.stderr[-2000:]}")
