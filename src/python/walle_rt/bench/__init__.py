"""Benchmarks: generated models with seeded weights, interleaved timing, and the peers they are timed against.

Needs the extra ``bench`` (``convert`` for the generator alone); nothing here is imported by ``import
walle_rt``.
"""

from __future__ import annotations
