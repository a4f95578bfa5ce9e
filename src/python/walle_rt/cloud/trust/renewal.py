"""Renewal: how long signatures count, and signing anew what expires."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Metadata

from .files import only_writer
from .metadata_folder import DIRECTOR
from .signing import SigningFolder


class Renewal(SigningFolder):
    """A repository whose signatures are kept in force."""

    def standing(self) -> dict[str, tuple[datetime, bool]]:
        """Of every role when its signature stops counting, and whether its keys are at hand; each file of the
        metadata is read once."""
        root, timestamp = self._load_root(), self._read("timestamp.json")
        snapshot = self._read(f"{timestamp.signed.snapshot_meta.version}.snapshot.json")
        listed = snapshot.signed.meta
        targets = self._read(f"{listed['targets.json'].version}.targets.json")
        top = {"root": root, "timestamp": timestamp, "snapshot": snapshot, "targets": targets}
        found = {
            role: (each.signed.expires, self._held(root.signed.roles[role])) for role, each in top.items()
        }
        for role, entry in targets.signed.delegations.roles.items():
            metadata = self._read(f"{listed[f'{role}.json'].version}.{role}.json")
            found[role] = (metadata.signed.expires, self._held(entry))
        return found

    def expires(self, role: str) -> datetime:
        """When the present signature of a role stops counting."""
        metadata = self._load_root() if role == "root" else self._load(role)
        expires: datetime = metadata.signed.expires
        return expires

    def sign_again(self) -> None:
        """New signatures of the online roles."""
        self.renew([DIRECTOR])

    def renew(self, roles: Iterable[str]) -> None:
        """New signatures of these roles as they stand, and of snapshot and timestamp, which name them.

        Ends a change of keys whose process died behind the new root, too: whatever that root's keys have not
        signed yet is signed now.

        Raises:
            ArgumentError: no such role, or its keys are not here.
        """
        with only_writer(self.folder):
            wanted = [role for role in roles if role not in ("snapshot", "timestamp")]
            changed = {role: self._bumped(self._load(role), role) for role in wanted if role != "root"}
            targets = self._load("targets")
            try:
                self._load_root().signed.verify_delegate("targets", targets.signed_bytes, targets.signatures)
            except UnsignedMetadataError:
                changed.setdefault("targets", self._bumped(targets, "targets"))
            if "root" in wanted:
                root = self._load_root()
                before: Any = Metadata.from_bytes(root.to_bytes())
                self._save_root(self._bumped(root, "root"), before.signed)
            self._commit(changed)

    def raise_versions(self, by: int) -> list[str]:
        """Raise the versions of all roles whose keys are at hand, for devices that have seen higher ones.

        Returns the other roles, but for root: each root stands on the one before, so none can be left out.
        """
        with only_writer(self.folder):
            targets = self._load("targets")
            roles = {"targets": self._load_root().signed.roles["targets"], **targets.signed.delegations.roles}
            changed, left = {}, []
            for name, entry in roles.items():
                if not self._held(entry):
                    left.append(name)
                    continue
                role = targets if name == "targets" else self._load(name)
                role.signed.version += by
                changed[name] = self._bumped(role, name)
            snapshot, timestamp = self._load("snapshot"), self._load("timestamp")
            for metadata in (snapshot, timestamp):
                metadata.signed.version += by
            self._commit(changed, snapshot, timestamp)
            return left
