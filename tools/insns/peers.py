"""The same models by peers' aarch64 wheels, in the emulated Python of tools/arm64_sysroot.sh."""

from __future__ import annotations

import functools
import importlib.metadata
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from walle_rt.bench import peers
from walle_rt.bench.builder import Array

from .emulator import BUILT, CPU, HERE, SYSROOT, Absent, counted
from .subjects import CACHE, CALL, Subject

WHEELS = BUILT / "peers"
# Later ones of onnxruntime read the machine's caches from /sys when they are imported, and end there.
PACKAGES = ("onnxruntime==1.22.1", "MNN==3.6.1", "ncnn==1.0.20261020")
NAMES = ("onnxruntime", "MNN", "ncnn")
_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True)
class Peer:
    """Instructions of a run and its results, or why there are none."""

    count: int = 0
    reason: str = ""
    results: tuple[Array, ...] = ()


def install() -> None:
    """Unpack the wheels, once."""
    if not (SYSROOT / "venv" / "bin" / "python").exists():
        raise Absent(f"no {SYSROOT}/venv: tools/setup.sh arm64")
    stamp = WHEELS / "packages"
    if stamp.exists() and stamp.read_text() == " ".join(PACKAGES):
        return
    platforms = [word for p in _PLATFORMS for word in ("--platform", f"{p}_aarch64")]
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--upgrade", "--implementation", "cp", "--python-version", "3.11"]
    subprocess.run([*command, *platforms, "--target", str(WHEELS), *PACKAGES], check=True)
    stamp.write_text(" ".join(PACKAGES))


def _convert(name: str, subject: Subject) -> str:
    """Converters run here, where they take seconds; why one could not."""
    model = subject.path()
    try:
        if name == "MNN":
            from walle_rt.bench.peers import mnn

            mnn.convert(model, CACHE)
        elif name == "ncnn":
            from walle_rt.bench.peers import ncnn

            ncnn.convert(model, CACHE)
    except peers.Unavailable as reason:
        return str(reason)
    return ""


def _count(name: str, subject: Subject, cpu: str) -> Peer:
    if reason := _convert(name, subject):
        return Peer(reason=reason)
    inputs = BUILT / "runs" / f"{subject.stem}.{name}.npz"
    inputs.parent.mkdir(parents=True, exist_ok=True)
    np.savez(inputs, **subject.feeds())
    python = SYSROOT / "usr" / "bin" / "python3.11"
    command = [python, HERE / "guest.py", name, subject.path(), inputs, CACHE]
    environment = {"PYTHONPATH": str(WHEELS), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    options = ("-0", str(SYSROOT / "venv" / "bin" / "python"))
    try:
        said = counted(
            command, inputs.with_suffix(".count"), environment=environment, options=options, cpu=cpu
        ).said
    except RuntimeError as failed:
        return Peer(reason=str(failed)[-200:])
    last = said.strip().splitlines()[-1]
    if not last.startswith("count "):
        return Peer(reason=last.removeprefix("unavailable "))
    with np.load(f"{inputs}.out.npz") as kept:
        return Peer(int(last.split()[1]), results=tuple(kept.values()))


@functools.cache
def _call(name: str, cpu: str) -> int:
    """What calling an engine from Python takes: a run that computes one number."""
    return _count(name, CALL, cpu).count


def count(name: str, subject: Subject, *, cpu: str = CPU) -> Peer:
    """One run, without what calling the engine takes."""
    install()
    found = _count(name, subject, cpu)
    if found.reason:
        return found
    return Peer(max(found.count - _call(name, cpu), 0), results=found.results)


def versions() -> dict[str, str]:
    """Of the wheels."""
    install()
    found = importlib.metadata.distributions(path=[str(WHEELS)])
    known = {d.metadata["Name"]: d.version for d in found}
    return {name: known.get(name, "none") for name in NAMES}
