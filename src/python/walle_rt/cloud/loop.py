"""The whole loop on one machine: a server, two devices, what they ask and are answered, a release that works
and one that does not.

``walle demo`` shows it. Every step that is told has happened, or an error says which did not. Server and
devices are processes of their own, which talk over the network alone.
"""

from __future__ import annotations

import hashlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cli.server_api import ServerApi
from ..demo import topics
from ..demo.follower import TRACE
from ..demo.topics import TASK
from ..errors import DeadlineError, ResourceError, TaskError
from ..task._package import FileKind
from ..tracing import join_traces
from .git import Author
from .service.publishing import ServerTarget, publish

SCENARIO = "demo"
_PATIENCE_S = 90.0
_PASSWORD = "the demo's own password"
_ANSWERS = 12  # of each device, before they are looked at
_LEAST_SHARE, _MOST_SHARE = 0.04, 0.25  # handed over: 12 % by the threshold's choice, of few items

BROKEN = 'def main(event):\n    return {"n": event["fields"]["nowhere"]}\n'
# One failure of two devices is enough for the guard: with millions it would be far more careful.
CAREFUL = "[ramp]\nfrom = 1.0\nseconds = 0\ncontrol = 0.0\n[guard]\ngood_rate = 0.00001\nbad_rate = 0.5\n"


