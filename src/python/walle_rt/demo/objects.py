"""A detector of 80 everyday objects (FastestDet) and a classifier of 1,000 (SqueezeNet)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from .faces import Sessions
from .pictures import Box, planes, suppress, tensor
from .report import Stopwatch

# The 80 classes of the COCO data set, in its order.
COCO = """
person,bicycle,car,motorbike,aeroplane,bus,train,truck,boat,traffic light,fire hydrant,stop sign,
parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,backpack,umbrella,handbag,tie,
suitcase,frisbee,skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,
tennis racket,bottle,wine glass,cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,
hot dog,pizza,donut,cake,chair,sofa,potted plant,bed,dining table,toilet,tv monitor,laptop,mouse,remote,
keyboard,cell phone,microwave,oven,toaster,sink,refrigerator,book,clock,vase,scissors,teddy bear,hair drier,
toothbrush
""".replace("\n", "").split(",")


def fastestdet(sessions: Sessions, picture: Image.Image, clock: Stopwatch) -> list[Box]:
    """BGR / 255 at 352x352; a 22x22 grid of object score, centre offset, size and class distribution."""
    session = sessions("fastestdet")
    with clock:
        out = session.run({"input.1": planes(tensor(picture, 352, 352, bgr=True) / 255)})["758"][0]
    grid = out.reshape(85, -1)
    row, column = np.divmod(np.arange(grid.shape[1]), out.shape[2])
    score = grid[0] ** 0.6 * grid[5:].max(axis=0) ** 0.4
    x, y = (column + np.tanh(grid[1])) / out.shape[2], (row + np.tanh(grid[2])) / out.shape[1]
    w, h = (0.5 / (1 + np.exp(-grid[i])) for i in (3, 4))
    size = np.array([picture.width, picture.height] * 2)
    corners = np.stack([x - w, y - h, x + w, y + h], axis=1) * size
    likely = score > 0.65
    kept = suppress(corners[likely], score[likely], 0.45)
    labels = grid[5:, likely].argmax(axis=0)
    return [Box.at(corners[likely][i], float(score[likely][i]), COCO[labels[i]]) for i in kept]


def squeezenet(
    sessions: Sessions, picture: Image.Image, labels: Path, clock: Stopwatch
) -> list[tuple[str, float]]:
    """BGR minus the training mean at 227x227; the three likeliest labels with their probabilities."""
    session = sessions("squeezenet_v11_from_ncnn")
    pixels = tensor(picture, 227, 227, bgr=True) - np.array([104, 117, 123], np.float32)
    with clock:
        probability = session.run({"data": planes(pixels)})["prob"][0]
    # The label file's first line is a background class that this network does not have.
    names = labels.read_text().splitlines()[1:]
    return [(names[i], float(probability[i])) for i in np.argsort(-probability)[:3]]
