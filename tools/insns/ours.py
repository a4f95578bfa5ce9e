"""What a run of a model takes our arm64 build, as a whole and step by step."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import walle_rt
from walle_rt.bench.builder import Array

from .emulator import ARM64, BUILT, CPU, HERE, MACHINE, ROOT, Absent, compile_c, counted
from .subjects import Subject


@dataclass(frozen=True)
class Step:
    """One step of a run, with what reading the clock twice takes."""

    op: str
    algorithm: str
    node: str
    count: int


@dataclass(frozen=True)
class Run:
    """Instructions of a run, and its results."""

    count: int
    steps: list[Step]
    results: list[Array]


def program() -> Path:
    """infer.c, linked to the library of preset arm64."""
    library = ARM64 / "libwalle.so"
    if not library.exists():
        raise Absent(f"no {library}: make test-arm64, or cmake --preset arm64 && ninja -C build/arm64 walle")
    header = ROOT / "src" / "cpp" / "include"
    origin = "-Wl,-rpath,$ORIGIN/../arm64"
    return compile_c(
        "aarch64-linux-gnu-gcc", HERE / "infer.c", BUILT / "infer", f"-I{header}", str(library), origin
    )


def count(subject: Subject, *, precision: str = "float32", cpu: str = CPU) -> Run:
    """Count one model."""
    infer = program()
    model, feeds = walle_rt.load(str(subject.path())), subject.feeds()
    folder = BUILT / "runs" / f"{subject.stem}.{precision}.{cpu}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save(str(folder / "model.walle"))
    for i, array in enumerate(feeds.values()):
        np.ascontiguousarray(array).tofile(folder / f"in{i}")
    said = counted(
        [infer, folder, precision], folder / "count", environment={"WALLE_MACHINE": MACHINE}, cpu=cpu
    ).said
    taken, steps = 0, []
    for line in said.splitlines():
        kind, number, *names = line.split("\t")
        if kind == "run":
            taken = int(number)
        else:
            steps.append(Step(*names, int(number)))
    results = [np.fromfile(path, np.float32) for path in sorted(folder.glob("out*"))]
    return Run(taken, steps, results)
