"""The repository of signed metadata and of the files it lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Delegations, Metadata, Root, Snapshot, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer

from ..._core import names
from ...errors import ArgumentError
from ...whole_files import write_whole
from . import team
from .files import only_writer
from .keys import KeyFolder, Scheme
from .listing import Listing, Version, version_of
from .metadata_folder import DIRECTOR, TOP
from .renewal import Renewal
from .role_keys import RoleKeys


class TaskRepository(Listing, Renewal, RoleKeys):
    """Metadata in ``<folder>/metadata``, files in ``<folder>/targets``, as any TUF client reads them.

    Every change ends with a new ``timestamp.json``, written last and in one step: a process that dies before
    leaves the state of before. One writer at a time.
    """

    def create(
        self,
        *,
        offline: KeyFolder,
        online: KeyFolder,
        scheme: Scheme = Scheme.ED25519,
        root_keys: int = 1,
        root_threshold: int = 1,
    ) -> None:
        """Make keys for the roles and sign an empty repository.

        Raises:
            ArgumentError: there is a repository already, or the threshold is no number of the keys.
        """
        if not 1 <= root_threshold <= root_keys:
            raise ArgumentError.of(
                f"a threshold of {root_threshold} of {root_keys} keys",
                "from 1 to the number of keys",
                "root",
                "take fewer signatures or more keys",
            )
        with only_writer(self.folder):
            if (self._metadata / "1.root.json").exists():
                raise ArgumentError.of(
                    f"'{self.folder}', which is a repository already",
                    "a new folder",
                    "walle keys init",
                    "choose another folder; `walle keys rotate` changes keys",
                )
            self._keys = (*self._keys, offline, online)
            root: Any = Root(expires=self._expires("root"), consistent_snapshot=True)
            targets: Any = Targets(expires=self._expires("targets"), delegations=Delegations({}, {}))
            for role in TOP:
                folder = offline if role in ("root", "targets") else online
                for _ in range(root_keys if role == "root" else 1):
                    root.add_key(folder.create(scheme).public_key, role)
            root.roles["root"].threshold = root_threshold
            self._delegate(targets, DIRECTOR, [f"{DIRECTOR}/*"], online.create(scheme).public_key)
            director: Any = Targets(expires=self._expires(DIRECTOR))
            self._save_root(Metadata(root), root)
            changed = {"targets": Metadata(targets), DIRECTOR: Metadata(director)}
            self._commit(changed, Metadata(Snapshot()), Metadata(Timestamp()), first=True)

    def add_scenario(self, scenario: str, keys: KeyFolder, scheme: Scheme = Scheme.ED25519) -> None:
        """Delegate ``<scenario>/...`` to a new key in ``keys``. Needs the key of ``targets``.

        Raises:
            ArgumentError: the name is none, or taken.
        """
        names.check("scenario", scenario, "repository")
        with only_writer(self.folder):
            targets = self._load("targets")
            if scenario in targets.signed.delegations.roles:
                raise ArgumentError.of(
                    f"scenario '{scenario}', which exists", "a new name", "repository", "choose another name"
                )
            self._keys = (*self._keys, keys)
            self._delegate(targets.signed, scenario, [f"{scenario}/*/*"], keys.create(scheme).public_key)
            made: Any = Metadata(Targets(expires=self._expires(scenario)))
            self._commit({"targets": self._bumped(targets, "targets"), scenario: made})

    def add_team_scenario(self, scenario: str, keyid: str, key: Mapping[str, Any], signed: bytes) -> None:
        """Delegate ``<scenario>/...`` to a key that stays with its team, whose empty role comes signed along.

        Needs the key of ``targets``.

        Raises:
            ArgumentError: the name is none, or taken; no key that devices verify; a role that the key has not
                signed, or that is not empty.
        """
        names.check("scenario", scenario, "repository")
        public, made = team.read_key(keyid, key), team.read_role(signed)
        with only_writer(self.folder):
            targets = self._load("targets")
            if scenario in targets.signed.delegations.roles:
                raise ArgumentError.of(
                    f"scenario '{scenario}', which exists", "a new name", "repository", "choose another name"
                )
            self._delegate(targets.signed, scenario, [f"{scenario}/*/*"], public)
            nothing: Any = Targets()
            nothing.version = 0
            self._check_signed(targets, scenario, made, nothing, {})
            self._commit({"targets": self._bumped(targets, "targets")}, accepted={scenario: (made, signed)})

    def accept(self, scenario: str, signed: bytes, contents: Mapping[str, bytes]) -> list[Version]:
        """A scenario's role as its team has signed it, with the files that are new in it; needs no key of the
        scenario. Returns the versions that are new.

        Raises:
            ArgumentError: not the next version of the role, not signed by the scenario's key, or something
            else
                in it than versions that were listed and those of ``contents``.
        """
        made = team.read_role(signed)
        with only_writer(self.folder):
            before = self._load_scenario(scenario)
            self._check_signed(self._load("targets"), scenario, made, before.signed, contents)
            new = [
                target for path, target in made.signed.targets.items() if path not in before.signed.targets
            ]
            for target in new:
                digest = target.hashes["sha256"]
                self._refuse_other_bytes(target.path, digest)
                write_whole(self._blob(target.path, digest), contents[target.path])
            self._commit({}, accepted={scenario: (made, signed)})
            return [version_of(target) for target in new]

    def role(self, scenario: str) -> tuple[str, list[str], bool]:
        """A scenario's signed role, the ids of its keys, and whether one of them is at hand here."""
        metadata = self._load_scenario(scenario)
        text = metadata.to_bytes(JSONSerializer(compact=True)).decode()
        keyids = self.keyids(scenario)
        return text, keyids, any(keyid in folder for keyid in keyids for folder in self._keys)

    def _check_signed(
        self, targets: Any, scenario: str, made: Any, before: Any, contents: Mapping[str, bytes]
    ) -> None:
        try:
            targets.signed.verify_delegate(scenario, made.signed_bytes, made.signatures)
        except (UnsignedMetadataError, ValueError) as error:
            raise ArgumentError.of(
                f"a role that is not signed as it must be ({error})",
                f"the signature of a key of '{scenario}'",
                "signed role",
                "sign it with walle task publish --keys",
            ) from None
        team.check_next(
            before, made.signed, scenario, contents, self._now(), self._expiry.scenario, self.named(scenario)
        )
