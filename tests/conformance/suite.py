"""The ONNX backend test suites as data: where they come from, what their cases are, how a case is read.

The cases are taken from one fixed release of the onnx wheel, unpacked as data, because the installed onnx
package may be newer and its cases would then move under the list of passing ones.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import generated
import numpy as np
import onnx
from narrow import element, to_values
from onnx import numpy_helper

RELEASE = "1.16.2"
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / f"onnx-{RELEASE}"
PASSING = Path(__file__).with_name("passing.txt")
DATA = CACHE / "onnx" / "backend" / "test" / "data"

# suite -> (folders that make it up, cases it has, passes that must be reached)
SUITES: dict[str, tuple[tuple[str, ...], int, int]] = {
    "node": (("node",), 1282, 1150),
    "pytorch": (("pytorch-converted", "pytorch-operator"), 117, 110),
    "simple": (("simple",), 23, 20),
    "light": (("light",), 9, 9),
    "generated": (("generated",), 1884, 1850),
}
# suite -> the list of its cases that must pass; the stored suites share one
LISTS: dict[str, Path] = {suite: generated.PASSING if suite == "generated" else PASSING for suite in SUITES}


@dataclass(frozen=True)
class Case:
    """One case: its id (folder/name) and the model file it runs."""

    suite: str
    id: str
    model: Path


def fetch() -> None:
    """Bring the suites' data into .cache/ once; later calls do nothing."""
    generated.fetch()
    done = CACHE / "complete"
    if done.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    # Any Python's wheel holds the same test data; cp311 exists for every platform the release was built for.
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
        "--python-version=3.11", "--implementation=cp", f"--dest={CACHE}", f"onnx=={RELEASE}",
    ]  # fmt: skip
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(CACHE.glob("onnx-*.whl"))
    if not wheels:
        raise RuntimeError(
            f"cannot fetch the wheel onnx=={RELEASE} that holds the backend suite:\n{finished.stderr}"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        members = [name for name in wheel.namelist() if name.startswith("onnx/backend/test/data/")]
        wheel.extractall(CACHE, members)
    wheels[0].unlink()
    done.write_text(f"{len(members)} files\n")


def listed() -> set[str]:
    """The ids of the cases that must pass, of all suites."""
    lines = [line for path in set(LISTS.values()) for line in path.read_text().splitlines()]
    return {line for line in lines if line and not line.startswith("#")}


def suite_of(case_id: str) -> str:
    """The suite of a case, by the folder in its id."""
    folder = case_id.split("/")[0]
    return next(suite for suite, (folders, _, _) in SUITES.items() if folder in folders)


def cases() -> list[Case]:
    """All cases of all suites, in a stable order."""
    found: list[Case] = []
    for suite, (folders, _, _) in SUITES.items():
        for folder in folders:
            if folder == "light":
                models = sorted((DATA / folder).glob("*.onnx"))
                found += [Case(suite, f"{folder}/{model.stem}", model) for model in models]
            else:
                root = generated.DATA if folder == "generated" else DATA / folder
                models = sorted(root.glob("*/model.onnx"))
                found += [Case(suite, f"{folder}/{model.parent.name}", model) for model in models]
    return found


FLOAT8 = {getattr(onnx.TensorProto, f"FLOAT8{kind}") for kind in ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ")}


def _bits(tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
    """A tensor as a NumPy array; bfloat16, which NumPy lacks, as float32 of the same values,
    float8 as uint8 bits.
    """
    if tensor.data_type in FLOAT8:
        small = (
            np.frombuffer(tensor.raw_data, np.uint8)
            if tensor.raw_data
            else np.array(tensor.int32_data, np.uint8)
        )
        return small.reshape(tuple(tensor.dims))
    if tensor.data_type == onnx.TensorProto.BFLOAT16:
        raw = np.frombuffer(tensor.raw_data, "<u2") if tensor.raw_data else np.array(tensor.int32_data, "<u2")
        return (raw.astype("<u4") << 16).view("<f4").reshape(tuple(tensor.dims))
    return np.asarray(numpy_helper.to_array(tensor))


def _sequence(sequence: onnx.SequenceProto) -> list[Any]:
    kinds = onnx.SequenceProto
    if sequence.elem_type == kinds.TENSOR:
        return [_bits(t) for t in sequence.tensor_values]
    if sequence.elem_type == kinds.SEQUENCE:
        return [_sequence(s) for s in sequence.sequence_values]
    if sequence.elem_type == kinds.OPTIONAL:
        return [_optional(o) for o in sequence.optional_values]
    return []


def _optional(optional: onnx.OptionalProto) -> Any:
    kinds = onnx.OptionalProto
    if optional.elem_type == kinds.TENSOR:
        return _bits(optional.tensor_value)
    if optional.elem_type == kinds.SEQUENCE:
        return _sequence(optional.sequence_value)
    return None


def read_value(path: Path, kind: onnx.TypeProto) -> Any:
    """A value file: an array, a list of arrays for a sequence, None for an empty optional."""
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return _sequence(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return _optional(onnx.OptionalProto.FromString(data))
    return to_values(_bits(onnx.TensorProto.FromString(data)), element(kind))


def data_sets(case: Case, model: onnx.ModelProto) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The (inputs by name, expected outputs by name) pairs of a case."""
    if case.suite == "light":
        return [_light_data(case, model)]
    pairs = []
    for folder in sorted(case.model.parent.glob("test_data_set_*")):
        inputs: dict[str, Any] = {}
        for i in range(len(list(folder.glob("input_*.pb")))):
            info = model.graph.input[i]
            inputs[info.name] = read_value(folder / f"input_{i}.pb", info.type)
        outputs: dict[str, Any] = {}
        for i in range(len(list(folder.glob("output_*.pb")))):
            info = model.graph.output[i]
            outputs[info.name] = read_value(folder / f"output_{i}.pb", info.type)
        pairs.append((inputs, outputs))
    return pairs


def _light_data(case: Case, model: onnx.ModelProto) -> tuple[dict[str, Any], dict[str, Any]]:
    """Light models keep no inputs on disk: the suite's runner feeds a ramp from 0 to 1."""
    constants = {t.name for t in model.graph.initializer}
    inputs: dict[str, Any] = {}
    for info in model.graph.input:
        if info.name in constants:
            continue
        shape = tuple(d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim)
        count = int(np.prod(shape))
        inputs[info.name] = (np.arange(count).reshape(shape) / count).astype(np.float32)
    outputs: dict[str, Any] = {}
    for i, info in enumerate(model.graph.output):
        outputs[info.name] = read_value(case.model.with_name(f"{case.model.stem}_output_{i}.pb"), info.type)
    return inputs, outputs
