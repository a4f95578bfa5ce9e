"""Makes the voice task ready to run: fits its network, adds the detector, and writes a stream to listen to.

    python examples/voice/prepare.py FOLDER [--words 40]

FOLDER gets task/ (what `walle task test` and `walle task compile` take), events.jsonl (a stream in chunks
of a quarter of a second) and truth.json (what was said where, and how well the network tells words).
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from networks import features_of, fitted, log_mel, right
from recordings import HELD_OUT, RATE, Recording, spoken, stream, tones

import walle_rt

CHUNK = RATE // 4
START = 1_700_000_000_000_000
TASK = Path(__file__).with_name("task")


def prepare(folder: Path, words: int = 40) -> dict[str, Any]:
    """Write everything; returns what truth.json says."""
    recordings = spoken()
    detector = Path(os.environ.get("WALLE_TEST_MODELS", "")) / "onnx" / "silero_vad.onnx"
    source = "fsdd" if recordings else "tones"
    recordings = recordings or tones()
    shutil.copytree(TASK, folder / "task", dirs_exist_ok=True)
    known = [r for r in recordings if r.speaker not in HELD_OUT]
    network = fitted(features_of(known), _words(known))
    network.save(folder / "task" / "words.walle")
    log_mel().save(folder / "task" / "logmel.walle")
    # Tones are no speech: the detector would hear none.
    if source == "fsdd" and detector.is_file():
        walle_rt.load(str(detector)).save(folder / "task" / "vad.walle")
    others = [r for r in recordings if r.speaker in HELD_OUT]
    accuracy = {
        speaker: right(network, features_of(said), _words(said))
        for speaker in HELD_OUT
        if (said := [r for r in others if r.speaker == speaker])
    }
    chosen = np.random.default_rng(1).permutation(len(others))[:words]
    signal, places = stream([others[i] for i in chosen])
    _write_events(folder / "events.jsonl", signal)
    truth = {"source": source, "accuracy": accuracy, "seconds": len(signal) / RATE, "words": places}
    (folder / "truth.json").write_text(json.dumps(truth))
    return truth


def _words(recordings: list[Recording]) -> Any:
    return np.array([r.word for r in recordings])


def _write_events(file: Path, signal: Any) -> None:
    samples = (np.clip(signal, -1, 1) * 32767).astype("<i2")
    with file.open("w", encoding="utf-8") as out:
        for first in range(0, len(samples), CHUNK):
            pcm = base64.b64encode(samples[first : first + CHUNK].tobytes()).decode()
            ts = START + (first + CHUNK) * 1_000_000 // RATE
            line = {"event": "audio", "page": "", "ts": ts, "contents": {"pcm": pcm, "first": first}}
            out.write(json.dumps(line) + "\n")


def main() -> None:
    """Prepare the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=40, help="that are said in the stream")
    given = parser.parse_args()
    truth = prepare(given.folder, given.words)
    told = ", ".join(f"{speaker} {share:.1%}" for speaker, share in truth["accuracy"].items())
    print(f"{truth['source']}: words of speakers the network never heard: {told}")
    print(
        f"{len(truth['words'])} words in {truth['seconds']:.0f} s: walle task test {given.folder / 'task'} ",
        end="",
    )
    print(f"--events {given.folder / 'events.jsonl'}")


if __name__ == "__main__":
    main()
