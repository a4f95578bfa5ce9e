"""The cloud phase: what a device asks comes back as a row of its table, once, whoever dies between."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import CLOUD, LARGE, FolderShelf, Server, catalog, pack
from cloud.servers import SOURCES
from random_seed import random_seed
from tunnel_world import World
from waits import PATIENCE_S, until

from walle_rt import ArgumentError, ResourceError, _core, tracing
from walle_rt.cloud.broker import find_mosquitto
from walle_rt.cloud.phase import AnswerStore, spans
from walle_rt.device import Answer, Device
from walle_rt.device._tunnel import Tunnel
from walle_rt.task._package import FileKind, Package, PackedTask
from walle_rt.vm import VM, library_path

try:
    find_mosquitto()
except ResourceError as error:
    pytest.skip(f"no mosquitto (apt-get install mosquitto): {error}", allow_module_level=True)
if not VM.available("full"):
    pytest.skip(f"no VM library at {library_path()}", allow_module_level=True)


HERE = Path(__file__).parent
PATHS = os.pathsep.join(map(str, (SOURCES, HERE, HERE.parent)))  # of the program `asking`


class Cloud:
    """A broker, devices with the task, and a server's part that comes and goes."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.folder = folder
        self.shelf = FolderShelf(folder / "shelf")
        self.packed = self.publish("1.0.0")
        self.servers: list[Server] = []
        self.heard: dict[str, list[Answer]] = {}

    def publish(self, version: str, cloud: str = CLOUD, **more: int) -> PackedTask:
        packed = pack(self.folder / "tasks", version, cloud, **more)
        self.shelf.publish(packed)
        return packed

    def serve(self, **options: Any) -> Server:
        server = Server(self.folder, self.world.endpoint(), **options)
        self.servers.append(server)
        return server

    def device(self, name: str) -> Device:
        device = Device(self.folder / "devices" / name, catalog(), workers=1, ready=1)
        self.world._open.append(device.close)
        if "asker" not in device.tasks():
            self.install(device, self.packed)
        return device

    def install(self, device: Device, packed: PackedTask) -> None:
        blobs = self.folder / "blobs" / packed.digest
        blobs.mkdir(parents=True, exist_ok=True)
        for file in packed.package.files:
            (blobs / file.sha256).write_bytes(packed.blobs[file.sha256])
        device.install_package(packed.manifest, blobs)

    def tunnel(self, device: Device, name: str) -> Tunnel:
        return self.world.tunnel(device, name, on_answer=self.heard.setdefault(name, []).append)

    def close(self) -> None:
        for server in self.servers:
            server.close()
        self.world.close()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    made = Cloud(tmp_path)
    yield made
    made.close()


def say(device: Device, *numbers: int, text: str = "what") -> None:
    for n in numbers:
        device.record("say", contents={"n": n, "text": text, "secret": "s"})
    assert device.wait()


def answers(device: Device) -> list[tuple[int, str, str]]:
    return sorted((row["n"], row["said"], row["version"]) for row in device.results("asker", "answers"))


def test_what_the_device_asks_is_answered_by_the_other_half_once(cloud: Cloud) -> None:
    server, device = cloud.serve(), cloud.device("d-1")
    with cloud.tunnel(device, "d-1"):
        say(device, *range(10))
        until(lambda: len(answers(device)) == 5)
        expected = [(n, f"what {len(LARGE)}", "1.0.0") for n in (1, 3, 5, 7, 9)]
        assert answers(device) == expected
        until(lambda: server.phase.stats().taken == 5)
        stats = server.phase.stats()
        assert (stats.asked, stats.answered, stats.failed, stats.waiting) == (5, 5, 0, 0)
        assert 0 < stats.execute_p50_s <= stats.round_trip_p50_s < 20
        assert [a.seq for a in cloud.heard["d-1"]] == [1, 2, 3, 4, 5]
        assert {a.stored for a in cloud.heard["d-1"]} == {1}


def test_devices_do_not_have_what_the_server_alone_runs_with(cloud: Cloud) -> None:
    whole = Package.from_bytes(cloud.packed.whole)
    kinds = {file.name: file.kind for file in whole.files}
    assert kinds["large.bin"] is FileKind.CLOUD and kinds[".walle/cloud"] is FileKind.CLOUD
    assert kinds["doubt.graph"] is FileKind.RESOURCE
    cloud.device("d-1")
    parts = {path.name for path in (cloud.folder / "devices" / "d-1").rglob("*")}
    lacking = {f.sha256 for f in whole.files if f.kind is FileKind.CLOUD}
    assert not parts & lacking and set(cloud.packed.cloud_blobs) == lacking
    assert not any(bytes.fromhex(digest) in cloud.packed.manifest for digest in lacking), "nor are they told"
    assert cloud.packed.package.ram_bytes < (32 << 20) + 20_000


