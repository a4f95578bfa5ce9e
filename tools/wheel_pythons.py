"""The Pythons that wheels are made for: whose headers they are compiled with, and what runs them here.

An interpreter of this machine where there is one; otherwise Debian's, of the suite that has it, in a folder
of its own (tools/debian_root.py). Debian's of x86-64 runs by chroot, because it wants another C library than
this machine's; arm64's runs under qemu-user with that folder in front of its paths.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian_root import root

ROOTS = Path(__file__).resolve().parents[1] / "build" / "roots"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# The oldest suite that has each. No suite has 3.12: testing had it between two releases.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
# With /proc, where a C library looks up how large the main thread's stack is, and /dev for random numbers.
INSIDE = 'for d in proc dev; do mkdir -p "$0/$d"; mount --rbind "/$d" "$0/$d"; done; exec chroot "$0" "$@"'
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
HEADERS = "import sysconfig; print(sysconfig.get_paths()['include'])"


class NoPythonError(Exception):
    """Neither this machine nor Debian has that version; the text names the remedy."""


@dataclass(frozen=True)
class Target:
    """One Python on one kind of machine."""

    version: str
    machine: str
    include: Path  # holds Python.h
    command: tuple[str, ...] = ()  # what runs it; nothing where it cannot be run here
    folder: Path | None = None  # Debian's root that holds it; this machine's own otherwise

    @property
    def tag(self) -> str:
        """Of wheels: the Python's and the ABI's."""
        return "cp" + self.version.replace(".", "")

    @property
    def suffix(self) -> str:
        """Of extension modules."""
        return f".cpython-{self.version.replace('.', '')}-{self.machine}-linux-gnu.so"

    def path(self, real: Path) -> str:
        """What a path of this machine, inside the root, is called in there."""
        return f"/{real.relative_to(self.folder)}" if self.folder and INSIDE in self.command else str(real)


def _own(version: str) -> Path | None:
    """This machine's interpreter, also one of pyenv that PATH does not name."""
    found = shutil.which(f"python{version}")
    candidates = [Path(found)] if found else []
    candidates += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(
        f"versions/{version}.*/bin/python{version}"))  # fmt: skip
    for candidate in candidates:
        asked = subprocess.run([candidate, "-c", HEADERS], capture_output=True, text=True)
        if asked.returncode == 0 and (Path(asked.stdout.strip()) / "Python.h").exists():
            return candidate
    return None


def _headers(python: Path) -> Path:
    return Path(
        subprocess.run([python, "-c", HEADERS], capture_output=True, text=True, check=True).stdout.strip()
    )


def _debian(version: str, machine: str) -> Target:
    arch = DEBIAN[machine]
    # The TLS library is what the enrolment of a device looks for; its name changed with 64-bit time.
    tls = "libssl3" if version == "3.11" else "libssl3t64"
    packages = [f"python{version}", f"libpython{version}-dev", tls, "libstdc++6"]  # NumPy's wheels want it
    folder = root(ROOTS / f"python{version}-{arch}", SUITES[version], arch, packages)
    usr = folder / "usr"
    include, triplet = usr / "include" / f"python{version}", f"{machine}-linux-gnu"
    # Debian's pyconfig.h includes <x86_64-linux-gnu/python3.13/pyconfig.h>: found by this link beside it.
    if not (include / triplet).exists():
        (include / triplet).symlink_to(Path("..") / triplet)
    if machine == "x86_64":
        enter = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", INSIDE, str(folder))
        command = (*enter, f"/usr/bin/python{version}")
    else:
        command = (
            "qemu-aarch64-static",
            "-cpu",
            "cortex-a76",
            "-L",
            str(folder),
            str(usr / "bin" / f"python{version}"),
        )
    return Target(version, machine, include, command, folder)


def target(version: str, machine: str) -> Target:
    """Where to find one; NoPythonError where nothing has it."""
    own = _own(version)
    if machine == "x86_64" and own:
        return Target(version, machine, _headers(own), (str(own),))
    if version in SUITES:
        return _debian(version, machine)
    if not own:
        raise NoPythonError(f"no Python {version} on this machine, and Debian has none: install one (pyenv)")
    # Both machines are 64-bit and little-endian: pyconfig.h differs in nothing that bindings read.
    return Target(version, machine, _headers(own))
