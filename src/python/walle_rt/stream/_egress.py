"""What may leave the device: the egress gate with its ledger, and local differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from .. import _core
from ._events import EventLog, Sensitivity
from ._graph import Batch


@dataclass(frozen=True)
class LedgerEntry:
    """One send: time in microseconds, task, feature, rows and bytes."""

    ts: int
    task: str
    feature: str
    rows: int
    bytes: int


class EgressGate:
    """Denies everything that no policy allows exactly, and records durably what left."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        """Open or create the ledger in ``directory``; without policies nothing may leave."""
        self._core = _core.stream.EgressGate.open(fspath(directory))

    def allow(
        self,
        task: str,
        feature: str,
        fields: Sequence[str],
        *,
        bytes_per_day: int,
        sends_per_day: int,
        highest: Sensitivity = Sensitivity.OPEN,
        minimum_rows: int = 1,
        consent: str = "",
    ) -> None:
        """Set the policy of a task's feature; the caller has checked the signature of the task's configuration."""
        self._core.allow(task, feature, list(fields), int(highest), bytes_per_day, sends_per_day, minimum_rows, consent)

    def set_consents(self, consents: Sequence[str]) -> None:
        """Consent classes the user has given."""
        self._core.set_consents(list(consents))

    def check(self, task: str, feature: str, batch: Batch) -> None:
        """Raise TaskError, naming the column, when these columns could never leave: ask when a task is built."""
        labels = {n: int(batch.labels.get(n, Sensitivity.PERSONAL)) for n in batch.columns if n != "ts"}
        self._core.check(task, feature, labels)

    def send(self, task: str, feature: str, batch: Batch, *, rows_behind: int) -> bytes:
        """Bytes to send, checked and recorded; rows summarise ``rows_behind`` events. TaskError when denied."""
        return bytes(self._core.send(task, feature, *batch._given(), rows_behind))

    @property
    def ledger(self) -> list[LedgerEntry]:
        """Everything that left, oldest first."""
        return [LedgerEntry(*e) for e in self._core.ledger()]


def spend_epsilon(log: EventLog, account: str, epsilon: float, limit: float) -> float:
    """Spend from a durable privacy account; returns the total spent. TaskError when ``limit`` would be passed."""
    return float(_core.stream.spend_epsilon(log._core, account, limit, epsilon))


def laplace_sum(
    values: Sequence[float],
    low: float,
    high: float,
    epsilon: float,
    *,
    resolution: float = 1e-3,
    seed: int | None = None,
) -> float:
    """Sum of values clamped to [low, high] with discrete Laplace noise, in multiples of ``resolution``."""
    return float(_core.stream.laplace_sum(list(values), low, high, epsilon, resolution, seed))


def discrete_gaussian(sigma: float, count: int = 1, *, seed: int | None = None) -> list[int]:
    """Samples of the discrete Gaussian of standard deviation ``sigma``."""
    return list(_core.stream.discrete_gaussian(sigma, count, seed))


def randomised_response(
    truths: Sequence[int], categories: int, epsilon: float, *, seed: int | None = None
) -> list[int]:
    """Each category 0..categories-1 kept with probability e^eps / (e^eps + categories - 1), else another one."""
    return list(_core.stream.randomised_response(list(truths), categories, epsilon, seed))
