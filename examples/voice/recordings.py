"""What is listened to: spoken digits where the data is at hand, tones in their place where it is not."""

from __future__ import annotations

import io
import os
import wave
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

RATE = 8000
HELD_OUT = ("jackson", "theo")  # speakers that the network never hears while it is fitted
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Recording:
    """One word: which digit, who said it, and its samples from -1 to 1."""

    word: int
    speaker: str
    samples: Floats


def spoken() -> list[Recording]:
    """The digits of the free spoken digit dataset; empty where WALLE_TEST_DATA has none."""
    file = Path(os.environ.get("WALLE_TEST_DATA", "")) / "fsdd" / "fsdd_subset.zip"
    if not file.is_file():
        return []
    out = []
    with zipfile.ZipFile(file) as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith(".wav")):
            word, speaker, _ = Path(name).stem.split("_")
            with wave.open(io.BytesIO(archive.read(name))) as wav:
                samples = np.frombuffer(wav.readframes(wav.getnframes()), "<i2").astype(np.float32)
            # At one loudness, as a microphone with gain control gives it: one speaker is ten times quieter.
            out.append(Recording(int(word), speaker, samples / max(np.abs(samples).max(), 1) / 2))
    return out


def tones() -> list[Recording]:
    """Ten words of two tones each, "said" by six voices of different pitch, tempo and loudness."""
    rng = np.random.default_rng(3)
    out = []
    for speaker, pitch in zip(("a", "b", "c", "d", *HELD_OUT), np.linspace(0.92, 1.08, 6), strict=True):
        for word in range(10):
            for _ in range(6):
                parts = [
                    np.sin(2 * np.pi * 300 * 1.2**step * pitch * np.arange(length) / RATE)
                    * np.hanning(length) ** 0.3
                    for step, length in zip((word, 9 - word), rng.integers(1200, 2200, 2), strict=True)
                ]
                samples = np.concatenate(parts) * rng.uniform(0.2, 0.6)
                out.append(Recording(word, speaker, (samples + noise(len(samples), rng)).astype(np.float32)))
    return out


def noise(length: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A quiet room."""
    return rng.standard_normal(length) * 1e-4


def stream(words: list[Recording]) -> tuple[Floats, list[tuple[float, float, int]]]:
    """One signal with pauses between the words, and where they lie: (from, to, word), in seconds."""
    rng = np.random.default_rng(5)
    parts, places, at = [], [], 0
    for word in words:
        pause = int(rng.integers(RATE // 2, RATE))
        parts += [np.zeros(pause), word.samples]
        places.append(((at + pause) / RATE, (at + pause + len(word.samples)) / RATE, word.word))
        at += pause + len(word.samples)
    parts.append(np.zeros(RATE))
    signal = np.concatenate(parts)
    return (signal + noise(len(signal), rng)).astype(np.float32), places
