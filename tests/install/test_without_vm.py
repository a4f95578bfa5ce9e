"""Without the CPython source: the build says so and goes on, the rest works, the VM's tests are skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_python, run_walle

ROOT = Path(__file__).resolve().parents[2]
FETCH = ROOT / "tools" / "vm" / "fetch_cpython.py"


def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache and a network that answers nothing."""
    dead = "http://127.0.0.1:9"
    proxies = {f"{scheme}_proxy": dead for scheme in ("http", "https", "ftp")}
    proxies |= {name.upper(): dead for name in proxies}
    clean = {k: v for k, v in os.environ.items() if k.lower() not in ("no_proxy", "walle_cpython_tarball")}
    return {**clean, **proxies, "WALLE_CACHE": str(tmp_path / "cache")}


def fetch(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FETCH, *options], env=environment, capture_output=True, text=True, check=False
    )


def test_says_what_it_tried_and_what_to_do(tmp_path: Path) -> None:
    done = fetch(nowhere(tmp_path))
    assert done.returncode == 3 and done.stdout == ""
    assert "python.org" in done.stderr and "Set WALLE_CPYTHON_TARBALL" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list((tmp_path / "cache").iterdir())  # no half download stays


def test_refuses_another_archive(tmp_path: Path) -> None:
    wrong = tmp_path / "Python-3.13.5.tar.xz"
    wrong.write_bytes(b"not the archive")
    done = fetch({**nowhere(tmp_path), "WALLE_CPYTHON_TARBALL": str(wrong)})
    assert done.returncode == 3 and "is not the expected archive" in done.stderr


def test_a_cached_archive_is_checked_again(tmp_path: Path) -> None:
    environment = nowhere(tmp_path)
    where = fetch(environment, "--where").stdout
    assert where.startswith("to be downloaded from https://www.python.org/")
    kept = tmp_path / "cache" / "cpython-93e583f243454e6e.tar.xz"
    kept.parent.mkdir()
    kept.write_bytes(b"damaged")
    assert fetch(environment, "--where").stdout.startswith("cached in")
    assert fetch(environment).returncode == 3


@pytest.mark.timeout(300)
def test_the_build_goes_on_without_the_vm(tmp_path: Path) -> None:
    command = [
        "cmake",
        "-S",
        ROOT,
        "-B",
        tmp_path / "build",
        "-G",
        "Ninja",
        "-DWALLE_VM=ON",
        "-DWALLE_BUILD_TESTS=OFF",
    ]
    command += [f"-DPython3_EXECUTABLE={sys.executable}", f"-DPython_EXECUTABLE={sys.executable}"]
    # First as it comes: a build folder that had the source once must do without it, too.
    for environment in (dict(os.environ), nowhere(tmp_path)):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "Python VM: off, no CPython source; tried" in said
    assert "Set WALLE_CPYTHON_TARBALL" in said and "Everything else is built" in said
    listing = ["ninja", "-C", tmp_path / "build", "-t", "targets", "all"]
    targets = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    names = {line.split(":")[0] for line in targets.splitlines()}
    assert {"_core", "walle"} <= names and "walle_vm" in names
    assert not {"vm_full", "vm_device", "vm_freeze"} & names


def without_vm() -> dict[str, str]:
    """An environment in which the VM library is not found."""
    paths = f"{ROOT / 'src' / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return {
        **os.environ,
        "CI": "",  # where such a skip would be a failure
        "WALLE_VM_LIBRARY": "/nowhere/libwalle_vm.so",
        "WALLE_VM_TEST_DIR": "/nowhere",  # the same for the C++ tests
        "PYTHONPATH": paths,
    }


@pytest.mark.timeout(300)
def test_its_tests_are_skipped_with_a_reason() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        ROOT / "tests" / "python" / "vm",
    ]
    done = subprocess.run(command, env=without_vm(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "no VM library at /nowhere/libwalle_vm.so" in done.stdout
    assert " passed" not in done.stdout.splitlines()[-1] or " skipped" in done.stdout.splitlines()[-1]


def test_its_cpp_tests_are_skipped_with_a_reason() -> None:
    program = ROOT / "build" / "release" / "vm_test"
    assert program.is_file(), "build first (make build)"
    done = subprocess.run([program], env=without_vm(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "no VM library at /nowhere/libwalle_vm_full.so" in done.stdout


def test_the_package_says_that_it_has_none() -> None:
    script = """
        from walle_rt.vm import VM
        from walle_rt.vm.library import host_calls
        import walle_rt
        assert not VM.available() and 'walle.engine.run' in host_calls()
        try: VM()
        except walle_rt.BackendError as error: print(error.next_step)
    """
    assert "WALLE_VM" in run_python(script, environment=without_vm()).stdout


def test_the_doctor_says_so() -> None:
    report = run_walle("doctor", "--json", environment=without_vm()).json
    assert report["vm"]["device"]["available"] is False and report["vm"]["full"]["available"] is False
    assert report["self_check"] == "passed" and report["vm_source"]
