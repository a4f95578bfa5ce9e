"""The Swift library on Linux: models, a device, a server over the app's own HTTP, TLS and keys; examples/ios.

`make phones-swift` builds and runs it. The programs say one line per promise.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
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
from walle_rt.task import Task

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("tools", "tests/install", "tests/python", "tests/kotlin", "tests/swift")
sys.path[:0] = [str(ROOT / place) for place in PLACES]

from cloud.servers import Child  # noqa: E402
from phone import Phone  # noqa: E402
from test_arun import ROUNDS  # noqa: E402
from test_c_api import counting_model  # noqa: E402
from test_device_program import bundle  # noqa: E402
from test_kotlin import ASYNC, LACKING, MATRIX, released  # noqa: E402

import swift  # noqa: E402

ECHO_TOML = """
[task]
name = "echo"
version = "1.0.0"
[triggers]
asked = "ask"
[entry]
main = "main"
[call.same]
arguments = ["any"]
returns = "any"
[call.fill]
arguments = ["any"]
returns = "int"
[call.keep]
arguments = ["any"]
returns = "none"
[events.ask]
"""
ECHO = """
kept = []

def main(event):
    pass

def same(value):
    return value

def fill(view):
    view[0] = 7
    return len(view)

def keep(value):
    kept[:] = [value]
"""
# What an app's package has not; libwalle is given none of it.
SYSTEM = ("libcrypto.so.3", "libcrypto.so.1.1", "libssl.so.3", "libssl.so.1.1", "libcurl.so.4")


@pytest.fixture(scope="module")
def compiler() -> swift.Compiler:
    found = swift.compiler()
    if found is None:
        pytest.skip("no Swift compiler (tools/setup.sh swift)")
    return found


@pytest.fixture(scope="module")
def program(compiler: swift.Compiler) -> Path:
    return swift.program(compiler)


@pytest.fixture
def phone() -> Iterator[Phone]:
    with Phone() as lent:
        yield lent


def kept(command: list[str], *words: object, promises: int) -> None:
    """It ends well, and has kept so many promises."""
    done = subprocess.run(
        [*command, *map(str, words)], capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "FAILED" not in said, said
    assert done.stdout.count("ok    ") == promises, said


def test_models(compiler: swift.Compiler, program: Path, tmp_path: Path) -> None:
    data, _ = convert(onnx.parser.parse_model(MATRIX), signatures=[("serve", [("in", "x")], [("out", "y")])])
    walle_rt.Model(_core.Model.create(data)).save(tmp_path / "matrix.walle")
    counting_model().save(tmp_path / "counting.walle")
    walle_rt.load(onnx.parser.parse_model(ROUNDS)).save(tmp_path / "rounds.walle")
    kept(compiler.running(program), "models", tmp_path, promises=65)


def test_a_device(compiler: swift.Compiler, program: Path, tmp_path: Path) -> None:
    bundles = [bundle(tmp_path / "old", 1, 0), bundle(tmp_path / "new", 2, 1000)]
    kept(compiler.running(program), "device", tmp_path / "device", *bundles, promises=85)


def test_values(compiler: swift.Compiler, program: Path, tmp_path: Path) -> None:
    task = tmp_path / "echo"
    task.mkdir()
    (task / "task.toml").write_text(ECHO_TOML)
    (task / "main.py").write_text(ECHO)
    Task(task).compile().save(tmp_path / "echo.wtask")
    kept(compiler.running(program), "values", tmp_path / "device", tmp_path / "echo.wtask", promises=23)


def test_the_package_builds(compiler: swift.Compiler) -> None:
    assert swift.package(compiler).exists()


def test_keys(compiler: swift.Compiler, program: Path, phone: Phone, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "device")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(other, hashes.SHA256())
    issued = authority.issue("d-1", request.public_bytes(Encoding.PEM), datetime.now(UTC))
    (tmp_path / "other.pem").write_bytes(pem)
    (tmp_path / "certificate.pem").write_text(issued.pem)
    kept(compiler.running(program), "keys", phone.port, tmp_path, promises=5)
    key: Any = load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    key.public_key().verify((tmp_path / "signature").read_bytes(), b"a message", ec.ECDSA(hashes.SHA256()))
    for file, of in (("request.pem", key), ("other-request.pem", other)):
        asked = x509.load_pem_x509_csr((tmp_path / file).read_bytes())
        assert asked.is_signature_valid and asked.public_key() == of.public_key()
        assert authority.issue("d-2", asked.public_bytes(Encoding.PEM), datetime.now(UTC)).pem


def test_a_device_follows_a_server_over_tls(
    compiler: swift.Compiler,
    program: Path,
    phone: Phone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = Child(tmp_path / "server", "--tls")
    try:
        monkeypatch.setenv("SSL_CERT_FILE", child.told["authority"])
        codes = released(child, tmp_path / "task")
        monkeypatch.delenv("SSL_CERT_FILE")
        # As on a phone: what looks for OpenSSL and libcurl finds empty files.
        bare = tmp_path / "bare"
        bare.mkdir()
        for name in SYSTEM:
            (bare / name).write_bytes(b"")
        words = (phone.port, tmp_path / "device", child.url, child.told["authority"], *codes)
        kept(compiler.running(program, [bare]), "cloud", *words, promises=24)
    finally:
        assert child.stop() == 0


def test_a_device_follows_a_server_by_urlsession(
    compiler: swift.Compiler, phone: Phone, tmp_path: Path
) -> None:
    """Foundation's own, by libcurl; the rest of what needs Apple's systems compiles against stand-ins."""
    child = Child(tmp_path / "server")
    try:
        codes = released(child, tmp_path / "task")
        program = swift.program(compiler, apple=True)
        words = (phone.port, tmp_path / "device", child.url, codes[0])
        kept(compiler.running(program), "url", *words, promises=6)
    finally:
        assert child.stop() == 0


def test_the_example_app_compiles(compiler: swift.Compiler) -> None:
    assert swift.example(compiler).stat().st_size > 5000


def test_the_example_s_task_is_androids() -> None:
    """Which tests/kotlin runs."""
    example = ROOT / "examples" / "ios"
    assert "examples/android/task" in (example / "README.md").read_text()
    shop = (swift.EXAMPLE / "Shop.swift").read_text()
    task = (ROOT / "examples" / "android" / "task" / "task.toml").read_text()
    for name in ("suggest", "stock"):
        assert f'"{name}"' in shop and name in task


def test_the_readme_s_program_is_one_that_compiles() -> None:
    readme = (ROOT / "src" / "swift" / "README.md").read_text()
    block = readme.split("```swift\n", 1)[1].split("```", 1)[0]
    assert block in (swift.PROGRAMS / "Readme.swift").read_text()


def test_names_are_python_s() -> None:
    files = (swift.SOURCES / "WalleRT").rglob("Device*.swift")
    text = "".join(file.read_text() for file in files)
    found = re.findall(r"^    public (?:static )?(?:func|var|let) (\w+)", text, re.MULTILINE)
    names = {re.sub("([A-Z])", lambda m: "_" + m[1].lower(), name) for name in found}
    names -= {"description", "open", "path"}
    public = {name for name in dir(Device) if not name.startswith("_")} - {"open"}
    assert names - public == set(), "a name that Python does not have"
    assert public - names - ASYNC == LACKING, "what is new in Python, or in Swift"
