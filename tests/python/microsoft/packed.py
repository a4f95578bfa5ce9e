"""Weights of 2, 4 and 8 bits in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Array, Case
from .layers import floats, rng, single


def packed(codes: Array, bits: int) -> Array:
    """Codes along the last axis in bytes, the lowest bits first; the last byte is filled up with 0."""
    each = 8 // bits
    short = -codes.shape[-1] % each
    whole = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, short)])
    parts = whole.reshape(*whole.shape[:-1], -1, each).astype(np.uint32)
    return np.asarray((parts << (np.arange(each) * bits)).sum(-1).astype(np.uint8))


def matmul(bits: int, size: int, inner: int, zero: str, bias: bool) -> Case:
    rows, blocks = 5, -(-inner // size)
    codes = rng.integers(0, 2**bits, (rows, blocks, size))
    scales = np.abs(floats(rows, blocks)) / 10 + np.float32(0.01)
    zeros = rng.integers(0, 2**bits, (rows, blocks))
    inputs: list[Array | None] = [floats(2, 3, inner), packed(codes, bits), scales.ravel(), None, None, None]
    points: Array = np.full((rows, blocks), 2.0 ** (bits - 1))
    if zero == "codes":
        inputs[3], points = packed(zeros, bits).ravel(), zeros.astype(np.float64)
    elif zero == "floats":
        inputs[3] = (zeros + 0.5).astype(np.float32).ravel()
        points = zeros + 0.5
    weights = ((codes - points[..., None]) * scales.astype(np.float64)[..., None]).reshape(rows, -1)[
        :, :inner
    ]
    want = np.float64(np.asarray(inputs[0])) @ weights.T
    if bias:
        inputs[5] = floats(rows)
        want = want + inputs[5]
    fixed = tuple(i for i in (1, 2, 3, 5) if inputs[i] is not None)
    while inputs[-1] is None:
        inputs.pop()
    name = f"{bits} bits, blocks of {size}, {inner} columns, zero points {zero}{', bias' if bias else ''}"
    attributes = {"K": inner, "N": rows, "bits": bits, "block_size": size}
    return Case(name, "MatMulNBits", inputs, [single(want)], attributes, fixed)


def gather(bits: int, zero: bool) -> Case:
    codes = rng.integers(0, 2**bits, (6, 48))
    scales = np.abs(floats(6, 3)) / 10
    zeros = rng.integers(0, 2**bits, (6, 3))
    indices = np.asarray([[4, 0, 5]], np.int64)
    points = (zeros if zero else np.full((6, 3), 2 ** (bits - 1))).repeat(16, axis=1)
    table = (codes - points) * scales.astype(np.float64).repeat(16, axis=1)
    inputs: list[Array | None] = [packed(codes, bits), indices, scales]
    if zero:
        inputs.append(packed(zeros, bits))
    attributes: dict[str, Any] = {"gather_axis": 0, "quantize_axis": 1, "block_size": 16, "bits": bits}
    fixed = (0, 2, 3) if zero else (0, 2)
    name = f"gather, {bits} bits{', zero points' if zero else ''}"
    return Case(name, "GatherBlockQuantized", inputs, [single(table[indices])], attributes, fixed)


def cases() -> Iterator[Case]:
    yield matmul(4, 16, 32, "middle", bias=False)
    yield matmul(4, 32, 72, "codes", bias=True)
    yield matmul(4, 16, 48, "floats", bias=False)
    yield matmul(8, 32, 64, "middle", bias=True)
    yield matmul(8, 32, 64, "codes", bias=False)
    yield matmul(2, 16, 32, "codes", bias=False)
    for bits in (4, 8):
        for zero in (False, True):
            yield gather(bits, zero)
