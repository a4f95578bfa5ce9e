"""``walle keys`` in child processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloud.repositories import Device
from commands import run_walle


@pytest.fixture
def made(tmp_path: Path) -> Path:
    run_walle("keys", "init", "repo", "--offline", "off", "--online", "on", folder=tmp_path)
    return tmp_path


def test_init_list_scenario_rotate_revoke(made: Path) -> None:
    every = ["--keys", "off", "--keys", "on", "--keys", "team"]
    run_walle("keys", "scenario", "repo", "shop", *every, "--into", "team", folder=made)
    before = run_walle("keys", "list", "repo", "--json", folder=made).json["roles"]
    assert sorted(before) == ["director", "root", "shop", "snapshot", "targets", "timestamp"]
    device = Device(made / "repo", made / "device")
    device.updater()
    after = run_walle("keys", "rotate", "repo", "targets", *every, "--into", "new", "--json", folder=made)
    assert after.json["roles"]["targets"] != before["targets"]
    gone = before["shop"][0]
    every += ["--keys", "new"]
    run_walle("keys", "revoke", "repo", "shop", gone[:12], *every, "--into", "team", folder=made)
    now = run_walle("keys", "list", "repo", "--json", folder=made).json["roles"]
    assert now["shop"] != before["shop"] and now["root"] == before["root"]
    assert (made / "team" / "withdrawn" / f"{gone}.pem").is_file()
    device.updater()


def test_a_threshold_of_root(tmp_path: Path) -> None:
    words = ["keys", "init", "repo", "--offline", "off", "--online", "on", "--root-keys", "3"]
    run_walle(*words, "--root-threshold", "4", code=3, says="from 1 to the number of keys", folder=tmp_path)
    done = run_walle(*words, "--root-threshold", "2", "--json", folder=tmp_path)
    assert len(done.json["roles"]["root"]) == 3
    Device(tmp_path / "repo", tmp_path / "device").updater()


def test_mistakes_are_told(made: Path) -> None:
    def fails(*words: str, code: int, says: str) -> None:
        run_walle("keys", *words, code=code, says=says, folder=made)

    fails("init", "repo", "--offline", "off", "--online", "on", code=3, says="which is a repository already")
    fails("list", "nothing", code=5, says="no 'timestamp.json'")
    rest = ("--keys", "off", "--into", "new")
    fails(
        "rotate", "repo", "nobody", *rest, code=3, says="one of root, timestamp, snapshot, targets, director"
    )
    fails("rotate", "repo", "timestamp", *rest, code=3, says="private keys for 0 signatures of 'snapshot'")
    fails("revoke", "repo", "root", "zz", *rest, code=3, says="0 keys of 'root' begin with 'zz'")
    fails("scenario", "repo", "../x", *rest, code=3, says="scenario '../x'")
    fails(
        "init", "r2", "--offline", "a", "--online", "b", "--scheme", "dsa", code=3, says="ed25519, ecdsa, rsa"
    )


def test_encrypted_keys(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("correct horse\n")
    secret = ["--passphrase-file", "words"]
    run_walle("keys", "init", "repo", "--offline", "off", "--online", "on", *secret, folder=tmp_path)
    rotate = ["keys", "rotate", "repo", "snapshot", "--keys", "off", "--keys", "on", "--into", "on"]
    run_walle(*rotate, code=3, says="cannot be opened", folder=tmp_path)
    run_walle(*rotate, *secret, folder=tmp_path)
