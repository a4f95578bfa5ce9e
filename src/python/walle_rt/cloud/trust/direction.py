"""Direction: what the online director says devices should run, and where they find the broker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from tuf.api.metadata import TargetFile

from ..._core import names
from ..._core.policy import Plan
from ...errors import ArgumentError
from ...whole_files import write_whole
from .files import only_writer
from .metadata_folder import DIRECTOR
from .signing import SigningFolder

PLAN = f"{DIRECTOR}/plan.wale"
BROKER = f"{DIRECTOR}/broker.url"


class Direction(SigningFolder):
    """A repository whose director chooses among what scenarios list."""

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
