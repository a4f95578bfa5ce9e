"""The whole loop on one machine: a server, two devices, a release that works and one that does not.

``walle demo`` shows it. Every step that is told has happened, or an error says which did not. Server and
devices are processes of their own, which talk over the network alone.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cli.server_api import ServerApi
from ..errors import DeadlineError, TaskError
from ..stream import Graph
from .git import Author
from .publishing import ServerTarget, publish

SCENARIO, TASK = "demo", "words"
_PATIENCE_S = 90.0
_PASSWORD = "the demo's own password"

TOML = """
[task]
name = "words"
version = "{version}"
[triggers]
said = "say"
[entry]
main = "main"
[capabilities]
host_calls = ["walle.stream"]
[results.rows]
columns = {{ n = "int" }}
[egress.words]
fields = {{ n = "int", text = {{ type = "text", highest = "open" }} }}
bytes_per_day = "1M"
sends_per_day = 100000
graph = "words.graph"
[events.say]
fields = {{ n = {{ type = "int", sensitivity = "open" }}, text = {{ type = "text", sensitivity = "open" }} }}
"""
GOOD = 'def main(event):\n    return {"n": event["fields"]["n"]}\n'
BROKEN = 'def main(event):\n    return {"n": event["fields"]["nowhere"]}\n'
# One failure of two devices is enough for the guard: with millions it would be far more careful.
CAREFUL = "[ramp]\nfrom = 1.0\nseconds = 0\ncontrol = 0.0\n[guard]\ngood_rate = 0.00001\nbad_rate = 0.5\n"


@dataclass
class Follower:
    """A device's process, and what it tells."""

    process: subprocess.Popen[str]
    lines: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    told: dict[str, Any] = field(default_factory=dict)

    def read(self) -> None:
        """Gather its lines until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def look(self) -> dict[str, Any]:
        """What it told last, of everything."""
        while True:
            try:
                self.told |= self.lines.get_nowait()
            except queue.Empty:
                return self.told


class Loop:
    """Server and devices of one run.

    Args:
        folder: of everything; a fresh one.
        say: called with a line for people at every step.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """Nothing runs yet."""
        self.folder, self._say = folder, say
        self.figures: list[tuple[str, str]] = []
        self.devices: list[Follower] = []
        self._server: subprocess.Popen[str] | None = None

    def run(self) -> list[tuple[str, str]]:
        """All steps; returns (what, how much) of each figure.

        Raises:
            DeadlineError: a step did not happen within 90 s.
        """
        self.serve()
        self.start_devices()
        self.release_to_one_then_both()
        self.see_features()
        self.release_what_is_broken()
        return self.figures

    def close(self) -> None:
        """End devices and server."""
        for device in self.devices:
            assert device.process.stdin is not None
            device.process.stdin.close()
        for process in [*(device.process for device in self.devices), self._server]:
            if process is None:
                continue
            if process is self._server:
                process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    # -- steps ---------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """A server with an operator, a scenario and codes."""
        began = time.monotonic()
        words = ["-m", "walle_rt", "serve", str(self.folder / "server"), "--port", "0", "--json"]
        with (self.folder / "server.log").open("w") as log:
            self._server = subprocess.Popen(
                [sys.executable, *words], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise TaskError.of("a server that ended", "one that serves", "walle serve", f"see {log.name}")
        told = json.loads(line)
        self.url: str = told["address"]
        token = ServerApi(self.url).post("/login", {"name": "admin", "password": told["login"]["password"]})[
            "token"
        ]
        self.api, self._token = ServerApi(self.url, token), token
        self.api.put("/me/password", {"old": told["login"]["password"], "new": _PASSWORD})
        self.api.post("/scenarios", {"name": SCENARIO})
        self._say(f"server at {self.url}: log in as admin with '{_PASSWORD}'")
        self.figures.append(("server up", _seconds(began)))

    def start_devices(self) -> None:
        """Two devices enrol."""
        began = time.monotonic()
        codes = self.api.post("/device-codes", {"count": 2, "label": "demo"})["codes"]
        for number, code in enumerate(codes, 1):
            folder = self.folder / f"device-{number}"
            words = [str(folder), self.url, code, f"demo {number}"]
            line = [sys.executable, "-m", "walle_rt.demo.follower", *words]
            with (self.folder / f"device-{number}.log").open("w") as log:
                pipe = subprocess.PIPE
                process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=log, text=True)
            device = Follower(process)
            threading.Thread(target=device.read, daemon=True).start()
            self.devices.append(device)
        self._until(
            "both devices enrolled", lambda: all("device" in device.look() for device in self.devices)
        )
        transports = {device.told["transport"] for device in self.devices}
        self._say(f"two devices enrolled, over {' and '.join(sorted(transports))}")
        self.figures.append(("two devices enrolled", _seconds(began)))

    def release_to_one_then_both(self) -> None:
        """A version that works: to the first device, then to both."""
        self.publish("1.0.0", GOOD)
        began = time.monotonic()
        first = self.start("1.0.0", CAREFUL + "[release]\npolicy = 'device == \"demo 1\"'\n")
        self._until("the first device runs 1.0.0", lambda: self._version(0) == "1.0.0")
        self.figures.append(("release to active on the first device", _seconds(began)))
        if self._version(1):
            raise TaskError.of("a device that the policy leaves out", "none", "release", "report this")
        self.api.post(f"/releases/{first}/full")
        began = time.monotonic()
        both = self.start("1.0.0", CAREFUL)
        self._until("both devices run 1.0.0", lambda: self._version(1) == "1.0.0" == self._version(0))
        self.api.post(f"/releases/{both}/full")
        self.figures.append(("release to active on the second device", _seconds(began)))
        self._say("1.0.0 runs on the first device, then on both")

    def see_features(self) -> None:
        """What the devices send lies in a table of the server."""
        if not self._broker():
            self._say("no Mosquitto here: nothing is sent")
            return
        began = time.monotonic()
        self._until("features of both devices in a table", lambda: len(self._senders()) == 2)
        [table] = self.api.get("/tables")
        self._say(f"table {table['task']}/{table['feature']} has {table['rows']} rows of both devices")
        self.figures.append(("features of both in the table", _seconds(began)))

    def release_what_is_broken(self) -> None:
        """A version that fails: halted by itself, then rolled back."""
        self.publish("1.1.0", BROKEN)
        began = time.monotonic()
        release = self.start("1.1.0", CAREFUL)
        self._until("the broken release is halted", lambda: self._state(release) == "halted")
        told = self.api.get(f"/releases/{release}")
        self._say(f"1.1.0 was halted: {told['reason']}")
        self.figures.append(("release to halt of the broken version", _seconds(began)))
        self.figures.append(("devices that tried the broken version", str(told["progress"]["claimed"])))
        made = self.api.post(f"/releases/{release}/rollback", {"reason": "the demo"})
        self._until("both devices run 1.0.0 again", lambda: self._version(1) == "1.0.0" == self._version(0))
        self._say(f"rolled back by {made['id']}: both devices run 1.0.0")

    # -- how -----------------------------------------------------------------------------------------------

    def publish(self, version: str, main: str) -> None:
        """A version of the task."""
        folder = self.folder / f"{TASK}-{version}"
        folder.mkdir()
        (folder / "task.toml").write_text(TOML.format(version=version))
        (folder / "main.py").write_text(main)
        (folder / "words.graph").write_bytes(Graph().select("n", "text").to_bytes())
        target = ServerTarget(self.api, self._token, SCENARIO)
        made = publish(folder, SCENARIO, target, Author("The demo", "demo@example.com"), f"words {version}")
        size = sum(made.uploaded.values())
        self._say(f"published {made.package.path}: {size:,} bytes in {len(made.uploaded)} files")
        self.figures.append((f"bytes uploaded for {version}", f"{size:,}"))

    def start(self, version: str, policy: str) -> str:
        """Start a release."""
        given = {"task": TASK, "version": version, "policy": policy}
        return str(self.api.post(f"/scenarios/{SCENARIO}/releases", given)["id"])

    def _broker(self) -> str:
        broker = self.api.get("/broker")
        return str(broker["url"]) if broker["url"] else ""

    def _version(self, device: int) -> str:
        return str(self.devices[device].look().get("versions", {}).get(TASK, ""))

    def _state(self, release: str) -> str:
        return str(self.api.get(f"/releases/{release}")["state"])

    def _senders(self) -> set[str]:
        tables = self.api.get("/tables")
        return {row[0] for table in tables for row in self.api.get(f"/tables/{table['id']}")["rows"]}

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not holds():
            ended = [device for device in self.devices if device.process.poll() is not None]
            if ended or time.monotonic() > end:
                problem = "a device's process that ended" if ended else f"{_PATIENCE_S:.0f} s"
                told = [device.look() for device in self.devices]
                raise DeadlineError.of(
                    f"{problem}; devices: {told}", what, "the loop", f"see {self.folder}/*.log"
                )
            time.sleep(0.05)


def _seconds(began: float) -> str:
    return f"{time.monotonic() - began:.2f} s"
