"""Seeds for model_fuzz: small valid models over many operators,
as graph part and weights without the file's header.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fault"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from suite import cases, fetch
from thirteen import model

import walle_rt

LARGEST = 8192  # bytes of a seed: small ones are mutated faster
EVERY = 3  # of the suite's cases: enough to have nearly every operator


def seed_of(source: onnx.ModelProto, folder: Path) -> bytes | None:
    """The seed made of a model, or None where it is refused or too large."""
    file = folder / "seed.walle"
    try:
        walle_rt.load(source).save(str(file))
    except walle_rt.Error:
        return None
    data = file.read_bytes()
    graph_at, graph_bytes, weights_at, weight_bytes = struct.unpack_from("<4Q", data, 16)
    seed = data[graph_at : graph_at + graph_bytes] + data[weights_at : weights_at + weight_bytes]
    return struct.pack("<I", graph_bytes) + seed if len(seed) <= LARGEST else None


def main(target: Path) -> None:
    """Write the seeds once; a folder that has some is left alone."""
    if any(target.glob("seed_*")):
        return
    fetch()
    sources = [("thirteen", model())]
    sources += [
        (case.id.replace("/", "_"), onnx.load(str(case.model)))
        for case in cases()[::EVERY]
        if case.suite != "light"
    ]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources:
            seed = seed_of(source, Path(folder))
            if seed is not None:
                (target / f"seed_{name}").write_bytes(seed)
                count += 1
    print(f"{count} seeds from {len(sources)} models")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
