"""Role keys: which keys sign a role, and others in their place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tuf.api.metadata import Metadata

from ...errors import ArgumentError
from .files import only_writer
from .keys import KeyFolder, Scheme
from .metadata_folder import TOP
from .signing import SigningFolder


class RoleKeys(SigningFolder):
    """A repository whose keys change."""

    def keyids(self, role: str) -> list[str]:
        """The ids of the keys that may sign ``role``."""
        return list(self._role(role)[1].keyids)

    def replace_keys(
        self, role: str, keyids: Iterable[str], keys: KeyFolder, scheme: Scheme = Scheme.ED25519
    ) -> list[str]:
        """As many new keys, in ``keys``, as are withdrawn from ``role``; returns their ids.

        The role's file is signed anew, and so is the one that names its keys: root for root, targets,
        snapshot and timestamp; targets for a scenario and the director. A new root is signed by the old
        threshold, too: devices follow it no other way.

        Raises:
            ArgumentError: a key that is not the role's.
        """
        gone = list(keyids)
        with only_writer(self.folder):
            delegator, entry = self._role(role)
            for keyid in gone:
                if keyid not in entry.keyids:
                    raise ArgumentError.of(
                        f"key {keyid[:16]}...",
                        f"one of {', '.join(k[:16] for k in entry.keyids)}",
                        f"role '{role}'",
                        "see `walle keys list`",
                    )
            before: Any = Metadata.from_bytes(delegator.to_bytes())  # who counted until now
            self._keys = (*self._keys, keys)
            made = [keys.create(scheme).public_key for _ in gone]
            for keyid in gone:
                delegator.signed.revoke_key(keyid, role)
            for key in made:
                delegator.signed.add_key(key, role)
            self._after_keys(role, delegator, before)
        for keyid in gone:
            for folder in self._keys:
                folder.withdraw(keyid)
        return [key.keyid for key in made]

    def _after_keys(self, role: str, delegator: Any, before: Any) -> None:
        """Sign what names the keys, then what the new keys sign."""
        delegator.signed.version += 1
        if role in TOP:
            delegator.signed.expires = self._expires("root")
            self._save_root(delegator, before.signed)
            changed = {"targets": self._bumped(self._load("targets"), "targets")} if role == "targets" else {}
        else:
            delegator.signed.expires = self._expires("targets")
            changed = {"targets": delegator, role: self._bumped(self._load(role), role)}
            self._commit(changed, delegations=delegator)
            return
        self._commit(changed)
