"""fit.py: the table of costs of a core that nobody measured, src/cpp/search/tables/neoverse_n1.inc.

Kernels run on random shapes, as `walle tune fit` has them, in the emulator, where what a tuned search
measures is instructions (clock.c); llvm-mca says what an instruction takes in the loops of a kernel's source
on this core. Both together are the time of everything but caches: bytes beyond the first level cost what the
first table's rows say, by the ratio of the profiles, and no less than what their instructions take.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import mca

import walle_rt
from walle_rt import tune
from walle_rt.explain import ExplainChoice
from walle_rt.tune.fit import PRICED, Row

from .emulator import ARM64, BUILT, HERE, ROOT, Absent, counted

TABLES = ROOT / "src" / "cpp" / "search" / "tables"
NAME = "neoverse_n1"
CORE, GHZ = "neoverse-n1", 2.6
SET = "neon"
# As WALLE_COST_PROFILE: flop and step by llvm-mca (two pipes of four lanes; four cycles), bytes by data
# sheets of such cores with one channel of memory for each; twice as many products of bfloat16 where later
# cores of the kind have them.
PROFILE = (1 / (2 * 4 * 2 * GHZ), 4 / GHZ, 0.0110, 0.0260, 0.0420, 0.0900, 1 / (2 * 8 * 2 * GHZ))
# The table and the set of as many lanes whose rows lend what only caches know.
_FIRST, _FIRST_SET = "zen4", "sse4"
_LEVELS = {"l2_bytes": 3, "l3_bytes": 4, "memory_bytes": 5}  # and their figures in a profile
# Rows of the first table that saw few bytes of a level may price them at anything.
_MOST_LENT = 3.0
_BYTES = ("l1_bytes", *_LEVELS)
_MOST_FLOPS = 2e7  # of a shape: some 5 million instructions, a tenth of a second in the emulator
_MACHINE = "phone"  # caches of base/machines.inc; what is measured is everything, whatever it is priced
_UNIT = 10  # nanoseconds of an instruction: a tuned search stops repeating after 30 ms
# The source whose loops a row's kernel spends its time in; the longest beginning of a name counts.
SOURCES = {
    "attention": "attention/attention_simd",
    "blocked": "blocked/blocked_simd",
    "conv": "gemm/gemm_simd",
    "conv_depthwise": "conv/conv_simd",
    "conv_pointwise_lanes": "conv/channel_lanes_simd",
    "conv_windows_lanes": "conv/channel_lanes_simd",
    "eltwise": "eltwise/eltwise_simd",
    "gemm": "gemm/gemm_simd",
    "layer_norm": "norm/norm_simd",
    "pool": "pool/pool_simd",
    "reduce": "reduce/reduce_simd",
    "rnn": "rnn/rnn_simd",
    "softmax": "softmax/softmax_simd",
}


@dataclass(frozen=True)
class Quantities:
    """A line of choices.cc."""

    model: str
    step: str
    choice: ExplainChoice


def program() -> Path:
    """choices.cc, linked to the rooms of preset arm64; built where they are newer."""
    rooms = ARM64 / "libwalle_rooms.a"
    if not rooms.exists():
        raise Absent(f"no {rooms}: cmake --preset arm64 && ninja -C build/arm64 walle_rooms")
    out, source = BUILT / "choices", HERE / "choices.cc"
    if not out.exists() or out.stat().st_mtime < max(p.stat().st_mtime for p in (rooms, source)):
        out.parent.mkdir(parents=True, exist_ok=True)
        headers = [f"-I{ROOT}/src/cpp", f"-I{ARM64}/generated"]
        command = ["aarch64-linux-gnu-g++", "-std=c++20", "-O1", *headers, str(source), str(rooms)]
        subprocess.run([*command, "-pthread", "-o", str(out)], check=True)
    return out


def counted_choices(count: int, seed: int) -> Iterator[Quantities]:
    """Every way to run so many random shapes of float32, with its instructions as milliseconds."""
    folder = BUILT / "fit"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for i, shape in enumerate(tune.shapes(count, seed, tune.GROUPS["float32"], _MOST_FLOPS)):
        model = folder / f"{i}.walle"
        walle_rt.load(shape.model).save(str(model))
        said = counted(
            [program(), model], folder / "count", environment={"WALLE_MACHINE": _MACHINE}, unit=_UNIT
        ).said
        model.unlink()
        yield from map(parsed, said.splitlines())


def parsed(line: str) -> Quantities:
    """A line of choices.cc; bytes of all levels are one quantity, because instructions know no caches."""
    model, step, backend, algorithm, kernel, isa, threads, ms, *amounts = line.split("\t")
    features = dict(zip((*PRICED, "launches"), map(float, amounts), strict=True))
    features["l1_bytes"] = sum(features[level] for level in _BYTES)
    features.update(dict.fromkeys(_LEVELS, 0.0))
    choice = ExplainChoice(backend, algorithm, kernel, isa, features, int(threads), 0.0, float(ms), False)
    return Quantities(model, step, choice)


def measured(choices: Iterable[Quantities]) -> list[tune.Measured]:
    """By step, as the fit takes it."""
    steps: dict[tuple[str, str], list[ExplainChoice]] = {}
    for c in choices:
        steps.setdefault((c.model, c.step), []).append(c.choice)
    return [
        tune.Measured(model, step, found, [c.measured_ms for c in found])
        for (model, step), found in steps.items()
    ]


def cycles_of_an_instruction(build: Path = ARM64) -> dict[str, float]:
    """By source: the middle of its functions' inner loops."""
    out = {}
    for source in sorted(set(SOURCES.values())):
        built = mca.built(build, source)
        found = []
        for name, code in mca.functions(mca.disassembled(built)):
            loop = mca.inner_loop(name, code, mca.IN_VECTORS)
            if loop:
                found.append(mca.cycles(loop.code, CORE) / (len(loop.code) + 1))
        out[source] = statistics.median(found)
    return out


