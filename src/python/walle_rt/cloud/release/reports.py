"""Reports of devices: docs/reference/formats/report.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..._core import policy as native
from ...errors import ArgumentError

STATUSES: Sequence[str] = native.REPORT_STATUSES


@dataclass(frozen=True)
class Report:
    """What a device tells of a release it tries.

    Attributes:
        device: its pseudonym, 64 bits.
        release, scenario, task, version: which one, of what; version "" where nothing ran.
        control: whether it reports for the control cohort.
        status: "claim", "ok", "phase_error", "limit", "install_error" or "rolled_back".
        phase, error_type, limit: where it failed, how, on which limit; names alone.
        firings, failures: of the version since it came.
        epoch: of the plan it went by.
        seq: grows with each report of the device.
    """

    device: int
    release: str
    scenario: str
    task: str
    version: str = ""
    control: bool = False
    status: str = "ok"
    phase: str = ""
    error_type: str = ""
    limit: str = ""
    firings: int = 0
    failures: int = 0
    epoch: int = 0
    seq: int = 0


def pack_reports(reports: Iterable[Report]) -> bytes:
    """A batch, as devices send it.

    Raises:
        ArgumentError: more than 256 reports, an unknown status, a text that is no name.
    """
    rows = []
    for r in reports:
        if r.status not in STATUSES:
            raise ArgumentError.of(
                f"status '{r.status}'", f"one of {', '.join(STATUSES)}", "report", "use one"
            )
        status = STATUSES.index(r.status)
        names = (r.device, r.release, r.scenario, r.task, r.version, r.control, status)
        rows.append((*names, r.phase, r.error_type, r.limit, r.firings, r.failures, r.epoch, r.seq))
    return native.write_reports(rows)


def unpack_reports(data: bytes) -> list[Report]:
    """The reports of a batch.

    Raises:
        ArgumentError: anything that `pack_reports` does not write.
    """
    out = []
    for row in native.read_reports(data):
        device, release, scenario, task, version, control, status = row[:7]
        phase, error_type, limit, firings, failures, epoch, seq = row[7:]
        out.append(
            Report(
                device=device,
                release=release,
                scenario=scenario,
                task=task,
                version=version,
                control=control,
                status=STATUSES[status],
                phase=phase,
                error_type=error_type,
                limit=limit,
                firings=firings,
                failures=failures,
                epoch=epoch,
                seq=seq,
            )
        )
    return out
