"""The repository of signed metadata and of the files it lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tuf.api.exceptions import RepositoryError, StorageError, UnsignedMetadataError
from tuf.api.metadata import (
    DelegatedRole,
    Delegations,
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)
from tuf.api.serialization.json import JSONSerializer

from ..._core import names
from ..._core.policy import Plan
from ...errors import ArgumentError, ResourceError
from ...whole_files import write_whole
from . import retention, team
from .files import only_writer
from .keys import KeyFolder, Scheme

DIRECTOR = "director"
PLAN = f"{DIRECTOR}/plan.wale"
BROKER = f"{DIRECTOR}/broker.url"
_TOP = ("root", "timestamp", "snapshot", "targets")


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
        return int(getattr(self, role)) if role in (*_TOP, DIRECTOR) else self.scenario


@dataclass(frozen=True)
class Version:
    """One published version of a task."""

    path: str
    sha256: str
    size: int
    published: int


class TaskRepository:
    """Metadata in ``<folder>/metadata``, files in ``<folder>/targets``, as any TUF client reads them.

    Every change ends with a new ``timestamp.json``, written last and in one step: a process that dies before
    leaves the state of before. One writer at a time.

    Args:
        folder: what is served to devices; holds no private key.
        keys: folders of private keys. Each change says what it lacks: the offline ones are needed only where
            keys or scenarios change.
        expiry: how long signatures count.
        now: the clock, in UTC.
        named: of a scenario, the paths of versions that something can name: they stay listed. What the
            director's files name stays in any case.
    """

    def __init__(
        self,
        folder: Path | str,
        keys: Iterable[KeyFolder],
        *,
        expiry: Expiry | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        named: Callable[[str], Iterable[str]] = lambda scenario: (),
    ) -> None:
        """Open a repository that exists, or one that ``create()`` is about to make."""
        self.folder = Path(folder)
        self._keys = tuple(keys)
        self._expiry = expiry or Expiry()
        self._now = now
        self._named = named

    # -- what it is made of --------------------------------------------------------------------------------

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
            for role in _TOP:
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
            return [_version(target) for target in new]

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

    def publish(self, scenario: str, task: str, version: str, content: bytes) -> Version:
        """List one version of a task; what is neither named nor among the last three drops out of the list.

        The same bytes a second time change nothing while they are listed. Needs the scenario's key.

        Raises:
            ArgumentError: a name or version that is none; a version that was published with other bytes, even
                one that is not listed any more.
        """
        names.check("task", task, "publish")
        names.check("version", version, f"task '{task}'")
        path = names.package_path(scenario, task, version)
        digest = hashlib.sha256(content).hexdigest()
        with only_writer(self.folder):
            role = self._load_scenario(scenario)
            self._refuse_other_bytes(path, digest)
            if path in role.signed.targets:
                return _version(role.signed.targets[path])
            named = self.named(scenario)
            self._list_named(role, named)
            target = retention.add_version(role.signed, path, content, named)
            write_whole(self._blob(path, digest), content)
            self._commit({scenario: self._bumped(role, scenario)})
            return _version(target)

    def named(self, scenario: str) -> frozenset[str]:
        """The paths of versions that stay listed, because something can name them."""
        names_now = [path for path in self._directed() if path.startswith(f"{scenario}/")]
        return frozenset([*self._named(scenario), *names_now])

    def lists(self, scenario: str, path: str) -> bool:
        """Whether a scenario lists this path."""
        return path in self._load_scenario(scenario).signed.targets

    def list_again(self, scenario: str, path: str) -> bool:
        """List a version that was published, for as long as it is named; False where it is listed.

        Needs the scenario's key where it is not.

        Raises:
            ArgumentError: never published, or the scenario's key is not here.
        """
        with only_writer(self.folder):
            role = self._load_scenario(scenario)
            if path in role.signed.targets:
                return False
            if not self._list_named(role, [path]):
                raise ArgumentError.of(
                    f"'{path}'",
                    "a version that was published",
                    "repository",
                    "publish it: walle task publish",
                )
            self._list_named(role, self.named(scenario))
            self._commit({scenario: self._bumped(role, scenario)})
            return True

    def _list_named(self, role: Any, paths: Iterable[str]) -> int:
        """Put what is named and not listed back into a role, as it was published; how many."""
        added = 0
        for path in paths:
            folder, _, name = path.rpartition("/")
            found = list((self.folder / "targets" / folder).glob(f"*.{name}"))
            if path not in role.signed.targets and found:
                retention.add_named(role.signed, path, found[0].read_bytes())
                added += 1
        return added

    def _directed(self) -> list[str]:
        """What the director's files name now: the plan of releases, and lists of choices."""
        found: list[str] = []
        for path, target in self._load(DIRECTOR).signed.targets.items():
            content = self._blob(path, target.hashes["sha256"]).read_bytes()
            if path == PLAN:
                found += [str(release["path"]) for release in Plan(content).releases]
            elif path != BROKER:
                found += json.loads(content)["choices"].values()
        return found

    def direct(self, name: str, choices: Mapping[str, str]) -> None:
        """Sign what devices should run now: a task's path for each slot. Needs the director's key alone.

        The list is the target ``director/<name>``, JSON as ``{"choices": {slot: path}}``. A device takes
        a path from it only where the scenario's role lists that path, too.

        Raises:
            ArgumentError: a choice that no scenario lists.
        """
        names.check("task", name, "plan")
        with only_writer(self.folder):
            for slot, path in choices.items():
                if path not in self._load_scenario(path.partition("/")[0]).signed.targets:
                    raise ArgumentError.of(
                        f"'{path}' for '{slot}'",
                        "a version that its scenario lists",
                        f"plan '{name}'",
                        "publish it first",
                    )
            director = self._load(DIRECTOR)
            content = json.dumps({"choices": dict(choices)}, sort_keys=True, separators=(",", ":")).encode()
            path = f"{DIRECTOR}/{name}"
            director.signed.targets[path] = TargetFile.from_data(path, content, ["sha256"])
            write_whole(self._blob(path, hashlib.sha256(content).hexdigest()), content)
            self._commit({DIRECTOR: self._bumped(director, DIRECTOR)})

    def direct_plan(self, plan: bytes) -> None:
        """Sign the plan of releases as the target `PLAN`. Needs the director's key alone.

        What it names is not looked up here: a device takes a package only where its scenario's role lists it.
        """
        with only_writer(self.folder):
            director = self._load(DIRECTOR)
            director.signed.targets[PLAN] = TargetFile.from_data(PLAN, plan, ["sha256"])
            write_whole(self._blob(PLAN, hashlib.sha256(plan).hexdigest()), plan)
            self._commit({DIRECTOR: self._bumped(director, DIRECTOR)})

    def versions(self, scenario: str, task: str) -> list[Version]:
        """The versions of a task that are listed, oldest first."""
        return sorted(self._versions(self._load_scenario(scenario), task), key=lambda v: v.published)

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

    def now(self) -> datetime:
        """The clock, in UTC."""
        return self._now()

    @property
    def expiry(self) -> Expiry:
        """How long signatures count."""
        return self._expiry

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

    def direct_broker(self, url: str) -> bool:
        """Sign where the broker is as the target `BROKER`; False where that is what is signed.

        Devices that enrolled when it was elsewhere find it there with their next pull.
        """
        with only_writer(self.folder):
            director = self._load(DIRECTOR)
            content = url.encode()
            made = TargetFile.from_data(BROKER, content, ["sha256"])
            before = director.signed.targets.get(BROKER)
            if before is not None and before.hashes == made.hashes:
                return False
            director.signed.targets[BROKER] = made
            write_whole(self._blob(BROKER, made.hashes["sha256"]), content)
            self._commit({DIRECTOR: self._bumped(director, DIRECTOR)})
            return True

    def expires(self, role: str) -> datetime:
        """When the present signature of a role stops counting."""
        metadata = self._load_root() if role == "root" else self._load(role)
        expires: datetime = metadata.signed.expires
        return expires

    # -- keys ----------------------------------------------------------------------------------------------

    def roles(self) -> list[str]:
        """The names of all roles."""
        return [*_TOP, *self._load("targets").signed.delegations.roles]

    def scenarios(self) -> list[str]:
        """The names of all scenarios."""
        return [name for name in self._load("targets").signed.delegations.roles if name != DIRECTOR]

    def root_id(self) -> str:
        """SHA-256 of the first root, by which devices know this repository for ever."""
        return hashlib.sha256((self._metadata / "1.root.json").read_bytes()).hexdigest()

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
        if role in _TOP:
            delegator.signed.expires = self._expires("root")
            self._save_root(delegator, before.signed)
            changed = {"targets": self._bumped(self._load("targets"), "targets")} if role == "targets" else {}
        else:
            delegator.signed.expires = self._expires("targets")
            changed = {"targets": delegator, role: self._bumped(self._load(role), role)}
            self._commit(changed, delegations=delegator)
            return
        self._commit(changed)

    def _role(self, role: str) -> tuple[Any, Any]:
        """The file that names a role's keys, and what it says of the role."""
        if role in _TOP:
            root = self._load_root()
            return root, root.signed.roles[role]
        targets = self._load("targets")
        try:
            return targets, targets.signed.delegations.roles[role]
        except KeyError:
            known = ", ".join([*_TOP, *targets.signed.delegations.roles])
            raise ArgumentError.of(
                f"role '{role}'", f"one of {known}", "repository", "check the name"
            ) from None

    # -- files ---------------------------------------------------------------------------------------------

    @property
    def _metadata(self) -> Path:
        return self.folder / "metadata"

    def _blob(self, path: str, digest: str) -> Path:
        folder, _, name = path.rpartition("/")
        return self.folder / "targets" / folder / f"{digest}.{name}"

    def _refuse_other_bytes(self, path: str, digest: str) -> None:
        """Files stay when they drop out of the list, so a version means the same bytes for ever."""
        folder, _, name = path.rpartition("/")
        for file in (self.folder / "targets" / folder).glob(f"*.{name}"):
            if file.name.partition(".")[2] == name and file.name.partition(".")[0] != digest:
                raise ArgumentError.of(
                    f"'{path}' with other bytes than it was published with",
                    "a version of its own for other bytes",
                    "repository",
                    "raise the version",
                )

    def _load_root(self) -> Any:
        numbers = [int(f.name.split(".")[0]) for f in self._metadata.glob("*.root.json")]
        if not numbers:
            raise ResourceError.of(
                f"'{self.folder}' without a root", "a repository", "repository", "make one: walle keys init"
            )
        return self._read(f"{max(numbers)}.root.json")

    def _load(self, role: str) -> Any:
        """The file of a role that the present snapshot names."""
        timestamp = self._read("timestamp.json")
        version = timestamp.signed.snapshot_meta.version
        if role == "timestamp":
            return timestamp
        snapshot = self._read(f"{version}.snapshot.json")
        if role == "snapshot":
            return snapshot
        return self._read(f"{snapshot.signed.meta[f'{role}.json'].version}.{role}.json")

    def _load_scenario(self, scenario: str) -> Any:
        if scenario == DIRECTOR or scenario not in self._load("targets").signed.delegations.roles:
            raise ArgumentError.of(
                f"scenario '{scenario}'", "one that was added", "repository", "add it: walle keys scenario"
            )
        return self._load(scenario)

    def _read(self, name: str) -> Any:
        try:
            return Metadata.from_file(str(self._metadata / name))
        except StorageError:
            raise ResourceError.of(
                f"no '{name}'",
                "a repository",
                f"'{self._metadata}'",
                "check the path, or make one: walle keys init",
            ) from None
        except RepositoryError as error:
            raise ResourceError.of(
                f"'{name}' that cannot be read ({error})",
                "signed metadata",
                f"'{self._metadata}'",
                "take the folder from your backup",
            ) from None

    def _versions(self, role: Any, task: str) -> list[Version]:
        prefix = f"/{task}/"
        return [_version(t) for p, t in role.signed.targets.items() if prefix in p]

    # -- signing -------------------------------------------------------------------------------------------

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

    def _save(self, metadata: Any, name: str) -> None:
        write_whole(self._metadata / name, metadata.to_bytes(JSONSerializer(compact=True)))

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
            entry = root.roles[role] if role in _TOP else targets.signed.delegations.roles[role]
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


def _version(target: Any) -> Version:
    return Version(target.path, target.hashes["sha256"], target.length, retention.number(target))
