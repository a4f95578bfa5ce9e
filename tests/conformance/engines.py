"""The engines a case can be run on: ours, and peers to check the suite's own reading of its files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import onnx
from narrow import elements, to_bits, to_values

Runner = Callable[[Path, onnx.ModelProto, dict[str, Any]], dict[str, Any]]


def walle(path: Path, model: onnx.ModelProto, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run on walle_rt, by default on one thread; bfloat16 and float8 values travel as their bits."""
    import walle_rt

    kinds = elements(model)
    feeds = {name: to_bits(value, kinds.get(name, 0)) for name, value in inputs.items()}
    outputs = walle_rt.load(str(path)).session(**{"threads": 1, **options}).run(feeds)
    return {name: to_values(value, kinds.get(name, 0)) for name, value in outputs.items()}


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
    "no-search": {"search": False},
    "no-merge": {"merge": False},
    "no-fuse": {"fuse": False},
    "no-layouts": {"layouts": False},
    "no-claim": {"claim": False},
    "two-threads": {"threads": 2},
    "plain": {"search": False, "merge": False, "fuse": False, "claim": False, "fold": False},
    "null": {"backend": "null"},
    "null-plain": {
        "backend": "null",
        "search": False,
        "merge": False,
        "fuse": False,
        "claim": False,
        "fold": False,
    },
    "split-layouts": {"placement": f"random:{SEED}"},
    "split": {"backend": "cpu,null", "placement": f"random:{SEED}"},
    "split-two-threads": {"backend": "cpu,null", "placement": f"random:{SEED}", "threads": 2},
}

ENGINES: dict[str, Runner] = {
    "walle": walle,
    "onnxruntime": onnxruntime,
    **{name: partial(walle, **options) for name, options in SWITCHES.items()},
}
