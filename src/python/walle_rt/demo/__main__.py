"""``python -m walle_rt.demo``: search in the documentation; tasks on events of a device;
faces and objects in pictures where models are at hand.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
from pathlib import Path
from typing import Any

import walle_rt

from . import search, tasks
from .report import Stopwatch, heading, line


def checkout() -> Path:
    """The folder whose documentation is searched: the checkout this file belongs to,
    else the current folder.
    """
    above = Path(__file__).resolve().parents
    return above[4] if len(above) > 4 and (above[4] / "README.md").exists() else Path.cwd()


def pictures(models: Path, output: Path, threads: int) -> None:
    """Faces and objects in the pictures beside the models; annotated copies go to ``output``."""
    from . import faces, objects
    from .pictures import draw, read

    @functools.cache
    def session(name: str) -> Any:
        return walle_rt.load(str(models / "onnx" / f"{name}.onnx")).session(threads=threads)

    heading("Faces: UltraFace, YuNet and the MTCNN cascade")
    group = read(models / "inputs" / "ultraface_1.jpg")
    for detect in (faces.ultraface, faces.yunet, faces.mtcnn):
        whole = Stopwatch()
        for _ in range(3):
            clock = Stopwatch()  # the cascade runs its nets many times per picture
            boxes = detect(session, group, clock)
            whole.seconds.append(sum(clock.seconds))
        target = output / f"faces_{detect.__name__}.jpg"
        draw(group, boxes, f"{detect.__name__}: {len(boxes)} faces", target)
        line(f"{detect.__name__:10s} {len(boxes):3d} faces   {whole}   -> {target}")

    heading("Objects: FastestDet in a scene, SqueezeNet on single things")
    scene = read(models / "inputs" / "fastestdet_3.jpg")
    clock = Stopwatch()
    for _ in range(5):
        boxes = objects.fastestdet(session, scene, clock)
    target = output / "objects_fastestdet.jpg"
    draw(scene, boxes, f"fastestdet: {len(boxes)} objects", target)
    line(f"fastestdet {', '.join(f'{b.label} {b.score:.2f}' for b in boxes)}")
    line(f"           {clock}   -> {target}")
    clock = Stopwatch()
    for name in ("coral_cat.bmp", "coral_parrot.jpg", "coral_sunflower.bmp"):
        picture = read(models / "inputs" / name)
        best = objects.squeezenet(session, picture, models / "inputs" / "coral_imagenet_labels.txt", clock)
        target = output / f"label_{Path(name).stem}.jpg"
        draw(picture, [], f"{best[0][0]} {best[0][1]:.2f}", target)
        line(f"{name:20s} {'; '.join(f'{label} {score:.2f}' for label, score in best)}   -> {target}")
    line(f"squeezenet {clock}")


def main() -> None:
    """Run the parts that the machine has material for, and say what the others would need."""
    parser = argparse.ArgumentParser(prog="walle_rt.demo", description=__doc__)
    parser.add_argument("--question", help="ask the documentation this instead of the prepared questions")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--output", type=Path, default=Path("demo_output"), help="folder for annotated pictures"
    )
    given = parser.parse_args()

    start = time.perf_counter()
    root = checkout()
    search.run(root, given.question, given.threads)
    models = Path(os.environ.get("WALLE_TEST_MODELS", root.parent / "shared" / "models"))
    if models.exists():
        pictures(models, given.output, given.threads)
    else:
        heading("Faces and objects are left out")
        line(f"{models} is absent: set WALLE_TEST_MODELS to a folder of ONNX models and pictures")
    if (root / "examples").is_dir():
        tasks.run(root / "examples", root.parent / "shared", given.output)
    heading(f"Done in {time.perf_counter() - start:.1f} s. How to go on")
    line("ask something else    python -m walle_rt.demo --question 'How are weights stored?'")
    line("your own model        walle convert model.onnx -o model.walle && walle run model.walle --help")
    line("see what runs where   walle inspect model.walle --stage=plan")
    line("compare with peers    make bench")
    line("your own task         walle task init mine && walle task test mine")
    line("read on               docs/concepts/pipeline.md")


if __name__ == "__main__":
    main()
