"""What devices ask for, as they ask for it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Desk, Device, opened_desk
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from walle_rt.cloud.blobs import one_range
from walle_rt.cloud.service.enrolment import SKEW_S

CONTENT = random.Random(5).randbytes(1_000_003)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path, max_upload=2_000_000, max_body=300_000) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def upload(desk: Desk, content: bytes = CONTENT, digest: str | None = None) -> Any:
    digest = digest or hashlib.sha256(content).hexdigest()
    return desk.ask("PUT", f"/api/v1/scenarios/shop/blobs/{digest}", desk.admin, content=content)


def test_blobs_whole_and_in_parts(desk: Desk) -> None:
    assert desk.done("POST", "/scenarios/shop/blobs/missing", json={"digests": [DIGEST]})["digests"] == [
        DIGEST
    ]
    assert desk.ask("GET", f"/v1/blobs/{DIGEST}").status_code == 404
    assert upload(desk).status_code == 204
    assert upload(desk).status_code == 204
    assert desk.done("POST", "/scenarios/shop/blobs/missing", json={"digests": [DIGEST]})["digests"] == []
    whole = desk.ask("GET", f"/v1/blobs/{DIGEST}")
    assert whole.content == CONTENT and whole.headers["etag"] == f'"{DIGEST}"'
    size = len(CONTENT)
    for asked, begin, end in (
        ("bytes=0-0", 0, 1),
        ("bytes=500000-", 500_000, size),
        (f"bytes={size - 1}-", size - 1, size),
        ("bytes=10-99999999999", 10, size),
        ("bytes=-7", size - 7, size),
    ):
        reply = desk.ask("GET", f"/v1/blobs/{DIGEST}", headers={"Range": asked})
        assert reply.status_code == 206 and reply.content == CONTENT[begin:end], asked
        assert reply.headers["content-range"] == f"bytes {begin}-{end - 1}/{size}"
    beyond = desk.ask("GET", f"/v1/blobs/{DIGEST}", headers={"Range": f"bytes={size}-"})
    assert beyond.status_code == 416 and beyond.headers["content-range"] == f"bytes */{size}"
    same = desk.ask("GET", f"/v1/blobs/{DIGEST}", headers={"If-None-Match": f'"{DIGEST}"'})
    assert same.status_code == 304 and not same.content
    other = {"Range": "bytes=5-", "If-Range": '"another"'}
    assert desk.ask("GET", f"/v1/blobs/{DIGEST}", headers=other).content == CONTENT
    head = desk.ask("HEAD", f"/v1/blobs/{DIGEST}")
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


def test_uploads_that_are_refused(desk: Desk) -> None:
    wrong = upload(desk, b"other bytes", DIGEST)
    assert wrong.status_code == 400 and DIGEST in wrong.json()["expected"]
    large = upload(desk, b"x" * 2_000_001)
    assert large.status_code == 413 and "2000000" in large.json()["expected"]

    async def endless() -> Any:  # does not say how long it is
        for _ in range(100):
            yield b"x" * 100_000

    assert upload_chunks(desk, endless()).status_code == 413
    assert upload(desk, b"x" * 2_000_000).status_code == 204  # the limit is part of what is taken
    assert desk.ask("POST", "/api/v1/login", json={"name": "x" * 300_000, "password": ""}).status_code == 413
    blobs = desk.state.settings.folder / "blobs"
    assert list((blobs / ".uploads").iterdir()) == []
    assert DIGEST not in desk.state.blobs


def upload_chunks(desk: Desk, chunks: Any) -> Any:
    return desk.ask("PUT", f"/api/v1/scenarios/shop/blobs/{DIGEST}", desk.admin, content=chunks)


def test_metadata_as_the_repository_has_it(desk: Desk) -> None:
    folder = desk.state.settings.folder / "repository" / "metadata"
    for name, cache in (
        ("timestamp.json", "no-cache"),
        ("1.root.json", "public, max-age=31536000, immutable"),
    ):
        reply = desk.ask("GET", f"/v1/tuf/metadata/{name}")
        assert reply.content == (folder / name).read_bytes() and reply.headers["cache-control"] == cache
    assert desk.ask("GET", "/v1/tuf/metadata/9.root.json").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/v1/tuf/metadata/../../walle.db", "/v1/tuf/metadata/..\\walle.db",
    "/v1/tuf/targets/../metadata/1.root.json",
     "/v1/tuf/targets//etc/passwd", "/v1/blobs/" + "../" * 8 + "etc/passwd", "/v1/blobs/" + "A" * 64, "/v1/",
     "/v1/tuf/targets/shop/rank/\0", "/v1/nothing"],
)  # fmt: skip
def test_nothing_else_is_served(desk: Desk, path: str) -> None:
    assert desk.status_of("GET", path) == 404
    assert desk.status_of("DELETE", path) == 405


def test_a_code_lets_one_device_in(desk: Desk) -> None:
    code = desk.done("POST", "/device-codes", json={"label": "kiosk", "hours": 1})["codes"][0]
    device = Device()
    reply = desk.ask("POST", "/v1/enrol", json={"code": code, "csr": device.request()})
    told = reply.json()
    chain = x509.load_pem_x509_certificate(told["certificate"].encode())
    authority = x509.load_pem_x509_certificate(told["authority"].encode())
    chain.verify_directly_issued_by(authority)
    assert chain.subject.rfc4514_string() == f"CN={told['device']}"
    assert isinstance(chain.public_key(), ec.EllipticCurvePublicKey)
    assert len(told["certificate"]) + len(told["authority"]) < 1600
    assert told["root"]["signed"]["_type"] == "root"
    assert abs(chain.not_valid_after_utc.timestamp() - desk.clock() - 365 * 86400) < 10
    again = desk.ask("POST", "/v1/enrol", json={"code": code, "csr": Device().request()})
    assert again.status_code == 403
    [row] = desk.done("GET", "/devices")
    assert row["id"] == told["device"] and row["label"] == "kiosk" and not row["revoked"]
    late = desk.done("POST", "/device-codes", json={"hours": 1})["codes"][0]
    desk.clock.forward(3600)
    assert desk.ask("POST", "/v1/enrol", json={"code": late, "csr": device.request()}).status_code == 403


def test_requests_for_certificates_that_are_refused(desk: Desk) -> None:
    code = desk.done("POST", "/device-codes", json={})["codes"][0]

    def status(csr: Any, code: Any = code) -> int:
        return int(desk.ask("POST", "/v1/enrol", json={"code": code, "csr": csr}).status_code)

    good = Device().request()
    assert status(Device().request(rsa.generate_private_key(65537, 2048))) == 400
    assert status(Device().request(ec.generate_private_key(ec.SECP384R1()))) == 400
    lines = good.splitlines()
    lines[-2] = lines[-2][:-6] + ("A" if lines[-2][-6] != "A" else "B") + lines[-2][-5:]
    assert status("\n".join(lines)) == 400
    assert status("no request") == 400 and status("x" * 9000) == 400 and status(None) == 400
    assert status(good, "wrongwrongwrong") == 403 and status(good, "../../..") == 403
    for body in (b"", b"[]", b"{}", b"{", b"\xff", b"[" * 10_000, b'"x"'):
        assert desk.ask("POST", "/v1/enrol", content=body).status_code == 400, body[:20]
    assert status(good) == 200  # none of these has spent the code


def test_a_device_proves_itself_with_its_key(desk: Desk) -> None:
    device = desk.device()
    path, now = "/v1/enrol", desk.clock()
    renewed = Device()
    renewed.id = device.id
    body = ('{"csr": "' + renewed.request().replace("\n", "\\n") + '"}').encode()

    def status(headers: dict[str, str], content: bytes = body) -> int:
        return int(desk.ask("POST", path, content=content, headers=headers).status_code)

    assert status({}) == 401
    good = device.proof("POST", path, body, now)
    assert status(good, body + b" ") == 401  # another body
    assert status(device.proof("GET", path, body, now)) == 401
    assert status(device.proof("POST", "/v1/reports", body, now)) == 401
    assert status(device.proof("POST", path, body, now - SKEW_S - 2)) == 401
    assert status(device.proof("POST", path, body, now + SKEW_S + 2)) == 401
    other = desk.device()
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
    desk.done("DELETE", f"/devices/{device.id}")
    assert status(renewed.proof("POST", path, body, now)) == 401
    assert (
        desk.done("GET", "/devices", params={"after": ""})[0]["id"] <= desk.done("GET", "/devices")[1]["id"]
    )


def test_a_device_whose_certificate_is_over_is_out(desk: Desk) -> None:
    device = desk.device()
    desk.clock.forward(365 * 86400 + 10)
    body = ('{"csr": "' + device.request().replace("\n", "\\n") + '"}').encode()
    reply = desk.ask(
        "POST", "/v1/enrol", content=body, headers=device.proof("POST", "/v1/enrol", body, desk.clock())
    )
    assert reply.status_code == 401


def test_the_server_has_a_certificate_of_the_same_authority(desk: Desk) -> None:
    authority, now = desk.state.authority, datetime.fromtimestamp(desk.clock(), UTC)
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
