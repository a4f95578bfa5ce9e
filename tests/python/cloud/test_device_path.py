"""What devices ask for, as they ask for it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Device, LocalServer, opened_server
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from walle_rt.cloud.blobs import one_range
from walle_rt.cloud.service.enrolment import SKEW_S

CONTENT = random.Random(5).randbytes(1_000_003)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, max_upload=2_000_000, max_body=300_000) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def upload(local: LocalServer, content: bytes = CONTENT, digest: str | None = None) -> Any:
    digest = digest or hashlib.sha256(content).hexdigest()
    return local.ask("PUT", f"/api/v1/scenarios/shop/blobs/{digest}", local.admin, content=content)


def test_blobs_whole_and_in_parts(local: LocalServer) -> None:
    assert local.done("POST", "/scenarios/shop/blobs/missing", json={"digests": [DIGEST]})["digests"] == [
        DIGEST
    ]
    assert local.ask("GET", f"/v1/blobs/{DIGEST}").status_code == 404
    assert upload(local).status_code == 204
    assert upload(local).status_code == 204
    assert local.done("POST", "/scenarios/shop/blobs/missing", json={"digests": [DIGEST]})["digests"] == []
    assert local.ask("GET", f"/v1/blobs/{DIGEST}").status_code == 404, "of no version yet"
    local.state.stores.give_devices("shop", [DIGEST])
    whole = local.ask("GET", f"/v1/blobs/{DIGEST}")
    assert whole.content == CONTENT and whole.headers["etag"] == f'"{DIGEST}"'
    size = len(CONTENT)
    for asked, begin, end in (
        ("bytes=0-0", 0, 1),
        ("bytes=500000-", 500_000, size),
        (f"bytes={size - 1}-", size - 1, size),
        ("bytes=10-99999999999", 10, size),
        ("bytes=-7", size - 7, size),
    ):
        reply = local.ask("GET", f"/v1/blobs/{DIGEST}", headers={"Range": asked})
        assert reply.status_code == 206 and reply.content == CONTENT[begin:end], asked
        assert reply.headers["content-range"] == f"bytes {begin}-{end - 1}/{size}"
    beyond = local.ask("GET", f"/v1/blobs/{DIGEST}", headers={"Range": f"bytes={size}-"})
    assert beyond.status_code == 416 and beyond.headers["content-range"] == f"bytes */{size}"
    same = local.ask("GET", f"/v1/blobs/{DIGEST}", headers={"If-None-Match": f'"{DIGEST}"'})
    assert same.status_code == 304 and not same.content
    other = {"Range": "bytes=5-", "If-Range": '"another"'}
    assert local.ask("GET", f"/v1/blobs/{DIGEST}", headers=other).content == CONTENT
    head = local.ask("HEAD", f"/v1/blobs/{DIGEST}")
    assert head.headers["content-length"] == str(size) and not head.content


@pytest.mark.parametrize(
    "text", ["", "bytes=", "bytes=-", "bytes=5-3", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6"]
)
def test_ranges_that_are_none_give_the_whole(text: str) -> None:
    assert one_range(text, 10) is None


def test_ranges_of_an_empty_file() -> None:
    for text, size in (("bytes=0-", 0), ("bytes=-5", 0), ("bytes=-0", 9), ("bytes=9-", 9), ("bytes=99-", 9)):
        begin, end = one_range(text, size) or (0, 1)
        assert begin == end, text


def test_uploads_that_are_refused(local: LocalServer) -> None:
    wrong = upload(local, b"other bytes", DIGEST)
    assert wrong.status_code == 400 and DIGEST in wrong.json()["expected"]
    large = upload(local, b"x" * 2_000_001)
    assert large.status_code == 413 and "2000000" in large.json()["expected"]

    async def endless() -> Any:  # does not say how long it is
        for _ in range(100):
            yield b"x" * 100_000

    assert upload_chunks(local, endless()).status_code == 413
    assert upload(local, b"x" * 2_000_000).status_code == 204  # the limit is part of what is taken
    assert local.ask("POST", "/api/v1/login", json={"name": "x" * 300_000, "password": ""}).status_code == 413
    blobs = local.state.team_blobs("shop")
    assert list((blobs.folder / ".uploads").iterdir()) == []
    assert DIGEST not in blobs


def upload_chunks(local: LocalServer, chunks: Any) -> Any:
    return local.ask("PUT", f"/api/v1/scenarios/shop/blobs/{DIGEST}", local.admin, content=chunks)


def test_metadata_as_the_repository_has_it(local: LocalServer) -> None:
    folder = local.state.settings.folder / "repository" / "metadata"
    for name, cache in (
        ("timestamp.json", "no-cache"),
        ("1.root.json", "public, max-age=31536000, immutable"),
    ):
        reply = local.ask("GET", f"/v1/tuf/metadata/{name}")
        assert reply.content == (folder / name).read_bytes() and reply.headers["cache-control"] == cache
    assert local.ask("GET", "/v1/tuf/metadata/9.root.json").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/v1/tuf/metadata/../../walle.db", "/v1/tuf/metadata/..\\walle.db",
    "/v1/tuf/targets/../metadata/1.root.json",
     "/v1/tuf/targets//etc/passwd", "/v1/blobs/" + "../" * 8 + "etc/passwd", "/v1/blobs/" + "A" * 64, "/v1/",
     "/v1/tuf/targets/shop/rank/\0", "/v1/nothing"],
)  # fmt: skip
def test_nothing_else_is_served(local: LocalServer, path: str) -> None:
    assert local.status_of("GET", path) == 404
    assert local.status_of("DELETE", path) == 405


def test_a_code_lets_one_device_in(local: LocalServer) -> None:
    code = local.done("POST", "/device-codes", json={"label": "kiosk", "hours": 1})["codes"][0]
    device = Device()
    reply = local.ask("POST", "/v1/enrol", json={"code": code, "csr": device.request()})
    told = reply.json()
    chain = x509.load_pem_x509_certificate(told["certificate"].encode())
    authority = x509.load_pem_x509_certificate(told["authority"].encode())
    chain.verify_directly_issued_by(authority)
    assert chain.subject.rfc4514_string() == f"CN={told['device']}"
    assert isinstance(chain.public_key(), ec.EllipticCurvePublicKey)
    assert len(told["certificate"]) + len(told["authority"]) < 1600
    assert told["root"]["signed"]["_type"] == "root"
    assert abs(chain.not_valid_after_utc.timestamp() - local.clock() - 365 * 86400) < 10
    again = local.ask("POST", "/v1/enrol", json={"code": code, "csr": Device().request()})
    assert again.status_code == 403
    [row] = local.done("GET", "/devices")
    assert row["id"] == told["device"] and row["label"] == "kiosk" and not row["revoked"]
    late = local.done("POST", "/device-codes", json={"hours": 1})["codes"][0]
    local.clock.forward(3600)
    assert local.ask("POST", "/v1/enrol", json={"code": late, "csr": device.request()}).status_code == 403


def test_requests_for_certificates_that_are_refused(local: LocalServer) -> None:
    code = local.done("POST", "/device-codes", json={})["codes"][0]

    def status(csr: Any, code: Any = code) -> int:
        return int(local.ask("POST", "/v1/enrol", json={"code": code, "csr": csr}).status_code)

    good = Device().request()
    assert status(Device().request(rsa.generate_private_key(65537, 2048))) == 400
    assert status(Device().request(ec.generate_private_key(ec.SECP384R1()))) == 400
    lines = good.splitlines()
    lines[-2] = lines[-2][:-6] + ("A" if lines[-2][-6] != "A" else "B") + lines[-2][-5:]
    assert status("\n".join(lines)) == 400
    assert status("no request") == 400 and status("x" * 9000) == 400 and status(None) == 400
    assert status(good, "wrongwrongwrong") == 403 and status(good, "../../..") == 403
    for body in (b"", b"[]", b"{}", b"{", b"\xff", b"[" * 10_000, b'"x"'):
        assert local.ask("POST", "/v1/enrol", content=body).status_code == 400, body[:20]
    assert status(good) == 200  # none of these has spent the code


def test_a_device_proves_itself_with_its_key(local: LocalServer) -> None:
    device = local.device()
    path, now = "/v1/enrol", local.clock()
    renewed = Device()
    renewed.id = device.id
    body = ('{"csr": "' + renewed.request().replace("\n", "\\n") + '"}').encode()

    def status(headers: dict[str, str], content: bytes = body) -> int:
        return int(local.ask("POST", path, content=content, headers=headers).status_code)

    assert status({}) == 401
    good = device.proof("POST", path, body, now)
    assert status(good, body + b" ") == 401  # another body
    assert status(device.proof("GET", path, body, now)) == 401
    assert status(device.proof("POST", "/v1/reports", body, now)) == 401
    assert status(device.proof("POST", path, body, now - SKEW_S - 2)) == 401
    assert status(device.proof("POST", path, body, now + SKEW_S + 2)) == 401
    other = local.device()
    other.id = device.id
    assert status(other.proof("POST", path, body, now)) == 401
    for header in (
        "Walle",
        "Walle x:1:AAAA",
        f"Walle {device.id}:{int(now)}:!!!",
        "Bearer x",
        "Walle " + "x" * 500,
    ):
        assert status({"Authorization": header}) == 401
    assert status(device.proof("POST", path, body, now - SKEW_S + 1)) == 200
    assert status(good) == 401  # its key is another one now
    assert status(renewed.proof("POST", path, body, now)) == 200
    local.done("DELETE", f"/devices/{device.id}")
    assert status(renewed.proof("POST", path, body, now)) == 401
    assert (
        local.done("GET", "/devices", params={"after": ""})[0]["id"] <= local.done("GET", "/devices")[1]["id"]
    )


def test_a_device_whose_certificate_is_over_is_out(local: LocalServer) -> None:
    device = local.device()
    local.clock.forward(365 * 86400 + 10)
    body = ('{"csr": "' + device.request().replace("\n", "\\n") + '"}').encode()
    reply = local.ask(
        "POST", "/v1/enrol", content=body, headers=device.proof("POST", "/v1/enrol", body, local.clock())
    )
    assert reply.status_code == 401


def test_the_server_has_a_certificate_of_the_same_authority(local: LocalServer) -> None:
    authority, now = local.state.authority, datetime.fromtimestamp(local.clock(), UTC)
    chain, key = authority.server_certificate("broker", ["localhost", "127.0.0.1"], now)
    made = x509.load_pem_x509_certificate(chain.read_bytes())
    made.verify_directly_issued_by(authority.certificate)
    assert (key.stat().st_mode & 0o777) == 0o600
    assert (
        authority.server_certificate("broker", ["127.0.0.1", "localhost"], now)[0].read_bytes()
        == chain.read_bytes()
    )
    authority.server_certificate("broker", ["localhost"], now)
    assert x509.load_pem_x509_certificate(chain.read_bytes()) != made
