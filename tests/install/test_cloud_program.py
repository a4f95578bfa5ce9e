"""An application that owns no Python follows a server: a C99 program with an HTTP stack of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from waits import PATIENCE_S

pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")
pytest.importorskip("cryptography", reason="no package 'cryptography' (the extra [cloud])")

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "cloud"))

from small_cloud import SmallCloud

from walle_rt.vm import VM, library_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
TOML = """
[task]
name = "shop"
version = "1.0.0"
[triggers]
bought = "buy"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[events.buy]
fields = { price = "int" }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = next(BUILD.rglob("libwalle.so"), None)
    assert library is not None, "build first (make build)"
    out = tmp_path_factory.mktemp("program") / "consumer_cloud"
    source = Path(__file__).parent / "consumer" / "cloud.c"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    link = [library, f"-Wl,-rpath,{library.parent}"]
    include = ROOT / "src" / "cpp" / "include"
    subprocess.run(["cc", *strict, source, "-I", include, *link, "-o", out], check=True)
    return out


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SmallCloud]:
    (tmp_path / "cloud").mkdir()
    made = SmallCloud(tmp_path / "cloud")
    yield made
    made.close()


def test_mistakes_are_refused(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("ok  ") == 20


def test_a_program_without_python_follows_a_server(program: Path, tmp_path: Path, cloud: SmallCloud) -> None:
    if not VM.available("full") or not VM.available("device"):
        pytest.skip(f"no VM library at {library_path()}")
    task = tmp_path / "task"
    task.mkdir()
    (task / "task.toml").write_text(TOML)
    (task / "main.py").write_text("def main(event):\n    return None\n")
    cloud.release(1, ("r1", cloud.publish(task)))
    root = tmp_path / "root.json"
    root.write_bytes(cloud.root)
    code = next(iter(cloud.codes))
    command = [program, library_path("device"), tmp_path / "device", cloud.url, root, code]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "FAILED" not in done.stdout and done.stdout.count("ok  ") == 34
    assert cloud.codes == set(), "the code was used, once"
