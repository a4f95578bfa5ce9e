"""The Kotlin library on a JVM: models, a device, a server over the app's own HTTP and TLS; examples/android.

`make phones-kotlin` builds and runs it. The programs say one line per promise; -Xcheck:jni looks at every
call of the shim.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from waits import PATIENCE_S

import walle_rt
from walle_rt import _core
from walle_rt.cloud.trust.authority import Authority
from walle_rt.convert import convert
from walle_rt.device import Device
from walle_rt.stream import Graph

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "install"), str(ROOT / "tests" / "python")]

from cloud.servers import Child  # noqa: E402
from test_arun import ROUNDS  # noqa: E402
from test_c_api import counting_model  # noqa: E402
from test_device_program import bundle  # noqa: E402

import kotlin  # noqa: E402

MATRIX = """<ir_version: 8, opset_import: ["" : 17]>
matrix (float[n, 4] x) => (float[n, 3] y)
  <float[4, 3] w = {-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5}> { p = MatMul(x, w) y = Relu(p) }"""
SENDS = """
[task]
name = "shop"
version = "1.0.0"
[triggers]
bought = "buy"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[capabilities]
host_calls = ["walle.stream"]
[egress.sold]
fields = { price = "int" }
bytes_per_day = "1M"
sends_per_day = 1000
[events.buy]
fields = { price = { type = "int", sensitivity = "open" }, name = "text" }
"""
SOLD = """
import walle

def main(event):
    walle.stream.send("sold", walle.stream.run("sold.graph", event))
