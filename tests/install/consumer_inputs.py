"""What the programs of consumer/ are given: a model with a signature, and a task's code."""

from __future__ import annotations

from pathlib import Path

import onnx.parser

import walle_rt
from walle_rt.convert import convert
from walle_rt.vm import TaskBundle

TASK = """
def echo(x):
    print('hello')
    return {'got': x}
def fill(t):
    t[1] = 9.0
    return t
def fail():
    return 1 / 0
def spin():
    while True: pass
"""


HALF = """<ir_version: 8, opset_import: ["" : 17]>
half (float[n, 4] data) => (float[n, 4] prob) <float h = {0.5}> { prob = Mul(data, h) }"""

# Lines "ok  ..." of consumer_raii and consumer_vm when every promise is kept.
PROMISES = {"raii": 14, "vm": 20}


def save_model(path: Path) -> Path:
    """For consumer_raii, and small enough for an emulator."""
    signature = ("classify", [("x", "data")], [("y", "prob")])
    model, _ = convert(onnx.parser.parse_model(HALF), signatures=[signature])
    walle_rt.load(model.serialize()).save(path)
    return path


def save_task(path: Path) -> Path:
    """For consumer_vm."""
    TaskBundle.from_source({"main": TASK}).save(path)
    return path
