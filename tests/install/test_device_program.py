"""An application that embeds tasks and owns no Python: a C99 program over walle/device.h runs a task."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from walle_rt.task import Task
from walle_rt.vm import VM, library_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"

TOML = """
[task]
name = "shop"
version = "{version}.0.0"
[triggers]
bought = "buy"
[queue]
when_full = "drop_new"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[call.taxed]
arguments = ["float", "tensor"]
returns = "float"
[call.rated]
arguments = ["int"]
returns = "float"
[app.rate]
arguments = ["int"]
returns = "float"
[call.discount]
returns = "float"
[params.discount]
type = "float"
default = 0.5
max = 0.75
[features.spent]
event = "buy"
by = ["name"]
aggregate = "sum"
value = "price"
over = 3
[results.sales]
columns = {{ price = "int", name = "text" }}
[events.buy]
fields = {{ price = {{ type = "int", sensitivity = "open" }}, name = "text" }}
"""
MAIN = """
import walle

def main(event):
    fields = event["fields"]
    return {{"price": fields["price"] + {more}, "name": fields["name"]}}

def taxed(price, rates):
    return price * (1 + float(rates.sum()))

def rated(of):
    return walle.app.rate(of)

def discount():
    return walle.params["discount"]
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = next(BUILD.rglob("libwalle.so"), None)
    assert library is not None, "build first (make build)"
    out = tmp_path_factory.mktemp("program") / "consumer_device"
    source = Path(__file__).parent / "consumer" / "device.c"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    link = [library, f"-Wl,-rpath,{library.parent}"]
    include = ROOT / "src" / "cpp" / "include"
    subprocess.run(["cc", *strict, source, "-I", include, *link, "-o", out], check=True)
    return out


def bundle(folder: Path, version: int, more: int) -> Path:
    folder.mkdir()
    (folder / "task.toml").write_text(TOML.format(version=version))
    (folder / "main.py").write_text(MAIN.format(more=more))
    path = folder.with_suffix(".wtask")
    Task(folder).compile().save(path)
    return path


def test_mistakes_are_refused(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("ok  ") == 6


def test_a_program_without_python_runs_a_task(program: Path, tmp_path: Path) -> None:
    if not VM.available("full") or not VM.available("device"):
        pytest.skip(f"no VM library at {library_path()}")
    bundles = [bundle(tmp_path / "old", 1, 0), bundle(tmp_path / "new", 2, 1000)]
    command = [program, library_path("device"), tmp_path / "device", *bundles]
    # Nothing of this Python is in its reach.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 61 and "FAILED" not in done.stdout
