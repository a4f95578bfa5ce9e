"""find_package(walle CONFIG): the installed library serves a C99 and a C++ program built against it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx.parser
import pytest

import walle_rt
from walle_rt.convert import convert
from walle_rt.vm import VM, TaskBundle, library_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


TASK = """
def echo(x):
    print('hello')
    return {'got': x}
def fill(t):
    t[1] = 9.0
    return t
def fail():
    return 1 / 0
def spin():
    while True: pass
"""


HALF = """<ir_version: 8, opset_import: ["" : 17]>
half (float[n, 4] data) => (float[n, 4] prob) <float h = {0.5}> { prob = Mul(data, h) }"""


@pytest.mark.timeout(600)
def test_consumers(tmp_path: Path) -> None:
    assert BUILD.exists(), "build first (make build)"
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    source = Path(__file__).parent / "consumer"
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    for program in ("consumer_c", "consumer_cc", "consumer_vm", "consumer_device"):
        done = subprocess.run([build / program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "walle" in done.stdout or "ok" in done.stdout
    signature = ("classify", [("x", "data")], [("y", "prob")])
    model, _ = convert(onnx.parser.parse_model(HALF), signatures=[signature])
    walle_rt.load(model.serialize()).save(tmp_path / "half.walle")
    done = subprocess.run(
        [build / "consumer_raii", tmp_path / "half.walle"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 14
    if not VM.available():
        pytest.skip(f"no VM library at {library_path()}: the rest passed")
    bundle = TaskBundle.from_source({"main": TASK})
    bundle.save(tmp_path / "x.wtask")
    for flavour in ("full", "device"):
        command = [build / "consumer_vm", library_path(flavour), tmp_path / "x.wtask"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert done.stdout.count("ok  ") == 20 and "FAILED" not in done.stdout
