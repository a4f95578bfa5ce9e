"""Admin API: what devices asked, and what they were answered."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from ..phase import spans
from .auth import Admin, State

router = APIRouter(tags=["cloud phase"])

MOST = 10_000
Limit = Annotated[int, Query(ge=1, le=MOST)]


class PhaseRow(BaseModel):
    """What the cloud phase has done; docs/concepts/cloud-phase.md says what each figure is."""

    asked: int = 0
    dropped_questions: int = 0
    answered: int = 0
    failed: int = 0
    sent: int = 0
    refused: int = 0
    taken: int = 0
    waiting: int = 0
    dropped_answers: int = 0
    execute_p50_s: float = 0.0
    round_trip_p50_s: float = 0.0


class AnswerRow(BaseModel):
    """One question and its answer; times in microseconds since 1970, 0 for what has not happened.

    ``state``: 0 waits for its device, 1 the device has it, 2 it was given up.
    """

    question: int
    device: str
    stream: str
    seq: int
    trace: int
    task: str
    package: str
    asked: int
    received: int
    began: int
    ended: int
    error: str
    sent: int
    state: int
    done: int


@router.get("/cloud-phase")
def figures(_: Admin, state: State) -> PhaseRow:
    """Questions, answers and latencies."""
    return PhaseRow.model_validate(state.tunnel.phase.stats().figures()) if state.tunnel else PhaseRow()


@router.get("/cloud-phase/answers")
def answers(_: Admin, state: State, limit: Limit = 100) -> list[AnswerRow]:
    """The newest, newest first."""
    found = state.tunnel.phase.answers(limit) if state.tunnel else []
    return [AnswerRow(**row) for row in found]


@router.get("/cloud-phase/trace")
def trace(_: Admin, state: State, limit: Limit = 1000) -> dict[str, Any]:
    """The newest as a trace for Perfetto, to be joined with those of devices."""
    return spans(state.tunnel.phase.answers(limit) if state.tunnel else [])
