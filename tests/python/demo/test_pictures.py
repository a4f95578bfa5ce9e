"""Boxes: overlap, suppression, and drawing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from walle_rt.demo.pictures import Box, draw, overlap, planes, suppress, tensor


def test_overlap_of_known_boxes() -> None:
    others = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6]], float)
    np.testing.assert_allclose(overlap(np.array([0, 0, 2, 2], float), others), [1, 1 / 7, 0], atol=1e-6)


def test_suppression_keeps_the_best_of_each_place() -> None:
    boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]], float)
    assert suppress(boxes, np.array([0.8, 0.9, 0.7]), 0.3) == [1, 2]


def test_bgr_exchanges_the_outer_channels() -> None:
    picture = Image.new("RGB", (4, 4), (10, 20, 30))
    assert planes(tensor(picture, 2, 2, bgr=True))[0, :, 0, 0].tolist() == [30, 20, 10]


def test_draw_leaves_the_picture_alone_and_writes_a_copy(tmp_path: Path) -> None:
    picture = Image.new("RGB", (64, 64))
    before = picture.tobytes()
    draw(picture, [Box(8, 8, 40, 40, 0.5, "face")], "one", tmp_path / "folder" / "out.png")
    assert picture.tobytes() == before
    assert Image.open(tmp_path / "folder" / "out.png").convert("RGB").tobytes() != before
