"""The dict that a task is called with: which key, which events, and that they are the match's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from device_tasks import Open
from waits import PATIENCE_S

from walle_rt.device import Device
from walle_rt.task import Firing, MatchEvent

T0 = 1_700_000_000_000_000
MINUTE = 60_000_000
TOML = """
task = {{name = "echo", version = "1.0.0"}}
triggers = {{it = '{trigger}'}}
entry = {{main = "main"}}
capabilities.imports = ["json"]
{more}
results.firings.columns = {{firing = "text"}}
events.add.fields = {{item = "int", user = "text"}}
events.buy.fields = {{item = "int", user = "text"}}
catalog.pages = ["shop"]
"""
MAIN = 'import json\nimport walle\n\ndef main(event):\n    return {"firing": json.dumps(event)}\n'
READS = """
import json
import walle

def main(event):
    rows = walle.stream.events(event, of="match", fields=["item"])
    return {"firing": json.dumps(list(rows["item"].tolist()))}
"""


def echo(folder: Path, trigger: str, source: str = MAIN) -> Path:
    folder.mkdir()
    more = 'capabilities.host_calls = ["walle.stream"]' if "stream" in source else ""
    (folder / "task.toml").write_text(TOML.format(trigger=trigger, more=more))
    (folder / "main.py").write_text(source)
    return folder


def firings(device: Device) -> list[Any]:
    assert device.wait(PATIENCE_S)
    return [json.loads(row["firing"]) for row in device.results("echo")]


@pytest.fixture
def device(opened: Open) -> Device:
    return opened(recorded=True)


def add(device: Device, event: str, ts: int, item: int | None = None, user: str | None = None) -> int:
    return device.record(event, "shop", {"item": item, "user": user}, ts=ts)


def test_an_abandoned_cart_names_its_item(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "add !~ buy for 1h scope by(item, user)"))
    first = add(device, "add", T0, 7, "ann")
    add(device, "add", T0 + MINUTE, 8, "ann")
    add(device, "buy", T0 + 2 * MINUTE, 8, "ann")
    newest = add(device, "add", T0 + 59 * MINUTE, 9, "bob")
    device.advance(T0 + 61 * MINUTE)
    (firing,) = firings(device)
    assert firing["scope"] == {"item": 7, "user": "ann"}
    assert firing["first"] == firing["last"]
    assert firing["last"] == {
        "seq": first,
        "ts": T0,
        "event": "add",
        "page": "shop",
        "session": first,
        "page_instance": 0,
        "fields": {"item": 7, "user": "ann"},
    }
    assert (firing["event"], firing["page"], firing["fields"]) == ("add", "shop", {"item": 7, "user": "ann"})
    assert (firing["ts"], firing["seq"], firing["start_seq"]) == (T0 + 60 * MINUTE, newest, first)
    assert firing["session"] == first != newest


def test_every_key_of_the_dict_is_typed(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "add"))
    add(device, "add", T0, 7)
    (firing,) = firings(device)
    assert set(firing) == Firing.__required_keys__ and set(firing["first"]) == MatchEvent.__required_keys__
    assert firing["scope"] == {} and firing["first"] == firing["last"]


def test_a_funnel_has_both_ends(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "add ~ buy scope by(item, session)"))
    first = add(device, "add", T0, 7, "ann")
    add(device, "add", T0 + 1, 8)
    last = add(device, "buy", T0 + 2, 7, "bob")
    (firing,) = firings(device)
    assert firing["scope"] == {"session": first, "item": 7}
    assert (firing["first"]["seq"], firing["first"]["fields"]["user"]) == (first, "ann")
    assert (firing["last"]["seq"], firing["fields"]["user"]) == (last, "bob")


def test_a_page_and_a_session_are_keys(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "add scope page"))
    entered = device.record("page_enter", "shop", ts=T0)
    add(device, "add", T0 + 1, 7)
    (firing,) = firings(device)
    assert firing["scope"] == {"page_instance": entered} and firing["page_instance"] == entered


def test_a_timer_has_no_match(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "every 1m"))
    last = add(device, "add", T0, 7)
    device.advance(T0 + 2 * MINUTE)
    (firing,) = firings(device)
    assert firing["first"] is None and firing["scope"] == {} and firing["start_seq"] == 0
    assert (firing["last"]["seq"], firing["event"], firing["fields"]["item"]) == (last, "add", 7)


def test_two_events_of_one_microsecond_are_two(device: Device, tmp_path: Path) -> None:
    device.install(echo(tmp_path / "t", "add ~> buy", READS))
    for item in (1, 2):
        add(device, "add", T0, item)
    add(device, "buy", T0, 3)
    assert firings(device) == [[2, 3]]
