"""Copy the parts of the CPython source that the VM compiles into the build folder and edit them.

    edit_cpython.py SOURCE TARGET

The edits, each with its reason, are in the package `edits` beside this file. Files are rewritten only when
their content changes, so that incremental builds stay incremental.
"""

from __future__ import annotations

import sys
from pathlib import Path

from edits import THEMES
from edits.engine import apply, edited_paths

FOLDERS = ["Include", "Objects", "Python", "Parser", "Modules/_sre", "Modules/_hacl", "Modules/clinic"]
FILES = ["Modules/*.c", "Modules/*.h", "LICENSE"]


def main() -> int:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = [p for folder in FOLDERS for p in (source / folder).rglob("*") if p.is_file()]
    wanted += [p for pattern in FILES for p in source.glob(pattern)]
    missing = edited_paths(THEMES)
    for path in wanted:
        relative = path.relative_to(source).as_posix()
        data = path.read_bytes()
        if relative in missing:
            data = apply(THEMES, relative, data.decode()).encode()
            missing.discard(relative)
        out = target / relative
        if out.is_file() and out.read_bytes() == data:
            continue
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(data)
    if missing:
        raise SystemExit(f"files to edit are missing from the source: {sorted(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
