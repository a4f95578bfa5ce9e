"""`walle serve` and the commands that ask it, all in child processes."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Child
from commands import run_walle
from waits import PATIENCE_S

NEW = "a password of one's own"


class Operators:
    """Commands of one operator, with a home of their own."""

    def __init__(self, folder: Path, child: Child) -> None:
        self.folder, self.child = folder, child
        self.environment = {"XDG_CONFIG_HOME": str(folder / "config"), "WALLE_SERVER": child.url}

    def run(self, *words: str, **more: Any) -> Any:
        return run_walle(*words, folder=self.folder, environment=self.environment, **more)

    def log_in(self) -> None:
        (self.folder / "first").write_text(self.child.told["login"]["password"] + "\n")
        (self.folder / "second").write_text(NEW + "\n")
        self.run("operator", "login", self.child.url, "admin", "--password-file", "first")
        self.run("operator", "password", "--old-file", "first", "--new-file", "second")


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operators]:
    folder = tmp_path_factory.mktemp("serve")
    child = Child(folder / "server")
    made = Operators(folder, child)
    made.log_in()
    yield made
    assert child.stop() == 0
    assert '"level": "error"' not in child.log.read_text()


def publish(operators: Operators, version: str) -> None:
    task = operators.folder / version / "rank"
    task.parent.mkdir()
    run_walle("task", "init", str(task), folder=operators.folder)
    text = (task / "task.toml").read_text()
    (task / "task.toml").write_text(text.replace('version = "0.1.0"', f'version = "{version}"'))
    author = "Ada <ada@example.org>"
    operators.run("task", "publish", str(task), "--scenario", "shop", "--author", author)


def test_from_the_first_login_to_a_rollback(operators: Operators) -> None:
    run = operators.run
    run("operator", "scenario", "shop")
    told = run("operator", "add", "ann", "--json").json
    run("operator", "grant", "ann", "shop", "releaser")
    assert run("operator", "list", "--json").json["operators"][1] == {
        "name": "ann", "admin": False, "disabled": False, "one_time": True, "roles": {"shop": "releaser"}
    }  # fmt: skip
    assert len(told["password"]) == 19
    codes = run("device-code", "--count", "3", "--json").json["codes"]
    assert len(set(codes)) == 3
    assert run("operator", "token", "ci", "shop").stdout.startswith("walle_")
    audit = run("operator", "audit", "--json").json
    assert audit["broken"] is None and audit["entries"][0]["act"] == "token.make"


def test_mistakes_are_told(operators: Operators) -> None:
    run = operators.run
    run("release", "status", "rank-9", code=3, says="release rank-9")
    run("release", "start", "shop/rank", "1.0.0", "--yes", code=3, says="one that was published")
    run("operator", "grant", "nobody", "nowhere", "viewer", code=3, says="nowhere")
    run("operator", "add", "../x", code=3, says="body.name")
    run("release", "list", "shop", "--server", "ftp://x", code=3, says="no token")
    run("operator", "login", "ftp://x", "admin", "--password-file", "first", code=3, says="an address as")
    run(
        "operator",
        "login",
        operators.child.url,
        "admin",
        "--password-file",
        "first",
        code=3,
        says="that is wrong",
    )
    gone = {**operators.environment, "WALLE_SERVER": "http://127.0.0.1:9", "WALLE_TOKEN": "x"}
    run_walle("release", "list", "shop", folder=operators.folder, environment=gone, code=8, says="no answer")
    bad = {**operators.environment, "WALLE_TOKEN": "wrong"}
    done = run_walle("release", "list", "shop", "--json", folder=operators.folder, environment=bad, code=3)
    assert done.json["given"] == "a token that does not count"
    mode = (operators.folder / "config" / "walle" / "server.json").stat().st_mode & 0o777
    assert mode == 0o600


def test_an_act_says_whom_it_changes_and_needs_a_yes(operators: Operators) -> None:
    run = operators.run
    publish(operators, "3.0.0")
    words = ("release", "start", "shop/rank", "3.0.0", "--reason", "new")
    run(*words, code=3, says="nobody to ask")
    assert run("release", "list", "shop", "--json").json["releases"] == []
    started = run(*words, "--yes", "--json", says="every device may get 3.0.0, within 3600 s")
    number = started.json["id"]
    run("release", "rollback", number, "--yes", code=3, says=f"walle release kill {number}")
    killed = run("release", "kill", number, "--yes", "--reason", "odd").stdout
    assert "0 devices: 3.0.0 -> nothing" in killed and "its task is killed" in killed
    reasons = [entry["detail"].get("reason") for entry in run("operator", "audit", "--json").json["entries"]]
    assert reasons[:2] == ["odd", "new"]


def test_one_server_per_folder_and_port(operators: Operators) -> None:
    folder = str(operators.folder / "server")
    run_walle("serve", folder, "--port", "0", code=5, says="another process serves", folder=operators.folder)
    port = operators.child.url.rsplit(":", 1)[1]
    run_walle("serve", "other", "--port", port, code=5, says="cannot be listened on", folder=operators.folder)
    run_walle("serve", "third", "--db", "mysql://x", code=3, says="not supported", folder=operators.folder)
    unreachable = "postgresql://walle:secret@127.0.0.1:9/x"
    done = run_walle(
        "serve", "fourth", "--db", unreachable, code=5, says="cannot be opened", folder=operators.folder
    )
    assert "secret" not in done.stderr


def test_every_log_line_is_json_and_holds_no_secret(operators: Operators) -> None:
    operators.run("operator", "list")
    lines = operators.child.log.read_text().splitlines()
    told = [json.loads(line) for line in lines]
    requests = [line for line in told if line["message"] == "request"]
    assert {"time", "level", "logger", "method", "path", "status", "ms", "client"} <= set(requests[-1])
    text = "\n".join(lines)
    assert (
        NEW not in text
        and operators.child.told["login"]["password"] not in text
        and "walle_" not in text.replace("walle_rt", "")
    )


def test_clients_that_dawdle_are_let_go(operators: Operators) -> None:
    host, port = operators.child.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as slow:
        began = time.monotonic()
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-")  # and nothing more
        assert slow.recv(100) == b""
        assert time.monotonic() - began > 5
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    connection.request("GET", "/healthz")  # others are served meanwhile
    assert connection.getresponse().status == 200


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_plain_git_with_a_token(operators: Operators) -> None:
    token = operators.run("operator", "token", "git", "shop", "--role", "viewer").stdout.strip()
    host = operators.child.url.removeprefix("http://")

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(
            ["git", *words], capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE_S
        )

    good, bad = f"http://x:{token}@{host}/git/shop.git", f"http://x:wrong@{host}/git/shop.git"
    assert git("ls-remote", good).returncode == 0
    assert git("ls-remote", bad).returncode != 0
    assert git("ls-remote", f"http://{host}/git/shop.git").returncode != 0
    assert git("ls-remote", f"http://x:{token}@{host}/git/maps.git").returncode != 0


def test_a_team_signs_with_a_key_of_its_own(operators: Operators, tmp_path: Path) -> None:
    keys, given = tmp_path / "keys", tmp_path / "maps.json"
    run_walle("keys", "team", "--into", str(keys), "-o", str(given), folder=tmp_path)
    operators.run("operator", "scenario", "maps", "--team", str(given))
    run_walle("task", "init", str(tmp_path / "task"), folder=tmp_path)
    publish = ("task", "publish", str(tmp_path / "task"), "--scenario", "maps")
    operators.run(*publish, code=3, says="at least 1")
    operators.run(*publish, "--keys", str(tmp_path), code=3, says="no key of the scenario")
    operators.run(*publish, "--keys", str(keys))
    role = operators.folder / "server" / "repository" / "metadata" / "2.maps.json"
    [signature] = json.loads(role.read_text())["signatures"]
    assert signature["keyid"] == json.loads(given.read_text())["keyid"]
    assert not any(
        file.name.startswith(signature["keyid"]) for file in (operators.folder / "server").rglob("*")
    )
    given.write_text("{")
    operators.run("operator", "scenario", "more", "--team", str(given), code=3, says="walle keys team")
