"""Seeds for package_fuzz: manifests of a package with everything and of one with as little as may be, with
and without the checksum behind them.

python package_seeds.py FOLDER
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from walle_rt.task._package import FileKind, Package, PackageFile


def _file(name: str, kind: FileKind) -> PackageFile:
    return PackageFile(name, hashlib.sha256(name.encode()).hexdigest(), len(name), kind)


REQUIRED = [_file(".walle/code", FileKind.CODE), _file(".walle/manifest", FileKind.POLICY)]
LEAST = Package("s", "t", "0.0.0", "v", files=REQUIRED)
WHOLE = Package(
    "shop",
    "ipv",
    "1.2.3-rc.1",
    "cpython-3.13.5/walle-2",
    "0123456789abcdef",
    1 << 25,
    facts=["charging", "idle"],
    capabilities=["walle.engine", "walle.kv"],
    imports=["json", "math"],
    files=[*REQUIRED, _file("models/m.walle", FileKind.RESOURCE), _file("words.txt", FileKind.RESOURCE)],
)


def main(folder: Path) -> None:
    """Write the seeds once; a folder that has some is left alone."""
    if any(folder.glob("seed_*")):
        return
    for i, package in enumerate((LEAST, WHOLE)):
        (folder / f"seed_{i}").write_bytes(package.to_bytes())
        (folder / f"seed_{i}_table").write_bytes(package.to_bytes()[:-4])
    print("4 seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
