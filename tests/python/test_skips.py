"""Which skips stand in CI, and which are failures there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from skips import STANDING

TESTS = Path(__file__).resolve().parents[1]
CASES = {
    "test_needs_a_package.py": "import pytest\npytest.importorskip('no_such_package', reason='no package')\n",
    "test_skips.py": """
import pytest

def test_standing():
    pytest.skip("this machine cannot run avx512: no")

def test_cured_by_an_install():
    pytest.skip("no such-server (apt-get install such-server)")

@pytest.mark.skipif(True, reason="no VM library")
def test_cured_by_a_build():
    pass

@pytest.mark.xfail(reason="not yet")
def test_expected():
    assert False
""",
}


@pytest.mark.parametrize(
    "where, expected", [("true", "1 failed, 1 skipped, 1 xfailed, 2 errors"), ("", "4 skipped, 1 xfailed")]
)
def test_in_ci_only_what_nobody_can_cure_is_skipped(tmp_path: Path, where: str, expected: str) -> None:
    for name, text in CASES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "skips", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--continue-on-collection-errors", "--rootdir", tmp_path, tmp_path]
    paths = {**os.environ, "CI": where, "PYTHONPATH": str(TESTS / "python")}
    done = subprocess.run(command, env=paths, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert expected in done.stdout, done.stdout
    assert done.returncode == (1 if where else 0)
    assert where == "" or "have tools/setup.sh install what is missing" in done.stdout


@pytest.mark.parametrize("pattern", STANDING)
def test_each_standing_reason_is_some_test_s(pattern: str) -> None:
    """A reason that no test gives any more would let another one through."""
    # Numbers and names are written as {expressions} in the sources.
    written = re.sub(r"\\[dw]\+|\[\\d\.\]\+t\?", "X", pattern)
    words = [word for word in re.split(r"X|\\.|[()|]", written) if len(word) > 3]
    sources = "\n".join(
        f.read_text() for f in TESTS.rglob("*.py") if f.name not in ("skips.py", "test_skips.py")
    )
    assert all(word.strip() in sources for word in words), words
