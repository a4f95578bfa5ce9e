"""The C library exports names that begin with walle_ and no others; the Python extension its init function alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What the linker and the C++ run-time put into any shared object.
ALWAYS = {"_init", "_fini", "_edata", "_end", "__bss_start"}


def exported(library: Path) -> list[str]:
    """Names of the dynamic symbols that ``library`` defines."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()]


def check(library: Path, prefix: str) -> list[str]:
    """Exported names that do not begin with ``prefix``."""
    return sorted({name for name in exported(library) if not name.startswith(prefix) and name not in ALWAYS})


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    found = [(library, "walle_") for library in sorted(build.rglob("libwalle.so*")) if not library.is_symlink()]
    found += [(library, "PyInit_") for library in sorted((ROOT / "src" / "python" / "walle_rt").glob("_core*.so"))]
    found += [(lib, "walle_vm_") for lib in sorted((ROOT / "src/python/walle_rt/vm").glob("libwalle_vm_*.so"))]
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
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
