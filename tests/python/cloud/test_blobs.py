"""The blob store: whole or not there, by digest alone, within its limits, read by ranges."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from random_seed import random_seed
from waits import PATIENCE_S

pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")

from walle_rt.cloud.blobs import BlobStore
from walle_rt.errors import ArgumentError, ResourceError

DATA = bytes(range(256)) * 4
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def drafts(store: BlobStore) -> list[str]:
    return [file.name for file in (store.folder / ".uploads").iterdir()]


def test_what_is_put_is_there_under_its_digest(store: BlobStore) -> None:
    assert DIGEST not in store
    assert store.put(DATA) == DIGEST == store.put(DATA)
    assert DIGEST in store and store.size(DIGEST) == len(DATA) == store.used()
    assert store.read(DIGEST) == DATA == b"".join(store.chunks(DIGEST))
    assert store.path(DIGEST) == store.folder / DIGEST[:2] / DIGEST
    assert list(store.digests()) == [DIGEST] and drafts(store) == []


@pytest.mark.parametrize(
    "bad",
    ["", "../../etc/passwd", DIGEST.upper(), DIGEST + "\n", DIGEST[:-1], DIGEST + "0", "..", f"x/{DIGEST}"],
)
def test_nothing_but_a_digest_is_a_path(store: BlobStore, bad: str) -> None:
    for ask in (store.path, store.size, store.read, store.receive, store.part):
        with pytest.raises(ArgumentError, match="64 of 0-9 and a-f"):
            ask(bad)


def test_other_bytes_than_named_are_refused_and_leave_nothing(store: BlobStore) -> None:
    upload = store.receive(DIGEST)
    upload.write(DATA[:-1] + b"x")
    with pytest.raises(ArgumentError, match="send the file whose digest you named"):
        upload.keep()
    assert DIGEST not in store and drafts(store) == []


def test_an_upload_that_ends_early_leaves_nothing(store: BlobStore) -> None:
    with store.receive(DIGEST) as upload:
        upload.write(DATA[:10])
        assert len(drafts(store)) == 1
    assert DIGEST not in store and drafts(store) == []


def test_a_killed_upload_is_removed_a_day_later(store: BlobStore) -> None:
    code = (
        "import os, sys; from walle_rt.cloud.blobs import BlobStore\n"
        "upload = BlobStore(sys.argv[1]).receive('0' * 64); upload.write(b'x' * 100000); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store.folder)], check=False, timeout=PATIENCE_S)
    assert done.returncode == 9
    (left,) = drafts(store)
    assert drafts(BlobStore(store.folder)) == [left], "an upload of another process may be under way"
    old = time.time() - 25 * 3600
    os.utime(store.folder / ".uploads" / left, (old, old))
    assert drafts(BlobStore(store.folder)) == []


def test_limits_are_inclusive(tmp_path: Path) -> None:
    store = BlobStore(tmp_path, most_bytes=100, most_blob_bytes=60)
    store.put(b"a" * 60)
    with pytest.raises(ResourceError, match="more than 40 bytes"):
        store.put(b"b" * 41)
    store.put(b"b" * 40)
    with pytest.raises(ResourceError):
        store.put(b"c")
    store.put(b"a" * 60)  # it is there already
    with pytest.raises(ResourceError, match="more than 60 bytes"):
        BlobStore(tmp_path / "other", most_blob_bytes=60).put(b"a" * 61)
    assert store.used() == 100 and drafts(store) == []


def test_two_uploads_that_fit_each_and_not_together(tmp_path: Path) -> None:
    store = BlobStore(tmp_path, most_bytes=100)
    contents = [b"a" * 60, b"b" * 60]
    uploads = [store.receive(hashlib.sha256(c).hexdigest()) for c in contents]
    for upload, content in zip(uploads, contents, strict=True):
        upload.write(content)
    uploads[0].keep()
    with pytest.raises(ResourceError, match="beyond what all blobs may have"):
        uploads[1].keep()
    assert store.used() == 60 and drafts(store) == []


def test_many_writers_of_one_blob(store: BlobStore) -> None:
    threads = [threading.Thread(target=store.put, args=(DATA,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read(DIGEST) == DATA and drafts(store) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_and_leaves_nothing(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = store.receive(DIGEST)
    upload._file = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 - closed by drop()
    with pytest.raises(ResourceError, match="No space left"):
        upload.write(DATA)
    assert DIGEST not in store and drafts(store) == []


N = len(DATA)


@pytest.mark.parametrize(
    ("asked", "status", "start", "stop"),
    [
        ("", 200, 0, N),
        ("bytes=0-", 206, 0, N),
        ("bytes=0-0", 206, 0, 1),
        ("bytes=10-19", 206, 10, 20),
        (f"bytes={N - 1}-", 206, N - 1, N),
        (f"bytes=5-{N + 99}", 206, 5, N),
        ("bytes=-7", 206, N - 7, N),
        (f"bytes=-{N + 9}", 206, 0, N),
        (f"bytes={N}-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        # Passed over, as RFC 9110 says: the whole blob is a right answer.
        ("bytes=9-5", 200, 0, N),
        ("bytes=-", 200, 0, N),
        ("bytes=0-1,5-6", 200, 0, N),
        ("items=0-1", 200, 0, N),
        ("bytes=a-b", 200, 0, N),
        ("bytes=0-" + "9" * 40, 200, 0, N),
    ],
)
def test_ranges(store: BlobStore, asked: str, status: int, start: int, stop: int) -> None:
    store.put(DATA)
    part = store.part(DIGEST, range_=asked)
    assert (part.status, part.start, part.stop, part.size) == (status, start, stop, N)
    assert part.headers["ETag"] == f'"{DIGEST}"'
    assert int(part.headers["Content-Length"]) == stop - start
    if status == 206:
        assert part.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{N}"
        assert b"".join(store.chunks(DIGEST, part.start, part.stop)) == DATA[start:stop]
    if status == 416:
        assert part.headers["Content-Range"] == f"bytes */{N}"


def test_a_range_of_another_blob_and_one_that_the_asker_has(store: BlobStore) -> None:
    store.put(DATA)
    etag = f'"{DIGEST}"'
    assert store.part(DIGEST, range_="bytes=1-2", if_range=etag).status == 206
    assert store.part(DIGEST, range_="bytes=1-2", if_range='"other"').status == 200
    for header in (etag, f'"x", {etag}', f"W/{etag}", "*"):
        assert store.part(DIGEST, if_none_match=header).status == 304
    assert store.part(DIGEST, if_none_match='"other"').status == 200
    with pytest.raises(ArgumentError, match="no blob"):
        store.part("0" * 64)


def test_random_ranges_put_together_give_the_blob(store: BlobStore) -> None:
    rng = random.Random(random_seed())
    data = rng.randbytes(700_001)
    digest = store.put(data)
    got = b""
    while len(got) < len(data):
        part = store.part(digest, range_=f"bytes={len(got)}-{len(got) + rng.randrange(300_000)}")
        got += b"".join(store.chunks(digest, part.start, part.stop))
    assert got == data
