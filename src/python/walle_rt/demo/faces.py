"""Three face detectors: single-shot (UltraFace), anchor-free (YuNet) and a cascade of three nets (MTCNN)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from ..bench.builder import Array
from .pictures import Box, planes, suppress, tensor
from .report import Stopwatch

Sessions = Callable[[str], Any]


def _boxes(corners: Array, scores: Array, kept: list[int]) -> list[Box]:
    return [Box.at(corners[i], float(scores[i]), "face") for i in kept]


def ultraface(sessions: Sessions, picture: Image.Image, clock: Stopwatch) -> list[Box]:
    """RGB at 320x240, (x - 127) / 128; corners come out relative to the picture."""
    session = sessions("ultraface_rfb320")
    pixels = (tensor(picture, 320, 240) - 127) / 128
    with clock:
        out = session.run({"input": planes(pixels)})
    scores = out["scores"][0, :, 1]
    likely = scores > 0.7
    corners = out["boxes"][0][likely] * [picture.width, picture.height, picture.width, picture.height]
    return _boxes(corners, scores[likely], suppress(corners, scores[likely], 0.3))


def yunet(sessions: Sessions, picture: Image.Image, clock: Stopwatch) -> list[Box]:
    """BGR at 320x320, 0..255; three grids of cells that predict a centre offset and a logarithmic size."""
    session = sessions("yunet_n_320_320")
    with clock:
        out = session.run({"input": planes(tensor(picture, 320, 320, bgr=True))})
    corners, scores = [], []
    for stride in (8, 16, 32):
        side = 320 // stride
        row, column = np.divmod(np.arange(side * side), side)
        offset = out[f"bbox_{stride}"][0]
        x, y = (column + offset[:, 0]) * stride, (row + offset[:, 1]) * stride
        w, h = np.exp(offset[:, 2]) * stride / 2, np.exp(offset[:, 3]) * stride / 2
        corners.append(np.stack([x - w, y - h, x + w, y + h], axis=1))
        scores.append(
            np.sqrt(out[f"cls_{stride}"][0, :, 0].clip(0, 1) * out[f"obj_{stride}"][0, :, 0].clip(0, 1))
        )
    every = np.concatenate(corners) * (np.array([picture.width, picture.height] * 2) / 320)
    score = np.concatenate(scores)
    likely = score > 0.7
    return _boxes(every[likely], score[likely], suppress(every[likely], score[likely], 0.3))


def _pyramid(picture: Image.Image, smallest: int) -> list[float]:
    scale, scales = 12 / smallest, []
    while min(picture.width, picture.height) * scale >= 12:
        scales.append(scale)
        scale *= 0.709
    return scales


def _square(corners: Array) -> Array:
    centre = (corners[:, :2] + corners[:, 2:]) / 2
    half = (corners[:, 2:] - corners[:, :2]).max(axis=1, keepdims=True) / 2
    return np.concatenate([centre - half, centre + half], axis=1)


def _refine(corners: Array, shift: Array) -> Array:
    size = corners[:, 2:] - corners[:, :2]
    return np.asarray(corners + shift * np.concatenate([size, size], axis=1))


def _crops(picture: Image.Image, corners: Array, side: int) -> Array:
    crops = [tensor(picture.crop([int(v) for v in np.round(box)]), side, side) for box in corners]
    # The nets were trained on pictures with the two spatial axes exchanged.
    return np.ascontiguousarray(((np.stack(crops) - 127.5) / 128).transpose(0, 2, 1, 3).astype(np.float32))


def mtcnn(sessions: Sessions, picture: Image.Image, clock: Stopwatch) -> list[Box]:
    """Proposals at every scale of a pyramid, refined by two more nets on batches of crops: dynamic shapes."""
    found, scores = _proposals(sessions("mtcnn_pnet"), picture, clock)
    stages = (
        ("mtcnn_rnet", "input_2", "dense_2", "softmax_1", 24),
        ("mtcnn_onet", "input_3", "dense_5", "softmax_2", 48),
    )
    for name, given, shift, probability, side in stages:
        if not len(found):
            return []
        squares = _square(found)
        with clock:
            out = sessions(name).run({given: _crops(picture, squares, side)})
        score = out[probability][:, 1]
        likely = score > 0.8
        found = _refine(squares[likely], out[shift][likely])
        kept = suppress(found, score[likely], 0.5)
        found, scores = found[kept], score[likely][kept]
    return _boxes(found, scores, list(range(len(found))))


def _proposals(session: Any, picture: Image.Image, clock: Stopwatch) -> tuple[Array, Array]:
    corners, scores = [], []
    for scale in _pyramid(picture, 40):
        pixels = tensor(picture, round(picture.width * scale), round(picture.height * scale))
        with clock:
            out = session.run(
                {"input_1": np.ascontiguousarray(((pixels - 127.5) / 128).transpose(1, 0, 2)[None])}
            )
        score = out["softmax"][0, :, :, 1]
        x, y = np.nonzero(score > 0.7)
        if not len(x):
            continue
        cells = np.stack([2 * x, 2 * y, 2 * x + 12, 2 * y + 12], axis=1) / scale
        kept = suppress(cells, score[x, y], 0.5)
        shift = out["conv2d_4"][0][x, y]
        corners.append(_refine(cells, shift)[kept])
        scores.append(score[x, y][kept])
    if not corners:
        return np.zeros((0, 4)), np.zeros(0)
    every, score = np.concatenate(corners), np.concatenate(scores)
    kept = suppress(every, score, 0.7)
    return every[kept], score[kept]
