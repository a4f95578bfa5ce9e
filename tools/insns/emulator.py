"""Programs of arm64 in qemu's user emulator, with a counter of the instructions that they begin."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILT = ROOT / "build" / "insns"
ARM64 = ROOT / "build" / "arm64"  # of preset arm64
SYSROOT = ROOT / "build" / "arm64-sysroot"
# Dot products and half floats, no i8mm: what most phones had when this was written.
CPU = "cortex-a76"
# Caches of the phone of base/machines.inc, because the emulating machine's would decide else, and costs of
# the core whose instructions are counted.
MACHINE = "phone,costs=neoverse_n1"
_EMULATOR = "qemu-aarch64"
_NATIVE, _CROSS = "cc", "aarch64-linux-gnu-gcc"
_FLAGS = ("-O2", "-Wall", "-Wextra")


class Absent(Exception):  # noqa: N818 - an answer, not a failure
    """Something that counting needs is not here; the message says what, and what brings it."""


@dataclass(frozen=True)
class Finished:
    """What a program said, and the instructions it began from start to end."""

    said: str
    count: int


def _need(program: str) -> None:
    if shutil.which(program) is None:
        raise Absent(f"no {program} on PATH: tools/setup.sh arm64")


def compile_c(compiler: str, source: Path, out: Path, *arguments: str) -> Path:
    """Compile where the source is newer than what is there."""
    _need(compiler)
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, *_FLAGS, str(source), "-o", str(out), *arguments], check=True)
    return out


def version() -> str:
    """Of the emulator."""
    _need(_EMULATOR)
    said = subprocess.run([_EMULATOR, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split("version ")[1].split()[0].rstrip("(")


def sysroot() -> Path:
    """Where programs find their C library: what tests are run with, else the cross compiler's own."""
    unpacked = SYSROOT / "lib" / "ld-linux-aarch64.so.1"
    return SYSROOT if unpacked.exists() else Path("/usr/aarch64-linux-gnu")


def counted(
    program: Sequence[str | Path],
    page: Path,
    *,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    cpu: str = CPU,
    unit: int = 1,
) -> Finished:
    """Run a program to its end; CLOCK_MONOTONIC says its instructions as nanoseconds, ``unit`` of each.

    Args:
        program: and its arguments.
        page: file for the number; programs that run beside each other need one each.
        environment: variables of the program, beside this process's.
        options: of the emulator.
        cpu: the processor that is emulated.
        unit: nanoseconds of an instruction.

    Raises:
        Absent: the emulator or a compiler is missing, or the emulator takes no such plugin.
        RuntimeError: the program failed; the message has the end of what it said.
    """
    _need(_EMULATOR)
    counter = compile_c(_NATIVE, HERE / "counter.c", BUILT / "counter.so", "-shared", "-fPIC")
    clock = compile_c(_CROSS, HERE / "clock.c", BUILT / "clock.so", "-shared", "-fPIC")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.unlink(missing_ok=True)
    given = {"INSNS_PAGE": str(page), "INSNS_NS": str(unit), "LD_PRELOAD": str(clock), **(environment or {})}
    variables = [word for name, value in given.items() for word in ("-E", f"{name}={value}")]
    plugin = f"{counter},page={page}"
    command = [_EMULATOR, "-cpu", cpu, "-L", str(sysroot()), "-plugin", plugin, *variables, *options]
    done = subprocess.run(
        [*command, *map(str, program)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if not page.exists():
        raise Absent(
            f"qemu-aarch64 {version()} does not load tools/insns/counter.c, which is written for 4.2 to 8.2:"
            f" {done.stderr.strip()[-200:]}"
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, program))}: status {done.returncode}: {done.stderr[-600:]}")
    return Finished(done.stdout, struct.unpack("<Q", page.read_bytes()[:8])[0])
