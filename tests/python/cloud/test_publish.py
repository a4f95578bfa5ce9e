"""Publishing: files, history and trust of a version, as `walle task publish` does it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

import pytest
from waits import PATIENCE_S

pytest.importorskip("dulwich", reason="no package 'dulwich' (the extra [cloud])")
from commands import run_walle
from repositories import Device as TufDevice
from tasks import git, needs_git, needs_vm, write_task
from test_git import ADA, Quiet

from walle_rt.cloud.blobs import BlobStore
from walle_rt.cloud.git import GitApp, Pointer, ScenarioRepository, token_of
from walle_rt.cloud.git.remote import HttpGit
from walle_rt.cloud.service.publishing import FolderTarget, fetch_files, folder_files, publish
from walle_rt.cloud.trust import KeyFolder, TaskRepository
from walle_rt.device import Device
from walle_rt.errors import ArgumentError, NetworkError, ResourceError
from walle_rt.task._package import FileKind, Package

pytestmark = needs_vm
LARGE = bytes(range(256)) * 300


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to publish into, with the scenarios ``shop`` and ``bank``."""
    root = tmp_path / "place"
    offline, online = KeyFolder(tmp_path / "keys" / "offline"), KeyFolder(tmp_path / "keys" / "online")
    trust = TaskRepository(root / "repository", [])
    trust.create(offline=offline, online=online)
    for scenario in ("shop", "bank"):
        trust.add_scenario(scenario, KeyFolder(tmp_path / "keys" / scenario))
    return root


def folders(place: Path, scenario: str = "shop") -> list[Path]:
    return [place.parent / "keys" / name for name in (scenario, "online")]


def into(place: Path, scenario: str = "shop") -> FolderTarget:
    return FolderTarget(place, scenario, map(KeyFolder, folders(place, scenario)))


def listed(place: Path, path: str) -> bytes | None:
    """What python-tuf's own client takes for authentic."""
    device = place.parent / "tuf-device"
    shutil.rmtree(device, ignore_errors=True)
    return TufDevice(place / "repository", device).read(path)


