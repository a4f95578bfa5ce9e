"""Find the CPython source archive, check it against its published hash, unpack it once;
print the source folder.

Looked for in this order: the file named by WALLE_CPYTHON_TARBALL, the cache (~/.cache/walle, keyed by hash),
python.org and the pool of every Debian mirror that this machine's apt is configured with. A wrong hash is
refused everywhere. Exit status 3 and one line on stderr: none could be had, build without the VM. With
--where it only says where the source would come from, without asking the network.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

VERSION = "3.13.5"
SHA256 = "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640"
UPSTREAM = f"https://www.python.org/ftp/python/{VERSION}/Python-{VERSION}.tar.xz"
DEBIAN_POOL = f"pool/main/p/python3.13/python3.13_{VERSION}.orig.tar.xz"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def debian_mirrors() -> list[str]:
    """Mirror roots of this machine's apt, asked from apt itself."""
    if shutil.which("apt-get") is None:
        return []
    text = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False
    ).stdout
    for source in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if source.is_file() and os.access(source, os.R_OK):
            text += "\n" + source.read_text(errors="replace")
    found = re.findall(r"(?:https?|file)://[^\s\]]+/debian/?(?=\s|$)", text, re.M)
    return list(dict.fromkeys(uri.rstrip("/") for uri in found))


def download(url: str, target: Path) -> str:
    """Empty string when `target` now holds the right archive, otherwise why not."""
    try:
        with urllib.request.urlopen(url, timeout=60) as reply, target.open("wb") as out:
            shutil.copyfileobj(reply, out)
    except OSError as error:
        return f"{url}: {error}"
    found = digest(target)
    return "" if found == SHA256 else f"{url}: sha256 {found}"


def sources() -> list[str]:
    """Where the archive can be downloaded, in the order of trying."""
    return [UPSTREAM, *(f"{mirror}/{DEBIAN_POOL}" for mirror in debian_mirrors())]


def kept_archive(cache: Path) -> Path:
    """Where a downloaded archive is kept."""
    return cache / f"cpython-{SHA256[:16]}.tar.xz"


def archive(cache: Path) -> Path | None:
    """The checked archive, or None after saying what was tried."""
    named = os.environ.get("WALLE_CPYTHON_TARBALL", "")
    if named:
        if Path(named).is_file() and digest(Path(named)) == SHA256:
            return Path(named)
        print(f"WALLE_CPYTHON_TARBALL={named} is not the expected archive (sha256 {SHA256})", file=sys.stderr)
        return None
    kept = kept_archive(cache)
    if kept.is_file() and digest(kept) == SHA256:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    tried = []
    for url in sources():
        with tempfile.NamedTemporaryFile(dir=cache, delete=False) as part:
            target = Path(part.name)
        why = download(url, target)
        if not why:
            target.replace(kept)
            return kept
        target.unlink(missing_ok=True)
        tried.append(why)
    print(
        "no CPython source; tried " + "; ".join(tried) + ". Set WALLE_CPYTHON_TARBALL to the archive",
        file=sys.stderr,
    )
    return None


def checked_members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Folders and plain files below the target, with plain rights: all that the archive holds."""
    for member in tar:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
            raise tarfile.ReadError(f"{member.name}: not a file or folder below the target")
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        yield member


def unpack(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract everything.

    The Python of Debian 12 (3.11.2) has no extraction filters yet: there the checks are ours.
    """
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, filter="data")
    else:
        tar.extractall(folder, members=checked_members(tar))


def where(cache: Path, folder: Path) -> str:
    """One line: what archive() would use."""
    named = os.environ.get("WALLE_CPYTHON_TARBALL", "")
    if (folder / ".complete").is_file():
        return f"unpacked in {folder}"
    if named:
        right = Path(named).is_file() and digest(Path(named)) == SHA256
        return f"WALLE_CPYTHON_TARBALL={named}" + (
            "" if right else f", which is not the expected archive ({SHA256})"
        )
    kept = kept_archive(cache)
    if kept.is_file():
        return f"cached in {kept}"
    return "to be downloaded from " + " or ".join(sources())


def main() -> int:
    cache = Path(os.environ.get("WALLE_CACHE", Path.home() / ".cache" / "walle"))
    folder = cache / f"cpython-{SHA256[:16]}" / f"Python-{VERSION}"
    if "--where" in sys.argv[1:]:
        print(where(cache, folder))
        return 0
    if not (folder / ".complete").is_file():
        found = archive(cache)
        if found is None:
            return 3
        with tempfile.TemporaryDirectory(dir=cache if cache.is_dir() else None) as scratch:
            with tarfile.open(found) as tar:
                unpack(tar, Path(scratch))
            unpacked = next(Path(scratch).glob("Python-*"))
            (unpacked / ".complete").write_text(SHA256)
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.move(str(unpacked), folder)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
