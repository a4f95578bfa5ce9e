"""The Kotlin library for this machine's JVM: its shim, its classes and those of its tests, in build/kotlin.

    kotlin.py [run ARGUMENTS...]    builds what changed; `run` starts the program of tests/kotlin/programs

libwalle comes from build/release. `tools/setup.sh kotlin` installs the compiler and a JDK. A class path of
archives stands in for Gradle, which needs a network of its own: `src/kotlin/README.md` has its files.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build" / "release"
BUILD = ROOT / "build" / "kotlin"
MAIN = ROOT / "src" / "kotlin" / "src" / "main" / "kotlin"
PROGRAMS = ROOT / "tests" / "kotlin" / "programs"
STAND_INS = ROOT / "tests" / "kotlin" / "stand_ins"
EXAMPLE = ROOT / "examples" / "android" / "src" / "main" / "kotlin"
SHIM = ROOT / "src" / "kotlin" / "jni"


@dataclass(frozen=True)
class Compiler:
    """Archives of Kotlin: what compiles, and what compiled classes run with."""

    everything: Path
    library: Path
    further: tuple[Path, ...]

    def command(self, sources: Iterable[Path], classes: Iterable[Path], to: Path) -> list[str]:
        """Warnings are errors: they are of our own sources alone."""
        path = ":".join(map(str, (self.everything, self.library, *self.further)))
        given = ":".join(map(str, (self.library, self.everything, *classes)))
        main = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
        options = ["-no-stdlib", "-no-reflect", "-Werror", "-jvm-target", "17", "-classpath", given]
        # One compilation of 30 files: the first tier of the JIT alone takes two thirds of the time.
        tier = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"]
        return ["java", *tier, "-cp", path, main, *options, "-d", str(to), *map(str, sources)]


def compiler() -> Compiler | None:
    """Of this environment; None without one."""
    found = importlib.util.find_spec("run_kotlin_kernel")
    if found is None or found.origin is None or shutil.which("javac") is None:
        return None
    jars = Path(found.origin).parent / "jars"
    (everything,) = jars.glob("*-all.jar")
    (library,) = jars.glob("kotlin-stdlib-*.jar")
    further = (*jars.glob("kotlin-reflect-*.jar"), *jars.glob("kotlin-script-runtime-*.jar"))
    return Compiler(everything, library, further)


def compiled(by: Compiler, name: str, sources: Path, classes: Iterable[Path] = ()) -> Path:
    """An archive of the classes of a folder; made anew where a source, the compiler or a class changed."""
    files = sorted(sources.rglob("*.kt"))
    classes = list(classes)
    digest = hashlib.sha256(str(by.library).encode())
    for file in (*files, *classes):
        digest.update(str(file).encode() + file.read_bytes())
    out, stamp = BUILD / f"{name}.jar", BUILD / f"{name}.sha256"
    if not (out.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest()):
        stamp.unlink(missing_ok=True)
        subprocess.run(by.command(files, classes, out), check=True)
        stamp.write_text(digest.hexdigest())
    return out


def shim() -> None:
    """libwalle_jni, against the C API of build/release."""
    where = BUILD / "jni"
    options = [f"-Dwalle_DIR={RELEASE}", "-G", "Ninja"]
    subprocess.run(["cmake", "-S", SHIM, "-B", where, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", where], check=True)


def libraries() -> Path:
    """The folder that `walle.library.path` names: the shim, and the VM beside it."""
    from walle_rt.vm import library_path

    folder = BUILD / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    for file in (BUILD / "jni" / "libwalle_jni.so", Path(library_path("device"))):
        link = folder / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    return folder


def build(by: Compiler) -> list[str]:
    """Everything; the command that runs the tests' program, without its arguments."""
    shim()
    library = compiled(by, "walle-rt", MAIN)
    tests = compiled(by, "tests", PROGRAMS, [library])
    path = ":".join(map(str, (library, tests, by.library, by.everything)))
    options = ["-Xcheck:jni", "-Xmx512m", f"-Dwalle.library.path={libraries()}"]
    return ["java", *options, "-cp", path, "walle.rt.tests.MainKt"]


def example(by: Compiler) -> Path:
    """The classes of examples/android, against stand-ins of Android's."""
    library = compiled(by, "walle-rt", MAIN)
    android = compiled(by, "stand-ins", STAND_INS)
    return compiled(by, "example", EXAMPLE, [library, android])


def main(words: list[str]) -> int:
    by = compiler()
    if by is None:
        print("kotlin: no Kotlin compiler and JDK; tools/setup.sh kotlin installs them", file=sys.stderr)
        return 1
    command = build(by)
    if words[:1] == ["run"]:
        return subprocess.run([*command, *words[1:]], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
