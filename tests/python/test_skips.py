"""Which skips stand in CI, and which are failures there."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from skips import STANDING, stands

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

# What `make test` puts in place, so that CI never gives these reasons; the second half names an install.
SET_UP = (
    r"no VM library|the VM library is of|no edited source|no build/release|only the VM knows|"
    r"\(ninja -C build/release|\(the extra \[(cloud|dev)\]\)|\(tools/setup\.sh test\)|"
    r"\(apt-get install [\w -]+\)"
)
# Of the system: Debian 12 has them, root or not.
OF_LINUX = r"/proc|/dev/full|only root makes files|needs root and unshare|no git$|no libcurl\.so\.4$"


def written(reason: ast.expr) -> str:
    """The reason as the sources have it, an {expression} as a 7, which may be a number or a name."""
    if isinstance(reason, ast.Constant):
        return str(reason.value)
    if isinstance(reason, ast.JoinedStr):
        return "".join(written(part) if isinstance(part, ast.Constant) else "7" for part in reason.values)
    return "made of " + ast.unparse(reason)


def reasons() -> Iterator[tuple[str, str]]:
    """Where each skip of these tests stands, and why; inside/ is what the VM's own tests import."""
    for file in sorted(TESTS.rglob("*.py")):
        if file.name == "test_skips.py" or "inside" in file.parts:
            continue
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call):
                continue
            name = ast.unparse(call.func)
            given = [key.value for key in call.keywords if key.arg == "reason"]
            if name == "pytest.skip":
                given = [*call.args[:1], *given]
            elif name not in ("pytest.mark.skipif", "pytest.importorskip"):
                continue
            # A package without a word: set-up installs it, or an entry of STANDING would be missing.
            if given:
                yield f"{file.relative_to(TESTS)}:{call.lineno}", written(given[0])


def test_every_reason_stands_or_is_cured_by_set_up() -> None:
    """A machine with less than the writer's would otherwise fail in CI, and the writer's never would."""
    unknown = [
        f"{where}: {reason}"
        for where, reason in reasons()
        if not (stands(reason) or re.search(SET_UP, reason) or re.search(OF_LINUX, reason))
    ]
    assert not unknown, "\n".join(unknown)


def test_every_reason_of_cpp_stands_or_is_cured_by_set_up() -> None:
    """Those of tests/cpp/main.cc, or what a library, a build or Linux is missing."""
    main = (TESTS / "cpp" / "main.cc").read_text()
    standing = re.findall(r'^    "(.+)",', main, re.MULTILINE)
    assert len(standing) > 3
    cured = r"^no (libcrypto|libssl|VM library|/proc/|page at|$)"
    unknown = []
    for file in sorted((TESTS / "cpp").rglob("*.*")):
        for reason in re.findall(r"GTEST_SKIP\(\)([^;]*);", file.read_text()):
            written = "".join(re.findall(r'"([^"]*)"', reason))
            told = "error().message()" in reason  # of a library that is looked for
            if not (told or re.search(cured, written) or any(known in written for known in standing)):
                unknown.append(f"{file.relative_to(TESTS)}: {written}")
    assert not unknown, "\n".join(unknown)


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