def test_each_question_is_answered_by_the_version_that_asked(cloud: Cloud) -> None:
    device = cloud.device("d-1")
    say(device, 1)
    cloud.install(device, cloud.publish("1.1.0", CLOUD.replace('text + " "', '"newer "')))
    say(device, 3)
    cloud.serve()
    with cloud.tunnel(device, "d-1"):
        until(lambda: len(answers(device)) == 2)
    assert answers(device) == [(1, f"what {len(LARGE)}", "1.0.0"), (3, f"newer {len(LARGE)}", "1.1.0")]


@pytest.mark.parametrize(
    ("text", "why"),
    [("raise", "this one I do not know"), ("hang", "wall"), ("wrong", "column 'nowhere'")],
)
def test_a_question_that_fails_is_told_and_holds_nothing_up(cloud: Cloud, text: str, why: str) -> None:
    server, device = cloud.serve(), cloud.device("d-1")
    if text == "hang":
        cloud.install(device, cloud.publish("1.0.1", wall_ms=3000))
    with cloud.tunnel(device, "d-1"):
        say(device, 1)
        say(device, 3, text=text)
        say(device, 5)
        until(lambda: len(cloud.heard["d-1"]) == 3)
    assert [bool(answer.error) for answer in cloud.heard["d-1"]] == [False, True, False]
    assert why in cloud.heard["d-1"][1].error
    assert [n for n, _, _ in answers(device)] == [1, 5]
    assert server.phase.stats().failed == 1


