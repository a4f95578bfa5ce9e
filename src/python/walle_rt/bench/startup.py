"""From the start of a process to its first result, and the most memory it held: one process per figure.

The programs import what an app would and nothing of ours but for our own rows, so that nobody pays for
another's modules.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import walle_rt

from .builder import Array
from .peers import Unavailable, need
from .peers import mnn as mnn_peer
from .peers import ncnn as ncnn_peer

_HEAD = "import sys, numpy as np\nmodel = sys.argv[1]\nx = dict(np.load(sys.argv[2]))\n"
_TAIL = """
status = open('/proc/self/status').read().splitlines()
peak = next((int(line.split()[1]) * 1024 for line in status if line.startswith('VmHWM')), 0)
print('first', peak, float(np.abs(np.asarray(y, np.float64)).sum()), flush=True)
"""
_WALLE = "import walle_rt\ny = list(walle_rt.load(model).session(threads=1).run(x).values())[0]"
PROGRAMS = {
    "walle (.walle)": _WALLE,
    "walle (.onnx)": _WALLE,
    "onnxruntime": """import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
y = ort.InferenceSession(model, options, providers=['CPUExecutionProvider']).run(None, x)[0]""",
    "openvino": """import openvino as ov
core = ov.Core()
options = {'INFERENCE_NUM_THREADS': 1, 'NUM_STREAMS': 1, 'INFERENCE_PRECISION_HINT': 'f32'}
y = core.compile_model(core.read_model(model), 'CPU', options)(x)[0]""",
    "MNN": """import MNN
from MNN import expr, nn
runtime = nn.create_runtime_manager(({'backend': 0, 'precision': 'high', 'numThread': 1},))
net = nn.load_module_from_file(model, list(x), [sys.argv[3]], runtime_manager=runtime)
y = net.forward([expr.const(a, list(a.shape), expr.NCHW, expr.float) for a in x.values()])[0].read()""",
    "ncnn": """import ncnn
net = ncnn.Net()
net.opt.num_threads = 1
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
net.load_param(model)
net.load_model(model[:-5] + 'bin')
extractor = net.create_extractor()
extractor.input('in0', ncnn.Mat(list(x.values())[0][0]))
y = np.array(extractor.extract('out0')[1])""",
}
SECONDS = 120


@dataclass
class Start:
    """The best of several processes."""

    model: str
    engine: str
    seconds: float
    peak_bytes: int
    reason: str = ""  # why there are no figures

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def file_for(engine: str, model: Path, cache: Path) -> Path:
    """The file an engine starts from; Unavailable says why there is none."""
    if engine == "walle (.walle)":
        saved = cache / f"{model.stem}.walle"
        if not saved.exists() or saved.stat().st_mtime < model.stat().st_mtime:
            walle_rt.load(str(model)).save(str(saved))
        return saved
    if engine == "MNN":
        need("MNN", "MNN")
        return mnn_peer.convert(model, cache)
    if engine == "ncnn":
        need("ncnn", "ncnn")
        return ncnn_peer.convert(model, cache)
    if not engine.startswith("walle"):
        need(engine, engine)
    return model


def once(engine: str, file: Path, inputs: Path, output: str) -> tuple[float, int]:
    """Seconds from starting a process to its first result, and its peak of memory in bytes."""
    command = [sys.executable, "-c", _HEAD + PROGRAMS[engine] + _TAIL, str(file), str(inputs), output]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        first = next((line for line in process.stdout if line.startswith("first ")), "")
        seconds = time.perf_counter() - begin
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        if not first:
            said = process.stderr.read().strip().splitlines()
            raise Unavailable(f"no result: {said[-1][:160] if said else 'no message'}")
    return seconds, int(first.split()[1])


def starts(
    name: str, model: Path, feeds: dict[str, Array], output: str, cache: Path, rounds: int
) -> list[Start]:
    """Every engine's, in turn; the least time and the least peak of the rounds."""
    inputs = cache / f"{model.stem}.inputs.npz"
    np.savez(inputs, **feeds)  # type: ignore[arg-type]
    found = {engine: Start(name, engine, float("inf"), 0) for engine in PROGRAMS}
    files: dict[str, Path] = {}
    for engine, start in found.items():
        try:
            files[engine] = file_for(engine, model, cache)
        except Unavailable as error:
            start.reason = str(error)
    for _ in range(rounds + 1):  # the first one brings files into memory
        for engine, file in list(files.items()):
            try:
                seconds, peak = once(engine, file, inputs, output)
            except Unavailable as error:
                found[engine].reason = str(error)
                del files[engine]
                continue
            start = found[engine]
            start.seconds = min(start.seconds, seconds)
            start.peak_bytes = min(start.peak_bytes or peak, peak)
    return list(found.values())


def start_table(found: Sequence[Start]) -> list[str]:
    """One line per model and engine."""
    lines = [f"{'model':20s}{'engine':18s}{'s':>8s}{'peak MB':>10s}"]
    for start in found:
        if start.reason:
            lines.append(f"{start.model:20s}{start.engine:18s}  {start.reason}")
        else:
            lines.append(
                f"{start.model:20s}{start.engine:18s}{start.seconds:8.3f}{start.peak_bytes / 1e6:10.1f}"
            )
    return lines
