"""Installs a wheel beside NumPy for one Python and has tools/try_wheel.py try it, with a server on this side.

In a fresh venv where the Python is this machine's, into a folder beside Debian's packages where it is not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from wheel_pythons import INSIDE, Target

REPO = Path(__file__).resolve().parents[1]
sys.path += [str(REPO / "tests" / "python" / "cloud"), str(REPO / "tests" / "python")]
PATIENCE_S = 600  # an emulator takes half a minute to import NumPy
TOML = """
[task]
name = "shop"
version = "1.0.0"
[triggers]
bought = "buy"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[events.buy]
fields = { price = { type = "int", sensitivity = "open" } }
[results.sales]
columns = { price = "int" }
"""
MAIN = "def main(event):\n    return {'price': event['fields']['price']}\n"


class Trial:
    """One wheel at a time; what is installed for it goes with it."""

    def __init__(self, target: Target) -> None:
        """For wheels of that Python."""
        self.target = target

    def run(self, wheel: Path) -> str:
        """What the trial says; SystemExit with all that it printed where something fails."""
        inside = self.target.folder if INSIDE in self.target.command else None
        with tempfile.TemporaryDirectory(dir=inside) as made:
            folder = Path(made)
            python, environment = self.installed(wheel, folder)
            shutil.copy(REPO / "tools" / "try_wheel.py", folder)
            self.model(folder)
            cloud = self.cloud(folder)
            try:
                script, seen = (self.target.path(folder / "try_wheel.py"), self.target.path(folder))
                command = [*python, script, seen, cloud.url, next(iter(cloud.codes))]
                done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True,
                                      timeout=PATIENCE_S)  # fmt: skip
            finally:
                cloud.close()
        if done.returncode:
            raise SystemExit(f"wheels: {wheel.name} failed its trial:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def installed(self, wheel: Path, folder: Path) -> tuple[tuple[str, ...], dict[str, str]]:
        """What runs the Python that has it, and in which environment: nothing of the checkout is in sight."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "WALLE", "VIRTUAL"))}
        kept |= {"PYTHONNOUSERSITE": "1", "HOME": "/tmp"}
        if self.target.folder is None:
            subprocess.run([*self.target.command, "-m", "venv", folder / "venv"], check=True, env=kept)
            python = str(folder / "venv" / "bin" / "python")
            command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
            subprocess.run(command, check=True, env=kept)
            return (python,), kept
        packages = self.target.path(self.unpacked(wheel, folder / "packages"))
        return self.target.command, {**kept, "PYTHONPATH": packages}

    def unpacked(self, wheel: Path, folder: Path) -> Path:
        """By this machine's pip, which decides by the tags whether that Python takes the wheel at all."""
        # 3.12 and later have NumPy for this libc alone; all are from 2.28 on.
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--target",
            folder,
        ]
        command += ["--implementation", "cp", "--python-version", self.target.version, "--only-binary=:all:"]
        for name in ("manylinux_2_28", "manylinux_2_27", "manylinux2014"):
            command += ["--platform", f"{name}_{self.target.machine}"]
        subprocess.run([*command, wheel], check=True)
        return folder

    def model(self, folder: Path) -> None:
        """A small network with what this machine's own build computes of it."""
        import walle_rt
        from walle_rt.bench import zoo

        made = zoo.build("squeezenet_1_1:s64")
        feeds = zoo.feeds(made)
        walle_rt.load(made).save(folder / "model.walle")
        session = walle_rt.load(folder / "model.walle").session(plan_cache="off")
        np.savez(folder / "input.npz", **feeds)
        np.save(folder / "output.npy", next(iter(session.run(feeds).values())))

    def cloud(self, folder: Path):
        """A server of the tests' with one release of a task."""
        from small_cloud import SmallCloud

        (folder / "cloud").mkdir()
        cloud = SmallCloud(folder / "cloud")
        task = folder / "task"
        task.mkdir()
        (task / "task.toml").write_text(TOML)
        (task / "main.py").write_text(MAIN)
        cloud.release(1, ("r1", cloud.publish(task)))
        (folder / "root.json").write_bytes(cloud.root)
        return cloud
