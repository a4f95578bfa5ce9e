"""The repository as its devices see it: python-tuf's client and, where it is built, the native one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud.repositories import NATIVE, Device, NativeDevice, Server, World
from tuf.api.exceptions import ExpiredMetadataError, RepositoryError

from walle_rt.cloud.trust import KeyFolder, Scheme, TaskRepository
from walle_rt.errors import ArgumentError, ResourceError

native = pytest.mark.skipif(not NATIVE.is_file(), reason=f"no {NATIVE} (ninja -C build/release walle-tuf)")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.opened().add_scenario("shop", made.team)
    return made


@pytest.fixture
def device(world: World, tmp_path: Path) -> Device:
    return Device(world.path, tmp_path / "device")


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    with Server(world.path) as serving:
        yield serving


def path_of(version: str, task: str = "rank") -> str:
    return f"shop/{task}/{task}-{version}.walp"


def test_publishes_what_devices_read(world: World, device: Device) -> None:
    made = world.opened().publish("shop", "rank", "1.0.0", b"bytes")
    assert made.path == path_of("1.0.0") and made.size == 5
    assert device.read(made.path) == b"bytes"
    assert device.read(path_of("2.0.0")) is None


@native
@pytest.mark.parametrize("scheme", list(Scheme))
def test_the_native_client_reads_every_kind_of_key(tmp_path: Path, scheme: Scheme) -> None:
    offline, online, team = (KeyFolder(tmp_path / name) for name in ("offline", "online", "team"))
    repository = TaskRepository(tmp_path / "repository", [team])
    repository.create(offline=offline, online=online, scheme=scheme, root_keys=3, root_threshold=2)
    repository.add_scenario("shop", team, scheme)
    repository.publish("shop", "rank", "1.0.0", b"bytes" * 1000)
    with Server(repository.folder) as serving:
        device = NativeDevice(repository.folder, tmp_path / "device", serving.url)
        assert device.read(path_of("1.0.0")) == b"bytes" * 1000
        assert device.read(path_of("1.0.1")) is None


def test_lists_the_last_three_versions(world: World, device: Device) -> None:
    repository = world.opened()
    for n in range(5):
        repository.publish("shop", "rank", f"1.0.{n}", b"%d" % n)
    repository.publish("shop", "other", "1.0.0", b"other")
    assert [v.path for v in repository.versions("shop", "rank")] == [path_of(f"1.0.{n}") for n in (2, 3, 4)]
    assert device.read(path_of("1.0.1")) is None
    assert device.read(path_of("1.0.2")) == b"2"


def test_a_version_means_the_same_bytes_for_ever(world: World) -> None:
    repository = world.opened()
    for n in range(5):
        repository.publish("shop", "rank", f"1.0.{n}", b"%d" % n)
    before = (world.path / "metadata" / "timestamp.json").read_bytes()
    repository.publish("shop", "rank", "1.0.4", b"4")
    assert (world.path / "metadata" / "timestamp.json").read_bytes() == before
    for version in ("1.0.4", "1.0.0"):  # the second is not listed any more
        with pytest.raises(ArgumentError, match="other bytes"):
            repository.publish("shop", "rank", version, b"changed")


@pytest.mark.parametrize(
    ("task", "version"),
    [
        ("../x", "1.0.0"),
        ("", "1.0.0"),
        ("Rank", "1.0.0"),
        ("rank", "1.0"),
        ("rank", "1.0.0/.."),
        ("r*", "1.0.0"),
    ],
)
def test_refuses_names_that_are_none(world: World, task: str, version: str) -> None:
    with pytest.raises(ArgumentError):
        world.opened().publish("shop", task, version, b"x")


def test_who_lacks_a_key_cannot_publish(world: World) -> None:
    with pytest.raises(ArgumentError, match="private keys for 0 signatures of 'shop'"):
        world.opened(world.online).publish("shop", "rank", "1.0.0", b"x")
    with pytest.raises(ArgumentError, match="'targets'"):
        world.opened(world.online, world.team).add_scenario("other", world.team)
    world.opened(world.online, world.team).publish("shop", "rank", "1.0.0", b"x")  # no offline key


def test_the_director_chooses_among_what_is_authentic(world: World, device: Device) -> None:
    world.opened().publish("shop", "rank", "1.0.0", b"x")
    with pytest.raises(ArgumentError, match="scenario lists"):
        world.opened().direct("all", {"rank": path_of("9.0.0")})
    world.opened(world.online).direct("all", {"rank": path_of("1.0.0")})
    plan = device.read("director/all")
    assert plan is not None and json.loads(plan) == {"choices": {"rank": path_of("1.0.0")}}


def test_a_stolen_director_key_signs_no_task(world: World, device: Device) -> None:
    """Whoever has all online keys lists a task of his own in the director's file: nobody finds it there."""
    from tuf.api.metadata import TargetFile

    thief = world.opened(world.online)
    director = thief._load("director")
    evil = TargetFile.from_data(path_of("6.6.6"), b"evil", ["sha256"])
    director.signed.targets[evil.path] = evil
    (thief._blob(evil.path, evil.hashes["sha256"])).parent.mkdir(parents=True, exist_ok=True)
    thief._blob(evil.path, evil.hashes["sha256"]).write_bytes(b"evil")
    thief._commit({"director": thief._bumped(director, "director")})
    assert device.read(path_of("6.6.6")) is None


