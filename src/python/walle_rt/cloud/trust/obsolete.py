"""Obsolete: signed files that no client asks for any more.

Every change of a role leaves the file of the version before, and every plan the plan before. A client that
has read a snapshot asks for what it names within moments; so the newest versions stay, for slow ones and for
caches between, and the others go. Of root all stay, as devices follow root by root; of scenarios the files
of versions, which a release may name again.
"""

from __future__ import annotations

import json
from pathlib import Path

from .metadata_folder import DIRECTOR

KEPT = 50  # versions of a role's file behind the newest one

Named = tuple[str, str]  # path, SHA-256


def drop_obsolete(folder: Path, role: str, version: int) -> None:
    """Remove a role's files that lie more than ``KEPT`` versions behind, and what the director named in them.

    Args:
        folder: of the repository.
        role: not root.
        version: of the newest file, which timestamp and snapshot name by now.
    """
    metadata = folder / "metadata"
    newest = _named(metadata / f"{version}.{role}.json") if role == DIRECTOR else set()
    for number in range(version - KEPT - 1, 0, -1):
        old = metadata / f"{number}.{role}.json"
        if not old.exists():
            break
        if role == DIRECTOR:
            for path, digest in _named(old) - _named(metadata / f"{number + 1}.{role}.json") - newest:
                above, _, name = path.rpartition("/")
                (folder / "targets" / above / f"{digest}.{name}").unlink(missing_ok=True)
        old.unlink()  # last: whoever dies before begins here again


def _named(file: Path) -> set[Named]:
    """The targets of a role's file; none where there is no such file."""
    if not file.exists():
        return set()
    targets = json.loads(file.read_bytes())["signed"]["targets"]
    return {(path, target["hashes"]["sha256"]) for path, target in targets.items()}
