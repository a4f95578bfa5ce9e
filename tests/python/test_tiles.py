"""Tiles of AMX are the system's: where it lends none, products take the form beside, to the same result."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest
from commands import run_command

from walle_rt import _core

PROGRAM = """
    import ctypes, sys
    import numpy as np, onnx.parser
    import walle_rt

    class Stack(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

    if sys.argv[1] == "small":  # no room for tiles: Linux lends none (sigaltstack(2), ENOSPC)
        room = ctypes.create_string_buffer(6144)
        given = Stack(ctypes.addressof(room), 0, len(room))
        assert ctypes.CDLL(None, use_errno=True).sigaltstack(ctypes.byref(given), None) == 0
    text = '''<ir_version: 8, opset_import: ["": 17]>
    f (uint8[64, 96] a, int8[96, 80] b) => (int32[64, 80] y) { y = MatMulInteger(a, b) }'''
    random = np.random.default_rng(5)
    a = random.integers(0, 256, (64, 96), np.uint8)
    b = random.integers(-128, 128, (96, 80)).astype(np.int8)
    session = walle_rt.load(onnx.parser.parse_model(text)).session(threads=1, plan_cache="off")
    y = session.run({"a": a, "b": b})["y"]
    assert (y == a.astype(np.int32) @ b.astype(np.int32)).all()
    print([row.algorithm for row in session.explain().rows if row.op == "MatMulInteger"][0])
"""


@pytest.mark.parametrize(("stack", "form"), [("none", "amx_int8"), ("small", "avx512_vnni")])
def test_products_are_exact_with_and_without_them(stack: str, form: str) -> None:
    if "amx_int8" not in _core.machine()["capabilities"]:
        pytest.skip("this machine cannot run amx_int8")
    done = run_command([sys.executable, "-c", dedent(PROGRAM), stack])
    assert done.stdout.strip().endswith(form)
