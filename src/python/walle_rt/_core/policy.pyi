"""Device headers, plans and reports; use walle_rt.cloud.release and walle_rt.link instead."""

from collections.abc import Sequence
from typing import TypedDict

_Condition = tuple[int, int, Sequence[tuple[int, int]]]  # field, salt, spans
_Ramp = tuple[int, int, int, int, int, int]
_Release = tuple[str, str, str, str, str, bytes, int, Sequence[Sequence[_Condition]], _Ramp | None, bytes]
_TakenBack = tuple[str, str, str, str, int]  # release, scenario, task, version, index in TAKEN_BACK
_Report = tuple[int, str, str, str, str, bool, int, str, str, str, int, int, int, int]

WHOLE: int
BUCKET_FIELD: int
RAM_STEP_MB: int
FIELDS: Sequence[tuple[str, int]]
OS_NAMES: Sequence[str]
REPORT_STATUSES: Sequence[str]
TAKEN_BACK: Sequence[str]
PARTLY: int
HEADER: str
REPLY: str

class _PlanRelease(TypedDict):
    id: str
    scenario: str
    task: str
    version: str
    path: str
    sha256: bytes
    size: int
    gray: bool
    params: bytes

def name_hash(name: str) -> int: ...
def salt_of(salt: str) -> int: ...
def bucket_value(salt: int, bucket: int) -> int: ...
def device_pseudonym(device_id: str) -> int: ...
def app_version_key(version: str) -> int: ...
def os_version_key(version: str) -> int: ...
def profile_header(
    *,
    app: str,
    app_version: str,
    os: str,
    os_version: str,
    device: str,
    ram_mb: int,
    op_set: str,
    vm: str,
    device_id: str,
    active: int = 0,
    epoch: int = 0,
) -> str: ...
def header_fields(text: str) -> dict[str, int]: ...
def write_plan(
    epoch: int,
    releases: Sequence[_Release],
    kills: Sequence[tuple[str, str]],
    taken_back: Sequence[_TakenBack] = (),
) -> bytes: ...
def write_reports(reports: Sequence[_Report]) -> bytes: ...
def read_reports(data: bytes) -> list[_Report]: ...

class Plan:
    """A verified plan: which releases there are, and whom each is for."""

    def __init__(self, data: bytes) -> None: ...
    @property
    def epoch(self) -> int: ...
    @property
    def releases(self) -> list[_PlanRelease]: ...
    @property
    def kills(self) -> list[tuple[str, str]]: ...
    @property
    def taken_back(self) -> list[_TakenBack]: ...
    def decide(self, header: str, now_s: int) -> tuple[int, list[tuple[str | None, str | None, bool]]]:
        """(digest, [(release that runs, gray release it is counted for, whether as control)])."""
    def check(self, header: str, now_s: int) -> int:
        """0: the device is up to date; 1: it is not; -1: that is no header."""
