"""Scenarios as repositories: plain git against them, over HTTP and in a folder; the rules of what is kept."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from waits import PATIENCE_S

pytest.importorskip("dulwich", reason="no package 'dulwich' (the extra [cloud])")
pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")

from tasks import git, needs_git

from walle_rt.cloud.blobs import BlobStore
from walle_rt.cloud.git import Author, GitApp, Pointer, RefusedError, ScenarioRepository, token_of
from walle_rt.cloud.git.body import body_of
from walle_rt.errors import ArgumentError, ResourceError

ADA = Author("Ada", "ada@example.org")
PACKAGE = "ab" * 32
FILES = {"task.toml": b"[task]\n", "main.py": b"x = 1\n", "sub/words.txt": b"one\ntwo\n"}
TOKENS = {"writer": {"shop"}, "reader": set()}


def authorize(environ: dict[str, Any], scenario: str, writes: bool) -> int:
    token = token_of(environ)
    if token not in TOKENS:
        return 401
    return 200 if not writes or scenario in TOKENS[token] else 403


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class Served:
    """A GitApp below /git, on one of the two kinds of server that it is mounted in."""

    def __init__(self, folder: Path, blobs: BlobStore) -> None:
        self.folder, self.blobs = folder, blobs
        self.app = GitApp(folder, authorize, lambda _: blobs)
        self.port = 0

    def mounted(self, environ: dict[str, Any], start: Any) -> Any:
        path = environ["PATH_INFO"]
        if environ.get("SCRIPT_NAME") != "/git":
            environ["SCRIPT_NAME"] = "/git"
            environ["PATH_INFO"] = path[4:] if path.startswith("/git/") else "/"
        return self.app(environ, start)

    def url(self, user: str = "writer", scenario: str = "shop") -> str:
        return f"http://x:{user}@127.0.0.1:{self.port}/git/{scenario}.git"

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        token = base64.b64encode(b"x:writer").decode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Authorization": f"Basic {token}"} | named)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, content


@pytest.fixture(params=["wsgiref", "uvicorn"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """A server with the repository of ``shop``."""
    made = Served(tmp_path / "git", BlobStore(tmp_path / "blobs"))
    ScenarioRepository.create(made.folder, "shop", made.blobs).close()
    if request.param == "wsgiref":
        server = make_server("127.0.0.1", 0, made.mounted, WSGIServer, Quiet)
        made.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()
        server.server_close()
        return
    uvicorn = pytest.importorskip("uvicorn")
    a2wsgi = pytest.importorskip("a2wsgi")
    listening = socket.create_server(("127.0.0.1", 0))
    made.port = listening.getsockname()[1]
    config = uvicorn.Config(a2wsgi.WSGIMiddleware(made.mounted), log_level="error", lifespan="off")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    yield made
    running.should_exit = True
    thread.join(PATIENCE_S)
    listening.close()


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@pytest.fixture
def shop(tmp_path: Path, store: BlobStore) -> ScenarioRepository:
    return ScenarioRepository.create(tmp_path / "git", "shop", store)


def commit_in(clone: Path, message: str = "change", **files: bytes) -> None:
    for key, content in files.items():
        (clone / key.replace("__", ".")).write_bytes(content)
    git("add", "-A", folder=clone)
    git("commit", "-qm", message, folder=clone)


# -- plain git over HTTP ----------------------------------------------------------------------------------


@needs_git
def test_clone_log_diff_blame_push(served: Served, tmp_path: Path) -> None:
    shop = ScenarioRepository(served.folder, "shop", served.blobs)
    first = shop.commit("rank", FILES, "First", ADA)
    shop.tag("rank", "1.0.0", PACKAGE, first, ADA)
    shop.commit("rank", FILES | {"main.py": b"x = 1\ny = 2\n"}, "Second", ADA)
    clone = tmp_path / "clone"
    git("clone", "-q", "-b", "rank", served.url(), clone)
    assert git("log", "--format=%s %an %ae", folder=clone) == (
        "Second Ada ada@example.org\nFirst Ada ada@example.org\n"
    )
    assert "+y = 2" in git("diff", "rank/1.0.0", "rank", folder=clone)
    assert git("diff", "--stat", "rank/1.0.0", "rank", folder=clone).count("|") == 1
    blame = git("blame", "-s", "main.py", folder=clone).splitlines()
    assert first.decode().startswith(blame[0].split()[0].strip("^")) and len(blame) == 2
    assert f"package sha256:{PACKAGE}" in git("cat-file", "tag", "rank/1.0.0", folder=clone)
    git("fsck", "--strict", folder=clone)
    commit_in(clone, "Third", main__py=b"x = 3\n")
    git("push", "-q", "origin", "rank", folder=clone)
    assert shop.files(shop.tip("rank") or b"")["main.py"] == b"x = 3\n"
    # A second task is a second branch, from nothing.
    git("checkout", "-q", "--orphan", "fraud", folder=clone)
    commit_in(clone, "Another task", main__py=b"z = 1\n")
    git("push", "-q", "origin", "fraud", folder=clone)
    assert shop.tasks() == ["fraud", "rank"]
    git("fsck", "--strict", folder=shop.path)


@needs_git
def test_a_large_push_comes_in_chunks(served: Served, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git("clone", "-q", served.url(), clone, says="empty repository")
    git("checkout", "-q", "-b", "rank", folder=clone)
    (clone / "task.toml").write_bytes(b"")
    for n in range(60):  # 3.9 MB that do not pack: beyond git's buffer, so sent in chunks
        seed = hashlib.sha256(str(n).encode()).digest()
        (clone / f"{n}.bin").write_bytes(hashlib.shake_256(seed).digest(65_536))
    commit_in(clone)
    git("push", "-q", "origin", "rank", folder=clone)
    again = tmp_path / "again"
    git("clone", "-q", "-b", "rank", served.url("reader"), again)
    assert (again / "59.bin").read_bytes() == (clone / "59.bin").read_bytes()


@needs_git
def test_who_may_not(served: Served, tmp_path: Path) -> None:
    shop = ScenarioRepository(served.folder, "shop", served.blobs)
    shop.commit("rank", FILES, "First", ADA)
    git("clone", "-q", served.url("nobody"), tmp_path / "no", code=128, says="Authentication failed")
    git("clone", "-q", served.url(scenario="other"), tmp_path / "no", code=128, says="not found")
    clone = tmp_path / "clone"
    git("clone", "-q", "-b", "rank", served.url("reader"), clone)
    commit_in(clone, main__py=b"evil = 1\n")
    git("push", "-q", "origin", "rank", folder=clone, code=128, says="403")
    assert shop.files(shop.tip("rank") or b"") == FILES


@needs_git
def test_what_pushes_are_refused_and_why(served: Served, tmp_path: Path) -> None:
    shop = ScenarioRepository(served.folder, "shop", served.blobs)
    first = shop.commit("rank", FILES, "First", ADA)
    shop.tag("rank", "1.0.0", PACKAGE, first, ADA)
    clone = tmp_path / "clone"
    git("clone", "-q", "-b", "rank", served.url(), clone)

    def refused(*refs: str, says: str) -> None:
        git("push", "-q", "origin", *refs, folder=clone, code=1, says=says)
        assert shop.tip("rank") == first and len(shop.versions("rank")) == 1
        git("reset", "-q", "--hard", first.decode(), folder=clone)

    refused(":rank", says="to be deleted")
    refused(":refs/tags/rank/1.0.0", says="to be deleted")
    refused("rank:refs/heads/Rank", says="name branches as tasks")
    refused("rank:refs/notes/x", says="name branches as tasks")
    git("commit", "-q", "--amend", "-m", "other", folder=clone)
    refused("+rank", says="does not go forward")
    commit_in(clone, big__bin=b"b" * 65_537)
    refused("rank", says="of 65537 bytes, more than 65536")
    commit_in(clone, big__bin=Pointer("cd" * 32, 5).to_bytes())
    refused("rank", says="was not uploaded")
    (clone / "link").symlink_to("/etc/passwd")
    commit_in(clone)
    refused("rank", says="a link or a submodule")
    git("rm", "-q", "task.toml", folder=clone)
    commit_in(clone)
    refused("rank", says="without task.toml")
    git("tag", "rank/1.1.0", folder=clone)
    refused("rank/1.1.0", says="no annotated tag")
    git("tag", "-a", "rank/1.1.1", "-m", "mine", folder=clone)
    refused("rank/1.1.1", says="without a line 'package sha256:")
    git("tag", "-f", "-a", "rank/1.0.0", "-m", f"x\n\npackage sha256:{'cd' * 32}", folder=clone)
    refused("+rank/1.0.0", says="a version that was published")
    git("tag", "-a", "rank/1.0", "-m", f"x\n\npackage sha256:{PACKAGE}", folder=clone)
    refused("rank/1.0", says="TASK/1.2.3")
    # And after all of that the repository is as whole as before.
    git("fsck", "--strict", folder=shop.path)
    assert shop.version("rank", "1.0.0") is not None and shop.version("rank", "1.0.0").package == PACKAGE


@needs_git
def test_the_largest_file_and_a_pointer_to_what_was_uploaded(served: Served, tmp_path: Path) -> None:
    data = b"m" * 65_537
    served.blobs.put(data)
    clone = tmp_path / "clone"
    git("clone", "-q", served.url(), clone, says="empty repository")
    git("checkout", "-q", "-b", "rank", folder=clone)
    commit_in(clone, task__toml=b"", fits__bin=b"b" * 65_536, model__bin=Pointer.to(data).to_bytes())
    git("push", "-q", "origin", "rank", folder=clone)
    digest = hashlib.sha256(data).hexdigest()
    assert served.ask("GET", f"/git/shop.git/blobs/{digest}")[::2] == (200, data)
    status, headers, part = served.ask("GET", f"/git/shop.git/blobs/{digest}", Range="bytes=65530-")
    assert (status, part, headers["content-range"]) == (206, data[65_530:], "bytes 65530-65536/65537")
    assert served.ask("GET", f"/git/shop.git/blobs/{'0' * 64}")[0] == 404


def test_requests_that_are_none_of_git(served: Served) -> None:
    for method, path in [
        ("GET", "/git/shop.git/config"),
        ("GET", "/git/shop.git/HEAD"),
        ("GET", "/git/shop.git/objects/info/packs"),
        ("GET", "/git/shop.git/info/refs"),  # the dumb protocol
        ("GET", "/git/shop.git/info/refs?service=git-evil"),
        ("GET", "/git/../shop.git/info/refs?service=git-upload-pack"),
        ("GET", "/git/sub/shop.git/info/refs?service=git-upload-pack"),
        ("GET", "/git/SHOP.git/info/refs?service=git-upload-pack"),
        ("POST", "/git/shop.git/info/refs?service=git-upload-pack"),
        ("GET", "/git/shop.git/git-upload-pack"),
        ("PUT", "/git/shop.git/git-receive-pack"),
        ("GET", "/git/shop.git/blobs/../../x"),
    ]:
        assert served.ask(method, path)[0] == 404, path
    assert served.ask("GET", "/git/shop.git/info/refs?service=git-upload-pack")[0] == 200


@pytest.mark.parametrize("service", ["git-upload-pack", "git-receive-pack"])
def test_bodies_that_are_none_of_git_do_no_harm(served: Served, service: str) -> None:
    shop = ScenarioRepository(served.folder, "shop", served.blobs)
    first = shop.commit("rank", FILES, "First", ADA)
    for body in [
        b"",
        b"0000",
        b"xxxx",
        b"0004",
        b"ffff" + b"x" * 70_000,
        b"0032want " + b"g" * 40 + b"\n0000",
        b"\0" * 100,
    ]:
        status, _, _ = served.ask(
            "POST", f"/git/shop.git/{service}", body, Content_Type=f"application/x-{service}-request"
        )
        assert status in (200, 400), (body[:20], status)
    assert served.ask("POST", f"/git/shop.git/{service}", b"0000", Content_Type="text/plain")[0] == 403
    assert shop.tip("rank") == first


# -- bodies -----------------------------------------------------------------------------------------------


class Source:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, size: int) -> bytes:
        out, self.content = self.content[:size], self.content[size:]
        return out


def read_all(environ: dict[str, Any], most: int = 1 << 20) -> bytes:
    body, out = body_of(environ, most), b""
    while chunk := body.read(1000):
        out += chunk
    return out


def test_bodies_with_a_length_in_chunks_and_packed() -> None:
    data = bytes(range(256)) * 100
    assert read_all({"wsgi.input": Source(data + b"next"), "CONTENT_LENGTH": str(len(data))}) == data
    assert read_all({"wsgi.input": Source(data)}) == b"", "no length and no chunks: no body"
    assert read_all({"wsgi.input": Source(data), "wsgi.input_terminated": True}) == data
    packed = gzip.compress(data)
    gzipped = {"CONTENT_LENGTH": str(len(packed)), "HTTP_CONTENT_ENCODING": "gzip"}
    assert read_all({"wsgi.input": Source(packed), **gzipped}) == data


def test_a_small_body_that_stands_for_a_large_one_is_not_inflated() -> None:
    bomb = gzip.compress(b"\0" * (8 << 20))
    gzipped = {"CONTENT_LENGTH": str(len(bomb)), "HTTP_CONTENT_ENCODING": "gzip"}
    with pytest.raises(Exception, match="more bytes than one may have"):
        read_all({"wsgi.input": Source(bomb), **gzipped})
    with pytest.raises(Exception, match="no gzip"):
        read_all({"wsgi.input": Source(b"x" * 50), "CONTENT_LENGTH": "50", "HTTP_CONTENT_ENCODING": "gzip"})


# -- a folder ---------------------------------------------------------------------------------------------


@needs_git
def test_plain_git_clones_a_repository_in_a_folder(shop: ScenarioRepository, tmp_path: Path) -> None:
    shop.commit("rank", FILES, "First", ADA)
    git("clone", "-q", "-b", "rank", shop.path, tmp_path / "clone")
    assert (tmp_path / "clone" / "sub" / "words.txt").read_bytes() == FILES["sub/words.txt"]


def test_the_same_files_are_no_new_commit(shop: ScenarioRepository) -> None:
    first = shop.commit("rank", FILES, "First", ADA)
    assert shop.commit("rank", FILES, "Again", ADA) == first
    assert shop.commit("rank", FILES | {"more": b""}, "More", ADA) != first


def test_a_version_is_made_once(shop: ScenarioRepository) -> None:
    first = shop.commit("rank", FILES, "First", ADA)
    shop.tag("rank", "1.0.0", PACKAGE, first, ADA)
    with pytest.raises(RefusedError, match="a version that was published"):
        shop.tag("rank", "1.0.0", "cd" * 32, first, ADA)
    shop.tag("rank", "1.0.1-rc.1", "cd" * 32, first, ADA)
    shop.commit("fraud", FILES, "Another", ADA)
    assert [(v.version, v.package, v.by) for v in shop.versions("rank")] == [
        ("1.0.0", PACKAGE, "Ada <ada@example.org>"),
        ("1.0.1-rc.1", "cd" * 32, "Ada <ada@example.org>"),
    ]
    assert shop.versions("fraud") == [] and shop.version("rank", "2.0.0") is None


def test_large_files_become_pointers_at_65537_bytes(shop: ScenarioRepository, store: BlobStore) -> None:
    fits, large = b"f" * 65_536, b"l" * 65_537
    with pytest.raises(RefusedError, match="was not uploaded"):
        shop.commit("rank", FILES | {"large": large}, "First", ADA)
    store.put(large)
    commit = shop.commit("rank", FILES | {"fits": fits, "large": large}, "First", ADA)
    files = shop.files(commit)
    assert files["fits"] == fits and Pointer.read(files["large"]) == Pointer.to(large)


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../b", ".git/config", "a/.GIT/x", "git~1/x", "a\\b", "a\nb"]
)
def test_names_that_leave_a_folder_are_refused(shop: ScenarioRepository, name: str) -> None:
    with pytest.raises(RefusedError, match="file '"):
        shop.commit("rank", FILES | {name: b"x"}, "First", ADA)
    assert shop.tip("rank") is None


@pytest.mark.parametrize("scenario", ["", "..", "a/b", "A", "x" * 65, "a.git"])
def test_scenarios_are_plain_names(tmp_path: Path, scenario: str) -> None:
    for ask in (ScenarioRepository, ScenarioRepository.create):
        with pytest.raises(ArgumentError, match="1 to 64 of a-z"):
            ask(tmp_path, scenario)
    with pytest.raises(ResourceError, match="no repository of scenario 'none'"):
        ScenarioRepository(tmp_path, "none")


def test_pointers_are_read_strictly() -> None:
    pointer = Pointer.to(b"data")
    text = pointer.to_bytes()
    assert Pointer.read(text) == pointer and pointer.size == 4
    for bad in [
        b"",
        text[:-1],
        text + b"\n",
        text.replace(b"v1", b"v2"),
        text.replace(b"size 4", b"size 04"),
        b"x" * 2000,
    ]:
        assert Pointer.read(bad) is None


def test_authors_may_not_forge_lines() -> None:
    for name, mail in [("", ""), ("a\nb", ""), ("a", "x>\ncommitter"), ("<", "")]:
        with pytest.raises(ArgumentError, match="author"):
            Author(name, mail)
