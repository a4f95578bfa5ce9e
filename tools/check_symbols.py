"""The C library exports names that begin with walle_ and, under the version node WALLE_PRIVATE, what the
Python extension calls in namespace walle; the extension its init function alone.

check_symbols.py [BUILD] [--glibc 2.28]    the VM libraries of BUILD also need no newer C library
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What the linker and the C++ run-time put into any shared object.
ALWAYS = {"_init", "_fini", "_edata", "_end", "__bss_start", "WALLE_0", "WALLE_PRIVATE"}
# Of the C library's C++ functions (tools/private_symbols.py): nobody else's, and named so.
PRIVATE = re.compile(r"_Z[^@]*5walle[^@]*@+WALLE_PRIVATE$")


def exported(library: Path) -> list[str]:
    """Names of the dynamic symbols that ``library`` defines for everybody."""
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[-1] for line in text.splitlines() if line.strip()]
    return [name.split("@")[0] for name in names if not PRIVATE.match(name)]


def check(library: Path, prefix: str) -> list[str]:
    """Exported names that do not begin with ``prefix``."""
    return sorted({name for name in exported(library) if not name.startswith(prefix) and name not in ALWAYS})


def newest_glibc(library: Path) -> tuple[int, ...]:
    """The newest symbol version of the C library that ``library`` asks for."""
    text = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return max(tuple(map(int, version.split("."))) for version in re.findall(r"@GLIBC_([0-9.]+)", text))


def glibc_report(build: Path, limit: str) -> int:
    """How many VM libraries of ``build`` ask for a C library newer than ``limit``."""
    over = 0
    for library in sorted(build.glob("libwalle_vm_*.so")):
        newest = newest_glibc(library)
        over += newest > tuple(map(int, limit.split(".")))
        print(f"{library.name}: needs glibc {'.'.join(map(str, newest))}, allowed {limit}")
    return over


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--glibc", metavar="VERSION")
    options = parser.parse_args()
    build = options.build.resolve()
    found = [
        (library, "walle_") for library in sorted(build.rglob("libwalle.so*")) if not library.is_symlink()
    ]
    # A build for another machine has a package of its own, with links to its VM libraries.
    own = build / "python" / "walle_rt"
    package = own if own.is_dir() else ROOT / "src" / "python" / "walle_rt"
    found += [(library, "PyInit_") for library in sorted(package.glob("_core*.so"))]
    vm_libraries = {f.resolve() for d in (package / "vm", build) for f in d.glob("libwalle_vm_*.so")}
    found += [(library, "walle_vm_") for library in sorted(vm_libraries)]
    if not found:
        print(f"no libwalle.so below {build} and no _core extension: build first (make build)")
        return 1
    bad = 0
    for library, prefix in found:
        names = check(library, prefix)
        print(f"{library.name}: {len(exported(library)) - len(names)} symbols {prefix}*, {len(names)} others")
        for name in names[:20]:
            print(f"  {name}")
        bad += len(names)
    if options.glibc is not None:
        bad += glibc_report(build, options.glibc)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
