"""What may leave the device: the egress gate, its policies and its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from .. import _core
from ..errors import ArgumentError
from ..table import ColumnType
from ._batch import Batch
from ._catalog import Sensitivity

_Policy = tuple[str, str, list[tuple[str, str, int, int]], int, int, int, str, int]  # as the core takes it


@dataclass(frozen=True)
class FeatureField:
    """One column of a feature's schema; ``max_size``: bytes of a text, floats of a vector (0: any)."""

    name: str
    type: ColumnType = ColumnType.FLOAT
    max_size: int = 0
    highest: Sensitivity = Sensitivity.OPEN


@dataclass(frozen=True)
class FeaturePolicy:
    """What a task may send of one feature: its schema, budgets per day (UTC) and conditions.

    ``minimum_events`` must stand behind every row; ``consent`` names a class the user must have agreed to;
    ``expires_ts`` is in microseconds (0: never).
    """

    feature: str
    fields: Sequence[FeatureField]
    bytes_per_day: int
    sends_per_day: int
    minimum_events: int = 1
    consent: str = ""
    expires_ts: int = 0

    # Budgets have no default: what may leave in a day must be said. One event behind a row is the least that
    # makes sense; how many hide a person is the policy's to say.

    def _given(self, task: str) -> _Policy:
        fields = [(f.name, str(f.type), f.max_size, int(f.highest)) for f in self.fields]
        budgets = self.bytes_per_day, self.sends_per_day, self.minimum_events
        return (task, self.feature, fields, *budgets, self.consent, self.expires_ts)


@dataclass(frozen=True)
class LedgerEntry:
    """One send: time in microseconds, task, feature, rows and bytes."""

    ts: int
    task: str
    feature: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class LedgerReport:
    """What opening a gate found.

    ``lost``: counters and consents are gone, and the gate is closed. ``lost_entries``: sends that the ledger
    no longer knows; what they spent stays spent. Both stay until ``acknowledge_loss``.
    ``mended``: one of two copies was damaged or missing, and the other one served.
    """

    lost: bool
    lost_entries: int
    mended: bool


class EgressGate:
    """Denies everything that no policy allows exactly, and records durably what left.

    Only what a graph made may leave, with the labels and the number of events behind each row that the graph
    gave it: what a program says of its rows is not asked for. Budgets and consents outlive the process and
    damage to any one file; where they are lost all the same, nothing leaves until ``acknowledge_loss``, and
    nothing more on that day.
    """

    def __init__(self, directory: str | PathLike[str], *, key: bytes | None = None) -> None:
        """Open or create the ledger in ``directory``; without policies nothing may leave.

        Args:
            directory: the folder of ledger and state.
            key: 32 bytes that seal both (XChaCha20-Poly1305); None: nothing is sealed. A ledger keeps the
                choice it began with.

        Raises:
            ArgumentError: another key than the ledger was sealed with.
            ResourceError: somebody else has it open.
        """
        self._gate: _core.stream.EgressGate | None = _core.stream.EgressGate.open(
            fspath(directory), key or b""
        )

    @property
    def _core(self) -> _core.stream.EgressGate:
        if self._gate is None:
            raise ArgumentError.of("a closed gate", "an open one", "egress gate", "open it again")
        return self._gate

    def close(self) -> None:
        """Release the ledger; using the gate afterwards is an ArgumentError."""
        self._gate = None

    def __enter__(self) -> EgressGate:
        """Return self."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the gate."""
        self.close()

    def allow(self, task: str, policy: FeaturePolicy) -> None:
        """Allow a task's feature, in place of what was allowed of it.

        Whether the policy may be believed is the caller's to know; a device takes it from the manifest of a
        version that its server's keys vouch for.
        """
        self._core.allow(policy._given(task))

    def set_consents(self, consents: Sequence[str]) -> None:
        """Set all consent classes that the user has given; kept until they are set again."""
        self._core.set_consents(list(consents))

    @property
    def consents(self) -> list[str]:
        """Consent classes that the user has given."""
        return self._core.consents()

    def check(self, task: str, feature: str, batch: Batch) -> None:
        """Raise TaskError, naming the column and its path, when these columns could never leave.

        Ask when a task is built, with ``Graph.outputs``.
        """
        self._core.check(task, feature, batch._labels())

    def send(self, task: str, feature: str, batch: Batch) -> bytes:
        """Bytes to send, checked and recorded. TaskError when denied.

        ``batch`` is what a graph gave, unchanged. ``unpack_batch`` reads the bytes.
        """
        return self._core.send(task, feature, batch._native())

    @property
    def ledger(self) -> list[LedgerEntry]:
        """Everything that left, oldest first."""
        return [LedgerEntry(*e) for e in self._core.ledger()]

    @property
    def report(self) -> LedgerReport:
        """What opening found, and what is lost and not acknowledged."""
        return LedgerReport(**self._core.report())

    def acknowledge_loss(self) -> None:
        """Open a gate again that has lost its counters; budgets of today stay spent."""
        self._core.acknowledge_loss()
