"""What a bench run compares: models, batches and threads, as its options say."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from walle_rt.bench import real, zoo

QUICK_ROUNDS = 3
# Batch 8 beside batch 1: one of each kind. The others are a matter of --models resnet50:b8.
BATCHED = ("resnet18", "mobilenet_v2", "efficientnet_b0", "minilm", "gru_speech", "segmenter")


@dataclass(frozen=True)
class Cases:
    """The options, read."""

    threads: tuple[int, ...]
    batches: tuple[int, ...]
    models: tuple[str, ...]
    rounds: int
    quick: bool

    @classmethod
    def of(cls, config: pytest.Config) -> Cases:
        quick = bool(config.getoption("--quick"))
        models = tuple(name for name in config.getoption("--models").split(",") if name)
        for name in models:
            if name not in real.REAL:
                try:
                    zoo.Variant.parse(name)
                except KeyError as error:
                    raise pytest.UsageError(f"--models: {error.args[0]}, {', '.join(real.REAL)}") from None
        rounds = min(config.getoption("--rounds"), QUICK_ROUNDS) if quick else config.getoption("--rounds")
        return cls(
            (1,) if quick else numbers(config, "--threads"),
            (1,) if quick else numbers(config, "--batches"),
            models,
            max(rounds, 1),
            quick,
        )


def numbers(config: pytest.Config, option: str) -> tuple[int, ...]:
    text = str(config.getoption(option))
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise pytest.UsageError(f"{option} {text}: expected numbers from 1 on with commas, for example 1,2")
    return tuple(dict.fromkeys(int(part) for part in parts))


def compared(cases: Cases) -> list[tuple[str, int]]:
    """Model and threads of every comparison; larger batches at one thread count, the smallest."""
    chosen = []
    for threads in cases.threads:
        for batch in cases.batches:
            if batch == 1:
                names = list(cases.models or [*zoo.MODELS, *real.REAL])
            elif cases.models or threads != min(cases.threads):
                names = []
            else:
                names = [f"{name}:b{batch}" for name in BATCHED]
            chosen += [(name, threads) for name in names]
    return chosen
