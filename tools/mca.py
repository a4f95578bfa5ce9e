"""Cycles of the kernels' inner loops on Arm's cores, by the models that LLVM schedules with.

mca.py [write|compare] [--build build/arm64]    write or compare bench/mca.json; neither: print what it finds

Inner loops are taken from the objects of the arm64 build: code between a jump backwards and where it jumps
to, without another jump backwards within, that multiplies and adds in vectors. Of each function the loop with
most of these. llvm-mca says how many cycles a turn takes when nothing is missed in a cache; never fewer than
the multiply-adds take by Arm's optimisation guides. LLVM's own models of cortex-a76, a78 and x1 are an A57's:
neoverse-n1 and neoverse-v1 are the same cores.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "bench" / "mca.json"
# Multiply-adds of 128 bits that a core begins in a cycle. LLVM lets an A55 begin two; it has halves of one.
CORES = {"cortex-a55": 1, "cortex-a510": 2, "neoverse-n1": 2, "neoverse-v1": 4}
OBJDUMP, MCA = "aarch64-linux-gnu-objdump", "llvm-mca-19"
# What networks spend their time in, by source: the largest tiles, and one that ends an image.
SOURCES = {
    "gemm/gemm_simd": r"packed_tile<(12|8), 2, \w+>|plain_tile<6, 2>",
    "blocked/blocked_simd": r"dense_tile<(12|7), 2, \d+>|fours_tile<12, \d+>|row_tile<12, 2, \d>",
    "conv/channel_lanes_simd": r"tile<12, 2>|window_tile<2, [12]>",
    "gemm_bf16/gemm_fp16": r"tile<12, 2>",
    "conv_bf16/conv_fp16": r"float16_tile<12, 2>",
}
# Share of the peak that a core may lose against the table, which follows the compiler's register allocation.
LOST = 0.02
_TURNS = 200
MULTIPLY_ADDS = re.compile(r"^(fmla|fmls|sdot|udot|usdot|smmla|ummla|usmmla|bfmmla|bfdot)\s+v")
# Anything that a vector comes of, for loops that multiply and add little: functions, pooling, sums.
IN_VECTORS = re.compile(r"^[a-z]\w*\s+v\d+\.")
_CALLS = ("bl ", "blr ", "br ")
_LINE = re.compile(r"^\s*([0-9a-f]+):\t(.+?)\s*(?:// .*)?$")
_JUMP = re.compile(r"^(?:b\.\w+|b|cbn?z|tbn?z)\s+(?:\S+,\s*)*([0-9a-f]+)\s+<")


class Absent(Exception):  # noqa: N818 - an answer, not a failure
    """A tool or an object that is needed is not here; the message says which."""


@dataclass(frozen=True)
class Loop:
    """The inner loop of a function."""

    function: str
    code: tuple[str, ...]

    @property
    def multiply_adds(self) -> int:
        """Of one turn."""
        return sum(bool(MULTIPLY_ADDS.match(line)) for line in self.code)


def run(command: list[str], text: str = "") -> str:
    """What a command says; Absent without it."""
    if shutil.which(command[0]) is None:
        raise Absent(f"no {command[0]} on PATH: apt-get install llvm-19 binutils-aarch64-linux-gnu")
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def short(name: str) -> str:
    """A demangled name without namespaces, arguments and what it returns."""
    name = re.sub(r"\(anonymous namespace\)::|walle::|kernels::|neon(_fp16)?::|tensor::", "", name)
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:at]
            break
    return name.rpartition("void ")[2]


def functions(disassembly: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Names and instructions with their addresses."""
    for part in re.split(r"\n(?=[0-9a-f]{16} <)", disassembly):
        head, _, body = part.partition(">:\n")
        if not re.match(r"[0-9a-f]{16} <", head):
            continue
        found = [_LINE.match(line) for line in body.splitlines()]
        yield head[18:], [(int(m[1], 16), m[2].replace("\t", " ")) for m in found if m]


def inner_loop(name: str, code: list[tuple[int, str]], work: re.Pattern[str] = MULTIPLY_ADDS) -> Loop | None:
    """The innermost loop with most of this work, multiply-adds of vectors; None without one."""
    places = {address: i for i, (address, _) in enumerate(code)}
    jumps = []  # (from, to), backwards
    for i, (_, line) in enumerate(code):
        jump = _JUMP.match(line)
        if jump and (to := places.get(int(jump[1], 16), i + 1)) <= i:
            jumps.append((i, to))
    best, most = None, 0
    for end, begin in jumps:
        if any(begin <= other <= end and other != end for other, _ in jumps):
            continue
        # Jumps in straight code would be taken for ends of blocks; where they lead is not asked. Behind an
        # address stands the function that it is in.
        lines = tuple(
            line.partition(" <")[0]
            for _, line in code[begin : end + 1]
            if not _JUMP.match(line) and line != "ret"
        )
        if any(line.startswith(_CALLS) for line in lines):
            continue
        done = sum(bool(work.match(line)) for line in lines)
        if done > most:
            best, most = Loop(short(name), lines), done
    return best