"""


@pytest.fixture(scope="module")
def compiler() -> kotlin.Compiler:
    found = kotlin.compiler()
    if found is None:
        pytest.skip("no Kotlin compiler (tools/setup.sh kotlin)")
    return found


@pytest.fixture(scope="module")
def program(compiler: kotlin.Compiler) -> list[str]:
    return kotlin.build(compiler)


def kept(program: list[str], *words: object, promises: int, libraries: Path | None = None) -> None:
    """It ends well, has kept so many promises, and JNI has nothing to say."""
    command = [*program, *map(str, words)]
    environment = os.environ | ({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=2 * PATIENCE_S
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "FAILED" not in said and "WARNING" not in said and "FATAL" not in said, said
    assert done.stdout.count("ok    ") == promises, said


def test_models(program: list[str], tmp_path: Path) -> None:
    data, _ = convert(onnx.parser.parse_model(MATRIX), signatures=[("serve", [("in", "x")], [("out", "y")])])
    walle_rt.Model(_core.Model.create(data)).save(tmp_path / "matrix.walle")
    counting_model().save(tmp_path / "counting.walle")
    walle_rt.load(onnx.parser.parse_model(ROUNDS)).save(tmp_path / "rounds.walle")
    kept(program, "models", tmp_path, promises=47)


def test_a_device(program: list[str], tmp_path: Path) -> None:
    bundles = [bundle(tmp_path / "old", 1, 0), bundle(tmp_path / "new", 2, 1000)]
    kept(program, "device", tmp_path / "device", *bundles, promises=65)


def test_keys(program: list[str], tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "device")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(other, hashes.SHA256())
    issued = authority.issue("d-1", request.public_bytes(Encoding.PEM), datetime.now(UTC))
    (tmp_path / "other.pem").write_bytes(pem)
    (tmp_path / "certificate.pem").write_text(issued.pem)
    kept(program, "keys", tmp_path, promises=5)
    key: Any = load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    key.public_key().verify((tmp_path / "signature").read_bytes(), b"a message", ec.ECDSA(hashes.SHA256()))
    for file, of in (("request.pem", key), ("other-request.pem", other)):
        asked = x509.load_pem_x509_csr((tmp_path / file).read_bytes())
        assert asked.is_signature_valid and asked.public_key() == of.public_key()
        assert authority.issue("d-2", asked.public_bytes(Encoding.PEM), datetime.now(UTC)).pem


def released(child: Child, task: Path) -> list[str]:
    """A scenario, its task and a release for everybody; codes for two devices."""
    from walle_rt.cli.server_api import ServerApi
    from walle_rt.cloud.git import Author
    from walle_rt.cloud.service.publishing import ServerTarget, publish

    given = child.told["login"]["password"]
    token = ServerApi(child.url).post("/login", {"name": "admin", "password": given})["token"]
    api = ServerApi(child.url, token)
    api.put("/me/password", {"old": given, "new": "a password of one's own"})
    api.post("/scenarios", {"name": "market"})
    task.mkdir()
    (task / "task.toml").write_text(SENDS)
    (task / "main.py").write_text(SOLD)
    (task / "sold.graph").write_bytes(Graph().select("price").to_bytes())
    publish(task, "market", ServerTarget(api, token, "market"), Author("A", "a@example.com"), "first")
    policy = "[ramp]\nfrom = 1.0\nseconds = 0\ncontrol = 0.0\n"
    api.post("/scenarios/market/releases", {"task": "shop", "version": "1.0.0", "policy": policy})
    return list(api.post("/device-codes", {"count": 2})["codes"])


def test_a_device_follows_a_server_over_tls(
    program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = Child(tmp_path / "server", "--tls")
    try:
        monkeypatch.setenv("SSL_CERT_FILE", child.told["authority"])
        codes = released(child, tmp_path / "task")
        words = ("cloud", tmp_path / "device", child.url, child.told["authority"], *codes)
        # As on a phone: what looks for OpenSSL and libcurl finds empty files.
        for name in ("libcrypto.so.3", "libcrypto.so.1.1", "libssl.so.3", "libssl.so.1.1", "libcurl.so.4"):
            (tmp_path / name).write_bytes(b"")
        kept(program, *words, promises=23, libraries=tmp_path)
    finally:
        assert child.stop() == 0


def test_the_example_app_compiles(compiler: kotlin.Compiler) -> None:
    assert kotlin.example(compiler).stat().st_size > 5000


def test_the_example_s_task_suggests_what_is_on_stock(tmp_path: Path) -> None:
    task = ROOT / "examples" / "android" / "task"
    with Device(tmp_path / "device", app={"stock": lambda item: {"cup": 3}.get(item, 0)}) as device:
        device.install(task)
        for item in ("cup", "lamp", "cup"):
            device.record("look", contents={"item": item})
        assert device.wait(PATIENCE_S)
        rows = [(row["item"], row["looks"]) for row in device.results("suggest")]
        assert rows == [("cup", 1), ("cup", 2)]


def test_the_readme_s_program_is_one_that_compiles() -> None:
    readme = (ROOT / "src" / "kotlin" / "README.md").read_text()
    block = readme.split("```kotlin\n", 1)[1].split("```", 1)[0]
    assert block in (kotlin.PROGRAMS / "Readme.kt").read_text()


def test_the_shim_shows_what_kotlin_calls_and_no_more(program: list[str]) -> None:
    shim = kotlin.BUILD / "jni" / "libwalle_jni.so"
    listed = subprocess.run(["nm", "-D", "--defined-only", shim], capture_output=True, text=True, check=True)
    shown = {line.split()[-1] for line in listed.stdout.splitlines()}
    native = (kotlin.MAIN / "walle" / "rt" / "Native.kt").read_text()
    called = re.findall(r"external fun (\w+)\(", native)
    assert shown == {"JNI_OnLoad", *(f"Java_walle_rt_Native_{name}" for name in called)}
    headers = subprocess.run(["readelf", "-lW", shim], capture_output=True, text=True, check=True).stdout
    pages = [line.split()[-1] for line in headers.splitlines() if line.split()[:1] == ["LOAD"]]
    assert pages and set(pages) == {"0x4000"}, "Android 15 maps pages of 16 kB"


# Of Python's Device, what the C API does not have.
LACKING = {
    *("acknowledge", "catalog", "consents", "facts", "install_package", "outbox", "read_outbox"),
    *("set_consents", "stats", "tables", "trim", "tunnel"),
}
# The same for asyncio, where every function of Kotlin's that waits is a suspend function.
ASYNC = {"ainstall", "arecord", "await_idle"}


def test_names_are_python_s() -> None:
    text = (kotlin.MAIN / "walle" / "rt" / "Device.kt").read_text().split("companion object", 1)[0]
    found = re.findall(r"^    (?:override |suspend )*(?:fun|val) (\w+)", text, re.MULTILINE)
    names = {re.sub("([A-Z])", lambda m: "_" + m[1].lower(), name) for name in found} - {"to_string"}
    public = {name for name in dir(Device) if not name.startswith("_")}
    assert names - public == set(), "a name that Python does not have"
    assert public - names - ASYNC == LACKING, "what is new in Python, or in Kotlin"
