"""Say what this installation can do, and check that it computes."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .. import __version__, _core
from ..errors import Error
from ..model import Model
from ..options import available_processors
from ..vm import VM, Isolate, library_path
from .console import emit_json, out, size_text
from .exits import EXIT_INTERNAL, command
from .options import Json

EXTRAS = {
    "convert": ("onnx",),
    "cli": ("typer", "rich"),
    "demo": ("tokenizers", "safetensors", "PIL"),
    "bench": ("pytest_benchmark", "onnxruntime"),
}


@command
def main(json_: Json = False) -> None:
    """Print versions, processors, extras and the result of a small computation."""
    extras = {
        name: [m for m in modules if importlib.util.find_spec(m) is None] for name, modules in EXTRAS.items()
    }
    native, problem = _core.machine(), self_check()
    found: dict[str, Any] = {
        "walle_rt": __version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "processors": available_processors(),
        "cores": native["cores"],
        "capabilities": native["capabilities"],
        "backends": native["backends"],
        "cpu_override": os.environ.get("WALLE_CPU"),
        "operators": len(_core.op_table()),
        "core": _core.__file__,
        "extras_missing": {k: v for k, v in extras.items() if v},
        "self_check": problem or "passed",
        "vm": {flavour: vm_state(flavour) for flavour in ("device", "full")},
        "vm_source": vm_source(),
    }
    broken = [row["check"] for row in found["vm"].values() if row.get("check", "passed") != "passed"]
    if json_:
        emit_json(found)
    else:
        for key, value in found.items():
            if key not in ("extras_missing", "vm"):
                out.print(f"{key:<14} {shown(key, value)}")
        for flavour, row in found["vm"].items():
            out.print(f"vm {flavour:<11} {vm_text(row)}")
        for name, missing in extras.items():
            state = (
                f"missing {', '.join(missing)}: pip install 'walle_rt[{name}]'" if missing else "installed"
            )
            out.print(f"extra {name:<8} {state}")
    if problem or broken:
        raise typer.Exit(EXIT_INTERNAL)


def shown(key: str, value: Any) -> str:
    """What a line says of ``value``."""
    if key == "cores":
        return " + ".join(f"{row['count']} {row['name'] or 'of one kind'}" for row in value) or "not known"
    if isinstance(value, dict):
        return ", ".join(f"{name} on {where}" for name, where in value.items())
    return " ".join(value) if isinstance(value, list) else str(value)


def self_check() -> str | None:
    """y = max(x w + b, 0), against NumPy; None when it agrees."""
    random = np.random.default_rng(0)
    x, w, b = (random.standard_normal(s).astype(np.float32) for s in ((3, 5), (5, 7), (7,)))
    builder = _core.GraphBuilder("check")
    given = builder.input("x", "tensor", "float32", [3, 5])
    product = builder.node("MatMul", "m", [given, builder.constant("w", w, "float32")], ["p"], [])[0]
    total = builder.node("Add", "a", [product, builder.constant("b", b, "float32")], ["s"], [])[0]
    builder.outputs(builder.node("Relu", "r", [total], ["y"], []))
    try:
        got: Any = Model(_core.Model.create(builder.finish([], {}))).session(threads=1).run({"x": x})["y"]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    worst = float(np.abs(got - np.maximum(x @ w + b, 0)).max())
    return None if worst < 1e-4 else f"results differ from NumPy by {worst:.3g}"


def vm_state(flavour: str) -> dict[str, Any]:
    """Whether a flavour of the Python VM is there, what it is, and whether a task runs in it."""
    path = library_path(flavour)
    row: dict[str, Any] = {"path": str(path), "available": path.is_file()}
    if not path.is_file():
        return row
    row["bytes"] = path.stat().st_size
    try:
        vm = VM(flavour)
        row |= {"flavour": vm.flavour, "id": vm.id, "python": vm.python, "modules": len(vm.library)}
        with Isolate(vm) as isolate:
            answer = isolate.call("dumps", [1, None], module="json")
        row["check"] = "passed" if answer == "[1, null]" else f"json.dumps gave {answer!r}"
    except Error as error:
        row["check"] = str(error)
    return row


def vm_text(row: dict[str, Any]) -> str:
    """One line about a flavour."""
    if not row["available"]:
        return f"not built: no {row['path']}"
    if "id" not in row:
        return str(row["check"])
    return (
        f"Python {row['python']}, id {row['id']}, {size_text(row['bytes'])}, {row['modules']} modules, "
        f"check {row['check']}"
    )


def vm_source() -> str:
    """Where a build of this checkout would take CPython's source from; nothing is downloaded."""
    script = Path(__file__).resolve().parents[4] / "tools" / "vm" / "fetch_cpython.py"
    if not script.is_file():
        return "not needed: this is an installed package"
    done = subprocess.run([sys.executable, script, "--where"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip()
