"""Pushes that would become large: refused by what they say, before anything of it is inflated or kept."""

from __future__ import annotations

import base64
import gzip
import hashlib
import resource
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator

import pytest
from cloud.servers import LocalServer, opened_server
from dulwich.errors import GitProtocolError

from walle_rt.cloud.git.body import TooLargeError
from walle_rt.cloud.git.pack_scan import MOST_INFLATED, MOST_OBJECT, check_push

COMMANDS = b"0000"
BLOB, OFS_DELTA, REF_DELTA = 3, 6, 7
MOST_S = 2.0
MOST_MIB = 60


def number(value: int) -> bytes:
    """As deltas write one: seven bits at a time, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def entry(kind: int, size: int, packed: bytes, base: bytes = b"") -> bytes:
    """An object of a pack that says it has ``size`` bytes."""
    first, left = kind << 4 | size & 15, size >> 4
    return (bytes([first | 0x80]) + number(left) if left else bytes([first])) + base + packed


def push(*entries: bytes, count: int | None = None) -> bytes:
    body = b"PACK" + struct.pack(">II", 2, len(entries) if count is None else count) + b"".join(entries)
    return COMMANDS + body + hashlib.sha1(body).digest()


def zeros(size: int) -> bytes:
    packer, out = zlib.compressobj(9), []
    for at in range(0, size, 1 << 20):
        out.append(packer.compress(bytes(min(1 << 20, size - at))))
    return b"".join([*out, packer.flush()])


def delta(result: int, base: int = 100) -> bytes:
    return zlib.compress(number(base) + number(result) + b"\x80" * 8)


def delta_size(result: int, base: int = 100) -> int:
    return len(number(base) + number(result)) + 8


EIGHT = 8 << 20
BOMBS = {
    "a large object": push(entry(BLOB, 1_600_000_000, zeros(EIGHT))),
    "just above the limit": push(entry(BLOB, MOST_OBJECT + 1, b"")),
    "many objects": push(*[entry(BLOB, EIGHT, zeros(EIGHT))] * (MOST_INFLATED // EIGHT + 1)),
    "a delta that makes much": push(
        entry(REF_DELTA, delta_size(1 << 30), delta(1 << 30), b"x" * 20),
    ),
    "deltas that together make much": push(
        *[entry(OFS_DELTA, delta_size(MOST_OBJECT), delta(MOST_OBJECT), b"\x10")]
        * (MOST_INFLATED // MOST_OBJECT + 1)
    ),
    "objects without end": push(count=1 << 31),
    "commands without end": b"fff0" * 300_000,
}
WRONG = {
    "more than it says": push(entry(BLOB, 10, zeros(EIGHT))),
    "fewer than it says": push(entry(BLOB, 20, zlib.compress(b"short"))),
    "no zlib": push(entry(BLOB, 20, b"x" * 40)),
    "it ends early": push(entry(BLOB, 20, zlib.compress(bytes(20))), count=2)[:-20],
    "a size without end": push(bytes([0xB0, *[0xFF] * 30])),
    "a delta without numbers": push(entry(REF_DELTA, 1, zlib.compress(b"\x80"), b"x" * 20)),
    "another version": COMMANDS + b"PACK" + struct.pack(">II", 9, 0),
    "no lines": b"what is this",
}


def scan(body: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(body)
        check_push(file)
        assert file.tell() == 0


@pytest.mark.parametrize("what", BOMBS)
def test_what_would_become_large_is_refused_before_it_is(what: str) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(TooLargeError):
        scan(BOMBS[what])
    assert time.process_time() - began < MOST_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MIB << 10


@pytest.mark.parametrize("what", WRONG)
def test_packs_that_are_none(what: str) -> None:
    with pytest.raises(GitProtocolError):
        scan(WRONG[what])


def test_what_a_push_may_have_passes() -> None:
    small = [entry(BLOB, len(text), zlib.compress(text)) for text in (b"", b"x", b"text" * 10_000)]
    scan(push(*small, entry(OFS_DELTA, delta_size(200), delta(200), b"\x10")))
    scan(push(entry(BLOB, MOST_OBJECT, zeros(MOST_OBJECT))))
    scan(b"")
    scan(COMMANDS)
    options = b"0009opt\n\n0000"
    scan(b"000bhello\n\n0000" + options + push(*small)[4:])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with opened_server(tmp_path_factory.mktemp("bombs")) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


@pytest.mark.parametrize("body", [BOMBS["a large object"], WRONG["more than it says"]])
def test_over_http(local: LocalServer, body: bytes) -> None:
    name = base64.b64encode(f"x:{local.admin}".encode()).decode()
    headers = {"Authorization": f"Basic {name}", "Content-Type": "application/x-git-receive-pack-request"}
    began = time.monotonic()
    told = local.ask("POST", "/git/shop.git/git-receive-pack", content=body, headers=headers)
    assert told.status_code in (400, 413) and time.monotonic() - began < 5 * MOST_S
    objects = local.state.settings.folder / "git" / "shop.git" / "objects"
    assert sum(file.stat().st_size for file in objects.rglob("*") if file.is_file()) < 10_000


def test_a_file_does_not_come_packed(local: LocalServer) -> None:
    content = bytes(1 << 20)
    path = f"/git/shop.git/info/lfs/objects/{hashlib.sha256(content).hexdigest()}"
    packed = {"content": gzip.compress(content), "headers": {"Content-Encoding": "gzip"}}
    told = local.ask("PUT", path, local.admin, **packed)
    assert told.status_code == 415 and "not packed" in told.text
    assert local.ask("PUT", path, local.admin, content=content).status_code == 200


def test_a_fetch_that_names_commits_without_end(local: LocalServer) -> None:
    headers = {"Content-Type": "application/x-git-upload-pack-request"}
    named = b"1" * 40 + b"\n"
    body = b"0032want " + named + b"0000" + (b"0032have " + named) * 100_000
    told = local.ask("POST", "/git/shop.git/git-upload-pack", local.admin, content=body, headers=headers)
    assert told.status_code in (400, 413), told.status_code
