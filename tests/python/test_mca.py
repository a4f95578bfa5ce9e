"""Inner loops out of disassembly, and the table of their cycles on Arm's cores."""

from __future__ import annotations

import json

import pytest
from places import ROOT
from tools import mca

NAME = "void walle::kernels::neon::(anonymous namespace)::tile<12, 2>(walle::kernels::Block const&, long)"
DISASSEMBLY = """
loop.o:     file format elf64-littleaarch64

0000000000000000 <NAME>:
   0:\tmov\tx1, #0x0                   \t// #0
   4:\tldr\tq1, [x0]
   8:\tldr\tq2, [x0, #16]
   c:\tfmla\tv0.4s, v1.4s, v2.s[0]
  10:\tfmla\tv3.4s, v1.4s, v2.s[1]
  14:\tcbz\tx3, 1c <NAME+0x1c>
  18:\tprfm\tpldl2keep, [x3]
  1c:\tsubs\tx2, x2, #0x1
  20:\tb.ne\t8 <NAME+0x8>  // b.any
  24:\tadd\tx1, x1, #0x1
  28:\tcmp\tx1, x4
  2c:\tb.lt\t4 <NAME+0x4>  // b.tstop
  30:\tret

0000000000000000 <walle::kernels::neon::(anonymous namespace)::plain(long)>:
   0:\tadd\tx0, x0, #0x1
   4:\tret
""".replace("NAME", NAME)
ROW = {"instructions": 7, "multiply_adds": 2, **{core: {"cycles": 2.0, "share": 0.9} for core in mca.CORES}}


def test_the_inner_loop_is_between_a_jump_and_where_it_leads() -> None:
    (name, code), (_, plain) = mca.functions(DISASSEMBLY)
    loop = mca.inner_loop(name, code)
    assert loop is not None
    assert loop.function == "tile<12, 2>"
    assert [line.split()[0] for line in loop.code] == ["ldr", "fmla", "fmla", "prfm", "subs"]
    assert loop.multiply_adds == 2
    assert mca.inner_loop("plain", plain) is None


MAXIMA = [
    (0, "ldr q1, [x0]"),
    (4, "fmax v0.4s, v0.4s, v1.4s"),
    (8, "cmp x0, x1"),
    (12, "b.ne 0 <pool>"),
    (16, "ret"),
]


def test_a_loop_without_multiply_adds_has_other_work() -> None:
    assert mca.inner_loop("pool(long)", MAXIMA) is None
    loop = mca.inner_loop("void pool(long)", MAXIMA, mca.IN_VECTORS)
    assert loop is not None
    assert loop.function == "pool"
    assert len(loop.code) == 3
    assert loop.multiply_adds == 0


@pytest.mark.parametrize(("share", "wrong"), [(0.89, 0), (0.95, 0), (0.87, 1)])
def test_a_share_that_was_lost_is_named(share: float, wrong: int) -> None:
    now = {"gemm tile": {**ROW, "neoverse-n1": {"cycles": 3.0, "share": share}}}
    found = mca.compare(now, {"gemm tile": ROW})
    assert len(found) == wrong
    assert all("neoverse-n1" in line and "90.0%" in line for line in found)


def test_loops_that_came_or_went_are_named() -> None:
    found = mca.compare({"new": ROW}, {"old": ROW})
    assert found == ["new: not in the table", "old: no such loop any more"]


def test_the_table_in_git_holds_the_bars() -> None:
    kept = json.loads((ROOT / "bench" / "mca.json").read_text())
    assert {"compiler", "llvm_mca", "date", "what"} <= kept["header"].keys()
    # The tiles that networks spend their time in.
    for name in (
        "gemm packed_tile<12, 2, false>",
        "blocked dense_tile<12, 2, 16>",
        "channel_lanes tile<12, 2>",
    ):
        assert kept["loops"][name]["neoverse-n1"]["share"] >= 0.95, name
        assert kept["loops"][name]["cortex-a55"]["share"] >= 0.88, name
    for name in ("gemm_fp16 tile<12, 2>", "conv_fp16 float16_tile<12, 2>"):
        assert kept["loops"][name]["neoverse-n1"]["share"] >= 0.95, name
