"""Kill a device with -9 while its agent installs from a server: the old version or the new one, whole.

    python -m tests.fault.install_kills --kills 500

A child opens a device, says what runs there, connects to a server on this machine and pulls; the parent
kills it at a random moment and starts the next. Every version of the task answers with what stands in its
code and in its resource: two that differ are a mix of two versions. A child that got there has the next
version published.
"""

from __future__ import annotations

import argparse
import json
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python" / "cloud"))

DEFAULT_KILLS = 50
LINE_S = 120.0  # for a child to say something, on a busy machine
CODE = "code-of-child-{number}"
RESOURCE_BYTES = 3 << 20  # several checkpoints of a transfer

TOML = """
[task]
name = "rank"
version = "1.0.{number}"
[triggers]
asked = "ask"
[entry]
main = "main"
[capabilities]
host_calls = ["walle.engine"]
[limits.main]
wall_ms = 60000
[results.answers]
columns = {{ code = "int", resource = "int" }}
[events.ask]
"""
MAIN = """
from walle import engine

def main(event):
    return {{"code": {number}, "resource": int.from_bytes(bytes(engine.read("weights.bin"))[-8:], "little")}}
"""
# Says {"runs": [code, resource] or null, "version": ...} and then, when the pull has ended, {"version": ...}.
CHILD = """
import json, sys
from walle_rt.device import Device
folder, url, code, root = sys.argv[1:]
device = Device(folder, workers=1, ready=1)
def version():
    task = device.tasks().get("rank")
    return None if task is None else task.version
runs = None
if version() is not None:
    device.record("ask")
    assert device.wait(60), "a firing that does not end"
    told = device.task("rank")
    assert told.failures == 0, told.error
    row = device.results("rank").last(1)[0]
    runs = [row["code"], row["resource"]]
print(json.dumps({"runs": runs, "version": version()}), flush=True)
device.connect(url, root=root, app="app", app_version="1.0.0", enrol_code=code, transport="python")
state = device.pull(120)
steps = [step.what for step in state.steps]
print(json.dumps({"version": version(), "steps": steps, "error": state.error}), flush=True)
device.close()
"""


@dataclass
class Count:
    """What became of the children."""

    kills: int = 0
    installs: int = 0
    turned_down: int = 0  # a version whose probation was killed too often
    failures: list[str] = field(default_factory=list)


class Child:
    """A process with the device."""

    def __init__(self, folder: Path, cloud: Any, number: int) -> None:
        code = CODE.format(number=number)
        cloud.codes.add(code)  # a code whose reply was killed is spent
        root = folder.parent / "root.json"
        root.write_bytes(cloud.root)
        words = [sys.executable, "-c", CHILD, str(folder), cloud.url, code, str(root)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def line(self, seconds: float) -> dict[str, Any] | None:
        """The next thing it says; None: nothing within that time."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(seconds, 0.0))
        if not ready:
            return None
        said = self._process.stdout.readline()
        if not said:
            self._process.wait()
            assert self._process.stderr is not None
            raise RuntimeError(self._process.stderr.read().decode()[-2000:])
        told: dict[str, Any] = json.loads(said)
        return told

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def end(self) -> None:
        _, said = self._process.communicate(timeout=LINE_S)
        if self._process.returncode != 0:
            raise RuntimeError(said.decode()[-2000:])


class Story:
    """Versions one after the other, and a device that may lag one behind."""

    def __init__(self, folder: Path, seed: int) -> None:
        from small_cloud import SmallCloud

        (folder / "cloud").mkdir()
        self.folder, self.random = folder, random.Random(seed)
        self.cloud = SmallCloud(folder / "cloud")
        self.newest = 0
        self.allowed: set[str | None] = {None}
        self.count = Count()
        self.took_s = 1.0  # the newest install that was not killed
        self.publish()

    def publish(self) -> None:
        self.newest += 1
        task = self.folder / f"task{self.newest}"
        task.mkdir()
        (task / "task.toml").write_text(TOML.format(number=self.newest))
        (task / "main.py").write_text(MAIN.format(number=self.newest))
        weights = self.random.randbytes(RESOURCE_BYTES - 8) + self.newest.to_bytes(8, "little")
        (task / "weights.bin").write_bytes(weights)
        self.cloud.release(self.newest, (f"r{self.newest}", self.cloud.publish(task)))
        self.allowed.add(f"1.0.{self.newest}")
        shutil.rmtree(task)

    def check(self, said: dict[str, Any]) -> None:
        """A version that may be there, and no mix of two."""
        version, runs = said["version"], said["runs"]
        if version not in self.allowed:
            self.count.failures.append(f"version {version}, expected one of {sorted(map(str, self.allowed))}")
        if runs is not None and {f"1.0.{number}" for number in runs} != {version}:
            self.count.failures.append(f"version {version} answers with code {runs[0]}, resource {runs[1]}")
        if said.get("version") is not None:
            # It never goes back.
            self.allowed -= {known for known in self.allowed if _order(known) < _order(version)}

    def turn(self, kill: bool) -> None:
        """One child from its start to its end."""
        child = Child(self.folder / "device", self.cloud, self.count.kills)
        try:
            first = child.line(LINE_S)
            assert first is not None, "a child that says nothing"
            self.check(first)
            begun = time.monotonic()
            last = child.line(self.random.uniform(0, 1.1 * self.took_s) if kill else LINE_S)
            if last is None:
                assert kill, "a pull that does not end"
                child.kill()
                self.count.kills += 1
                return
            self.took_s = time.monotonic() - begun
            child.end()
        except BaseException:
            child.kill()
            raise
        self.settle(last)

    def settle(self, said: dict[str, Any]) -> None:
        """A pull that ended: there, or turned down because its probation was killed again and again."""
        if said["error"]:
            self.count.failures.append(said["error"])
        elif said["version"] == f"1.0.{self.newest}":
            self.count.installs += 1
            self.allowed = {said["version"]}
        elif "turned_down" in said["steps"] or "kept" in said["steps"]:
            self.count.turned_down += 1
        else:
            self.count.failures.append(f"a pull that ended with {said}")
        self.publish()


def _order(version: str | None) -> int:
    return -1 if version is None else int(version.rpartition(".")[2])


def run(kills: int, seed: int) -> Count:
    """The story with so many kills; what it says about itself goes to standard output."""
    folder = Path(tempfile.mkdtemp(prefix="walle-install-kills-"))
    story = Story(folder, seed)
    try:
        story.turn(kill=False)
        while story.count.kills < kills and not story.count.failures:
            story.turn(kill=True)
        if not story.count.failures:
            story.turn(kill=False)
    finally:
        story.cloud.close()
        if not story.count.failures:
            shutil.rmtree(folder)
    return story.count


def main(words: list[str] | None = None) -> int:
    """Print what happened; 1 where a version was no whole one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=DEFAULT_KILLS)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args(words)
    print(f"install kills: seed {given.seed}", flush=True)
    begun = time.monotonic()
    count = run(given.kills, given.seed)
    for failure in count.failures:
        print(f"FAILED: {failure}")
    print(
        f"install kills: {count.kills} killed, {count.installs} installs that ended, "
        f"{count.turned_down} turned down, {len(count.failures)} mixes or errors, "
        f"{time.monotonic() - begun:.0f} s"
    )
    return 1 if count.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