@dataclass
class Follower:
    """A device's process, and what it reports."""

    process: subprocess.Popen[str]
    lines: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    reported: dict[str, Any] = field(default_factory=dict)

    def read(self) -> None:
        """Gather its lines until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def order(self, what: str) -> None:
        """Have it do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def look(self) -> dict[str, Any]:
        """What it reported last, of everything."""
        while True:
            try:
                self.reported |= self.lines.get_nowait()
            except queue.Empty:
                return self.reported


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
            TaskError: a step did, otherwise than it should.
            ResourceError: a package or a broker is missing.
        """
        with ThreadPoolExecutor(1) as beside:  # a server takes a second or more to start
            trained = beside.submit(self.train)
            self.serve()
            trained.result()
        self.start_devices()
        self.release_to_one_then_both()
        self.see_features()
        self.see_answers()
        self.join_traces()
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

    def train(self) -> None:
        """A small model for devices and a large one for the server, of what every Python has."""
        began = time.monotonic()
        self.trained = topics.train(self.folder)
        (self.folder / "texts.json").write_text(json.dumps(self.trained.texts))
        right = [
            _share(zip(said, self.trained.topics, strict=True))
            for said in (self.trained.by_small, self.trained.by_large)
        ]
        self._say(
            f"trained: what a sentence is about, by a model of {len(self.trained.small):,} bytes"
            f" ({right[0]:.0%} of unseen ones) and one of {len(self.trained.large):,} ({right[1]:.0%})"
        )
        self.figures.append(("two models trained", _seconds(began)))

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
        ready = json.loads(line)
        self.url: str = ready["address"]
        token = ServerApi(self.url).post("/login", {"name": "admin", "password": ready["login"]["password"]})[
            "token"
        ]
        self.api, self._token = ServerApi(self.url, token), token
        self.api.put("/me/password", {"old": ready["login"]["password"], "new": _PASSWORD})
        self.api.post("/scenarios", {"name": SCENARIO})
        self._say(f"server at {self.url}: log in as admin with '{_PASSWORD}'")
        self.figures.append(("server up", _seconds(began)))

    def start_devices(self) -> None:
        """Two devices enrol."""
        began = time.monotonic()
        codes = self.api.post("/device-codes", {"count": 2, "label": "demo"})["codes"]
        for number, code in enumerate(codes, 1):
            folder = self.folder / f"device-{number}"
            first = (number - 1) * len(self.trained.texts) // 2
            texts = str(self.folder / "texts.json")
            words = [str(folder), self.url, code, f"demo {number}", texts, str(first)]
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
        transports = {device.reported["transport"] for device in self.devices}
        self._say(f"two devices enrolled, over {' and '.join(sorted(transports))}")
        self.figures.append(("two devices enrolled", _seconds(began)))

    def release_to_one_then_both(self) -> None:
        """A version that works: to the first device, then to both."""
        self.publish("1.0.0")
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
            raise ResourceError.of(
                "a server without a broker", "Mosquitto", "walle demo", "apt-get install mosquitto"
            )
        began = time.monotonic()
        self._until("features of both devices in a table", lambda: len(self._senders()) == 2)
        table = next(t for t in self.api.get("/tables") if t["feature"] == "seen")
        self._say(f"table {table['task']}/{table['feature']} has {table['rows']} rows of both devices")
        self.figures.append(("features of both in the table", _seconds(began)))

    def see_answers(self) -> None:
        """What the devices are unsure of the server answers, with a model that they never fetch."""
        self._until(
            f"{_ANSWERS} answers on each device",
            lambda: all(device.look().get("answered", 0) >= _ANSWERS for device in self.devices),
        )
        for device in self.devices:
            device.order("report")
        self._until("what they have", lambda: all("report" in device.look() for device in self.devices))
        reports = [device.look()["report"] for device in self.devices]
        guesses = [guess for each in reports for guess in each["guesses"]]
        answers = {n: topic for each in reports for n, topic in each["answers"]}
        asked = [n for n, _, was_asked, _ in guesses if was_asked]
        share = len(asked) / len(guesses)
        large = self.trained.by_large
        alone = _share((topic, large[n]) for n, topic, _, _ in guesses)
        known = [(answers.get(n, topic), n) for n, topic, was, _ in guesses if not was or n in answers]
        together = _share((topic, large[n]) for topic, n in known)
        as_large = _share((topic, large[n]) for n, topic in answers.items())
        if not _LEAST_SHARE <= share <= _MOST_SHARE or as_large < 0.99 or together < alone:
            raise TaskError.of(
                f"{share:.0%} handed over, {as_large:.0%} of the answers are the large model's",
                f"{_LEAST_SHARE:.0%} to {_MOST_SHARE:.0%}, and 99 %", "the cloud phase",
                f"see {self.folder}/*.log",
            )  # fmt: skip
        self._need_no_large_model()
        trips = sorted(trip for each in reports for trip in each["trips"])
        self._say(f"{len(asked)} of {len(guesses)} sentences went to the cloud phase, and came back answered")
        self.figures += [
            ("items", str(len(guesses))),
            ("of them handed to the cloud phase", f"{share:.1%}"),
            ("agreement with the large model, device alone", f"{alone:.1%}"),
            ("agreement with the large model, both", f"{together:.1%}"),
            ("item on a device, p50", f"{sorted(us for *_, us in guesses)[len(guesses) // 2] / 1000:.2f} ms"),
            ("event to answer in its table, p50", f"{1000 * trips[len(trips) // 2]:.0f} ms"),
            ("round trip as the server sees it, p50", f"{1000 * self._phase()['round_trip_p50_s']:.0f} ms"),
        ]

    def _need_no_large_model(self) -> None:
        digest = hashlib.sha256(self.trained.large).hexdigest()
        found = [path for n in (1, 2) for path in (self.folder / f"device-{n}").rglob(digest)]
        if found:
            raise TaskError.of(
                f"'{found[0]}'", "no device with the server's model", "the cloud phase", "report this"
            )

    def join_traces(self) -> None:
        """One file for Perfetto: both devices and the server, with arrows along each record."""
        files = {
            device.reported["device"]: self.folder / f"device-{n}" / TRACE
            for n, device in enumerate(self.devices, 1)
        }
        path = self.folder / "loop.trace.json"
        records = join_traces(path, files, self.api.get("/cloud-phase/trace"))
        if not records:
            raise TaskError.of("no record in two traces", "one at least", f"'{path}'", "report this")
        self._say(f"{path}: {records} records on devices and server, for ui.perfetto.dev")
        self.figures.append(("records that one trace shows on both sides", str(records)))

    def release_what_is_broken(self) -> None:
        """A version that fails: halted by itself, then rolled back."""
        self.publish("1.1.0", BROKEN)
        began = time.monotonic()
        release = self.start("1.1.0", CAREFUL)
        self._until("the broken release is halted", lambda: self._state(release) == "halted")
        halted = self.api.get(f"/releases/{release}")
        self._say(f"1.1.0 was halted: {halted['reason']}")
        self.figures.append(("release to halt of the broken version", _seconds(began)))
        self.figures.append(("devices that tried the broken version", str(halted["progress"]["claimed"])))
        made = self.api.post(f"/releases/{release}/rollback", {"reason": "the demo"})
        self._until("both devices run 1.0.0 again", lambda: self._version(1) == "1.0.0" == self._version(0))
        self._say(f"rolled back by {made['id']}: both devices run 1.0.0")

    # -- how -----------------------------------------------------------------------------------------------

    def publish(self, version: str, main: str = "") -> None:
        """A version of the task; ``main``: another text of the device's half."""
        folder = self.folder / f"{TASK}-{version}"
        topics.write_task(folder, version, self.trained, main)
        target = ServerTarget(self.api, self._token, SCENARIO)
        made = publish(folder, SCENARIO, target, Author("The demo", "demo@example.com"), f"{TASK} {version}")
        size = sum(made.uploaded.values())
        files = {f.sha256: f.size for f in made.package.files if f.kind is not FileKind.CLOUD}
        self._say(f"published {made.package.path}: {size:,} bytes in {len(made.uploaded)} files")
        self.figures.append((f"bytes uploaded for {version}", f"{size:,}"))
        self.figures.append((f"bytes of {version} for a device", f"{sum(files.values()):,}"))

    def start(self, version: str, policy: str) -> str:
        """Start a release."""
        given = {"task": TASK, "version": version, "policy": policy}
        return str(self.api.post(f"/scenarios/{SCENARIO}/releases", given)["id"])

    def _broker(self) -> str:
        broker = self.api.get("/broker")
        return str(broker["url"]) if broker["url"] else ""

    def _phase(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.api.get("/cloud-phase")
        return figures

    def _version(self, device: int) -> str:
        return str(self.devices[device].look().get("versions", {}).get(TASK, ""))

    def _state(self, release: str) -> str:
        return str(self.api.get(f"/releases/{release}")["state"])

    def _senders(self) -> set[str]:
        tables = self.api.get("/tables")
        return {
            row[0]
            for table in tables
            if table["feature"] == "seen"
            for row in self.api.get(f"/tables/{table['id']}")["rows"]
        }

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not holds():
            ended = [device for device in self.devices if device.process.poll() is not None]
            if ended or time.monotonic() > end:
                problem = "a device's process that ended" if ended else f"{_PATIENCE_S:.0f} s"
                reported = [device.look() for device in self.devices]
                raise DeadlineError.of(
                    f"{problem}; devices: {reported}", what, "the loop", f"see {self.folder}/*.log"
                )
            time.sleep(0.05)


def _share(pairs: Iterable[tuple[int, int]]) -> float:
    same = [a == b for a, b in pairs]
    return sum(same) / max(1, len(same))


def _seconds(began: float) -> str:
    return f"{time.monotonic() - began:.2f} s"
