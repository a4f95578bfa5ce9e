"""Instructions of the arm64 build: what the counter counts, and what the table in git promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from tools.insns import table
from tools.insns.emulator import Absent, compile_c, counted
from tools.insns.subjects import KINDS

# A loop of five instructions, times N, and what starting and ending takes.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char** argv) {
  long n = atol(argv[argc - 1]), begun = now();
  __asm__ volatile(
      "1: nop\\n nop\\n nop\\n subs %0, %0, #1\\n b.ne 1b" : "+r"(n) : : "cc");
  printf("%ld\\n", now() - begun);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("insns") / "loop.c"
    source.write_text(PROGRAM)
    try:
        return compile_c("aarch64-linux-gnu-gcc", source, source.with_suffix(".arm64"))
    except Absent as absent:
        pytest.skip(f"no arm64 tools (tools/setup.sh arm64): {absent}")


def _counts(program: Path, turns: int, unit: int = 1) -> tuple[int, int]:
    done = counted([program, str(turns)], program.with_suffix(f".{turns}"), unit=unit)
    return int(done.said), done.count


def test_a_loop_is_counted_to_the_instruction(program: Path) -> None:
    few, many = _counts(program, 1000), _counts(program, 201_000)
    assert many[0] - few[0] == 5 * 200_000
    assert 0 <= many[1] - few[1] - 5 * 200_000 < 500, "the rest reads and prints two digits more"
    assert 5000 < few[0] < 5200, "the clock itself takes some dozens"
    assert few[1] > few[0], "a program begins before main"


def test_a_count_is_the_same_in_every_run(program: Path) -> None:
    assert len({_counts(program, 5000) for _ in range(3)}) == 1


def test_the_clock_has_a_unit(program: Path) -> None:
    assert _counts(program, 5000, unit=10)[0] == 10 * _counts(program, 5000)[0]


def test_a_program_that_fails_says_why(program: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nothing_there"):
        counted([tmp_path / "nothing_there"], tmp_path / "page")


def _table(count: int) -> table.Table:
    return {"header": {}, "models": {}, "operators": {"gemm": {"walle": count, "MNN": 90, "ncnn": 100}}}


@pytest.mark.parametrize(("count", "said"), [(1020, ""), (500, ""), (1021, "+2.1%"), (2000, "+100.0%")])
def test_what_grew_by_more_than_two_in_a_hundred_is_named(count: int, said: str) -> None:
    reason = table.grown("operators", "gemm", count, _table(1000))
    assert (said in reason) if said else not reason


def test_what_is_not_in_the_table_is_named() -> None:
    assert "write 'conv'" in table.grown("operators", "conv", 1, _table(1000))


def test_the_bar_is_the_better_of_two_peers() -> None:
    row = {"walle": 99, "MNN": 90, "ncnn": 110, "onnxruntime": 1}
    assert table.ratio("operators", row) == pytest.approx(1.1)
    assert table.ratio("models", row) == 99
    assert table.ratio("operators", {"walle": 99, "MNN": "none: no batch axis"}) is None


def test_float16_has_a_column_of_its_own() -> None:
    kept = _table(1000)
    assert "not in the table" in table.grown("operators", "gemm", 1, kept, table.HALVES)
    kept["operators"]["gemm"][table.HALVES] = 540
    assert not table.grown("operators", "gemm", 550, kept, table.HALVES)
    assert "of float16" in table.grown("operators", "gemm", 551, kept, table.HALVES)
    assert "float16 0.54 of float32" in "\n".join(table.lines(kept))
    kept["operators"]["gemm"][table.HALVES] = 700
    assert "over 0.55: no cause known" in "\n".join(table.lines(kept))


def test_what_is_over_its_bar_shows_its_cause() -> None:
    kept = _table(99)
    assert "over 1.0: no cause known" in "\n".join(table.lines(kept))
    kept["operators"]["gemm"]["cause"] = "loads one by one"
    assert "over 1.0: loads one by one" in "\n".join(table.lines(kept))
    kept["operators"]["gemm"]["walle"] = 89
    assert "over" not in "\n".join(table.lines(kept))


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "insns.json"
    table.write(_table(7), path)
    assert table.read(path) == _table(7)
    assert len(path.read_text().splitlines()) == 7, "a row on a line, so that a change shows what it changes"


def test_the_table_in_git_has_every_subject() -> None:
    kept = table.read()
    for kind, subjects in KINDS.items():
        by_name = {s.name: s for s in subjects}
        assert list(kept[kind]) == list(by_name)
        for name, row in kept[kind].items():
            assert isinstance(row["walle"], int), name
            assert (table.HALVES in row) == by_name[name].half, name
            for peer in table.RIVALS[kind]:
                assert isinstance(row[peer], int) or re.match(r"none: \S", row[peer]), (name, peer)
    assert {"compiler", "emulator", "cpu", "machine", "versions", "date"} <= kept["header"].keys()


def test_what_misses_its_bar_says_why() -> None:
    kept = table.read()
    for kind, limit in table.LIMITS.items():
        for name, row in kept[kind].items():
            ratio = table.ratio(kind, row)
            assert ("cause" in row) == (ratio is not None and ratio > limit), (name, ratio)
            half = table.half_ratio(row)
            assert ("cause_fp16" in row) == (half is not None and half > table.HALF_LIMIT), (name, half)


def test_every_make_test_counts_some_of_each_kind() -> None:
    for kind, subjects in KINDS.items():
        assert any(s.quick for s in subjects), kind
    assert "tools.insns compare" in (ROOT / "Makefile").read_text()
