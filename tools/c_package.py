"""libwalle, its headers, its CMake package and its pkg-config file as one archive per kind of machine.

Out of the build folder of a wheel (tools/wheels.py), whose objects stay as they are: the library is linked
anew with a versioned name, which a wheel cannot have. Tried by the programs of tests/install/consumer.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from check_symbols import check, newest_glibc

REPO = Path(__file__).resolve().parents[1]
CONSUMER = REPO / "tests" / "install" / "consumer"
sys.path.append(str(CONSUMER.parent))
GLIBC = (2, 28)
# What a library may need: parts of the C library, nothing else.
LIBC = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
COMPILERS = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc"}


def quietly(*command: str | Path) -> str:
    """What a command prints; SystemExit with all of it where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        words = " ".join(map(str, command))
        raise SystemExit(f"c_package: {words} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def audit(library: Path) -> None:
    """Refuse a library that needs a newer C library, or another one, or shows names that are not ours."""
    newest = newest_glibc(library)
    said = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in said.splitlines() if "(NEEDED)" in line}
    names = check(library, "walle_")
    if newest > GLIBC or needed - LIBC or names:
        glibc = ".".join(map(str, newest))
        raise SystemExit(
            f"c_package: {library.name} needs glibc {glibc} of at most 2.28, "
            f"libraries {sorted(needed - LIBC)} beside libc, and exports {names[:5]}"
        )


def make(build: Path, machine: str, out: Path) -> Path:
    """The archive: one folder of the archive's name, which may lie anywhere."""
    quietly("cmake", "-S", REPO, "-B", build, "-DSKBUILD=OFF", "-DCMAKE_INSTALL_LIBDIR=lib")
    quietly("cmake", "--build", build, "--target", "walle", "vm_full", "vm_device")
    version = next(
        line.split("=")[1] for line in (build / "CMakeCache.txt").read_text().splitlines()
        if line.startswith("CMAKE_PROJECT_VERSION:")
    )  # fmt: skip
    name = f"walle-{version}-linux-glibc2.28-{machine}"
    with tempfile.TemporaryDirectory() as scratch:
        prefix = Path(scratch) / name
        for component in ("capi", "vm"):
            quietly("cmake", "--install", build, "--component", component, "--prefix", prefix)
        for library in sorted(prefix.rglob("*.so*")):
            if not library.is_symlink():
                audit(library)
        archive = out / f"{name}.tar.xz"
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(prefix, name, filter=nobodys)
    return archive


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


class Trial:
    """A C99, a C++11, a task's and a device's program, by CMake and by pkg-config."""

    def __init__(self, machine: str) -> None:
        """For archives of that machine."""
        self.machine = machine
        self.runner: tuple[str | Path, ...] = ()
        self.cmake: tuple[str, ...] = ()
        if machine == "aarch64":
            self.runner = ("qemu-aarch64-static", "-cpu", "cortex-a76", "-L", "/usr/aarch64-linux-gnu")
            self.cmake = (f"-DCMAKE_TOOLCHAIN_FILE={REPO}/toolchains/aarch64-linux-gnu.cmake",)

    def run(self, archive: Path) -> str:
        """What the trial says; SystemExit where a program does not build, run or find what it should."""
        with tempfile.TemporaryDirectory() as scratch:
            quietly("tar", "-xf", archive, "-C", scratch)
            (prefix,) = Path(scratch).iterdir()
            build = Path(scratch) / "build"
            found = f"-Dwalle_DIR={prefix / 'lib' / 'cmake' / 'walle'}"
            quietly("cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", found, *self.cmake)
            quietly("cmake", "--build", build)
            for program in ("consumer_c", "consumer_cc", "consumer_vm", "consumer_device"):
                quietly(*self.runner, build / program)
            self.model_and_task(build, prefix, Path(scratch))
            self.by_pkg_config(prefix)
        return "programs in C and C++ built and ran, by CMake and by pkg-config"

    def model_and_task(self, build: Path, prefix: Path, scratch: Path) -> None:
        """What the programs promise of a model and, with either VM, of a task."""
        from consumer_inputs import PROMISES, save_model, save_task

        model, task = save_model(scratch / "half.walle"), save_task(scratch / "x.wtask")
        said = [("raii", quietly(*self.runner, build / "consumer_raii", model))]
        for library in sorted((prefix / "lib" / "walle").glob("*.so")):
            said.append(("vm", quietly(*self.runner, build / "consumer_vm", library, task)))
        if len(said) != 3 or any(text.count("ok  ") != PROMISES[kind] for kind, text in said):
            raise SystemExit("c_package: a promise was not kept:\n" + "".join(text for _, text in said))

    def by_pkg_config(self, prefix: Path) -> None:
        """As a Makefile would; what it prints is the version."""
        asked = f"--with-path={prefix / 'lib' / 'pkgconfig'}"
        flags = quietly("pkg-config", asked, "--cflags", "--libs", "walle").split()
        version = quietly("pkg-config", asked, "--modversion", "walle").strip()
        program = prefix / "program"
        source = CONSUMER / "main.c"
        quietly(
            COMPILERS[self.machine], "-std=c99", source, *flags, f"-Wl,-rpath,{prefix / 'lib'}", "-o", program
        )
        said = quietly(*self.runner, program)
        if not said.startswith(f"walle {version}"):
            raise SystemExit(f"c_package: pkg-config says version {version}, the program {said!r}")
