"""The source archive: what the repository has and nothing else, and a build finds all that it looks for."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("walle_rt-*.tar.gz"))


@pytest.fixture(scope="module")
def unpacked(archive: Path) -> Path:
    subprocess.run(["tar", "-xf", archive, "-C", archive.parent], check=True)
    return archive.parent / archive.name.removesuffix(".tar.gz")


def test_holds_what_the_repository_has(archive: Path) -> None:
    """Files that git does not know yet but does not ignore, too: an author's new ones."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    known = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    with tarfile.open(archive) as tar:
        held = {member.name.split("/", 1)[1] for member in tar if member.isfile()}
    wanted = {name for name in known if name and (ROOT / name).is_file() and not name.startswith(".")}
    assert wanted - held == set()
    assert {name for name in held - wanted if not name.startswith(".")} == {"PKG-INFO"}
    assert archive.stat().st_size < 5e6


def test_a_build_finds_its_files(unpacked: Path, tmp_path: Path) -> None:
    """Configured as a wheel is, away from the checkout; ninja names an input that is absent."""
    settings = tomllib.loads((unpacked / "pyproject.toml").read_text())["tool"]["scikit-build"]["cmake"][
        "define"
    ]
    defines = [
        f"-D{name}={value}" for name, value in {**settings, "SKBUILD": "2", "WALLE_VM_WHOLE": "OFF"}.items()
    ]
    pythons = [f"-D{name}_EXECUTABLE={sys.executable}" for name in ("Python", "Python3")]
    build = tmp_path / "build"
    command = ["cmake", "-S", unpacked, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    done = subprocess.run([*command, *defines, *pythons], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    planned = subprocess.run(["ninja", "-C", build, "-n"], capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert str(ROOT) not in (build / "build.ninja").read_text().replace(sys.prefix, "")
