"""Write libwalle's version script: the public names, and what the Python extension calls (cmake/capi.cmake).

private_symbols.py OUTPUT EXPORTS NM OBJECT...
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# The engine's own names, and their tables, type information and guards (Itanium C++ ABI, 5.1): functions and
# data of namespace walle, not what std:: makes of its types, which both sides have.
OURS = re.compile(r"_Z(?:N[KVrRO]*5walle|T[VIST]N5walle|GVN5walle|N5walle)")


def called(nm: str, objects: list[str]) -> set[str]:
    """Names of namespace walle that ``objects`` need and do not define."""
    needed: set[str] = set()
    defined: set[str] = set()
    listed = subprocess.run([nm, "-P", *objects], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split()
        if len(words) > 1 and OURS.match(words[0]):
            (needed if words[1] == "U" else defined).add(words[0])
    return needed - defined


def main() -> int:
    output, exports, nm, *objects = sys.argv[1:]
    names = "".join(f"    {name};\n" for name in sorted(called(nm, objects)))
    # Not for anybody else: the names change with every version, and so does nothing that may be relied on.
    private = f"WALLE_PRIVATE {{\n  global:\n{names}}};\n"
    Path(output).write_text(Path(exports).read_text() + private)
    return 0


if __name__ == "__main__":
    sys.exit(main())
