"""ncnn through pnnx, whose wheel holds a stand-alone converter that reads ONNX.

ncnn has no batch axis: a leading 1 is dropped from the inputs, and models of a larger batch are refused.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx

from ..builder import Array
from . import Feeds, Run, Unavailable, need

SETTINGS = (
    "packing layout, Winograd and sgemm convolution on, no fp16 or bf16, weights released after packing"
)


def _converter() -> Path:
    spec = importlib.util.find_spec("pnnx")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("its converter is not installed (pip install --no-deps pnnx)")
    return Path(spec.submodule_search_locations[0]) / "pnnx"


def convert(model: Path, cache: Path) -> Path:
    """The .param file of an ONNX file's twin, made once in a folder of its own:
    pnnx writes beside its input.
    """
    folder = (cache / f"{model.stem}.ncnn").resolve()  # the converter is called from within it
    param = folder / "model.ncnn.param"
    if not param.exists():
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / "model.onnx"
        shutil.copyfile(model, copy)
        done = subprocess.run(
            [_converter(), copy, "fp16=0"], cwd=folder, capture_output=True, text=True, check=False
        )
        copy.unlink()
        if not param.exists():
            raise Unavailable(f"its converter failed: {(done.stdout + done.stderr).strip()[-200:]}")
    return param


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Load float32 throughout: no half-precision storage or arithmetic."""
    ncnn = need("ncnn", "ncnn")
    batched = [name for name, array in feeds.items() if array.shape and array.shape[0] != 1]
    if batched:
        raise Unavailable("no batch axis")
    param = convert(model, cache)
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.opt.use_packing_layout = net.opt.use_winograd_convolution = net.opt.use_sgemm_convolution = True
    net.opt.lightmode = True
    if net.load_param(str(param)) != 0 or net.load_model(str(param.with_suffix(".bin"))) != 0:
        raise Unavailable("cannot load what its converter wrote")
    graph = onnx.load(str(model), load_external_data=False).graph
    order, outputs = [value.name for value in graph.input], len(graph.output)
    arrays = []
    for name in order:
        array = feeds[name][0] if feeds[name].ndim > 1 else feeds[name]
        arrays.append(np.ascontiguousarray(array.astype(np.int32) if array.dtype == np.int64 else array))
    mats = [ncnn.Mat(array).clone() for array in arrays]  # a Mat made of an array only borrows its memory

    def run() -> list[Array]:
        extractor = net.create_extractor()
        for i, mat in enumerate(mats):
            extractor.input(f"in{i}", mat)
        found = []
        for i in range(outputs):
            status, out = extractor.extract(f"out{i}")
            if status != 0:
                raise Unavailable(f"extract failed with {status}")
            found.append(np.array(out))
        return found

    return run
