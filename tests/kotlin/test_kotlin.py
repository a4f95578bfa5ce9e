"""The Kotlin library on a JVM: models, a device, a server over the app's own HTTP and TLS; examples/android.

`make phones-kotlin` builds and runs it. The programs say one line per promise; -Xcheck:jni looks at every
call of the shim.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest
from waits import PATIENCE_S

import walle_rt
from walle_rt import _core
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


def kept(program: list[str], *words: object, promises: int) -> None:
    """It ends well, has kept so many promises, and JNI has nothing to say."""
    command = [*program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
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


def released(child: Child, task: Path) -> str:
    """A scenario, its task and a release for everybody; a code for a device."""
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
    return str(api.post("/device-codes", {"count": 1})["codes"][0])


def test_a_device_follows_a_server_over_tls(
    program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = Child(tmp_path / "server", "--tls")
    try:
        monkeypatch.setenv("SSL_CERT_FILE", child.told["authority"])
        code = released(child, tmp_path / "task")
        kept(program, "cloud", tmp_path / "device", child.url, child.told["authority"], code, promises=21)
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
