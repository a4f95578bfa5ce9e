"""The server is killed at random moments of uploads, publishing and releases; the next start goes on."""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import threading
from pathlib import Path
from typing import Any

from cloud.repositories import Device as Trusting
from cloud.servers import Child
from cloud.test_releases import EVERYBODY, packed
from random_seed import random_seed
from waits import until

from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.release import Plan
from walle_rt.errors import Error

ROUNDS = int(os.environ.get("WALLE_KILL_ROUNDS", "3"))
NEW = "a password of one's own"


class Story:
    """What an operator and a team do all day; what was answered must be there after a kill."""

    def __init__(self, api: ServerApi, seed: int) -> None:
        self.api, self.random = api, random.Random(seed)
        self.published: dict[str, str] = {}  # version: SHA-256 of its manifest
        self.released: dict[str, str] = {}  # release: state that was answered last
        self.number = 0

    def step(self) -> None:
        """One upload, version and release, each of which the server may die in."""
        self.number += 1
        version = f"1.0.{self.number}"
        manifest, blobs = packed(version, text=str(self.random.random()))
        for digest, content in {**blobs, **large(self.random)}.items():
            self.api.put_bytes(f"/scenarios/shop/blobs/{digest}", content)
        self.api.put_bytes(f"/scenarios/shop/tasks/rank/versions/{version}", manifest)
        self.published[version] = hashlib.sha256(manifest).hexdigest()
        given = {"task": "rank", "version": version, "policy": EVERYBODY}
        release = self.api.post("/scenarios/shop/releases", given)["id"]
        self.released[release] = "gray"
        self.api.post(f"/releases/{release}/full")
        self.released[release] = "full"


def large(random: random.Random) -> dict[str, bytes]:
    content = random.randbytes(3_000_000)
    return {hashlib.sha256(content).hexdigest(): content}


def checked(story: Story, folder: Path, trusting: Trusting) -> None:
    """What was answered is there, and devices can follow."""
    api = story.api
    known = {row["version"]: row["sha256"] for row in api.get("/scenarios/shop/tasks/rank/versions")}
    assert story.published.items() <= known.items()
    rows = {row["id"]: row["state"] for row in api.get("/scenarios/shop/releases?limit=1000")}
    for release, state in story.released.items():
        assert rows[release] in (state, "full", "retired"), (release, state, rows[release])
    assert sum(state == "gray" for state in rows.values()) <= 1
    assert api.get("/audit")["broken"] is None

    def signed() -> bool:
        content = trusting.read("director/plan.wale")
        return content is not None and Plan(content).epoch == api.get("/epoch")["epoch"]

    until(signed, "the loop does not sign what was decided")
    for version in list(story.published)[-1:]:
        manifest = trusting.read(f"shop/rank/rank-{version}.walp")
        assert manifest is not None and hashlib.sha256(manifest).hexdigest() == story.published[version]
    blobs = folder / "blobs"
    for file in [*blobs.glob("[0-9a-f][0-9a-f]/*"), *blobs.glob("teams/*/[0-9a-f][0-9a-f]/*")]:
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name
    for release, state in rows.items():  # what a kill left half way does not stand in the way
        if state == "gray":
            api.post(f"/releases/{release}/full")


def token_for(child: Child, password: str) -> ServerApi:
    told = ServerApi(child.url).post("/login", {"name": "admin", "password": password})
    return ServerApi(child.url, told["token"])


def test_killed_at_random(tmp_path: Path) -> None:
    seed = random_seed()
    moments, folder = random.Random(seed), tmp_path / "server"
    child = Child(folder)
    api = token_for(child, child.told["login"]["password"])
    api.put("/me/password", {"old": child.told["login"]["password"], "new": NEW})
    api.post("/scenarios", {"name": "shop"})
    story = Story(api, seed)
    story.step()
    trusting = Trusting(folder / "repository", tmp_path / "device")
    killed_inside = 0
    for _ in range(ROUNDS):
        timer = threading.Timer(moments.uniform(0.05, 1.5), child.kill)
        timer.start()
        killed_inside += until_it_dies(story)
        timer.join()
        child = Child(folder)
        story.api = token_for(child, NEW)
        checked(story, folder, trusting)
        assert child.told["login"] is None
    assert killed_inside > 0
    child.kill()


def until_it_dies(story: Story) -> int:
    """Steps until a request finds nobody; 1 where that was within a step."""
    while True:
        try:
            story.step()
        except Error as error:
            assert "no answer" in error.given, error
            return 1
        except (OSError, http.client.HTTPException):
            return 1


def test_a_folder_that_was_never_finished_is_begun_anew(tmp_path: Path) -> None:
    seed = random_seed()
    moments: Any = random.Random(seed)
    folder = tmp_path / "server"
    for _ in range(3):
        process_that_dies(folder, moments.uniform(0.2, 4.0))
    child = Child(folder)
    password = child.told["login"]["password"]  # nobody has changed it, so it is told again
    assert token_for(child, password).get("/me")["name"] == "admin"
    child.kill()


def process_that_dies(folder: Path, after: float) -> None:
    try:
        child = Child(folder, within=after)
    except AssertionError:
        return  # killed before it said its address
    child.kill()
