"""tools/check_layers.py on small trees: what it lets pass, and what it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(root: Path, files: dict[str, str], cmake: str = "") -> subprocess.CompletedProcess[str]:
    """Run the check on a tree whose files include the paths given for them, separated by blanks."""
    for path, targets in files.items():
        file = root / "src" / "cpp" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#pragma once\n" + "".join(f'#include "{target}"\n' for target in targets.split()))
    (root / "CMakeLists.txt").write_text(cmake)
    command = [sys.executable, ROOT / "tools" / "check_layers.py", root]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_downwards_and_inside_a_room_is_allowed(tmp_path: Path) -> None:
    files = {
        "base/status.h": "",
        "tensor/shape.h": "base/status.h",
        "tensor/kinds/unary.inc": "",
        "ops/rules/shapes.h": "ir/graph.h tensor/shape.h tensor/kinds/unary.inc",
        "ops/atomic/conv.cc": "ops/rules/shapes.h",
        "ir/graph.h": "tensor/shape.h",
        "include/walle/walle.h": "",
        "capi/session.cc": "walle/walle.h base/status.h",
    }
    done = check(tmp_path, files, "walle_room(base)\nwalle_room(tensor USES base)\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"8 includes of 8 files in \d+ rooms read: 0 violations\n", done.stdout)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"base/a.h": "tensor/b.h", "tensor/b.h": ""},
            "base/a.h: base must not include tensor ('tensor/b.h')",
        ),
        (
            {"stream/match/a.h": "stream/operators/b.h", "stream/operators/b.h": ""},
            "stream/match/a.h: stream/match must not include stream/operators ('stream/operators/b.h')",
        ),
        (
            {"backends/backend.h": "", "backends/null/a.h": "backends/cpu/b.h", "backends/cpu/b.h": ""},
            "backends/null/a.h: backends/null must not include backends/cpu ('backends/cpu/b.h')",
        ),
        ({"base/a.h": "b.h", "base/b.h": ""}, "base/a.h: 'b.h' is not a path from src/cpp"),
        ({"stream/a.h": ""}, "stream/a.h: lies in no room of the table"),
        (
            {"ir/a.h": "ir/b.h", "ir/b.h": "ir/c.h", "ir/c.h": "ir/a.h"},
            "circle of files: ir/a.h -> ir/b.h -> ir/c.h -> ir/a.h",
        ),
        ({"ir/a.h": "ir/a.h"}, "circle of files: ir/a.h -> ir/a.h"),
        (
            {"ir/a.h": "", "ir/a.cc": "ir/a.h ir/b.h", "ir/b.h": "ir/a.h"},
            "circle of components: ir/a -> ir/b -> ir/a (ir/a, ir/b)",
        ),
    ],
)
def test_what_climbs_or_comes_back_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    done = check(tmp_path, files)
    assert done.returncode == 1 and done.stderr == ""
    assert message in done.stdout.splitlines()


def test_two_circles_that_meet_are_one(tmp_path: Path) -> None:
    done = check(tmp_path, {"ir/a.h": "ir/b.h", "ir/b.h": "ir/a.h ir/c.h", "ir/c.h": "ir/b.h"})
    assert done.stdout.count("circle of files") == 1
    assert "circle of components: ir/a -> ir/b -> ir/a (ir/a, ir/b, ir/c)" in done.stdout


def test_parts_of_a_component_may_include_its_header(tmp_path: Path) -> None:
    files = {
        "ir/graph.h": "",
        "ir/graph.cc": "ir/graph.h ir/graph_group.h",
        "ir/graph_group.h": "ir/graph.h",
        "ir/graph_timers.cc": "ir/graph.h ir/graph_group.h",
    }
    assert check(tmp_path, files).returncode == 0
    # Used by others it is a component of its own, whose name only begins alike.
    assert "circle of components" in check(tmp_path, {**files, "ir/pass.h": "ir/graph_group.h"}).stdout


def test_a_header_may_stand_on_another_that_its_name_extends(tmp_path: Path) -> None:
    files = {
        "base/crc.h": "",
        "base/bytes.h": "base/crc.h",
        "base/crc_write.h": "base/bytes.h base/crc.h",
        "store/journal.cc": "base/crc_write.h",
    }
    assert check(tmp_path, files).returncode == 0


def test_a_pair_with_a_reason_may_need_each_other(tmp_path: Path) -> None:
    files = {
        "runtime/model.h": "",
        "runtime/model.cc": "runtime/model.h runtime/session.h",
        "runtime/session.h": "runtime/model.h",
    }
    assert check(tmp_path, files).returncode == 0
    files["runtime/third.h"] = "runtime/session.h"
    files["runtime/model.cc"] += " runtime/third.h"
    assert "circle of components: runtime/model" in check(tmp_path, files).stdout


def test_rooms_link_what_the_table_allows(tmp_path: Path) -> None:
    done = check(tmp_path, {}, "walle_room(tensor USES base store)\nwalle_room(attic)\n")
    assert done.returncode == 1
    assert "CMakeLists.txt: tensor must not link store" in done.stdout
    assert "CMakeLists.txt: walle_room(attic) is not in the table" in done.stdout


def test_the_page_of_the_house_has_a_row_for_every_room_with_its_floor() -> None:
    page = (ROOT / "docs" / "concepts" / "house.md").read_text(encoding="utf-8")
    part = page.split("## Rooms and floors\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| `([^`]+)/`", part, re.MULTILINE)
    told = {
        re.sub(r"/[<{].*", "", room) if "backends" not in room else room: int(floor) for floor, room in rows
    }
    code = "import check_layers as c; print(*(f'{name} {int(room.floor)}' for name, room in c.ROOMS.items()))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=True)
    words = done.stdout.split()
    table = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    there = {name: floor for name, floor in table.items() if (ROOT / "src" / "cpp" / name).is_dir()}
    backends = {name: floor for name, floor in there.items() if name.startswith("backends/")}
    assert set(backends.values()) == {told.pop("backends/<name>")}
    assert told == {name: floor for name, floor in there.items() if name not in backends}


def test_this_repository_keeps_its_floors() -> None:
    command = [sys.executable, ROOT / "tools" / "check_layers.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
