"""A process that runs passes of one model on one engine: a line on stdin is a pass, one of JSON its answer.

``python shape_worker.py ENGINE MODEL THREADS FILE``; the line "quick" is a short pass. The answer has the
seconds of each call, and the resident memory at the end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import shape_models
from shape_models import Feeds

Run = Callable[[Feeds], Feeds]


def engine(name: str, path: str, threads: int) -> Run:
    """The engine's way to run the file."""
    if name == "walle":
        import walle_rt

        return walle_rt.load(path).session(threads=threads).run
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(names, feeds), strict=True))


def resident() -> int:
    """Bytes, as the kernel counts them."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def one_pass(run: Run, model: str, quick: bool = False) -> list[float]:
    """Seconds of each call."""
    seconds: list[float] = []
    feeds: Feeds = {}
    results: Feeds = {}
    for given in shape_models.calls(model, quick):
        if given is not None:
            feeds = given
        else:  # the token before, and what came of it
            feeds = {"x": feeds["x"], **{k[4:]: v for k, v in results.items() if k.startswith("new_")}}
        begin = time.perf_counter()
        results = run(feeds)
        seconds.append(time.perf_counter() - begin)
    return seconds


def main() -> None:
    """Serve passes until stdin closes."""
    name, model, threads, path = sys.argv[1:5]
    run = engine(name, path, int(threads))
    loaded = resident()
    for line in sys.stdin:
        seconds = one_pass(run, model, line.startswith("quick"))
        print(json.dumps({"seconds": seconds, "resident": resident(), "loaded": loaded}), flush=True)


if __name__ == "__main__":
    main()
