"""Find the CPython source archive, check it, unpack it once; print the source folder.

Exit status 3 and one line on stderr: none could be had, build without the VM. How it is looked for, and what
--where says: ../source_archive.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from source_archive import SourceArchive

VERSION = "3.13.5"
CPYTHON = SourceArchive(
    name="CPython",
    top=f"Python-{VERSION}",
    sha256="93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640",
    suffix=".tar.xz",
    variable="WALLE_CPYTHON_TARBALL",
    upstream=f"https://www.python.org/ftp/python/{VERSION}/Python-{VERSION}.tar.xz",
    debian_pool=f"pool/main/p/python3.13/python3.13_{VERSION}.orig.tar.xz",
)

if __name__ == "__main__":
    sys.exit(CPYTHON.main())
