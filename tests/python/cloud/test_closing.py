"""A device that is closed while it asks its server leaves no trouble behind that is none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cloud import followers
from cloud.followers import InProcess
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import act
from cloud.test_retained import needs_vm, start

from walle_rt.cli.device import _of_server


class Held(InProcess):
    """Reports are on their way until somebody cancels them."""

    def __init__(self, local: LocalServer) -> None:
        super().__init__(local)
        self.under_way, self.over = threading.Event(), threading.Event()
        made.append(self)

    def post(
        self, url: str, content_type: str, body: bytes, headers: list[tuple[str, str]],
        sink: Callable[[bytes], None],
    ) -> int:  # fmt: skip
        if url.endswith("/v1/enrol"):
            return super().post(url, content_type, body, headers, sink)
        self.under_way.set()
        assert self.over.wait(20)
        raise OSError("the app has ended it")

    def cancel(self) -> None:
        self.over.set()


made: list[Held] = []


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as server:
        server.done("POST", "/scenarios", json={"name": "shop"})
        yield server


@needs_vm
def test_a_report_that_closing_cuts_short_is_no_trouble(local: LocalServer, tmp_path: Path) -> None:
    followers.publish(local, followers.packed(tmp_path / "tasks", "1.0.0"))
    act(local, start(local, "1.0.0"), "full")
    with followers.followers(local, tmp_path / "devices", 1, Held) as (one,):
        assert one.pulled() == "1.0.0"
        one.device.record("see", contents={"n": 1})
        one.device.wait()
        assert made[-1].under_way.wait(20)
        folder = one.device.path
        one.device.close()
    assert _of_server(folder) == {"error": "", "trouble": ""}
