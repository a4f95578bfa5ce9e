"""Counts one run of a model by a peer; runs in the emulated Python (peers.py), where time is instructions.

guest.py ENGINE MODEL INPUTS CACHE: MODEL is the ONNX file, INPUTS an .npz, CACHE has what converters made.
Prints the count; results go to INPUTS.out.npz.
"""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path

import numpy as np

# The benches' package is entered without ours around it, whose extension no peer needs.
package = types.ModuleType("walle_rt")
package.__path__ = [str(Path(__file__).resolve().parents[2] / "src" / "python" / "walle_rt")]
sys.modules["walle_rt"] = package


def main() -> int:
    from walle_rt.bench.peers import Unavailable, prepare

    engine, model, inputs, cache = sys.argv[1:]
    with np.load(inputs) as kept:
        feeds = dict(kept)
    try:
        run = prepare(engine, Path(model), feeds, 1, Path(cache))
        run()
        run()  # what is allocated once is
        begun = time.perf_counter_ns()
        found = run()
        count = time.perf_counter_ns() - begun
    except Unavailable as reason:
        print("unavailable", reason)
        return 0
    np.savez(f"{inputs}.out.npz", *found)
    print("count", count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
