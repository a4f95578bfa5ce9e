"""A server as `walle serve` starts it, with an operator, a scenario and versions of one small task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cloud.servers import Child

from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.git import Author
from walle_rt.cloud.service.publishing import ServerTarget, publish

SCENARIO, TASK = "bench", "words"
PASSWORD = "the bench's own password"
TOML = """
[task]
name = "words"
version = "{version}"
[triggers]
said = "say"
[entry]
main = "main"
[results.rows]
columns = {{ n = "int" }}
[events.say]
fields = {{ n = {{ type = "int", sensitivity = "open" }} }}
"""
MAIN = 'def main(event):\n    return {"n": event["fields"]["n"]}\n'
EVERYBODY = "[ramp]\nfrom = 1.0\nseconds = 0\ncontrol = 0.0\n"


class Served:
    """The server, asked as an operator's commands ask it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.child = Child(folder / "server")
        self.url: str = self.child.url
        first = self.child.told["login"]["password"]
        self._token = ServerApi(self.url).post("/login", {"name": "admin", "password": first})["token"]
        self.api = ServerApi(self.url, self._token)
        self.api.put("/me/password", {"old": first, "new": PASSWORD})
        self.api.post("/scenarios", {"name": SCENARIO})

    def codes(self, count: int) -> list[str]:
        return list(self.api.post("/device-codes", {"count": count, "label": "bench"})["codes"])

    def publish(self, version: str) -> None:
        folder = self.folder / f"{TASK}-{version}"
        folder.mkdir()
        (folder / "task.toml").write_text(TOML.format(version=version))
        (folder / "main.py").write_text(MAIN + f"# {version}\n")
        target = ServerTarget(self.api, self._token, SCENARIO)
        publish(folder, SCENARIO, target, Author("The bench", "bench@example.com"), f"words {version}")

    def start(self, version: str) -> str:
        """A release to everybody; its id."""
        given = {"task": TASK, "version": version, "policy": EVERYBODY}
        return str(self.api.post(f"/scenarios/{SCENARIO}/releases", given)["id"])

    def act(self, release: str, act: str) -> None:
        self.api.post(f"/releases/{release}/{act}", {"reason": "the bench"})


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Served]:
    made = Served(folder)
    try:
        yield made
    finally:
        made.child.stop()