def test_code_that_cannot_be_stopped_holds_up_nobody_else(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits in a host call: nothing of the VM runs that could look at an interrupt."""
    over = threading.Event()
    monkeypatch.setattr("walle_rt.cloud.phase._phase._log", lambda level, line: over.wait())
    monkeypatch.setattr("walle_rt.cloud.phase._runner._GRACE_S", 0.1)
    server, first, second = cloud.serve(), cloud.device("d-1"), cloud.device("d-2")
    cloud.install(first, cloud.publish("1.0.1", "def answer(question):\n    print(1)\n", wall_ms=1000))
    try:
        with cloud.tunnel(first, "d-1"), cloud.tunnel(second, "d-2"):
            say(first, 1)
            until(lambda: len(cloud.heard["d-1"]) == 1)
            say(second, 3)
            say(first, 5)
            until(lambda: len(cloud.heard["d-1"]) == 2 and len(cloud.heard["d-2"]) == 1)
        assert not over.is_set()
    finally:
        over.set()
    assert "a call of task 'asker' in native code that does not end" in cloud.heard["d-1"][0].error
    assert "a package whose call did not end" in cloud.heard["d-1"][1].error, "no second thread is lost"
    assert [n for n, _, _ in answers(second)] == [3] and server.phase.stats().failed == 2


def test_a_package_that_nobody_published_is_a_failure(cloud: Cloud) -> None:
    cloud.serve()
    device = cloud.device("d-1")
    (cloud.folder / "shelf" / cloud.packed.digest).unlink()
    with cloud.tunnel(device, "d-1"):
        say(device, 1)
        until(lambda: cloud.heard["d-1"])
    assert "no package" in cloud.heard["d-1"][0].error and answers(device) == []


def test_answers_wait_for_a_device_that_is_away_and_are_given_up_in_the_end(cloud: Cloud) -> None:
    server, device = cloud.serve(), cloud.device("d-1")
    say(device, 1)
    with cloud.tunnel(device, "d-1") as tunnel:
        assert tunnel.drain(PATIENCE_S)
    server.close()
    cloud.servers.clear()
    # The broker loses what it kept for the device: only the server has it now.
    server = cloud.serve()
    until(lambda: server.phase.stats().answered + server.phase.stats().waiting >= 1)
    assert answers(device) in ([], [(1, f"what {len(LARGE)}", "1.0.0")])
    with cloud.tunnel(device, "d-1"):
        until(lambda: len(answers(device)) == 1)
        until(lambda: server.phase.stats().waiting == 0)
    store = AnswerStore(cloud.folder / "own.db", cloud.folder / "sink.sqlite")
    (question,) = store.next_questions()
    store.answer(question, [], "", 100, 200)
    assert store.drop_older(200) == 0
    assert store.drop_older(201) == 1
    assert store.due(300) == [] and store.counts().dropped_answers == 1
    store.close()


def test_a_server_that_is_killed_loses_no_question_and_answers_none_twice(cloud: Cloud) -> None:
    rng = random.Random(random_seed())
    ends = cloud.world.endpoint()
    line = [sys.executable, "-m", "asking", str(cloud.folder), ends.url, str(ends.authorities)]
    line += [str(ends.certificate), str(ends.key)]
    env = os.environ | {"PYTHONPATH": PATHS}
    devices = [cloud.device(f"d-{i}") for i in (1, 2)]
    tunnels = [cloud.tunnel(device, f"d-{i}") for i, device in enumerate(devices, 1)]
    said = 0
    for _ in range(6):
        child = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        for _ in range(20):
            said += 1
            for device in devices:
                device.record("say", contents={"n": 2 * said + 1, "text": "what", "secret": "s"})
        time.sleep(rng.uniform(0.0, 0.4))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    server = cloud.serve()
    expected = [2 * i + 1 for i in range(1, said + 1)]
    for device in devices:
        until(lambda device=device: len(answers(device)) >= said)
    until(lambda: server.phase.stats().waiting == 0)
    for device in devices:
        assert [n for n, _, _ in answers(device)] == expected
    for tunnel in tunnels:
        assert tunnel.stats().damaged_answers == 0
        tunnel.close()


def test_a_device_that_is_killed_has_each_answer_once(cloud: Cloud) -> None:
    rng = random.Random(random_seed())
    server = cloud.serve()
    cloud.device("d-1").close()  # installed
    who, ends = cloud.world.identity("d-1"), cloud.world.endpoint()
    line = [sys.executable, "-m", "asking", str(cloud.folder / "devices" / "d-1"), ends.url]
    line += [str(ends.authorities), str(who.certificate), str(who.key), "d-1"]
    env = os.environ | {"PYTHONPATH": PATHS}
    for round_ in range(6):
        child = subprocess.Popen(
            [*line, str(100 * round_ + 1), "40"], env=env, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None and child.stdout.readline() == "said\n"
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    device = cloud.device("d-1")
    assert device.wait(PATIENCE_S)
    with cloud.tunnel(device, "d-1"):
        until(lambda: len(answers(device)) >= 240)
        until(lambda: server.phase.stats().waiting == 0)
    assert [n for n, _, _ in answers(device)] == sorted(
        100 * round_ + 1 + 2 * i for round_ in range(6) for i in range(40)
    )


def test_one_trace_shows_a_record_on_both_sides(cloud: Cloud, tmp_path: Path) -> None:
    server, device = cloud.serve(), cloud.device("d-1")
    with tracing.trace(tmp_path / "device.json"), cloud.tunnel(device, "d-1"):
        say(device, 1)
        until(lambda: len(answers(device)) == 1)
        until(lambda: server.phase.stats().taken == 1)
    number = _core.tunnel.trace_id("doubt", 1)
    assert cloud.heard["d-1"][0].trace == number
    devices = {"d-1": tmp_path / "device.json", "d-2": tmp_path / "device.json"}
    records = tracing.join_traces(tmp_path / "both.json", devices, spans(server.phase.answers()))
    assert records == 1
    events = json.loads((tmp_path / "both.json").read_text())["traceEvents"]
    mine = [e for e in events if e.get("args", {}).get("value") == number and e["pid"] != 3]
    names = [e["name"] for e in sorted((e for e in mine if e["ph"] == "X"), key=lambda e: e["ts"])]
    assert names == ["outbox", "tunnel send", "sink", "cloud phase execute", "answer sent", "answer"]
    assert {e["name"] for e in mine} >= {"egress wait"}
    flow = [e for e in events if e.get("cat") == "record"]
    assert [e["ph"] for e in flow] == ["s", "t", "t", "t", "t", "f"] and {e["id"] for e in flow} == {1}
    assert {e["pid"] for e in flow} == {1, 2}, "another device's record of the same number is another one"
    with pytest.raises(ArgumentError, match="without the time"):
        tracing.join_traces(tmp_path / "both.json", {}, {"traceEvents": []})
    with pytest.raises(ResourceError, match=r"no\.json"):
        tracing.join_traces(tmp_path / "both.json", {}, tmp_path / "no.json")


# -- answers without a broker --------------------------------------------------------------------------------


def made_up(tmp_path: Path, *seqs: int, device: str = "d") -> AnswerStore:
    """A store over a sink's database with these questions."""
    from walle_rt.cloud.sink import Message, SinkStore

    store = SinkStore(tmp_path / "sink.sqlite")
    data = struct.pack("<IqI", 1, 0, 0)  # one row without columns
    records = [(seq, 5, "t@" + "a" * 64, "f", data) for seq in seqs]
    for record in records:
        store.write([Message(device, _core.tunnel.pack_message([("s", b"", False, [record])]))])
    assert store.counts.questions == len(seqs) and store.counts.refused == 0
    store.close()
    return AnswerStore(tmp_path / "answers.db", tmp_path / "sink.sqlite")


def sent(store: AnswerStore, now: int) -> list[tuple[int, int, int]]:
    """(seq, number, after) of what is due."""
    return [_core.tunnel.read_answer(frame)[1:4] for _, frame in store.due(now)]


def test_answers_are_numbered_in_the_order_of_arrival_and_sent_until_taken(tmp_path: Path) -> None:
    store = made_up(tmp_path, 5, 4, 9)
    assert [q.seq for q in store.next_questions()] == [5, 4, 9]
    for question in store.next_questions():
        store.answer(question, [{"n": question.seq}], "", 1, 2)
        store.answer(question, [{"n": 0}], "", 1, 2)  # again, by a process that had been killed
    assert store.next_questions() == []
    second = 1_000_000
    assert sent(store, 0) == [(5, 1, 0), (4, 2, 1), (9, 3, 2)]
    assert sent(store, 30 * second - 1) == []
    assert sent(store, 30 * second) == [(5, 1, 0), (4, 2, 1), (9, 3, 2)]
    assert sent(store, 89 * second) == [] and len(sent(store, 90 * second)) == 3  # twice the time
    assert len(store.mark("d", "s", 1, 91 * second)) == 1
    assert sent(store, 92 * second) == []  # the others are on their way
    assert store.mark("d", "s", 1, 92 * second) == []  # it came back, and has one
    assert sent(store, 92 * second) == [(4, 2, 1), (9, 3, 2)]
    store.close()
    store = AnswerStore(tmp_path / "answers.db", tmp_path / "sink.sqlite")
    assert len(sent(store, 92 * second)) == 2  # another process does not know what has left this one
    assert len(store.mark("d", "s", 3, 93 * second)) == 2
    assert store.counts().waiting == 0 and store.next_due() is None
    assert store.mark("somebody", "s", 3, 0) == []
    store.close()


def test_the_oldest_of_too_many_questions_go_and_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("walle_rt.cloud.sink._store._QUESTIONS_KEPT", 2)
    store = made_up(tmp_path, 1, 2, 3, 4, 5)
    assert [q.seq for q in store.next_questions()] == [4, 5]
    for question in store.next_questions():
        store.answer(question, [], "", 1, 2)
    assert (store.counts().asked, store.counts().dropped_questions) == (5, 3)
    assert sent(store, 0) == [(4, 1, 0), (5, 2, 1)]
    store.close()


def test_an_answer_that_was_given_up_is_left_out_of_the_chain(tmp_path: Path) -> None:
    store = made_up(tmp_path, 1, 2, 3)
    for question in store.next_questions():
        store.answer(question, [], "", 1, 10 if question.seq == 2 else 20)
    assert store.drop_older(11) == 1
    assert sent(store, 30) == [(1, 1, 0), (3, 3, 1)]
    store.close()


def test_a_store_that_was_lost_goes_on_behind_what_devices_have(tmp_path: Path) -> None:
    store = made_up(tmp_path, 1, 2)
    for question in store.next_questions():
        store.answer(question, [], "", 1, 2)
    assert store.mark("d", "s", 57, 10) == []
    assert sent(store, 20) == [(1, 58, 57), (2, 59, 58)]
    assert len(store.mark("d", "s", 59, 30)) == 2
    store.close()


def test_a_window_bounds_what_is_on_its_way_to_one_device(tmp_path: Path) -> None:
    store = made_up(tmp_path, *range(1, 41))
    for question in store.next_questions():
        store.answer(question, [], "", 1, 2)
    assert len(sent(store, 5)) == 32
    store.mark("d", "s", 8, 6)
    assert [number for _, number, _ in sent(store, 7)] == list(range(33, 41))
    store.close()


def test_another_version_of_the_store_is_not_touched(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "answers.db") as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(sqlite3.DatabaseError, match="version 9"):
        AnswerStore(tmp_path / "answers.db", tmp_path / "sink.sqlite")
