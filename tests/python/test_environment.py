"""docs/reference/environment.md names every variable that the repository reads, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "environment.md").read_text()
FOLDERS = ("src", "tests", "tools", "bench", "examples", "cmake", "toolchains")
ENDINGS = {".py", ".cc", ".h", ".inc", ".c", ".sh", ".cmake", ".txt"}
READS = [
    re.compile(r'getenv\(\s*"(WALLE_\w+)"'),
    re.compile(r'environ(?:\.get|\.pop|\.setdefault)?[\[(]\s*"(WALLE_\w+)"'),
    re.compile(r"\$ENV\{(WALLE_\w+)\}"),
    re.compile(r'^ +variable="(WALLE_\w+)"', re.MULTILINE),  # of a SourceArchive
]
SHELL = re.compile(r"\$\{?(WALLE_\w+)")
CMAKE = [
    re.compile(r"^\s*option\((WALLE_\w+)", re.MULTILINE),
    re.compile(r"^\s*set\((WALLE_\w+) [^\n]*CACHE (?:STRING|BOOL|PATH|FILEPATH)", re.MULTILINE),
    re.compile(r"find_(?:program|path|library|file)\((WALLE_\w+)"),
    # Taken from -D without an entry in the cache.
    re.compile(r"if\(NOT (WALLE_CPYTHON_DIR|WALLE_LIBSODIUM_DIR|\w+_C)\)|\"\$\{(WALLE_\w+_C)\}\""),
]


def files() -> Iterator[Path]:
    yield from (ROOT / "Makefile", ROOT / "CMakeLists.txt")
    for folder in FOLDERS:
        yield from (f for f in sorted((ROOT / folder).rglob("*")) if f.suffix in ENDINGS and f.is_file())


def environment_read() -> set[str]:
    found: set[str] = set()
    for file in files():
        text = file.read_text(errors="replace")
        patterns = [*READS, SHELL] if file.suffix == ".sh" else READS
        found |= {name for pattern in patterns for name in pattern.findall(text)}
    return found


def cmake_read() -> set[str]:
    text = "\n".join(f.read_text() for f in files() if f.suffix in {".cmake", ".txt"})
    found = {name for pattern in CMAKE[:3] for name in pattern.findall(text)}
    return found | {name for pair in CMAKE[3].findall(text) for name in pair if name}


def documented(part: str) -> set[str]:
    """Names in the first column of a part's tables."""
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(WALLE_\w+)`", row)}


def test_environment_variables() -> None:
    read = environment_read()
    assert len(read) >= 12  # the patterns still find what they are for
    assert documented(PAGE.split("## CMake")[0]) == read


def test_cmake_variables() -> None:
    read = cmake_read()
    assert len(read) >= 15
    assert documented(PAGE.split("## CMake")[1]) == read


def test_no_other_variable_is_named() -> None:
    named = set(re.findall(r"`(WALLE_\w+)[`=]", PAGE))
    assert named <= environment_read() | cmake_read()


def test_the_runtime_reads_the_first_table_alone() -> None:
    """What the shipped code reads stands in the first table; nothing else does."""
    shipped = {"src"}
    read: set[str] = set()
    for folder in shipped:
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in ENDINGS and "demo" not in file.parts:
                read |= {n for pattern in READS for n in pattern.findall(file.read_text(errors="replace"))}
    assert documented(PAGE.split("## Building")[0]) == read
