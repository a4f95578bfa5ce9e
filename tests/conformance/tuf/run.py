"""The public TUF conformance suite against walle-tuf.

    run.py [--alone] [PYTEST ARGUMENTS]

WALLE_TUF_CONFORMANCE names a checkout of github.com/theupdateframework/tuf-conformance; build/tuf-conformance
otherwise, where `tools/setup.sh tuf` puts one. Without it, without the program faketime or the suite's
packages it says what is missing and ends with status 0: nothing was tested. At least PASSING cases of the
suite must pass. With --alone the client finds no libcrypto and repositories sign with Ed25519 keys
(ed25519_keys.py): all must pass but the cases of ALONE, whose keys are of another kind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PASSING = 113  # of 113; python-tuf's own client passes 112
ALONE = [
    "test_keys.py::test_keytype_and_scheme[rsa/rsassa-pss-sha256]",
    "test_keys.py::test_keytype_and_scheme[ecdsa/ecdsa-sha2-nistp256]",
    "test_static_repositories.py::test_static_repository[tuf-on-ci-0.11]",
    "test_static_repositories.py::test_static_repository[sigstore-root-signing]",
]


def suite() -> Path:
    """Where the suite lies."""
    return Path(os.environ.get("WALLE_TUF_CONFORMANCE") or ROOT / "build" / "tuf-conformance")


def program() -> Path:
    """The client under test."""
    return Path(os.environ.get("WALLE_TUF") or ROOT / "build" / "release" / "walle-tuf")


def missing() -> str:
    """What keeps the suite from running here; empty where nothing does."""
    if not (suite() / "tuf_conformance").is_dir():
        return f"no checkout of tuf-conformance at '{suite()}' (WALLE_TUF_CONFORMANCE, tools/setup.sh tuf)"
    if not program().is_file():
        return f"no '{program()}' (cmake --build build/release --target walle-tuf)"
    if shutil.which("faketime") is None:
        return "no program faketime (Debian: faketime)"
    for package in ("tuf", "securesystemslib", "cryptography", "pytest_jsonreport"):
        if find_spec(package) is None:
            return f"no package '{package}' for {sys.executable}"
    return ""


def alone(scratch: Path) -> Path:
    """The client as a machine without OpenSSL has it: its dlopen finds empty files of that name."""
    for name in ("libcrypto.so.3", "libcrypto.so.1.1"):
        (scratch / name).write_bytes(b"")
    script = scratch / "walle-tuf-alone"
    script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{scratch}" exec "{program()}" "$@"\n')
    script.chmod(0o755)
    return script


def run(arguments: list[str], hidden: bool) -> dict[str, int]:
    """Run the suite; how many cases ended how."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        client = alone(Path(scratch)) if hidden else program()
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tuf_conformance"]
        words += ["-c", "pyproject.toml"]  # the suite's: cases are named from its folder, wherever that lies
        if hidden:
            words += ["-p", "ed25519_keys"]
        words += ["--entrypoint", str(client), "--json-report", f"--json-report-file={report}", *arguments]
        paths = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            words,
            cwd=suite(),
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.is_file():
            raise SystemExit(f"the suite did not run:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        found = json.loads(report.read_text())
    for test in found["tests"]:
        if test["outcome"] != "passed":
            print(f"{test['outcome']}: {test['nodeid']}")
    return {str(k): int(v) for k, v in found["summary"].items()}


def main() -> int:
    if reason := missing():
        print(f"tuf-conformance: skipped, {reason}")
        return 0
    arguments = sys.argv[1:]
    hidden = "--alone" in arguments
    if hidden:
        arguments.remove("--alone")
        for case in ALONE:
            arguments += ["--deselect", f"tuf_conformance/{case}"]
    summary = run(arguments, hidden)
    passed, total = summary.get("passed", 0), summary.get("total", 0)
    where = " without libcrypto" if hidden else ""
    print(f"tuf-conformance: {passed} of {total} passed{where}")
    return 0 if passed >= min(PASSING - len(ALONE) * hidden, total) and total else 1


if __name__ == "__main__":
    sys.exit(main())
