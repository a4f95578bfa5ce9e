"""Certificates of devices: renewed before they expire, and refused everywhere once a device was removed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Child, LocalServer, opened_server
from cloud.servers import Device as Key
from cryptography import x509
from waits import PATIENCE_S, until

from walle_rt import device as devices
from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.service.enrolment import MOST_CERTIFICATES, removed
from walle_rt.cloud.trust.authority import DEVICE_DAYS, Authority
from walle_rt.device._tunnel import Tunnel
from walle_rt.vm import VM, library_path

NEW = "a password of one's own"
DAY_S = 86400

whole = pytest.mark.skipif(
    shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin") is None or not VM.available("full"),
    reason=f"no mosquitto (apt-get install mosquitto), or no VM library at {library_path()}",
)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        yield made


def renewed(local: LocalServer, device: Key) -> Any:
    body = ('{"csr": "' + device.request().replace("\n", "\\n") + '"}').encode()
    headers = device.proof("POST", "/v1/enrol", body, local.clock())
    return local.ask("POST", "/v1/enrol", content=body, headers=headers)


def serials(local: LocalServer) -> set[str]:
    listed = x509.load_pem_x509_crl(local.state.authority.revoked.read_bytes())
    return {f"{entry.serial_number:x}" for entry in listed}


def serial_of(told: dict[str, Any]) -> str:
    return f"{x509.load_pem_x509_certificate(told['certificate'].encode()).serial_number:x}"


def take_out(local: LocalServer, device: Key) -> None:
    token = local.operator(f"boss-{device.id[-4:]}", admin=True)  # the clock has ended other sessions
    local.done("DELETE", f"/devices/{device.id}", token)


def test_a_device_is_told_when_to_renew(local: LocalServer) -> None:
    device, now = local.device(), local.clock()
    told = device.enrolled
    assert abs(told["expires"] - now - DEVICE_DAYS * DAY_S) < 2
    assert abs(told["renew_at"] - now - DEVICE_DAYS * DAY_S * 2 / 3) < 2
    local.clock.forward(250 * DAY_S)
    again = renewed(local, device)
    assert again.status_code == 200 and again.json()["device"] == device.id
    assert again.json()["expires"] - told["expires"] == pytest.approx(250 * DAY_S, abs=2)
    local.clock.forward(DEVICE_DAYS * DAY_S - 5)
    assert renewed(local, device).status_code == 200
    local.clock.forward(DEVICE_DAYS * DAY_S)  # from the second it expires in it counts no more
    assert renewed(local, device).status_code == 401


def test_every_certificate_of_a_removed_device_is_listed_until_it_expires(local: LocalServer) -> None:
    device, other = local.device(), local.device()
    local.clock.forward(250 * DAY_S)
    second = renewed(local, device).json()
    assert removed(local.state) == {}
    take_out(local, device)
    assert serials(local) == {serial_of(device.enrolled), serial_of(second)}
    local.clock.forward(150 * DAY_S)
    assert removed(local.state) == {device.id: [serial_of(second)]}
    assert renewed(local, device).status_code == 401
    assert renewed(local, other).status_code == 401  # over by now
    local.admin = local.operator("another", admin=True)
    third = local.device()
    take_out(local, third)
    assert serials(local) == {serial_of(second), serial_of(third.enrolled)}


def test_a_device_has_a_limited_number_of_certificates(local: LocalServer) -> None:
    device = local.device()
    for _ in range(MOST_CERTIFICATES - 1):
        assert renewed(local, device).status_code == 200
    refused = renewed(local, device)
    assert refused.status_code == 400 and "certificates that count" in refused.json()["given"]
    local.clock.forward(DEVICE_DAYS * DAY_S - 1)  # the last one counts, the others as well
    assert renewed(local, device).status_code == 400


def test_a_newer_list_is_later_than_the_one_before(tmp_path: Path) -> None:
    authority, now = Authority(tmp_path), datetime.now(UTC)
    before = None
    for n in range(3):
        authority.revoke([f"{i + 1:x}" for i in range(n)], now - timedelta(seconds=n))  # a clock set back
        made = x509.load_pem_x509_crl(authority.revoked.read_bytes())
        assert len(list(made)) == n and made.is_signature_valid(authority.certificate.public_key())  # type: ignore[arg-type]
        assert made.next_update_utc == authority.certificate.not_valid_after_utc
        assert before is None or made.last_update_utc > before
        before = made.last_update_utc


class Served:
    """A server as a process, and devices of this one."""

    def __init__(self, folder: Path, held: ExitStack, *words: str) -> None:
        self._folder, self._held = folder, held
        self.child = Child(folder / "server", *words)
        held.callback(self.child.kill)
        first = self.child.told["login"]["password"]
        token = ServerApi(self.child.url).post("/login", {"name": "admin", "password": first})["token"]
        self.api = ServerApi(self.child.url, token)
        self.api.put("/me/password", {"old": first, "new": NEW})

    def device(self, name: str) -> devices.Device:
        from cloud.tunnel_world import bundle, catalog

        made = self._held.enter_context(
            devices.Device(self._folder / name, catalog=catalog(), workers=1, ready=1)
        )
        made.install(bundle())
        [code] = self.api.post("/device-codes", {})["codes"]
        made.connect(self.child.url, root=None, app="a", app_version="1.0.0", enrol_code=code)
        until(lambda: tunnel_of(made).stats().state == "online")
        return made

    def senders(self) -> dict[str, int]:
        out: dict[str, int] = {}
        for table in self.api.get("/tables"):
            for row in self.api.get(f"/tables/{table['id']}")["rows"]:
                out[row[0]] = out.get(row[0], 0) + 1
        return out


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def tunnel_of(device: devices.Device) -> Tunnel:
    assert device.tunnel is not None
    return device.tunnel


def id_of(device: devices.Device) -> str:
    assert device.cloud is not None
    return device.cloud.device


def say(device: devices.Device, n: int) -> None:
    device.record("say", contents={"n": n, "text": "a", "more": "", "secret": ""})
    assert device.wait(PATIENCE_S)


@whole
def test_a_removed_device_is_let_have_and_say_nothing(tmp_path: Path, held: ExitStack) -> None:
    served = Served(tmp_path, held)
    gone, stays = served.device("gone"), served.device("stays")
    for device in (gone, stays):
        say(device, 1)
        assert tunnel_of(device).drain(PATIENCE_S)
    assert served.senders() == {id_of(gone): 1, id_of(stays): 1}
    served.api.delete(f"/devices/{id_of(gone)}")
    # On the connection of before: what it says is not stored, and the other's is.
    for n in range(2, 5):
        say(gone, n)
        say(stays, n)
    assert tunnel_of(stays).drain(PATIENCE_S)
    assert not tunnel_of(gone).drain(1.0)
    assert served.senders() == {id_of(gone): 1, id_of(stays): 4}
    assert tunnel_of(stays).stats().connections == 1, "the other one was not disturbed"
    # On a new one: by a ticket it may get in, and is let say nothing; without one the certificate is refused.
    tunnel_of(gone).network_changed()
    assert not tunnel_of(gone).drain(1.0)
    (gone.path / "cloud" / "tls-session").unlink(missing_ok=True)
    refused_by_the_broker(gone)
    # And by a broker that was started anew.
    os.kill(int((tmp_path / "server" / "broker" / "mosquitto.pid").read_text()), signal.SIGKILL)
    until(lambda: tunnel_of(stays).stats().connections == 2)
    refused_by_the_broker(gone)
    say(stays, 5)
    assert tunnel_of(stays).drain(PATIENCE_S)
    assert served.senders() == {id_of(gone): 1, id_of(stays): 5}


def refused_by_the_broker(device: devices.Device) -> None:
    tunnel = tunnel_of(device)
    before, failures = tunnel.stats().connections, tunnel.stats().failures
    tunnel.network_changed()
    until(lambda: tunnel.stats().failures > failures)
    assert tunnel.stats().connections == before and not tunnel.drain(1.0)


@whole
def test_a_certificate_is_renewed_before_it_expires(tmp_path: Path, held: ExitStack) -> None:
    lifetime_s = 24.0  # a third of it is left for renewing, also on a machine that is slow
    served = Served(tmp_path, held, "--device-days", str(lifetime_s / DAY_S))
    device = served.device("device")
    file = device.path / "cloud" / "device.pem"
    first = x509.load_pem_x509_certificate(file.read_bytes())
    until(lambda: x509.load_pem_x509_certificate(file.read_bytes()).serial_number != first.serial_number)
    renewed_at = datetime.now(UTC)
    assert renewed_at < first.not_valid_after_utc
    second = x509.load_pem_x509_certificate(file.read_bytes())
    assert second.public_key() == first.public_key() and second.subject == first.subject
    # The tunnel's next connection shows it: the first one has expired, and no ticket stands in for it.
    until(lambda: datetime.now(UTC) > first.not_valid_after_utc)
    tunnel = tunnel_of(device)
    before = tunnel.stats()
    tunnel.network_changed()
    until(lambda: tunnel.stats().connections > before.connections)
    assert tunnel.stats().failures == before.failures and tunnel.stats().resumed == before.resumed
    say(device, 1)
    assert tunnel.drain(PATIENCE_S)
    [row] = served.api.get("/devices")
    assert row["expires"] >= second.not_valid_after_utc.timestamp() - 1
    assert served.senders() == {id_of(device): 1}


@whole
def test_a_device_that_is_closed_ends_its_tunnel_and_its_agent(tmp_path: Path, held: ExitStack) -> None:
    served = Served(tmp_path, held)
    device = served.device("device")
    own = tunnel_of(device)
    native = device._native
    native.close()  # as an app of C++ does, which knows of no Python
    assert own.stats().state == "stopped"
    pulls = device.cloud.pulls if device.cloud else 0
    time.sleep(0.2)
    assert device.cloud is not None and device.cloud.pulls == pulls and not device.cloud.pulling
    device.close()
    assert device.tunnel is None and device.cloud is None
