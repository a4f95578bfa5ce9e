"""The engines a case can be run on: ours, and peers to check the suite's own reading of its files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import onnx
from narrow import elements, to_bits, to_values
from own import own

Runner = Callable[[Path, onnx.ModelProto, dict[str, Any]], dict[str, Any]]


@lru_cache(maxsize=1)
def _converted(path: Path) -> Any:
    """A case's model, converted once for all variants that are asked about it in a row."""
    import walle_rt

    return walle_rt.load(str(path))


def walle(
    path: Path, model: onnx.ModelProto, inputs: dict[str, Any], cpu: str = "", **options: Any
) -> dict[str, Any]:
    """Run on walle_rt, by default on one thread; bfloat16 and float8 values travel as their bits.

    cpu: the instruction set; by default the one that the environment or the machine says.
    """
    kinds = elements(model)
    feeds = {name: to_bits(value, kinds.get(name, 0)) for name, value in inputs.items()}
    before = os.environ.get("WALLE_CPU")
    if cpu:
        os.environ["WALLE_CPU"] = cpu  # read whenever a session is made
    try:
        session = _converted(path).session(**{"threads": 1, **options})
    finally:
        if cpu and before is None:
            del os.environ["WALLE_CPU"]
        elif cpu:
            os.environ["WALLE_CPU"] = str(before)
    return {name: to_values(value, kinds.get(name, 0)) for name, value in session.run(feeds).items()}


def onnxruntime(path: Path, model: onnx.ModelProto, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run on onnxruntime; a case it fails too is not the suite reader's fault in ours."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


# Of nodes placed by lot; a run is repeated by setting the variable. The worker processes inherit it.
SEED = int(os.environ.setdefault("WALLE_TEST_SEED", str(random.SystemRandom().randrange(2**32))))

# The planner's switches, for comparison with the default: every optimisation must leave the results alone.
# On "null" every operand lies in a memory that poisons what was not copied into it; "split" places each node
# by lot there or on the CPU; "split-layouts" takes row-major or blocked storage by lot.
SWITCHES: dict[str, dict[str, Any]] = {
    "no-search": {"debug": "search=off"},
    "no-merge": {"debug": "merge=off"},
    "no-fuse": {"debug": "fuse=off"},
    "no-layouts": {"debug": "layouts=off"},
    "no-claim": {"debug": "claim=off"},
    "two-threads": {"threads": 2},
    "plain": {"debug": "search=off,merge=off,fuse=off,claim=off,fold=off"},
    "null": {"backend": "null"},
    "null-plain": {"backend": "null", "debug": "search=off,merge=off,fuse=off,claim=off,fold=off"},
    "split-layouts": {"debug": f"placement=random:{SEED}"},
    "split": {"backend": "cpu,null", "debug": f"placement=random:{SEED}"},
    "split-two-threads": {"backend": "cpu,null", "debug": f"placement=random:{SEED}", "threads": 2},
}

# The flag in /proc/cpuinfo without which a set cannot run here.
ISA_FLAGS = {"scalar": "", "sse4": "sse4_2", "avx2": "avx2", "avx512": "avx512f"}

ENGINES: dict[str, Runner] = {
    "walle": walle,
    "onnxruntime": onnxruntime,
    "own": own,
    **{name: partial(walle, **options) for name, options in SWITCHES.items()},
    **{isa: partial(walle, cpu=isa) for isa in ISA_FLAGS},
    **{
        f"{isa} {name}": partial(walle, cpu=isa, **options)
        for isa in ISA_FLAGS
        for name, options in SWITCHES.items()
    },
}
