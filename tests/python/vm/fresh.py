"""A call on an isolate of its own, out of a pool."""

from __future__ import annotations

from typing import Any

from walle_rt.vm import TaskBundle
from walle_rt.vm.pool import Pool


def fresh_call(pool: Pool, bundle: TaskBundle, function: str, *args: Any) -> Any:
    with pool.isolate() as isolate:
        isolate.load(bundle)
        return isolate.call(function, *args)
