"""The source archive: made, built and installed in a fresh venv as pip does it, and tried like a wheel.

try_sdist.py [--out dist]

What a build asks of PyPI comes from there, as it does for everybody; what it asks of the system,
tools/setup.sh has installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wheel_pythons import target
from wheel_trial import Trial

REPO = Path(__file__).resolve().parents[1]


def make(out: Path) -> Path:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", scratch, REPO]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"try_sdist: no archive was made:\n{done.stdout}{done.stderr}")
        (archive,) = Path(scratch).glob("walle_rt-*.tar.gz")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(archive, out / archive.name))  # from another file system, maybe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPO / "dist")
    given = parser.parse_args()
    archive = make(given.out.resolve())
    print(f"{archive.name}\n  {archive.stat().st_size / 1e6:.2f} MB", flush=True)
    # pip unpacks it into a folder of a new name each time; to a compiler cache they are all one.
    os.environ["CCACHE_BASEDIR"] = tempfile.gettempdir()
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"  {Trial(target(this, 'x86_64')).run(archive)}", flush=True)


if __name__ == "__main__":
    main()
