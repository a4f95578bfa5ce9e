"""The Swift library for this machine: the library, its tests' program and the example app, in build/swift.

    swift.py [run ARGUMENTS...]    builds what changed; `run` starts the program of tests/swift/programs
    swift.py install               unpacks the compiler

Debian 13 has the compiler, in a folder of its own (tools/debian_root.py) because it wants another C library
than this machine's: it compiles in there by chroot, and the program runs out here by that folder's loader.
libwalle comes from build/release.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from debian_root import root

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build" / "release"
BUILD = ROOT / "build" / "swift"
APPLE, APP = BUILD / "apple", BUILD / "app"
HEADERS = ROOT / "src" / "cpp" / "include"
SOURCES = ROOT / "src" / "swift" / "Sources"
PROGRAMS = ROOT / "tests" / "swift" / "programs"
STAND_INS = ROOT / "tests" / "swift" / "stand_ins"
EXAMPLE = ROOT / "examples" / "ios" / "Shop.swiftpm" / "Sources"
SUITE, PACKAGES = "trixie", ["swiftlang", "libc6-dev", "libstdc++-14-dev"]
# Mounted in the root at the same place, so that a path means the same inside and out.
INSIDE = '''root=$1; shift; mkdir -p "$root/tmp"
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --rbind "$1" "$root$1"; shift; done
shift; exec chroot "$root" "$@"'''
# Warnings are errors: they are of our own sources alone.
STRICT = ["-swift-version", "6", "-warnings-as-errors", "-O"]
USING = ["-I", SOURCES / "CWalle", "-Xcc", f"-I{HEADERS}"]
# Of tests/swift/stand_ins, for the library and for the example; a later one may use the earlier ones.
SYSTEM, SCREEN = ("Security", "CryptoKit", "Network"), ("UIKit", "SwiftUI")


@dataclass(frozen=True)
class Compiler:
    """Debian's Swift in its folder."""

    folder: Path

    @property
    def libraries(self) -> list[Path]:
        """Where its programs find what they are linked with."""
        swift = self.folder / "usr" / "libexec" / "swift" / "lib" / "swift" / "linux"
        return [swift, self.folder / "usr" / "lib" / f"{platform.machine()}-linux-gnu"]

    def __call__(self, *words: object, by: str = "swiftc", **environment: str) -> None:
        """Compile, by a program of Swift's, with the repository where it is."""
        enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", INSIDE, "sh"]
        places = [str(self.folder), str(ROOT), str(RELEASE.resolve()), "/proc", "/dev", "--"]
        environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"}
        command = [*enter, *places, f"/usr/libexec/swift/bin/{by}", *map(str, words)]
        subprocess.run(command, check=True, env=environment)

    def running(self, program: Path, first: Iterable[Path] = ()) -> list[str]:
        """The command that runs a program out here; `first` are folders whose libraries go before others."""
        loader = next((self.folder / "lib64").glob("ld-linux-*.so.*"))
        path = ":".join(map(str, (*first, program.parent, BUILD / "lib", *self.libraries)))
        return [str(loader), "--library-path", path, str(program)]


def _folder() -> Path:
    return ROOT / "build" / "roots" / "swift"


def install() -> Compiler:
    """From Debian's archive, once."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    return Compiler(root(_folder(), SUITE, arch, PACKAGES))


def compiler() -> Compiler | None:
    """None where it was not installed."""
    return Compiler(_folder()) if (_folder() / ".packages").exists() else None


def _made(out: Path, inputs: Iterable[Path], by: Compiler, *words: object) -> Path:
    """A file that is compiled from others; made anew where one of them or the command changed."""
    digest = hashlib.sha256(str((by.folder, *words)).encode())
    for file in sorted(inputs):
        digest.update(str(file).encode() + file.read_bytes())
    stamp = out.with_suffix(".sha256")
    if not (out.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest()):
        stamp.unlink(missing_ok=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        by(*words)
        stamp.write_text(digest.hexdigest())
    return out


def _swift(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.swift"))


def linked() -> None:
    """build/swift/lib: libwalle, and the VM beside it, where the library looks for it."""
    from walle_rt.vm import library_path

    folder = BUILD / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: RELEASE / name for name in ("libwalle.so", "libwalle.so.0")}
    for name, file in {**files, "libwalle_vm_device.so": Path(library_path("device"))}.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(file.resolve())


def _modules(by: Compiler, names: Iterable[str], folder: Path) -> list[Path]:
    """Stand-ins of Apple's modules, each as a library."""
    made: list[Path] = []
    for name in names:
        sources, out = _swift(STAND_INS / name), folder / f"lib{name}.so"
        emit = ["-emit-library", "-emit-module", "-emit-module-path", folder / f"{name}.swiftmodule"]
        words = [*STRICT, "-module-name", name, "-I", folder, *_link(folder, made), *emit, "-o", out]
        made.append(_made(out, [*made, *sources], by, *words, *sources))
    return made


