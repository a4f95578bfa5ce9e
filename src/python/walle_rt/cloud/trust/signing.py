"""Signing: which keys are at hand, and how a change becomes what devices believe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tuf.api.metadata import DelegatedRole, MetaFile

from ...errors import ArgumentError
from ...whole_files import write_whole
from .keys import KeyFolder
from .metadata_folder import DIRECTOR, TOP, MetadataFolder
from .obsolete import drop_obsolete


@dataclass(frozen=True)
class Expiry:
    """How long a signature counts, in days: how long a device may be held back unnoticed."""

    root: int = 365
    targets: int = 365
    scenario: int = 90
    director: int = 7
    snapshot: int = 7
    timestamp: int = 1

    def days(self, role: str) -> int:
        """Of a role by its name; every other role is a scenario."""
        return int(getattr(self, role)) if role in (*TOP, DIRECTOR) else self.scenario


class SigningFolder(MetadataFolder):
    """Signed files and the keys that sign them.

    Every change ends with a new ``timestamp.json``, written last and in one step: a process that dies before
    leaves the state of before. One writer at a time.

    Args:
        folder: what is served to devices; holds no private key.
        keys: folders of private keys. Each change says what it lacks: the offline ones are needed only where
            keys or scenarios change.
        expiry: how long signatures count.
        now: the clock, in UTC.
    """

    def __init__(
        self,
        folder: Path | str,
        keys: Iterable[KeyFolder],
        expiry: Expiry | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open a repository that exists, or one that is about to be made."""
        super().__init__(folder)
        self._keys = tuple(keys)
        self._expiry = expiry or Expiry()
        self._now = now

    def now(self) -> datetime:
        """The clock, in UTC."""
        return self._now()

    @property
    def expiry(self) -> Expiry:
        """How long signatures count."""
        return self._expiry

    def at_hand(self, role: str) -> bool:
        """Whether so many keys of a role as must sign it are here, and open."""
        return self._held(self._role(role)[1])

    def _held(self, entry: Any) -> bool:
        return sum(self._opens(keyid) for keyid in entry.keyids) >= int(entry.threshold)

    def _opens(self, keyid: str) -> bool:
        for folder in self._keys:
            if keyid in folder:
                try:
                    folder.signer(keyid)
                except ArgumentError:  # closed by a passphrase that nobody has said
                    return False
                return True
        return False

    def _expires(self, role: str) -> datetime:
        return self._now().replace(microsecond=0) + timedelta(days=self._expiry.days(role))

    def _bumped(self, metadata: Any, role: str) -> Any:
        metadata.signed.version += 1
        metadata.signed.expires = self._expires(role)
        return metadata

    def _delegate(self, targets: Any, role: str, paths: list[str], key: Any) -> None:
        targets.delegations.roles[role] = DelegatedRole(role, [], 1, True, paths)
        targets.add_key(key, role)

    def _sign(self, metadata: Any, keyids: Iterable[str], threshold: int, role: str) -> None:
        """Add signatures of the keys that are at hand, at least ``threshold``."""
        signed = 0
        for keyid in keyids:
            folder = next((f for f in self._keys if keyid in f), None)
            if folder is not None:
                metadata.sign(folder.signer(keyid), append=True)
                signed += 1
        if signed < threshold:
            raise ArgumentError.of(
                f"private keys for {signed} signatures of '{role}'",
                f"at least {threshold}",
                "keys",
                "name the folders that hold them",
            )

    def _save_root(self, metadata: Any, before: Any) -> None:
        metadata.signatures.clear()
        entry, old = metadata.signed.roles["root"], before.roles["root"]
        self._sign(metadata, entry.keyids, entry.threshold, "root")
        if entry.keyids != old.keyids:
            self._sign(metadata, old.keyids, old.threshold, "root")
        self._save(metadata, f"{metadata.signed.version}.root.json")

    def _commit(
        self,
        changed: Mapping[str, Any],
        snapshot: Any = None,
        timestamp: Any = None,
        *,
        first: bool = False,
        delegations: Any = None,
        accepted: Mapping[str, tuple[Any, bytes]] | None = None,
    ) -> None:
        """Sign the changed targets files, then the snapshot that names them, then the timestamp.

        What is ``accepted`` was signed elsewhere, and is kept byte for byte.
        """
        root = self._load_root().signed
        snapshot = snapshot or self._load("snapshot")
        timestamp = timestamp or self._load("timestamp")
        targets = delegations or changed.get("targets") or self._load("targets")
        for role, metadata in changed.items():
            entry = root.roles[role] if role in TOP else targets.signed.delegations.roles[role]
            metadata.signatures.clear()
            self._sign(metadata, entry.keyids, entry.threshold, role)
            self._save(metadata, f"{metadata.signed.version}.{role}.json")
            snapshot.signed.meta[f"{role}.json"] = MetaFile(metadata.signed.version)
        for role, (metadata, content) in (accepted or {}).items():
            write_whole(self._metadata / f"{metadata.signed.version}.{role}.json", content)
            snapshot.signed.meta[f"{role}.json"] = MetaFile(metadata.signed.version)
        for role, metadata in (("snapshot", snapshot), ("timestamp", timestamp)):
            metadata.signed.version += 0 if first else 1
            metadata.signed.expires = self._expires(role)
            metadata.signatures.clear()
            self._sign(metadata, root.roles[role].keyids, root.roles[role].threshold, role)
            if role == "snapshot":
                self._save(metadata, f"{metadata.signed.version}.snapshot.json")
                timestamp.signed.snapshot_meta = MetaFile(metadata.signed.version)
        self._save(timestamp, "timestamp.json")
        made = {role: metadata for role, (metadata, _) in (accepted or {}).items()}
        for role, metadata in {**changed, **made, "snapshot": snapshot}.items():
            with suppress(OSError):  # the change is in force; what stays is found by the next one
                drop_obsolete(self.folder, role, metadata.signed.version)
