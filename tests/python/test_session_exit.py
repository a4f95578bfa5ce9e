"""A process ends with its own exit code while threads that Python does not wait for run models."""

from __future__ import annotations

import pytest
from commands import run_python

SCRIPT = """
import threading, time
import numpy as np
from walle_rt import Model, _core

builder = _core.GraphBuilder("square")
x = builder.input("x", "tensor", "float32", [64, 64])
builder.outputs(builder.node("MatMul", "product", [x, x], ["y"], []))
model = Model(_core.Model.create(builder.finish([], {})))
data = np.ones((64, 64), np.float32)

def run():
    session = model.session(threads=1)
    while True:
        session.run({"x": data})

for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize("round_", range(5))
def test_daemon_threads(round_: int) -> None:
    assert run_python(SCRIPT).stdout == ""