def cycles(code: tuple[str, ...], core: str) -> float:
    """Of one turn of a loop."""
    command = [MCA, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm,+bf16,+fullfp16"]
    said = run([*command, f"-iterations={_TURNS}"], "\n".join(code) + "\n")
    return int(re.search(r"Total Cycles:\s+(\d+)", said)[1]) / _TURNS  # type: ignore[index]


def built(build: Path, source: str) -> Path:
    """The object of a kernels' source in a build folder."""
    target = "walle_kernels_neon_fp16" if source.endswith("_fp16") else "walle_kernels_neon"
    found = build / f"CMakeFiles/{target}.dir/src/cpp/kernels/{source}.cc.o"
    if not found.is_file():
        raise Absent(f"no {found}: cmake --preset arm64 && ninja -C build/arm64 {target}")
    return found


def disassembled(object_file: Path) -> str:
    """Of all functions, by their demangled names."""
    return run([OBJDUMP, "-d", "-C", "--no-show-raw-insn", str(object_file)])


def loops(build: Path) -> dict[str, Loop]:
    """By source and function, of the objects in a build folder."""
    found = {}
    for source, functions_of in SOURCES.items():
        for name, code in functions(disassembled(built(build, source))):
            loop = inner_loop(name, code)
            if loop and re.fullmatch(functions_of, loop.function):
                found[f"{Path(source).name.removesuffix('_simd')} {loop.function}"] = loop
    return found


def measure(build: Path) -> dict[str, dict[str, object]]:
    """A row per loop: instructions, multiply-adds, cycles and share of the peak per core."""
    rows: dict[str, dict[str, object]] = {}
    for name, loop in sorted(loops(build).items()):
        row: dict[str, object] = {"instructions": len(loop.code) + 1, "multiply_adds": loop.multiply_adds}
        for core, begun in CORES.items():
            least = loop.multiply_adds / begun
            took = max(cycles(loop.code, core), least)
            row[core] = {"cycles": round(took, 1), "share": round(least / took, 3)}
        rows[name] = row
    return rows


def compare(rows: dict[str, dict[str, object]], kept: dict[str, dict[str, object]]) -> list[str]:
    """What reaches less of a peak than the table says; loops that one of the two has not."""
    wrong = [f"{name}: not in the table" for name in rows.keys() - kept.keys()]
    wrong += [f"{name}: no such loop any more" for name in kept.keys() - rows.keys()]
    for name in rows.keys() & kept.keys():
        for core in CORES:
            now, then = (float(table[name][core]["share"]) for table in (rows, kept))  # type: ignore[index]
            if now < then - LOST:
                wrong.append(f"{name}: {now:.1%} of the peak of {core}, {then:.1%} in the table")
    return sorted(wrong)


def header() -> dict[str, str]:
    """How the table was made."""
    compiler = run(["aarch64-linux-gnu-g++", "--version"]).splitlines()[0]
    version = re.search(r"LLVM version ([\d.]+)", run([MCA, "--version"]))
    return {
        "what": "cycles of one turn of inner loops when no cache is missed, and their share of the peak of "
        "multiply-adds; modelled, not measured",
        "made_by": "python tools/mca.py write",
        "compiler": compiler,
        "llvm_mca": version[1] if version else "unknown",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", nargs="?", choices=("print", "write", "compare"), default="print")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "arm64")
    options = parser.parse_args()
    try:
        rows = measure(options.build)
    except Absent as absent:
        print(f"mca: {absent}", file=sys.stderr)
        return 2
    if options.action == "write":
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        head = json.dumps(header(), indent=2).replace("\n", "\n ")
        TABLE.write_text(f'{{\n "header": {head},\n "loops": {{\n{lines}\n }}\n}}\n')
    for name, row in rows.items():
        shares = "  ".join(f"{core} {row[core]['share']:.0%}" for core in CORES)  # type: ignore[index]
        print(f"{name:52s} {row['multiply_adds']:3d} of {row['instructions']:3d}  {shares}")
    wrong = compare(rows, json.loads(TABLE.read_text())["loops"]) if options.action == "compare" else []
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
