"""Packages: the same bytes everywhere, files by digest, installed by a device; `walle task pack`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run_walle
from waits import PATIENCE_S

from walle_rt.device import Device
from walle_rt.errors import TaskError
from walle_rt.task import Task
from walle_rt.task._package import FileKind, Package, PackageFile, read_package
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(
    not (VM.available("device") and VM.available()), reason="no VM library: packing compiles"
)

TOML = """
[task]
name = "shop"
version = "1.2.3"
[triggers]
bought = "  event.buy  "
[entry]
main = "main"
[capabilities]
imports = ["json", "math"]
host_calls = ["walle.log", "walle.kv"]
[resources]
include = ["data/*", "words.txt"]
[limits.main]
wall_ms = 60000
[results.sales]
columns = { price = "int" }
[events.buy]
fields = { price = { type = "int", sensitivity = "open" } }
"""
# What a compiler might write in an order of its own: sets, names, annotations, closures.
MAIN = '''
"""A task."""
import json, math
from walle import log

KINDS = {"a", "b", "c", "d", "e"}

def main(event):
    price: int = event["fields"]["price"]
    if str(price) in {"x", "y", "z", "w"} or price in frozenset((1, 2, 3)):
        log.info(json.dumps({"price": price}))
    return {"price": int(math.floor(price)) + len([k for k in KINDS if k])}
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "task"
    (made / "data").mkdir(parents=True)
    (made / "task.toml").write_text(TOML.replace("  event.buy  ", "buy"))
    (made / "main.py").write_text(MAIN)
    (made / "words.txt").write_text("words\n")
    (made / "data" / "model.bin").write_bytes(b"m" * 100_000)
    (made / "data" / "twin.bin").write_bytes(b"m" * 100_000)
    return made


def test_a_package_says_what_its_task_is(folder: Path) -> None:
    packed = Task(folder).pack("store-1")
    package = packed.package
    assert Package.from_bytes(packed.manifest) == package
    assert (package.scenario, package.task, package.version) == ("store-1", "shop", "1.2.3")
    assert package.path == "store-1/shop/shop-1.2.3.walp"
    assert (package.vm, package.op_set) == (VM().id, "")
    assert package.capabilities == ["walle.kv", "walle.log"] and package.imports == ["json", "math", "walle"]
    kinds = {file.name: file.kind for file in package.files}
    assert kinds == {
        ".walle/code": FileKind.CODE,
        ".walle/manifest": FileKind.POLICY,
        "data/model.bin": FileKind.RESOURCE,
        "data/twin.bin": FileKind.RESOURCE,
        "words.txt": FileKind.RESOURCE,
    }
    # Every file under its digest, what two of them share once, and no Python text.
    assert len(packed.blobs) == 4
    for file in package.files:
        assert hashlib.sha256(packed.blobs[file.sha256]).hexdigest() == file.sha256
        assert len(packed.blobs[file.sha256]) == file.size
    assert not any(b"def main" in data for data in packed.blobs.values())
    assert package.ram_bytes == (32 << 20) + sum(map(len, packed.blobs.values()))
    assert packed.digest == hashlib.sha256(packed.manifest).hexdigest()


PRINT = """
import sys
from walle_rt.task import Task
packed = Task(sys.argv[1]).pack("store-1")
print(packed.digest, *sorted(packed.blobs))
"""


def test_the_same_folder_gives_the_same_bytes_in_any_process(folder: Path, tmp_path: Path) -> None:
    """Other hash seeds, time zones, languages, folders, orders of files, and times of files."""
    printed = set()
    for turn in range(4):
        place = tmp_path.joinpath(f"place {turn}", *["deep"] * turn)
        place.mkdir(parents=True)
        copy = place / "copy"
        copy.mkdir()
        for path in sorted(folder.rglob("*"), reverse=bool(turn % 2)):
            to = copy / path.relative_to(folder)
            if path.is_dir():
                to.mkdir(parents=True, exist_ok=True)
            else:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, to)
                os.utime(to, (turn * 1e8, turn * 1e8))
        env = os.environ | {
            "PYTHONHASHSEED": str(turn),
            "TZ": f"UTC+{turn}",
            "LC_ALL": ["C", "C.UTF-8"][turn % 2],
        }
        done = subprocess.run(
            [sys.executable, "-c", PRINT, str(copy)],
            env=env,
            cwd=place,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        printed.add(done.stdout)
    assert len(printed) == 1, printed


def test_another_day_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Task(folder).pack("store-1")
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert Task(folder).pack("store-1") == before


def test_a_device_installs_what_was_packed_and_tells_its_digest(folder: Path, tmp_path: Path) -> None:
    packed = Task(folder).pack("store-1")
    path = packed.save(tmp_path / "out")
    with Device(tmp_path / "device") as device:
        assert device.install(path) == "shop"
        assert device.task("shop").package == packed.digest
        device.record("buy", contents={"price": 4})
        assert device.wait(PATIENCE_S)
        assert device.results("shop", "sales").columns()["price"].tolist() == [9]
        assert device.task("shop").failures == 0
        shutil.rmtree(tmp_path / "out")
        # What is there already is not asked for again; what is not is told by name.
        assert device.install_package(packed.manifest, tmp_path / "out") == "shop"
        (folder / "words.txt").write_text("other words\n")
        with pytest.raises(TaskError, match=r"no file .* expected file 'words\.txt'"):
            device.install_package(Task(folder).pack("store-1").manifest, tmp_path / "out")
        assert device.task("shop").package == packed.digest


def test_packing_two_tasks_into_a_folder_shares_what_they_share(folder: Path, tmp_path: Path) -> None:
    Task(folder).pack("store-1").save(tmp_path / "out")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace('name = "shop"', 'name = "till"'))
    Task(folder).pack("store-1").save(tmp_path / "out")
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["blobs", "shop-1.2.3.walp", "till-1.2.3.walp"]
    # Code, model, words, and a manifest each.
    assert len(list((tmp_path / "out" / "blobs").iterdir())) == 5


def test_a_damaged_blob_is_written_anew(folder: Path, tmp_path: Path) -> None:
    packed = Task(folder).pack("store-1")
    packed.save(tmp_path)
    digest = hashlib.sha256(b"words\n").hexdigest()
    (tmp_path / "blobs" / digest).write_bytes(b"Words\n")
    packed.save(tmp_path)
    assert (tmp_path / "blobs" / digest).read_bytes() == b"words\n"


def test_pack_as_a_command(folder: Path, tmp_path: Path) -> None:
    told = run_walle("task", "pack", folder, "--scenario", "store-1", "-o", tmp_path / "out", "--json").json
    path = tmp_path / "out" / "shop-1.2.3.walp"
    assert told["output"] == str(path) and told["bytes"] == path.stat().st_size
    assert told["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert told["files"]["words.txt"] == {"sha256": hashlib.sha256(b"words\n").hexdigest(), "bytes": 6}
    assert read_package(path).path == "store-1/shop/shop-1.2.3.walp"
    shown = run_walle("task", "pack", folder, "--scenario", "store-1", "-o", tmp_path / "out").stdout
    assert "5 files" in shown and f"package sha256:{told['digest']}" in shown
    run_walle(
        "task", "pack", folder, "--scenario", "../x", "-o", tmp_path / "no", code=7, says="scenario '../x'"
    )
    assert not (tmp_path / "no").exists()
    run_walle("task", "pack", tmp_path / "none", "--scenario", "s", "-o", tmp_path, code=5, says="task.toml")
    (tmp_path / "file").write_text("")
    run_walle(
        "task", "pack", folder, "--scenario", "s", "-o", tmp_path / "file", code=5, says="a folder with space"
    )


def test_damaged_manifests_are_told_with_their_file(folder: Path, tmp_path: Path) -> None:
    path = Task(folder).pack("store-1").save(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TaskError, match="checksum"):
        read_package(path)
    with pytest.raises(TaskError, match=str(path)):
        read_package(path)


def test_what_no_package_may_say_is_refused() -> None:
    code = PackageFile(".walle/code", "0" * 64, 1, FileKind.CODE)
    with pytest.raises(TaskError, match=r"no file '.walle/manifest'"):
        Package("s", "t", "1.0.0", "vm", files=[code]).to_bytes()
    with pytest.raises(TaskError, match=r"'\.\./x'"):
        bad = PackageFile("../x", "0" * 64, 1, FileKind.RESOURCE)
        Package("s", "t", "1.0.0", "vm", files=[bad, code]).to_bytes()


def test_json_of_the_device_command_takes_a_package(folder: Path, tmp_path: Path) -> None:
    path = Task(folder).pack("store-1").save(tmp_path / "out")
    events = tmp_path / "events.jsonl"
    events.write_text(
        json.dumps({"event": "buy", "ts": 1_700_000_000_000_000, "contents": {"price": 4}}) + "\n"
    )
    shown = run_walle("device", "run", tmp_path / "device", "--events", events, "--tasks", path)
    assert "shop" in shown.stdout
