"""Every code block of README and docs holds: what can run runs in child processes.

A page's blocks run in order in one fresh folder (run_page.py). Other languages:

    c, python, sh   run; a python block that names a file in its first line is written there instead
    cmake           written where its first line says, for a later sh block
    cpp, kotlin, swift
                    an excerpt: its lines stand in a source file, in this order (of the last two one
                    that tools/kotlin.py or tools/swift.py compiles)
    json, toml      parsed
    text            a picture, a grammar, an output: nothing that runs

A fence without a language, an indented block and any other language fail.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_blocks import DOCS, ROOT, Block, blocks, pages
from run_page import named_file

from walle_rt.vm import VM, library_path

RUN = {"python", "sh", "c", "cmake"}
EXCERPTED = {"cpp", "kotlin", "swift"}
INSTALL = "pip install 'walle_rt[cli,convert]'"
MAKE_DEMO = (
    "make demo    # trained models on real text and pictures, tasks on real events, a server with two devices"
)
# Blocks that are not run: (page, first line) and why.
NOT_RUN = {
    ("README.md", INSTALL): "asks a package index; tests/install installs the wheel",
    ("docs/index.md", INSTALL): "asks a package index; tests/install installs the wheel",
    ("README.md", MAKE_DEMO): "this test is part of make test, and both take minutes",
}
# Pages whose blocks need the VM's libraries, which a build without the CPython source lacks.
NEED_VM = {
    "docs/concepts/agent.md",
    "docs/concepts/app-functions.md",
    "docs/concepts/calls.md",
    "docs/concepts/cloud-phase.md",
    "docs/concepts/container.md",
    "docs/concepts/vm.md",
    "docs/how-to/first-task.md",
    "docs/how-to/publish-a-task.md",
    "docs/how-to/run-a-server.md",
    "docs/how-to/test-a-task.md",
    "docs/how-to/use-from-c.md",
    "docs/concepts/losses.md",
    "docs/concepts/features.md",
    "docs/concepts/params.md",
    "docs/reference/device.md",
    "docs/reference/firing.md",
    "docs/reference/task-python.md",
    "docs/reference/walle-results.md",
    "docs/reference/walle-stream.md",
}
# Pages about the server's side, which an extra brings.
NEED_CLOUD = {
    "docs/concepts/trust.md",
    "docs/concepts/tunnel.md",
    "docs/how-to/publish-a-task.md",
    "docs/how-to/run-a-server.md",
    "docs/reference/cloud-api.md",
}
# Pages whose blocks compare with another runtime, which `make test` and `make bench` bring.
NEED_PEER = {"docs/how-to/benchmark.md"}
# Pages about a checkout: their commands, which only read, run in this one.
AT_ROOT = {"docs/concepts/house.md", "docs/reference/testing.md"}
# Folders whose pages open with something that runs, before their first section.
OPEN_WITH_CODE = (".", "concepts", "how-to", "reference")

ALL = {str(page.relative_to(ROOT)): blocks(page) for page in pages()}


def runnable(page: str) -> list[Block]:
    return [b for b in ALL[page] if b.language in RUN and (page, b.first_line) not in NOT_RUN]


@pytest.mark.parametrize("page", [page for page in ALL if runnable(page)])
def test_blocks_run(page: str, tmp_path: Path) -> None:
    if page in NEED_VM and not VM.available():
        pytest.skip(f"no VM library at {library_path()}")
    if page in NEED_CLOUD and find_spec("tuf") is None:
        pytest.skip("no package 'tuf' (the extra [cloud])")
    if page in NEED_PEER and find_spec("onnxruntime") is None:
        pytest.skip("no package 'onnxruntime' (tools/setup.sh test)")
    given = [{"language": b.language, "text": b.text, "place": f"{page}:{b.line}"} for b in runnable(page)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("run_page.py")],
        cwd=ROOT if page in AT_ROOT else tmp_path,
        env=environment,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"


@functools.cache
def sources() -> list[str]:
    """Every file of ours that a page may quote, without indentation and line breaks."""
    files = [f for ending in ("cc", "h", "inc", "c") for f in (ROOT / "src" / "cpp").rglob(f"*.{ending}")]
    files += (ROOT / "tests" / "kotlin" / "programs").glob("*.kt")
    files += (ROOT / "tests" / "swift" / "programs").glob("*.swift")
    return [squeezed(f.read_text()) for f in files]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


EXCERPTS = [b for found in ALL.values() for b in found if b.language in EXCERPTED]


@pytest.mark.parametrize("block", EXCERPTS, ids=str)
def test_excerpts_stand_in_the_sources(block: Block) -> None:
    assert any(squeezed(block.text) in source for source in sources()), f"{block}: no source holds this"


def test_other_blocks_parse() -> None:
    readers = {"json": json.loads, "toml": tomllib.loads}
    for block in (b for found in ALL.values() for b in found if b.language not in RUN | EXCERPTED | {"text"}):
        assert block.language in readers, f"{block}: name a language that this test knows (see its docstring)"
        readers[block.language](block.text)


def test_cmake_blocks_are_used() -> None:
    for found in ALL.values():
        for at, block in enumerate(found):
            if block.language != "cmake":
                continue
            assert named_file(block.text), f"{block}: begin with a comment that names the file"
            later = [b for b in found[at:] if b.language == "sh"]
            assert any("cmake" in b.text for b in later), f"{block}: no sh block builds it"


def test_exceptions_are_still_there() -> None:
    known = {(b.page, b.first_line) for found in ALL.values() for b in found}
    assert set(NOT_RUN) <= known, f"remove what is gone: {set(NOT_RUN) - known}"
    assert set(ALL) >= NEED_VM


def opening_pages() -> list[str]:
    folders = [DOCS.relative_to(ROOT) / folder for folder in OPEN_WITH_CODE]
    return [page for page in ALL if Path(page).parent in folders]


@pytest.mark.parametrize("page", ["README.md", *opening_pages()])
def test_opens_with_something_that_runs(page: str) -> None:
    lines = (ROOT / page).read_text().splitlines()
    sections = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
    first = min((b.line for b in runnable(page)), default=None)
    assert first is not None and (not sections or first < sections[0])


def test_the_runner_sees_failures(tmp_path: Path) -> None:
    """A runner that swallowed errors would make this whole file pass."""
    for language, text in [
        ("python", "raise ValueError(1)\n"),
        ("python", "import os\nos.abort()\n"),
        ("sh", "false\ntrue\n"),
        ("sh", "false | true\n"),
        ("c", "int main(void) { return 3; }\n"),
        ("c", "int main(void) { int unused; return 0; }\n"),
    ]:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("run_page.py")],
            cwd=tmp_path,
            input=json.dumps([{"language": language, "text": text, "place": "page.md:7"}]),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0, (language, text)
