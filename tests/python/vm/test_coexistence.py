"""The VM library beside the host's own Python: of every version found on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_command

from walle_rt.vm import VM, library_path

SCRIPT = Path(__file__).with_name("coexistence.py")
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t")

# What would reach into the host: signals, locale, environment, process, exit and fork handlers. Not
# setlocale: CPython asks it at the start which locale is set; coexistence.py sees that it changes nothing.
FORBIDDEN = re.compile(
    r"^(signal|sigaction|sigaltstack|sigprocmask|pthread_sigmask|raise|kill|alarm|setitimer|"
    r"newlocale|uselocale|setenv|unsetenv|putenv|clearenv|fork|vfork|exec\w*|posix_spawn\w*|system|popen|"
    r"wait\w*|atexit|__cxa_atexit|on_exit|pthread_atfork|__register_atfork|chdir|umask|setrlimit|socket|connect|bind|dlopen|tzset)$"
)


def interpreters() -> dict[str, str]:
    """Version to path, from PATH and pyenv; the one that runs the tests is always there."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    candidates = [
        path for root in roots for version in VERSIONS for path in sorted(root.glob(f"*/bin/python{version}"))
    ]
    candidates += [
        Path(path) for version in VERSIONS if (path := shutil.which(f"python{version}")) is not None
    ]
    for path in candidates:
        version = path.name.removeprefix("python")
        if version not in found and works(path):
            found[version] = str(path)
    return found


def works(python: Path) -> bool:
    """A shim may stand there without its version, and ctypes may be missing."""
    return subprocess.run([python, "-c", "import ctypes"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_host_python(vm: VM, version: str) -> None:
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine (looked on PATH and in pyenv)")
    # -I: without PYTHONPATH, which names packages of another version.
    command = [python, "-I", SCRIPT, library_path("full"), library_path("device")]
    done = run_command(command, seconds=200)
    assert done.stdout.count("ok ") == 5, done.stdout


@pytest.mark.parametrize("flavour", ["device", "full"])
def test_symbols(vm: VM, flavour: str) -> None:
    """One name out, and nothing in that could touch what belongs to the host."""

    def symbols(option: str) -> list[str]:
        listing = subprocess.run(
            ["nm", "-D", option, library_path(flavour)], capture_output=True, text=True, check=True
        )
        return [line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()]

    assert symbols("--defined-only") == ["walle_vm_entry"]
    imported = symbols("--undefined-only")
    assert "malloc" in imported
    assert [name for name in imported if FORBIDDEN.match(name)] == []