def _link(folder: Path, libraries: Iterable[Path]) -> list[object]:
    return ["-L", folder, *(f"-l{file.stem.removeprefix('lib')}" for file in libraries)]


def library(by: Compiler, apple: bool = False) -> Path:
    """The module WalleRT; `apple`: with what needs Apple's systems, against stand-ins."""
    linked()
    sources = _swift(SOURCES / "WalleRT")
    beside = _modules(by, SYSTEM, APPLE) if apple else []
    inputs = [*sources, *beside, *HEADERS.rglob("*.h"), *(SOURCES / "CWalle").iterdir()]
    out = APPLE / "libWalleRT.so" if apple else BUILD / "lib" / "libWalleRT.so"
    module = (APPLE if apple else BUILD) / "WalleRT.swiftmodule"
    words = [*STRICT, "-module-name", "WalleRT", *USING, "-L", RELEASE.resolve()]
    words += ["-I", APPLE, *_link(APPLE, beside)] if apple else []
    emit = ["-emit-library", "-emit-module", "-emit-module-path", module, "-o", out]
    return _made(out, inputs, by, *words, *emit, *sources)


def program(by: Compiler, apple: bool = False) -> Path:
    """The tests' program; `apple`: likewise."""
    made = library(by, apple)
    sources = _swift(PROGRAMS)
    out = APPLE / "tests" if apple else BUILD / "tests"
    where = ["-I", APPLE] if apple else ["-I", BUILD]
    beside = [APPLE / f"lib{name}.so" for name in SYSTEM] if apple else []
    link = [*_link(made.parent, [made, *beside]), "-L", RELEASE.resolve()]
    words = [*STRICT, "-module-name", "Tests", *where, *USING, *link, "-o", out, *sources]
    return _made(out, [made, *sources], by, *words)


def package(by: Compiler) -> Path:
    """src/swift/Package.swift, as an app on Linux builds it: by SwiftPM, with libwalle by pkg-config."""
    linked()
    told = BUILD / "walle.pc"
    lines = ["Name: walle", "Description: -", "Version: 0", f"Cflags: -I{HEADERS}"]
    told.write_text("\n".join([*lines, f"Libs: -L{RELEASE.resolve()} -lwalle", ""]))
    out = BUILD / "package"
    words = ["--package-path", SOURCES.parent, "--scratch-path", out, "--disable-sandbox", "--quiet"]
    by(*words, by="swift-build", PKG_CONFIG_PATH=str(BUILD))
    return out / "debug" / "Modules" / "WalleRT.swiftmodule"


def example(by: Compiler) -> Path:
    """The app of examples/ios, against stand-ins of Apple's."""
    made, modules = library(by), _modules(by, SCREEN, APP)
    sources, out = _swift(EXAMPLE), APP / "example.o"
    words = ["-module-name", "Shop", "-I", BUILD, "-I", APP, *USING, "-wmo", "-parse-as-library", "-c"]
    return _made(out, [made, *modules, *sources], by, *STRICT, *words, "-o", out, *sources)


def main(words: list[str]) -> int:
    if words[:1] == ["install"]:
        install()
        return 0
    by = compiler()
    if by is None:
        print("swift: no Swift compiler; tools/setup.sh swift unpacks it", file=sys.stderr)
        return 1
    made = program(by)
    if words[:1] == ["run"]:
        return subprocess.run([*by.running(made), *words[1:]], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
