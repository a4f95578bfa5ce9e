"""Packages of any Debian suite and machine, unpacked into a folder without touching this one.

debian_root.py FOLDER --suite trixie --arch arm64 [--alone] PACKAGE...

With all that they depend on (--alone: just these), checked by the archive's signatures as apt does, and
without their scripts: a folder to link against, and one that a program of another C library can be run in.
A private apt root and not `dpkg --add-architecture`: that would need root, and refuses wherever the machine's
own libraries are of another patch level than the archive's. A second call finds everything in place.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What Debian's packages expect to be one folder: base-files makes these links, and its scripts do not run.
MERGED = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}


def mirror() -> str:
    """Where this machine's own apt finds Debian."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(SITE)"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        origin, component, site = line.split(maxsplit=2)
        if origin == "Debian" and component == "main" and not site.endswith("-security"):
            return site
    raise SystemExit("debian_root: apt knows no archive of Debian here; run apt-get update and try again")


def apt_options(scratch: Path, suite: str, arch: str) -> list[str]:
    """Options that make of `scratch` an apt of its own, for another machine and suite."""
    for name in ("lists/partial", "cache/archives/partial"):
        (scratch / name).mkdir(parents=True)
    (scratch / "sources.list").write_text(f"deb [signed-by={KEYS}] {mirror()} {suite} main\n")
    settings = {
        "APT::Architecture": arch,
        "APT::Architectures": arch,
        "APT::Sandbox::User": subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip(),
        "APT::Install-Recommends": "false",
        "Dir::Etc::sourcelist": scratch / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": scratch / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": scratch / "cache",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }
    return ["-qq", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def unpack(folder: Path, suite: str, arch: str, packages: list[str], alone: bool) -> None:
    """Fetch the packages and unpack them into the folder."""
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        options = apt_options(scratch, suite, arch)
        subprocess.run(["apt-get", *options, "update"], check=True)
        debs = scratch / "cache" / "archives"
        if alone:
            subprocess.run(["apt-get", *options, "download", *packages], check=True, cwd=debs)
        else:
            fetch = ["apt-get", *options, "install", "--download-only", "-y", *packages]
            subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        for name, target in MERGED.items():
            (folder / target).mkdir(parents=True, exist_ok=True)
            if not (folder / name).exists():
                (folder / name).symlink_to(target)
        for deb in sorted(debs.glob("*.deb")):
            # Not `dpkg-deb -x`, which puts a folder in the place of a link.
            files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
            tar = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", folder]
            subprocess.run(tar, stdin=files.stdout, check=True)
            if files.wait():
                raise SystemExit(f"debian_root: {deb.name} is damaged; run this again")


def root(folder: Path, suite: str, arch: str, packages: list[str], alone: bool = False) -> Path:
    """The folder with these packages; made anew where it holds others."""
    stamp, wanted = folder / ".packages", " ".join([suite, arch, *packages])
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    if not KEYS.exists():
        raise SystemExit(f"debian_root: {KEYS} is missing (apt-get install debian-archive-keyring)")
    print(f"debian_root: unpacking {' '.join(packages)} of {suite} for {arch} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    unpack(folder, suite, arch, packages, alone)
    stamp.write_text(wanted)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("packages", nargs="+")
    given = parser.parse_args()
    os.umask(0o022)
    root(given.folder, given.suite, given.arch, given.packages, given.alone)


if __name__ == "__main__":
    main()
