"""Several sessions at the same time on a few cores: runs of all together, and whether each gets its share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Throughput:
    """Runs that each of several sessions did in the same time."""

    engine: str
    threads: int  # of each session
    runs: tuple[int, ...]
    seconds: float

    @property
    def per_second(self) -> float:
        """Runs of all sessions together."""
        return sum(self.runs) / self.seconds

    @property
    def fairness(self) -> float:
        """Runs of the session that got least over those of the one that got most; 0: one got nothing."""
        return min(self.runs) / max(max(self.runs), 1)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **vars(self),
            "runs": list(self.runs),
            "sessions": len(self.runs),
            "per_second": self.per_second,
            "fairness": self.fairness,
        }


def together(runs: Sequence[Callable[[], Any]], seconds: float) -> tuple[list[int], float]:
    """Call each in a thread of its own for so long; calls that ended in that time, and the time.

    A call that is under way at the end is waited for and not counted, so nobody gains by a long last one.
    """
    counts = [0] * len(runs)
    start = threading.Barrier(len(runs) + 1)
    ended = threading.Event()
    failed: list[BaseException] = []

    def work(place: int, run: Callable[[], Any]) -> None:
        try:
            run()
            start.wait()
            while True:
                run()
                if ended.is_set():
                    return
                counts[place] += 1
        except BaseException as error:  # told to the caller, who would wait for ever otherwise
            failed.append(error)
            start.abort()

    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(runs)]
    for thread in threads:
        thread.start()
    with suppress(threading.BrokenBarrierError):
        start.wait()
    began = time.perf_counter()
    if not failed:
        time.sleep(seconds)
    ended.set()
    took = time.perf_counter() - began
    done = list(counts)
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return done, took


def session_table(found: Sequence[Throughput]) -> list[str]:
    """Per number of sessions: runs per second of all together, over the best number's, and fairness."""
    keys = list(dict.fromkeys((t.engine, t.threads) for t in found))
    lines = [f"{'sessions':>8s}" + "".join(f"{f'{engine} x{threads}':>32s}" for engine, threads in keys)]
    lines.append(f"{'':8s}" + f"{'runs/s  of best  slowest':>32s}" * len(keys))
    for count in sorted({len(t.runs) for t in found}):
        cells = ""
        for key in keys:
            own = [t for t in found if (t.engine, t.threads) == key]
            best = max(t.per_second for t in own)
            at = next((t for t in own if len(t.runs) == count), None)
            text = f"{at.per_second:.1f}  {at.per_second / best:7.0%}  {at.fairness:7.0%}" if at else "-"
            cells += f"{text:>32s}"
        lines.append(f"{count:8d}{cells}")
    return lines