def test_a_stolen_scenario_key_signs_for_its_scenario_alone(world: World, device: Device) -> None:
    from tuf.api.metadata import TargetFile

    world.opened().add_scenario("live", KeyFolder(world.folder / "live"))
    thief = world.opened(world.online, world.team)
    role = thief._load("shop")
    role.signed.targets["live/t/t-1.0.0.walp"] = TargetFile.from_data("live/t/t-1.0.0.walp", b"e", ["sha256"])
    thief._commit({"shop": thief._bumped(role, "shop")})
    assert device.read("live/t/t-1.0.0.walp") is None


@pytest.mark.parametrize("role", ["root", "targets", "snapshot", "timestamp", "director", "shop"])
def test_rotated_keys_are_followed_and_old_ones_count_no_more(
    world: World, device: Device, role: str
) -> None:
    world.opened().publish("shop", "rank", "1.0.0", b"x")
    assert device.read(path_of("1.0.0")) == b"x"
    old = world.opened().keyids(role)
    fresh = KeyFolder(world.folder / "fresh")
    made = world.opened().replace_keys(role, old, fresh)
    repository = world.opened(world.offline, world.online, world.team, fresh)
    assert repository.keyids(role) == made and not set(made) & set(old)
    assert not any(keyid in folder for keyid in old for folder in (world.offline, world.online, world.team))
    repository.publish("shop", "rank", "1.0.1", b"y")
    assert device.read(path_of("1.0.1")) == b"y"
    assert device.read(path_of("1.0.0")) == b"x"
    if role != "root":
        with pytest.raises(ArgumentError, match="private keys for 0"):
            world.opened(world.offline, world.online, world.team).publish("shop", "rank", "1.0.2", b"z")
            world.opened(world.offline, world.online, world.team).add_scenario("more", world.team)
            world.opened(world.offline, world.online, world.team).direct("all", {})


@native
@pytest.mark.parametrize("role", ["root", "targets", "snapshot", "timestamp", "director", "shop"])
def test_the_native_client_follows_rotations(world: World, server: Server, tmp_path: Path, role: str) -> None:
    device = NativeDevice(world.path, tmp_path / "native", server.url)
    assert device.refresh() == ""
    fresh = KeyFolder(world.folder / "fresh")
    repository = world.opened(world.offline, world.online, world.team, fresh)
    repository.replace_keys(role, repository.keyids(role), fresh)
    repository.publish("shop", "rank", "1.0.0", b"x")
    assert device.read(path_of("1.0.0")) == b"x"


def test_a_frozen_repository_is_noticed(world: World, device: Device) -> None:
    world.clock.forward(days=-3)
    world.opened().sign_again()  # three days ago: the timestamp counts for one
    with pytest.raises(ExpiredMetadataError):
        device.updater()
    world.clock.forward(days=3)
    world.opened(world.online).sign_again()
    device.updater()


