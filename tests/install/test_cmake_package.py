"""find_package(walle CONFIG): the installed library serves a C99 and a C++ program built against it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from consumer_inputs import PROMISES, save_model, save_task

from walle_rt.vm import VM, library_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


@pytest.mark.timeout(600)
def test_consumers(tmp_path: Path) -> None:
    assert BUILD.exists(), "build first (make build)"
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    source = Path(__file__).parent / "consumer"
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    for program in ("consumer_c", "consumer_cc", "consumer_vm", "consumer_device"):
        done = subprocess.run([build / program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "walle" in done.stdout or "ok" in done.stdout
    model = save_model(tmp_path / "half.walle")
    done = subprocess.run([build / "consumer_raii", model], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.count("ok  ") == PROMISES["raii"]
    if not VM.available():
        pytest.skip(f"no VM library at {library_path()}: the rest passed")
    task = save_task(tmp_path / "x.wtask")
    for library in (library_path("full"), library_path("device"), *(prefix / "lib" / "walle").glob("*.so")):
        done = subprocess.run(
            [build / "consumer_vm", library, task], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert done.stdout.count("ok  ") == PROMISES["vm"] and "FAILED" not in done.stdout
    installed = {str(f.relative_to(prefix)) for f in prefix.rglob("*") if f.is_file()}
    assert installed >= {f"lib/walle/libwalle_vm_{flavour}.so" for flavour in ("full", "device")}
    assert installed >= {f"share/doc/walle/LICENSE{what}" for what in ("", ".libsodium")}


def test_pkg_config(tmp_path: Path) -> None:
    """As a Makefile would; the package was moved since it was installed."""
    install = ["cmake", "--install", BUILD, "--component", "capi", "--prefix", tmp_path / "first"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    prefix = (tmp_path / "first").rename(tmp_path / "moved")

    def asked(*what: str) -> list[str]:
        command = ["pkg-config", f"--with-path={prefix / 'lib' / 'pkgconfig'}", *what, "walle"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    source, rpath = Path(__file__).parent / "consumer" / "main.c", f"-Wl,-rpath,{prefix / 'lib'}"
    command = ["cc", "-std=c99", source, *asked("--cflags", "--libs"), rpath, "-o", tmp_path / "program"]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["walle", *asked("--modversion")]
    assert Path(*asked("--variable=vmdir")).resolve() == prefix / "lib" / "walle"
