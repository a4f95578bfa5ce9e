"""TLS that ends in `walle serve`: who believes it, and codes that must not travel in the open."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cloud.servers import Child, Device, opened_server
from commands import run_walle
from waits import PATIENCE_S, until

from walle_rt import _core, device
from walle_rt.cloud.serve.tls import Shown
from walle_rt.cloud.trust.authority import Authority
from walle_rt.errors import ArgumentError, NetworkError


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    made = Child(tmp_path_factory.mktemp("tls") / "server", "--tls")
    yield made
    assert made.stop() == 0


def asked(url: str, context: ssl.SSLContext) -> tuple[int, str]:
    """Status of /healthz, and the protocol that was agreed on."""
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port, timeout=PATIENCE_S, context=context
    )
    try:
        connection.request("GET", "/healthz")
        version = connection.sock.version()
        return connection.getresponse().status, version
    finally:
        connection.close()


def trusting(authority: str | Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TLS 1.1, which is to be refused
def test_whoever_has_the_authority_believes_the_server_and_nobody_else(child: Child, tmp_path: Path) -> None:
    assert child.url.startswith("https://127.0.0.1:")
    assert asked(child.url, trusting(child.told["authority"])) == (200, "TLSv1.3")
    older = trusting(child.told["authority"])
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert asked(child.url, older) == (200, "TLSv1.2")
    strict = trusting(child.told["authority"])
    strict.verify_flags |= ssl.VERIFY_X509_STRICT  # what Python 3.13 does by itself
    assert asked(child.url, strict)[0] == 200
    for context in (ssl.create_default_context(), trusting(Authority(tmp_path / "other").folder / "ca.pem")):
        with pytest.raises(ssl.SSLCertVerificationError):
            asked(child.url, context)
    ancient = trusting(child.told["authority"])
    ancient.set_ciphers("ALL:@SECLEVEL=0")
    ancient.minimum_version = ancient.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        asked(child.url, ancient)
    plain = http.client.HTTPConnection(urlsplit(child.url).netloc, timeout=PATIENCE_S)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/healthz")
        plain.getresponse()


def test_operators_and_authors_over_https(child: Child, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "WALLE_SERVER": child.url}

    def run(*words: str, **more: object) -> object:
        return run_walle(*words, folder=tmp_path, environment=environment, **more)

    (tmp_path / "first").write_text(child.told["login"]["password"] + "\n")
    (tmp_path / "second").write_text("a password of one's own\n")
    login = ("operator", "login", child.url, "admin", "--password-file", "first")
    run(*login, code=8, says="CERTIFICATE_VERIFY_FAILED")
    environment["SSL_CERT_FILE"] = child.told["authority"]
    run(*login)
    run("operator", "password", "--old-file", "first", "--new-file", "second")
    run("operator", "scenario", "shop")
    run("task", "init", "task")
    run("task", "publish", "task", "--scenario", "shop")  # over the API, and by git


@pytest.fixture(params=["python", "libcurl"])
def transport(request: pytest.FixtureRequest) -> str:
    if request.param == "libcurl" and not _core.device.has_libcurl():
        pytest.skip("no libcurl (apt-get install libcurl4)")
    return str(request.param)


def code_of(child: Child, password: str) -> str:
    context = trusting(child.told["authority"])
    token = ""
    for path, given in (("/login", {"name": "admin", "password": password}), ("/device-codes", {})):
        connection = http.client.HTTPSConnection(
            urlsplit(child.url).netloc, timeout=PATIENCE_S, context=context
        )
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request("POST", "/api/v1" + path, json.dumps(given), headers)
        told = json.loads(connection.getresponse().read())
        connection.close()
        token = told.get("token", token)
    return str(told["codes"][0])


def test_a_device_enrols_where_it_believes_the_server(child: Child, tmp_path: Path, transport: str) -> None:
    code = code_of(child, "a password of one's own")
    given = {"root": None, "app": "shop", "app_version": "1.0.0", "transport": transport, "broker": ""}
    with device.Device(tmp_path / "device") as there:
        with pytest.raises(NetworkError):  # the system's authorities do not know this one
            there.connect(child.url, enrol_code=code, **given)
        state = there.connect(child.url, enrol_code=code, authorities=child.told["authority"], **given)
        assert state.device.startswith("d-")
        until(lambda: (told := there.cloud) is not None and told.pulls)
        told = there.cloud
        assert told is not None
        # It read the signed metadata over TLS, in which nothing was released.
        assert "without director/plan.wale" in told.error, told.error


def test_a_code_goes_to_no_other_machine_in_the_open(tmp_path: Path) -> None:
    given = {"root": None, "app": "shop", "app_version": "1.0.0", "broker": "", "transport": "python"}
    with device.Device(tmp_path / "device") as there:
        for url in ("http://10.255.255.1:1", "http://localhost.example.com", "http://127.example.com",
                    "http://127.0.0.1@example.com", "http://[fe80::1]:9"):  # fmt: skip
            with pytest.raises(ArgumentError, match="anybody on the way could read"):
                there.connect(url, enrol_code="a-code-of-a-device", **given)
        for url in ("http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9", "http://127.9.9.9:9/"):
            with pytest.raises(NetworkError):  # nobody listens there, but it was tried
                there.connect(url, enrol_code="a-code-of-a-device", **given)
        with pytest.raises(NetworkError):
            there.connect(
                "http://host.invalid", enrol_code="a-code-of-a-device", plain_enrolment=True, **given
            )


@pytest.mark.parametrize("settings", [{}, {"plain_enrolment": True}, {"public_https": True}])
def test_the_server_refuses_a_code_that_came_in_the_open(tmp_path: Path, settings: dict[str, bool]) -> None:
    with opened_server(tmp_path, **settings) as local:
        made, code = Device(), local.done("POST", "/device-codes", json={})["codes"][0]
        body = json.dumps({"code": code, "csr": made.request()}).encode()

        def enrolled(client: str, scheme: str = "http") -> int:
            asking = local.raw("POST", "/v1/enrol", body, {}, client=client, scheme=scheme)
            return int(local.wait(asking)[0])

        if not settings:
            for client in ("10.0.0.9", "192.168.1.4", "fe80::1", "not an address"):
                assert enrolled(client) == 403
            assert enrolled("10.0.0.9", "https") == 200  # the code was not spent
        else:
            assert enrolled("10.0.0.9") == 200
        assert enrolled("127.0.0.1") == 403  # it is now


@pytest.mark.parametrize("client", ["127.0.0.1", "::1"])
def test_this_machine_enrols_in_the_open(tmp_path: Path, client: str) -> None:
    with opened_server(tmp_path) as local:
        code = local.done("POST", "/device-codes", json={})["codes"][0]
        body = json.dumps({"code": code, "csr": Device().request()}).encode()
        assert local.wait(local.raw("POST", "/v1/enrol", body, {}, client=client))[0] == 200


def test_files_that_somebody_brings(tmp_path: Path) -> None:
    one, two = (Authority(tmp_path / name) for name in ("one", "two"))
    now = datetime.now(UTC)
    chain, key = one.server_certificate("site", ["127.0.0.1"], now)
    other_chain, other_key = two.server_certificate("site", ["127.0.0.1"], now)
    serve = ("serve", str(tmp_path / "server"), "--port", "0")
    for words, code, says in (
        (("--certificate", str(chain)), 3, "both files"),
        (("--tls", "--certificate", str(chain), "--key", str(key)), 3, "--tls alone"),
        (("--certificate", str(chain), "--key", str(other_key)), 5, "check the two files"),
        (("--certificate", str(tmp_path / "no.pem"), "--key", str(key)), 5, "check the two files"),
        (("--certificate", str(key), "--key", str(chain)), 5, "check the two files"),
    ):
        run_walle(*serve, *words, folder=tmp_path, code=code, says=says)
    child = Child(tmp_path / "server", "--certificate", str(chain), "--key", str(key))
    try:
        assert asked(child.url, trusting(one.folder / "ca.pem"))[0] == 200
        other_key.replace(key)
        until(lambda: "certificate not read anew" in child.log.read_text())  # half a pair is not taken up
        assert asked(child.url, trusting(one.folder / "ca.pem"))[0] == 200
        other_chain.replace(chain)

        def taken_up() -> bool:
            with contextlib.suppress(ssl.SSLCertVerificationError):
                return bool(asked(child.url, trusting(two.folder / "ca.pem"))[0] == 200)
            return False

        until(taken_up, "the new certificate is not taken up")
    finally:
        assert child.stop() == 0


def shaken(server: ssl.SSLContext, client: ssl.SSLContext) -> bytes:
    """The certificate that a handshake in memory shows."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(down, up, server_hostname="127.0.0.1")
    far = server.wrap_bio(up, down, server_side=True)
    for _ in range(3):
        for end in (near, far):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return near.getpeercert(binary_form=True) or b""


def test_a_certificate_that_is_replaced_ends_no_handshake(tmp_path: Path) -> None:
    made = [Authority(tmp_path / name) for name in ("one", "two")]
    pairs = [each.server_certificate("site", ["127.0.0.1"], datetime.now(UTC)) for each in made]
    client = trusting(made[0].folder / "ca.pem")
    client.load_verify_locations(made[1].folder / "ca.pem")
    turns = 0
    shown = Shown(lambda: pairs[turns % 2])
    seen, over = {shaken(shown.context, client)}, threading.Event()

    def replace() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            shown.again()

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(300):
            seen.add(shaken(shown.context, client))
    finally:
        over.set()
        thread.join()
    assert len(seen) == 2 and b"" not in seen