def test_files_history_and_trust(place: Path, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank", model__bin=LARGE)
    made = publish(folder, "shop", into(place), ADA, "The first one")
    assert made.package.path == "shop/rank/rank-1.0.0.walp"
    assert set(made.uploaded) == {file.sha256 for file in made.package.files}
    # Trust: the manifest, and through it every file.
    manifest = listed(place, made.package.path)
    assert manifest is not None and hashlib.sha256(manifest).hexdigest() == made.digest
    blobs = BlobStore(place / "blobs")
    for file in Package.from_bytes(manifest).files:
        data = blobs.read(file.sha256)
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (file.sha256, file.size)
    # History: the folder as it is, large files as pointers, and the tag.
    shop = ScenarioRepository(place / "git", "shop")
    files = shop.files(made.commit.encode())
    assert files["main.py"] == (folder / "main.py").read_bytes()
    assert Pointer.read(files["model.bin"]) == Pointer.to(LARGE)
    (version,) = shop.versions("rank")
    assert (version.version, version.package, version.commit) == ("1.0.0", made.digest, made.commit)
    # And a device takes the very bytes.
    with Device(tmp_path / "device") as device:
        parts = tmp_path / "parts"
        parts.mkdir()
        for file in made.package.files:
            shutil.copyfile(blobs.path(file.sha256), parts / file.sha256)
        assert device.install_package(manifest, parts) == "rank"
        assert device.task("rank").package == made.digest


def test_the_same_bytes_again_change_nothing_and_others_are_refused(place: Path, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank")
    first = publish(folder, "shop", into(place), ADA)
    again = publish(folder, "shop", into(place), ADA)
    assert (again.digest, again.commit, again.uploaded) == (first.digest, "", {})
    write_task(folder, n=2)
    with pytest.raises(ArgumentError, match=r"raise task\.version"):
        publish(folder, "shop", into(place), ADA)
    shop = ScenarioRepository(place / "git", "shop")
    assert shop.tip("rank") == first.commit.encode() and len(shop.versions("rank")) == 1
    write_task(folder, version="1.0.1", n=2)
    second = publish(folder, "shop", into(place), ADA)
    assert second.digest != first.digest and listed(place, second.package.path)
    assert [v.version for v in shop.versions("rank")] == ["1.0.0", "1.0.1"]


def test_a_version_stays_what_it_was_when_it_is_listed_no_more(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rank"
    for minor in range(5):
        publish(write_task(folder, version=f"1.{minor}.0", n=minor), "shop", into(place), ADA)
    assert listed(place, "shop/rank/rank-1.0.0.walp") is None
    assert listed(place, "shop/rank/rank-1.4.0.walp") is not None
    with pytest.raises(ArgumentError, match=r"raise task\.version"):
        publish(write_task(folder, version="1.0.0", n=9), "shop", into(place), ADA)


def test_tasks_share_a_model(place: Path, tmp_path: Path) -> None:
    publish(write_task(tmp_path / "rank", model__bin=LARGE), "shop", into(place), ADA)
    made = publish(write_task(tmp_path / "fraud", "fraud", copy__bin=LARGE), "shop", into(place), ADA)
    # Code, words and model are there; only the task's own manifest is new.
    assert list(made.uploaded) == [f.sha256 for f in made.package.files if f.name == ".walle/manifest"]
    # What another team has is no matter.
    other = publish(write_task(tmp_path / "pay", "pay", m__bin=LARGE), "bank", into(place, "bank"), ADA)
    assert set(other.uploaded) == {f.sha256 for f in other.package.files}


@needs_git
def test_a_clone_has_pointers_that_fetch_fills(place: Path, tmp_path: Path) -> None:
    publish(write_task(tmp_path / "rank", model__bin=LARGE), "shop", into(place), ADA)
    clone = tmp_path / "clone"
    git("clone", "-q", "-b", "rank", place / "git" / "shop.git", clone)
    (clone / "main.py").write_text("def main(event):\n    return {'n': 7}\n")
    toml = clone / "task.toml"
    toml.write_text(toml.read_text().replace("1.0.0", "1.1.0"))
    with pytest.raises(ResourceError, match="walle task fetch"):
        publish(clone, "shop", into(place), ADA)
    assert fetch_files(clone, into(place)) == ["model.bin"] and (clone / "model.bin").read_bytes() == LARGE
    assert fetch_files(clone, into(place)) == []
    made = publish(clone, "shop", into(place), ADA, "From a clone")
    git("fetch", "-q", folder=clone)
    assert git("log", "--format=%s", "origin/rank", folder=clone) == "From a clone\nrank 1.0.0\n"
    assert git("diff", "--name-only", "rank/1.0.0", "rank/1.1.0", folder=clone) == "main.py\ntask.toml\n"
    assert made.commit


def test_a_damaged_file_of_the_store_is_not_put_into_a_clone(place: Path, tmp_path: Path) -> None:
    publish(write_task(tmp_path / "rank", model__bin=LARGE), "shop", into(place), ADA)
    clone = write_task(tmp_path / "clone", model__bin=Pointer.to(LARGE).to_bytes())
    BlobStore(place / "blobs").path(hashlib.sha256(LARGE).hexdigest()).write_bytes(LARGE[:-1] + b"x")
    with pytest.raises(ResourceError, match="SHA-256"):
        fetch_files(clone, into(place))
    assert Pointer.read((clone / "model.bin").read_bytes()) == Pointer.to(LARGE)


def test_hidden_files_stay_at_home(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank")
    for name in (".env", ".git/config", "__pycache__/x.pyc", "a/.secret", ".gitignore", "a/seen.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert sorted(folder_files(folder)) == [".gitignore", "a/seen.txt", "main.py", "task.toml", "words.txt"]


def test_without_the_keys_nothing_is_listed(place: Path, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank")
    with pytest.raises(ArgumentError, match="private keys"):
        publish(folder, "shop", FolderTarget(place, "shop", map(KeyFolder, folders(place, "bank"))), ADA)
    assert listed(place, "shop/rank/rank-1.0.0.walp") is None
    with pytest.raises(ArgumentError, match="scenario 'none'"):
        into(place, "none")
    # With them the same command ends what was begun.
    publish(folder, "shop", into(place), ADA)
    assert listed(place, "shop/rank/rank-1.0.0.walp")


KILLED = """
import os, sys
from pathlib import Path
from walle_rt.cloud.service import publishing
from walle_rt.cloud.git import Author
from walle_rt.cloud.trust import KeyFolder
place, folder, stop = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
steps = 0
def step(event, arguments):
    global steps
    made = event == "open" and (arguments[2] or 0) & os.O_CREAT
    if event not in ("os.rename", "os.remove") and not made:
        return
    if str(place) not in str(arguments[0]):
        return
    steps += 1
    if steps == stop:
        os._exit(9)
keys = [KeyFolder(place.parent / "keys" / name) for name in ("shop", "online")]
target = publishing.FolderTarget(place, "shop", keys)
sys.addaudithook(step)
publishing.publish(folder, "shop", target, Author("Ada"))
print(steps)
"""


def test_a_publisher_killed_anywhere_is_continued_by_asking_again(place: Path, tmp_path: Path) -> None:
    """At every file that is made, renamed or removed: what is there holds, and once more ends it."""
    folder = write_task(tmp_path / "rank", model__bin=LARGE)

    def run(root: Path, stop: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", KILLED, str(root), str(folder), str(stop)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    whole = tmp_path / "whole" / "place"
    shutil.copytree(place.parent / "keys", whole.parent / "keys")
    shutil.copytree(place, whole)
    done = run(whole, 0)
    assert done.returncode == 0, done.stderr
    steps = int(done.stdout)
    assert steps > 15
    digest = ScenarioRepository(whole / "git", "shop").versions("rank")[0].package
    for stop in [1, *range(2, steps, 5), steps]:
        root = tmp_path / f"killed{stop}" / "place"
        shutil.copytree(place.parent / "keys", root.parent / "keys")
        shutil.copytree(place, root)
        assert run(root, stop).returncode == 9, stop
        before = listed(root, "shop/rank/rank-1.0.0.walp")
        if before is not None:
            blobs = BlobStore(root / "blobs")
            for file in Package.from_bytes(before).files:
                assert hashlib.sha256(blobs.read(file.sha256)).hexdigest() == file.sha256
        made = publish(folder, "shop", into(root), ADA)
        assert made.digest == digest
        assert hashlib.sha256(listed(root, made.package.path) or b"").hexdigest() == digest
        shop = ScenarioRepository(root / "git", "shop")
        assert [v.package for v in shop.versions("rank")] == [digest]


HALF = """
[cloud]
question = "doubt"
answers = "seen"
resources = ["large.dat"]
[egress.doubt]
fields = { n = "int" }
bytes_per_day = "1M"
sends_per_day = 10
[events.click.fields]
n = { type = "int", sensitivity = "open" }
"""
CLOUD = "def answer(question):\n    return {'n': %d}\n"


def with_cloud_half(folder: Path, n: int = 1) -> Path:
    """A task whose server has a file of its own, larger than what lies in git."""
    write_task(folder, large__dat=LARGE)
    toml = folder / "task.toml"
    text = toml.read_text().replace("['words.txt']", "['words.txt', 'large.dat']")
    toml.write_text(text + HALF)
    (folder / "cloud.py").write_text(CLOUD % n)
    return folder


def test_the_servers_half_is_for_its_team_alone(place: Path, tmp_path: Path) -> None:
    folder = with_cloud_half(tmp_path / "rank")
    made = publish(folder, "shop", into(place), ADA)
    kept = {f.sha256 for f in made.package.files if f.kind is FileKind.CLOUD}
    given = {f.sha256 for f in made.package.files if f.kind is not FileKind.CLOUD}
    assert len(kept) == 2 and hashlib.sha256(LARGE).hexdigest() in kept
    assert set(BlobStore(place / "blobs").digests()) == given
    assert set(BlobStore(place / "teams" / "shop").digests()) == given | kept
    manifest = listed(place, made.package.path) or b""
    assert hashlib.sha256(manifest).hexdigest() == made.digest
    assert {f.sha256 for f in Package.from_bytes(manifest).files} == given
    assert not any(bytes.fromhex(digest) in manifest for digest in kept)
    # What is packed to be looked at is what devices get.
    run_walle("task", "pack", folder, "--scenario", "shop", "-o", tmp_path / "out")
    assert {file.name for file in (tmp_path / "out" / "blobs").iterdir()} == given
    assert (tmp_path / "out" / "rank-1.0.0.walp").read_bytes() == manifest
    # The team's own copy is whole, and a version means one server's half, too.
    (folder / "large.dat").write_bytes(Pointer.to(LARGE).to_bytes())
    assert fetch_files(folder, into(place)) == ["large.dat"]
    assert publish(folder, "shop", into(place), ADA).uploaded == {}
    with pytest.raises(ArgumentError, match=r"raise task\.version"):
        publish(with_cloud_half(folder, 2), "shop", into(place), ADA)


def test_a_server_gets_both_halves_and_lists_one(server: ApiInMemory, tmp_path: Path) -> None:
    folder = with_cloud_half(tmp_path / "rank")
    made = publish(folder, "shop", target_of(server), ADA)
    (whole,) = server.listed.values()
    assert Package.from_bytes(whole) == made.package
    assert hashlib.sha256(made.package.for_devices().to_bytes()).hexdigest() == made.digest
    assert {f.sha256 for f in made.package.files} == set(made.uploaded)
    assert publish(folder, "shop", target_of(server), ADA).commit == ""
    with pytest.raises(ArgumentError, match=r"raise task\.version"):
        publish(with_cloud_half(folder, 2), "shop", target_of(server), ADA)


# -- a server ---------------------------------------------------------------------------------------------


class ApiInMemory:
    """The paths of the admin API that publishing uses."""

    def __init__(self, url: str, blobs: BlobStore) -> None:
        self.url, self.blobs = url, blobs
        self.listed: dict[str, bytes] = {}

    def post(self, path: str, given: Any = None) -> Any:
        assert path == "/scenarios/shop/blobs/missing"
        return {"digests": [digest for digest in given["digests"] if digest not in self.blobs]}

    def put_bytes(self, path: str, content: bytes) -> Any:
        if "/blobs/" in path:
            assert self.blobs.put(content) == path.removeprefix("/scenarios/shop/blobs/")
        else:
            self.listed[path] = content
        return None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiInMemory]:
    blobs = BlobStore(tmp_path / "server" / "blobs")
    ScenarioRepository.create(tmp_path / "server" / "git", "shop", blobs).close()

    def authorize(environ: dict[str, Any], _scenario: str, _writes: bool) -> int:
        return 200 if token_of(environ) == "secret" else 401

    app = GitApp(tmp_path / "server" / "git", authorize, lambda _: blobs)

    def mounted(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        # As it is mounted: what asks for a repository beside /git gets none.
        path = environ["PATH_INFO"]
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = "/git", path[4:] if path.startswith("/git/") else "/"
        return app(environ, start)

    httpd = make_server("127.0.0.1", 0, mounted, WSGIServer, Quiet)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield ApiInMemory(f"http://127.0.0.1:{httpd.server_address[1]}", blobs)
    httpd.shutdown()
    httpd.server_close()


def target_of(server: ApiInMemory, token: str = "secret") -> Any:
    from walle_rt.cloud.service.publishing import ServerTarget

    return ServerTarget(server, token, "shop")


def test_publishing_to_a_server(server: ApiInMemory, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank", model__bin=LARGE)
    first = publish(folder, "shop", target_of(server), ADA)
    assert list(server.listed) == ["/scenarios/shop/tasks/rank/versions/1.0.0"]
    (manifest,) = server.listed.values()
    assert hashlib.sha256(manifest).hexdigest() == first.digest
    shop = ScenarioRepository(tmp_path / "server" / "git", "shop")
    assert shop.version("rank", "1.0.0").package == first.digest  # type: ignore[union-attr]
    again = publish(folder, "shop", target_of(server), ADA)
    assert (again.commit, again.uploaded) == ("", {})
    with pytest.raises(ArgumentError, match=r"raise task\.version"):
        publish(write_task(folder, n=2), "shop", target_of(server), ADA)
    # On top of a commit that somebody pushed in between.
    shop.commit("rank", shop.files(shop.tip("rank") or b"") | {"notes.md": b"x"}, "Notes", ADA)
    second = publish(write_task(folder, version="1.1.0", n=2), "shop", target_of(server), ADA)
    tip = shop.repo[second.commit.encode()]
    assert shop.repo[tip.parents[0]].message == b"Notes\n" and shop.tip("rank") == second.commit.encode()
    clone = write_task(tmp_path / "clone", model__bin=Pointer.to(LARGE).to_bytes())
    assert fetch_files(clone, target_of(server)) == ["model.bin"]
    assert (clone / "model.bin").read_bytes() == LARGE


def test_a_server_that_refuses_or_is_not_there(server: ApiInMemory, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank")
    with pytest.raises((NetworkError, ArgumentError), match="token"):
        publish(folder, "shop", target_of(server, "wrong"), ADA)
    with pytest.raises(NetworkError, match="does not answer"):
        HttpGit("http://127.0.0.1:9/git/shop.git", "secret").published("rank", "1.0.0")
    with pytest.raises(ArgumentError, match="no such repository"):
        HttpGit(f"{server.url}/git/none.git", "secret").published("rank", "1.0.0")
    with pytest.raises(ArgumentError, match="status 404"):
        target_of(server).download("0" * 64)
    assert server.listed == {}


# -- the command ------------------------------------------------------------------------------------------


def test_as_a_command(place: Path, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "rank", model__bin=LARGE)
    keys = [part for path in folders(place) for part in ("--keys", path)]
    common = ["--scenario", "shop", "--to", place, *keys]
    told = run_walle("task", "publish", folder, *common, "--author", "Ada <a@example.org>", "--json").json
    assert told["path"] == "shop/rank/rank-1.0.0.walp" and len(told["uploaded"]) == 4
    shown = run_walle("task", "publish", folder, *common).stdout
    assert "0 of 4 files uploaded" in shown and f"package sha256:{told['digest']}" in shown
    write_task(folder, n=2)
    run_walle("task", "publish", folder, *common, code=3, says="raise task.version")
    run_walle("task", "publish", folder, "--scenario", "none", "--to", place, *keys, code=3, says="'none'")
    run_walle("task", "publish", folder, *common, "--server", "http://x", code=3, says="one of both")
    run_walle("task", "publish", tmp_path / "no", *common, code=5, says="task.toml")
    (folder / "model.bin").write_bytes(Pointer.to(LARGE).to_bytes())
    run_walle("task", "publish", folder, *common, code=5, says="walle task fetch")
    assert run_walle("task", "fetch", folder, *common, "--json").json == {"files": ["model.bin"]}
    assert json.dumps(told["uploaded"])
