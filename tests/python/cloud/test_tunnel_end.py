"""`walle serve` with broker and sink: what an enrolled device sends becomes tables."""

from __future__ import annotations

import io
import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Child, Device, opened_server
from waits import PATIENCE_S

from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.service.tunnel_end import jitter_s

mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin") is None,
    reason="no mosquitto (apt-get install mosquitto)",
)
NEW = "a password of one's own"


@pytest.mark.parametrize(
    ("online", "urgent", "seconds"),
    [(0, False, 0), (499, False, 0), (500, False, 1), (2499, False, 4), (10**6, False, 5), (10**6, True, 0)],
)
def test_devices_spread_over_some_seconds(online: int, urgent: bool, seconds: int) -> None:
    assert jitter_s(online, urgent) == seconds


def test_without_a_broker_there_are_no_tables(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        assert local.done("GET", "/tables") == []
        assert local.ask("GET", "/api/v1/tables/1", local.admin).status_code == 404
        assert local.ask("GET", "/api/v1/tables/1/parquet", local.admin).status_code == 404
        assert local.state.broker_address() is None


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    made = Child(tmp_path / "server")
    yield made
    made.kill()


def enrol(child: Child, api: ServerApi) -> tuple[Device, dict[str, Any]]:
    device = Device()
    code = api.post("/device-codes", {})["codes"][0]
    given = json.dumps({"code": code, "csr": device.request()}).encode()
    with urllib.request.urlopen(f"{child.url}/v1/enrol", given, timeout=PATIENCE_S) as reply:
        return device, json.load(reply)


@mosquitto
def test_features_of_an_enrolled_device_become_a_table(child: Child, tmp_path: Path) -> None:
    from cloud.tunnel_world import bundle, catalog
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from walle_rt import device as devices
    from walle_rt.device._tunnel import Tunnel

    first = child.told["login"]["password"]
    api = ServerApi(
        child.url, ServerApi(child.url).post("/login", {"name": "admin", "password": first})["token"]
    )
    api.put("/me/password", {"old": first, "new": NEW})
    key, told = enrol(child, api)
    assert told["broker"]["url"].startswith("mqtts://127.0.0.1:")
    folder = tmp_path / "identity"
    folder.mkdir()
    (folder / "ca.pem").write_text(told["authority"])
    (folder / "device.pem").write_text(told["certificate"])
    pem = key.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "device.key").write_bytes(pem)
    with devices.Device(tmp_path / "device", catalog=catalog()) as device:
        device.install(bundle())
        with Tunnel(
            device,
            told["broker"]["url"],
            told["device"],
            authorities=folder / "ca.pem",
            certificate=folder / "device.pem",
            key=folder / "device.key",
        ) as tunnel:
            for n in range(5):
                device.record("say", contents={"n": n, "text": f"word {n}", "more": "", "secret": "canary"})
            assert device.wait(PATIENCE_S)
            assert tunnel.drain(PATIENCE_S)
    [table] = api.get("/tables")
    assert (table["feature"], table["columns"], table["rows"]) == ("words", ["n", "text", "more"], 5)
    rows = api.get(f"/tables/{table['id']}?limit=2")["rows"]
    assert [row[5] for row in rows] == [4, 3] and rows[0][0] == told["device"]
    request = urllib.request.Request(f"{child.url}/api/v1/tables/{table['id']}/parquet")
    request.add_header("Authorization", f"Bearer {api._token}")
    content = urllib.request.urlopen(request, timeout=PATIENCE_S).read()
    polars = pytest.importorskip("polars", reason="no package 'polars' (the extra [cloud])")
    frame = polars.read_parquet(io.BytesIO(content))
    assert frame["n"].to_list() == [0, 1, 2, 3, 4] and b"canary" not in content


@mosquitto
def test_the_broker_keeps_its_port_over_a_restart(child: Child) -> None:
    port = (child.log.parent / "server" / "broker" / "port").read_text()
    child.kill()  # its broker lives on, and is ended by the next start
    again = Child(child.log.parent / "server")
    assert (child.log.parent / "server" / "broker" / "port").read_text() == port
    assert again.stop() == 0
    time.sleep(0.1)
