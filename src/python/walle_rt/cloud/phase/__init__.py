"""The cloud phase: questions of devices, answered by their task's own code on the server.

A device sends what it is unsure of through its gate; the sink stores it, ``CloudPhase`` runs ``cloud.py`` of
the package it came from, and the answer goes back until the device has it. ``AnswerStore`` is what is durable
of that, ``PackageShelf`` where packages are found.
"""

from ._answers import AnswerCounts, AnswerStore, Question
from ._phase import CloudPhase, PhaseStats
from ._runner import PackageShelf, Runner, content_of
from ._trace import spans

__all__ = [
    "AnswerCounts",
    "AnswerStore",
    "CloudPhase",
    "PackageShelf",
    "PhaseStats",
    "Question",
    "Runner",
    "content_of",
    "spans",
]
