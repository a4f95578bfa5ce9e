"""Wheels that install on any Linux from glibc 2.28 on: x86-64 and arm64, each Python one; `make wheels`.

wheels.py [--machine x86_64] [--python 3.13] [--out dist] [--no-try]

The compiler is that of PyPI's ziglang, whose C library is as old as one asks and whose C++ library is linked
statically: a wheel needs libc and nothing else, which `auditwheel show` must confirm. The engine is compiled
once per machine, walle_rt._core once per Python. Each wheel is then installed beside NumPy and tried
(tools/try_wheel.py): a model, a task, a device that enrols. Last comes the C library by itself, out of the
same build (tools/c_package.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import c_package
from debian_root import root
from wheel_pythons import DEBIAN, ROOTS, VERSIONS, NoPythonError, Target, target
from wheel_trial import Trial

REPO = Path(__file__).resolve().parents[1]
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
LIBRARY_C = REPO / "build" / "release" / "vm" / "library.c"
# What was reached, and some room. The aim is 6.5 MB, because a board downloads it over a phone network: half
# of it is libwalle, whose code Clang makes 14 % longer than g++ does (10.2 MB and 8.7).
MOST_BYTES = 8_500_000
# What a file of a wheel counts for, by the first words that its path begins with.
PARTS = {
    "walle_rt/_core.": "_core",
    "walle_rt/lib/libwalle": "libwalle",
    "walle_rt/vm/libwalle_vm_full": "VM full",
    "walle_rt/vm/libwalle_vm_device": "VM device",
    "walle_rt/cloud/": "server",
}


def policy(machine: str) -> str:
    return f"manylinux_2_28_{machine}"


def build_folder(machine: str) -> Path:
    return REPO / "build" / "wheels" / machine


def cmake_arguments(made: Target) -> list[str]:
    """Where things of the other machine are; what bytecode of tasks is the same on every one."""
    zlib = root(
        ROOTS / f"zlib-{DEBIAN[made.machine]}", "bookworm", DEBIAN[made.machine], ["zlib1g-dev"], alone=True
    )
    return [
        f"-DCMAKE_TOOLCHAIN_FILE={REPO}/toolchains/zig-{made.machine}-linux-gnu.2.28.cmake",
        f"-DCMAKE_FIND_ROOT_PATH={zlib}",
        "-DZLIB_USE_STATIC_LIBS=ON",
        f"-DWALLE_VM_LIBRARY_C={LIBRARY_C}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DPython_INCLUDE_DIR={made.include}",
        "-DPython_LIBRARY=",
        f"-DPYTHON_MODULE_EXTENSION={made.suffix}",
        "-DPYTHON_MODULE_DEBUG_POSTFIX=",
        "-DCMAKE_SHARED_LINKER_FLAGS=-s",
        "-DCMAKE_MODULE_LINKER_FLAGS=-s",
    ]


def build(made: Target, out: Path) -> Path:
    """One wheel, under the tags of the Python and the machine that it is for."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
        command += ["--disable-pip-version-check", "-w", scratch, f"-Cbuild-dir={build_folder(made.machine)}"]
        # Stripped by the linker: this machine's strip knows no other's files.
        command += ["-Cinstall.strip=false", "-Ccmake.args=" + ";".join(cmake_arguments(made)), str(REPO)]
        subprocess.run(command, check=True)
        (wheel,) = Path(scratch).glob("walle_rt-*.whl")
        tags = ["--python-tag", made.tag, "--abi-tag", made.tag, "--platform-tag", policy(made.machine)]
        tagged = subprocess.run(
            [sys.executable, "-m", "wheel", "tags", *tags, wheel], check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(wheel.parent / tagged, out / tagged))  # from another file system, maybe


def sizes(wheel: Path) -> str:
    """Where its bytes are, packed, in MB."""
    found: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            part = next((name for start, name in PARTS.items() if entry.filename.startswith(start)), "other")
            found[part] += entry.compress_size
    parts = ", ".join(f"{name} {size / 1e6:.2f}" for name, size in found.most_common())
    return f"{wheel.stat().st_size / 1e6:.2f} MB ({parts})"


def audit(wheel: Path, machine: str) -> None:
    """Refuse a wheel that needs a newer libc than its name says, or another library, or is too large."""
    done = subprocess.run(["auditwheel", "show", wheel], capture_output=True, text=True)
    said = " ".join(done.stdout.split())
    if done.returncode or f'constrains the platform tag to "{policy(machine)}"' not in said:
        raise SystemExit(
            f"wheels: {wheel.name} is no {policy(machine)}: auditwheel says\n{done.stdout}{done.stderr}"
        )
    if wheel.stat().st_size > MOST_BYTES:
        raise SystemExit(f"wheels: {wheel.name} has {wheel.stat().st_size:,} bytes of at most {MOST_BYTES:,}")


def test(wheel: Path) -> None:
    """What tests promise of a wheel, for the Python that runs this."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        REPO / "tests" / "install" / "test_wheel.py",
        "--deselect=tests/install/test_wheel.py::test_is_small",  # of g++'s code; MOST_BYTES is of this one
    ]
    done = subprocess.run(
        command, env={**os.environ, "WALLE_TEST_WHEEL": str(wheel)}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(
            f"wheels: {wheel.name} failed tests/install/test_wheel.py:\n{done.stdout}{done.stderr}"
        )


def make(made: Target, out: Path, tried: bool) -> None:
    """A wheel that has passed, or SystemExit with the reason."""
    wheel = build(made, out)
    print(f"{wheel.name}\n  {sizes(wheel)}", flush=True)
    audit(wheel, made.machine)
    if not tried:
        return
    said = "not tried: no interpreter of it for this machine"
    if made.command:
        said = Trial(made).run(wheel)
    if made.machine == platform.machine() and made.version == OWN:
        test(wheel)
        said += "; tests/install/test_wheel.py passed"
    print(f"  {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machine", action="append", choices=sorted(DEBIAN))
    parser.add_argument("--python", action="append", choices=VERSIONS)
    parser.add_argument("--out", type=Path, default=REPO / "dist")
    parser.add_argument("--no-try", action="store_true", help="build and audit alone")
    given = parser.parse_args()
    if not LIBRARY_C.exists():
        raise SystemExit(f"wheels: {LIBRARY_C} is missing: make wheels builds it first")
    out = given.out.resolve()
    for machine in given.machine or sorted(DEBIAN, reverse=True):
        for version in given.python or VERSIONS:
            try:
                made = target(version, machine)
            except NoPythonError as missing:
                if given.python:
                    raise SystemExit(f"wheels: {missing}") from None
                print(f"wheels: {missing}; its wheel is left out", flush=True)
                continue
            make(made, out, not given.no_try)
        package = c_package.make(build_folder(machine), machine, out)
        print(f"{package.name}\n  {package.stat().st_size / 1e6:.2f} MB", flush=True)
        if not given.no_try:
            print(f"  {c_package.Trial(machine).run(package)}", flush=True)


if __name__ == "__main__":
    main()
