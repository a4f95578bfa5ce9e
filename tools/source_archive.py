"""Source archives of what is compiled into us: found, checked against a published hash, unpacked once.

Looked for in this order: the file that the archive's variable names, the cache (~/.cache/walle, keyed by
hash), where its makers publish it, and the pool of every Debian mirror that this machine's apt is configured
with. A wrong hash is refused everywhere.
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
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

DEBIAN = "http://deb.debian.org/debian"


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


@dataclass(frozen=True)
class SourceArchive:
    """One archive: its hash, where it can be had, and the folder that it unpacks to."""

    name: str  # as people call it
    top: str  # the one folder inside
    sha256: str
    suffix: str
    variable: str  # of the environment: names the file
    debian_pool: str  # below a mirror
    upstream: str = ""

    def stem(self) -> str:
        """Of its files in the cache."""
        return f"{self.name.lower()}-{self.sha256[:16]}"

    def kept(self, cache: Path) -> Path:
        """Where a downloaded archive is kept."""
        return cache / f"{self.stem()}{self.suffix}"

    def folder(self, cache: Path) -> Path:
        """Where it is unpacked."""
        return cache / self.stem() / self.top

    def sources(self) -> list[str]:
        """Where it can be downloaded, in the order of trying."""
        mirrors = debian_mirrors() or ([] if self.upstream else [DEBIAN])
        return [*filter(None, [self.upstream]), *(f"{mirror}/{self.debian_pool}" for mirror in mirrors)]

    def is_right(self, path: Path) -> bool:
        """Whether this file is it."""
        return path.is_file() and digest(path) == self.sha256

    def download(self, url: str, target: Path) -> str:
        """Empty string when `target` now holds the right archive, otherwise why not."""
        try:
            with urllib.request.urlopen(url, timeout=60) as reply, target.open("wb") as out:
                shutil.copyfileobj(reply, out)
        except OSError as error:
            return f"{url}: {error}"
        found = digest(target)
        return "" if found == self.sha256 else f"{url}: sha256 {found}"

    def find(self, cache: Path) -> Path | None:
        """The checked archive, or None after saying what was tried."""
        named = os.environ.get(self.variable, "")
        if named:
            if self.is_right(Path(named)):
                return Path(named)
            wrong = f"{self.variable}={named} is not the expected archive (sha256 {self.sha256})"
            print(wrong, file=sys.stderr)
            return None
        kept = self.kept(cache)
        if self.is_right(kept):
            return kept
        cache.mkdir(parents=True, exist_ok=True)
        tried = []
        for url in self.sources():
            with tempfile.NamedTemporaryFile(dir=cache, delete=False) as part:
                target = Path(part.name)
            why = self.download(url, target)
            if not why:
                target.replace(kept)
                return kept
            target.unlink(missing_ok=True)
            tried.append(why)
        print(
            f"no {self.name} source; tried {'; '.join(tried)}. Set {self.variable} to the archive",
            file=sys.stderr,
        )
        return None

    def where(self, cache: Path) -> str:
        """One line: what find() would use."""
        named = os.environ.get(self.variable, "")
        if (self.folder(cache) / ".complete").is_file():
            return f"unpacked in {self.folder(cache)}"
        if named:
            wrong = f", which is not the expected archive ({self.sha256})"
            return f"{self.variable}={named}{'' if self.is_right(Path(named)) else wrong}"
        if self.kept(cache).is_file():
            return f"cached in {self.kept(cache)}"
        return "to be downloaded from " + " or ".join(self.sources())

    def main(self) -> int:
        """The command of an archive: 0 and its folder on stdout; 3 and one line on stderr: none to be had.

        With --where it only says where the source would come from, without asking the network.
        """
        cache = Path(os.environ.get("WALLE_CACHE", Path.home() / ".cache" / "walle"))
        folder = self.folder(cache)
        if "--where" in sys.argv[1:]:
            print(self.where(cache))
            return 0
        if not (folder / ".complete").is_file():
            found = self.find(cache)
            if found is None:
                return 3
            with tempfile.TemporaryDirectory(dir=cache if cache.is_dir() else None) as scratch:
                with tarfile.open(found) as tar:
                    unpack(tar, Path(scratch))
                unpacked = Path(scratch) / self.top
                (unpacked / ".complete").write_text(self.sha256)
                folder.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                shutil.move(str(unpacked), folder)
        print(folder)
        return 0
