"""Local differential privacy: noise, randomised response and the durable accounts they spend from."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ._log import EventLog


def spend_epsilon(log: EventLog, account: str, epsilon: float, limit: float) -> float:
    """Spend ``epsilon`` from a durable privacy account; returns the total spent.

    Two copies are written and synced before it returns, which takes milliseconds.

    Raises:
        TaskError: ``limit`` would be passed; nothing is spent.
        ResourceError: what was spent is lost (``EventLog.acknowledge_state_loss``), or cannot be written.
    """
    return _core.stream.spend_epsilon(log._core, account, limit, epsilon)


def spent_epsilon(log: EventLog, account: str) -> float:
    """What a durable privacy account has spent so far."""
    return _core.stream.spent_epsilon(log._core, account)


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
    return _core.stream.laplace_sum(
        list(values), low, high, epsilon=epsilon, resolution=resolution, seed=seed
    )


def gaussian_sum(
    values: Sequence[float],
    low: float,
    high: float,
    epsilon: float,
    delta: float = 1e-6,
    *,
    resolution: float = 1e-3,
    seed: int | None = None,
) -> float:
    """Sum of values clamped to [low, high] with discrete Gaussian noise for (epsilon, delta)."""
    return _core.stream.gaussian_sum(
        list(values), low, high, epsilon=epsilon, delta=delta, resolution=resolution, seed=seed
    )


def discrete_gaussian(sigma: float, count: int = 1, *, seed: int | None = None) -> list[int]:
    """Samples of the discrete Gaussian of standard deviation ``sigma``."""
    return _core.stream.discrete_gaussian(sigma, count, seed)


def randomised_response(
    truths: Sequence[int], categories: int, epsilon: float, *, seed: int | None = None
) -> list[int]:
    """Each truth, kept with probability e^epsilon / (e^epsilon + categories - 1), else another category.

    Args:
        truths: categories from 0 to ``categories`` - 1.
        categories: how many there are.
        epsilon: privacy lost per truth.
        seed: for tests; None draws from the system's randomness.

    Raises:
        ArgumentError: a truth is no category, or epsilon is not positive.
    """
    return _core.stream.randomised_response(list(truths), categories, epsilon, seed)