def first_rows() -> dict[tuple[str, str], tuple[float, ...]]:
    """Nanoseconds of the first table by kernel and set."""
    text = (TABLES / f"{_FIRST}.inc").read_text()
    found = re.findall(r'WALLE_COST_ROW\("(\w+)", "(\w*)",\s*([^)]*)\)', text)
    return {(kernel, isa): tuple(map(float, ns.split(","))) for kernel, isa, ns in found}


def first_profile() -> tuple[float, ...]:
    """What the first table's machine does."""
    text = (TABLES / f"{_FIRST}.inc").read_text()
    match = re.search(rf'WALLE_COST_PROFILE\("{_FIRST_SET}", ([^)]*)\)', text)
    assert match, f"{_FIRST}.inc has no profile of {_FIRST_SET}"
    return tuple(map(float, match[1].split(",")))


def in_ns(kernel: str, isa: str, row: Row, cpi: dict[str, float]) -> Row:
    """A row of instructions as nanoseconds of the core."""
    known = [name for name in SOURCES if kernel.startswith(name)]
    cycles = cpi[SOURCES[max(known, key=len)]] if known else statistics.median(cpi.values())
    ns = {q: x * _per_instruction(cycles) for q, x in zip(PRICED, row.ns, strict=True)}
    lent = dict(zip(PRICED, first_rows().get((kernel, isa and _FIRST_SET), (0.0,) * 8), strict=True))
    for level, place in _LEVELS.items():
        scaled = lent[level] * PROFILE[place] / first_profile()[place]
        ns[level] = max(ns["l1_bytes"], min(scaled, _MOST_LENT * PROFILE[place]))
    return Row(tuple(ns[q] for q in PRICED), row.samples, row.median_error)


def _per_instruction(cycles: float) -> float:
    """Nanoseconds; what was fitted are instructions of ``_UNIT`` nanoseconds each."""
    return cycles / GHZ / _UNIT


def _said(held_out: tune.Quality, samples: int, date: str) -> str:
    """Who, when, on what, and how good."""
    q = held_out
    return (
        f"Made by `python -m tools.insns fit`, {date}: modelled, never measured. {samples} samples of random "
        f"shapes were counted in instructions under qemu's user emulator; {CORE}'s loops take the cycles an "
        f"instruction that llvm-mca {mca.header()['llvm_mca']} gives, at {GHZ} GHz. Bytes beyond the first "
        f"level are {_FIRST}'s by the ratio of the profiles, at least what their instructions take. What has "
        f"no row here is, scaled like them, {_FIRST}'s (cost_model.cc). On {q.choices} choices that nothing "
        f"was fitted to, in instructions: regret median {q.median_regret:.3f}, mean {q.mean_regret:.3f}, "
        f"worst {q.worst_regret:.2f}; predicted / counted {q.low_ratio:.2f} to {q.high_ratio:.2f} (5th to "
        "95th of a hundred)."
    )


def text_of(rows: dict[tuple[str, str], Row], held_out: tune.Quality, samples: int, date: str) -> str:
    """The file."""
    lines = [
        *(f"// {line}" for line in textwrap.wrap(_said(held_out, samples, date), 105)),
        "// Profile: flop, step, l1_byte, l2_byte, l3_byte, memory_byte, bf16_flop. Rows, in ns:",
        f"// {', '.join(PRICED)}; then samples and median error.",
        f'WALLE_COST_TABLE("{NAME}", "")',
        f'WALLE_COST_PROFILE("{SET}", {", ".join(f"{x:.4g}" for x in PROFILE)})',
    ]
    for (kernel, isa), row in sorted(rows.items()):
        figures = ", ".join(f"{x:.4g}" for x in row.ns)
        lines.append(f'WALLE_COST_ROW("{kernel}", "{isa}",')
        lines.append(f"               {figures})  // {row.samples}, {row.median_error:.0%}")
    return "\n".join(lines) + "\n"


def table(learned: list[tune.Measured], judged: list[tune.Measured], date: str) -> str:
    """Fit, judge, and turn into nanoseconds."""
    fitted = tune.fit(learned)
    cpi = cycles_of_an_instruction()
    rows = {key: in_ns(*key, row, cpi) for key, row in fitted.rows.items()}
    samples = sum(row.samples for row in fitted.rows.values())
    return text_of(rows, tune.quality(judged, fitted), samples, date)
