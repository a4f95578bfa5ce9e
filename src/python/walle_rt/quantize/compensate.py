"""Rounding whose errors later weights make up for, from the second moments of a layer's inputs.

Frantar, Ashkboos, Hoefler, Alistarh: "GPTQ: Accurate post-training quantization for generative pre-trained
transformers", 2022. As there, columns are rounded one after the other and what each row loses is spread
over the columns to come, weighed by the inverse of the moments. Other than there, all layers see inputs
of the float model, so that one pass over the calibration serves every layer; and scales are those of the
block as it stands when it is reached.
"""

from __future__ import annotations

import numpy as np

from ..values import Array
from .blocks import Blocks, Grid, block_scales, to_codes

_DAMPING = 0.01  # of the mean of the diagonal: keeps the inverse finite where inputs depend on each other


def compensated(rows: Array, moments: Array, grid: Grid) -> Blocks:
    """Quantise weights [rows, width] for inputs of these second moments, float64 [width, width]."""
    count, width = rows.shape
    factor = _inverse_factor(moments)
    left = np.pad(rows.astype(np.float64), ((0, 0), (0, -width % grid.block)))
    blocks = left.shape[1] // grid.block
    codes = np.zeros((count, blocks, grid.block), np.uint8)
    scales = np.ones((count, blocks), np.float32)
    zeros = np.zeros((count, blocks), np.uint8)
    for b in range(blocks):
        start, end = b * grid.block, min((b + 1) * grid.block, width)
        part = left[:, start : start + grid.block]
        scales[:, b], zeros[:, b] = block_scales(part.astype(np.float32), grid)
        codes[:, b] = zeros[:, b, None]  # what fills the last block is zero
        errors = np.zeros((count, end - start))
        for i in range(end - start):
            column = part[:, i].astype(np.float32)
            codes[:, b, i] = to_codes(column, scales[:, b], zeros[:, b], grid)
            back = (codes[:, b, i].astype(np.float64) - zeros[:, b]) * scales[:, b]
            errors[:, i] = (part[:, i] - back) / factor[start + i, start + i]
            part[:, i + 1 : end - start] -= np.outer(errors[:, i], factor[start + i, start + i + 1 : end])
        left[:, end:width] -= errors @ factor[start:end, end:]
    return Blocks(codes, scales, zeros, width)


def _inverse_factor(moments: Array) -> Array:
    """The upper triangular factor of the inverse of the damped moments."""
    damped = moments.copy()
    diagonal = np.diagonal(damped).copy()
    silent = diagonal == 0  # inputs that were zero throughout say nothing about their weights
    mean = diagonal.mean() or 1.0
    damped[np.diag_indices_from(damped)] += np.where(silent, mean, 0) + _DAMPING * mean
    upper: Array = np.linalg.cholesky(np.linalg.inv(damped)).T
    return upper