def test_a_publisher_that_dies_leaves_the_state_of_before(
    world: World, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each write: the device reads the old state or the new one, and the next publisher goes on."""
    from walle_rt import whole_files
    from walle_rt.cloud.trust import listing, metadata_folder

    writes = 0

    def dies_at(k: int) -> None:
        nonlocal writes
        writes = 0

        def write(path: Path, content: bytes, mode: int = 0o644) -> None:
            nonlocal writes
            if writes == k:
                raise KeyboardInterrupt
            writes += 1
            whole_files.write_whole(path, content, mode)

        for module in (listing, metadata_folder):
            monkeypatch.setattr(module, "write_whole", write)

    for k in range(5):
        version = f"1.0.{k}"
        dies_at(k)
        if k < 4:  # the blob, the scenario, snapshot, timestamp
            with pytest.raises(KeyboardInterrupt):
                world.opened().publish("shop", "rank", version, b"x")
            assert device.read(path_of(version)) is None
        dies_at(-1)
        world.opened().publish("shop", "rank", version, b"x")
        assert device.read(path_of(version)) == b"x"


@pytest.mark.parametrize("role", ["root", "targets", "snapshot", "timestamp"])
def test_a_change_of_keys_that_dies_behind_the_root_is_ended(
    world: World, device: Device, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    device.updater()
    fresh = KeyFolder(world.folder / "fresh")

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    repository = world.opened(world.offline, world.online, world.team, fresh)
    with monkeypatch.context() as patched:
        patched.setattr(repository, "_commit", dies)
        with pytest.raises(KeyboardInterrupt):
            repository.replace_keys(role, repository.keyids(role), fresh)
    if role != "root":
        with pytest.raises(RepositoryError):
            device.updater()
    repository.sign_again()
    device.updater()


def test_one_writer_at_a_time(world: World) -> None:
    from walle_rt.cloud.trust.files import only_writer

    with only_writer(world.path), pytest.raises(ResourceError, match="another process"):
        world.opened().sign_again()


def test_damage_is_told(world: World) -> None:
    (world.path / "metadata" / "timestamp.json").write_bytes(b"{")
    with pytest.raises(ResourceError, match=r"timestamp\.json"):
        world.opened().sign_again()
    with pytest.raises(RepositoryError):
        Device(world.path, world.folder / "other").updater()


def test_private_keys_are_their_owners_alone(world: World) -> None:
    files = list((world.folder / "offline").glob("*.pem"))
    assert files and all(f.stat().st_mode & 0o077 == 0 for f in files)
    keys = KeyFolder(world.folder / "closed", b"words")
    keyid = keys.create().public_key.keyid
    assert b"ENCRYPTED" in (world.folder / "closed" / f"{keyid}.pem").read_bytes()
    assert keys.signer(keyid).public_key.keyid == keyid
    for passphrase in (None, b"others"):
        with pytest.raises(ArgumentError, match="cannot be opened"):
            KeyFolder(world.folder / "closed", passphrase).signer(keyid)


def test_no_private_key_is_served(world: World) -> None:
    for folder, _, names in os.walk(world.path):
        for name in names:
            assert b"PRIVATE" not in (Path(folder) / name).read_bytes()


def test_a_refresh_after_one_changed_task_is_small(tmp_path: Path) -> None:
    """300 tasks in 20 scenarios, three versions each."""
    world = World(tmp_path)
    repository = world.opened()
    for s in range(20):
        repository.add_scenario(f"scenario{s:02d}", world.team)
    for s in range(20):
        fill(repository, f"scenario{s:02d}")
    device = Device(world.path, tmp_path / "device")
    updater = device.updater()
    for s in range(20):
        assert updater.get_targetinfo(f"scenario{s:02d}/task00/task00-1.0.2.walp")
    repository.publish("scenario07", "task03", "2.0.0", b"new")
    updater = device.updater()
    assert updater.get_targetinfo("scenario07/task03/task03-2.0.0.walp")
    print(f"refresh after one changed task of 300: {device.files.bytes} bytes")
    assert device.files.bytes <= 20_000


def fill(repository: TaskRepository, scenario: str) -> None:
    """Fifteen tasks of three versions in one signature: publishing each is tested elsewhere."""
    from tuf.api.metadata import TargetFile

    role = repository._load(scenario)
    for t in range(15):
        for v in range(3):
            path = f"{scenario}/task{t:02d}/task{t:02d}-1.0.{v}.walp"
            target = TargetFile.from_data(path, f"{path}".encode(), ["sha256"])
            target.unrecognized_fields["custom"] = {"n": v + 1}
            role.signed.targets[path] = target
    repository._commit({scenario: repository._bumped(role, scenario)})


def test_keys_are_opened_once_and_not_believed_when_their_files_change(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path / "keys")
    first, other = (keys.create().public_key.keyid for _ in range(2))
    assert keys.signer(first) is keys.signer(first)
    file = keys.folder / f"{first}.pem"
    file.write_bytes((keys.folder / f"{other}.pem").read_bytes())
    with pytest.raises(ArgumentError, match="do not rename"):
        keys.signer(first)
    keys.signer(other)
    keys.withdraw(other)
    with pytest.raises(ArgumentError, match="no private key"):
        keys.signer(other)
