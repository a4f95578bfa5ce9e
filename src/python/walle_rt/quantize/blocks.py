"""Codes of few bits in blocks: a scale, and where asked for a zero point, per run of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..values import Array

BITS = (2, 4, 8)
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Grid:
    """What codes there are: bits of each, weights that share a scale, whether zero is in the middle."""

    bits: int
    block: int
    symmetric: bool

    @property
    def most(self) -> int:
        """The largest code; the least is 0."""
        return (1 << self.bits) - 1

    @property
    def middle(self) -> int:
        """The code for zero where it is the same for all blocks."""
        return 1 << (self.bits - 1)

    def text(self) -> str:
        """For the report."""
        return f"{self.bits} bits in blocks of {self.block}"


@dataclass(frozen=True)
class Blocks:
    """Quantised rows: codes [rows, blocks, block] in uint8, scales and zero points [rows, blocks]."""

    codes: Array
    scales: Array
    zeros: Array
    width: int  # of a row, without what fills its last block

    def values(self) -> Array:
        """What the codes stand for, float32 [rows, width]."""
        centred = self.codes.astype(np.float32) - self.zeros.astype(np.float32)[..., None]
        found: Array = (centred * self.scales[..., None]).reshape(self.codes.shape[0], -1)[:, : self.width]
        return found


def block_scales(block: Array, grid: Grid) -> tuple[Array, Array]:
    """Scales and zero points, each with the shape of ``block`` without its last axis.

    Symmetric codes reach half a step further below than above zero; a scale of the largest weight divided by
    half the number of steps leaves no weight further than half a step from a code.
    """
    low, high = np.minimum(block.min(-1), 0), np.maximum(block.max(-1), 0)
    if grid.symmetric:
        scale = np.maximum(-low, high) / np.float32(grid.most / 2)
        zero = np.full(scale.shape, grid.middle, np.uint8)
        return np.where(scale < _TINY, np.float32(1), scale).astype(np.float32), zero
    scale = ((high - low) / np.float32(grid.most)).astype(np.float32)
    empty = scale < _TINY
    scale = np.where(empty, np.float32(1), scale)
    zero = np.where(empty, grid.middle, np.clip(np.rint(-low / scale), 0, grid.most))
    return scale, zero.astype(np.uint8)


def to_codes(values: Array, scale: Array, zero: Array, grid: Grid) -> Array:
    """Rounded half to even and saturated, uint8; ``scale`` and ``zero`` broadcast."""
    codes = np.rint(values / scale) + zero.astype(np.float32)
    found: Array = np.clip(codes, 0, grid.most).astype(np.uint8)
    return found


def rounded(rows: Array, grid: Grid) -> Blocks:
    """Every weight at the code next to it; ``rows`` [rows, width], a block along the second axis."""
    width = rows.shape[1]
    padded = np.pad(rows, ((0, 0), (0, -width % grid.block)))
    parts = padded.reshape(rows.shape[0], -1, grid.block)
    scales, zeros = block_scales(parts, grid)
    return Blocks(to_codes(parts, scales[..., None], zeros[..., None], grid), scales, zeros, width)


def in_bytes(codes: Array, bits: int) -> Array:
    """Codes along the last axis in bytes, the first in the lowest bits, the last byte filled with zeros."""
    each = 8 // bits
    filled = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)])
    parts = filled.reshape(*codes.shape[:-1], -1, each)
    found = np.zeros(parts.shape[:-1], np.uint8)
    for i in range(each):
        found |= (parts[..., i] << np.uint8(i * bits)).astype(np.uint8)
    return found
