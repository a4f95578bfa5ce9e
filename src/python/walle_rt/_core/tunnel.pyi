"""The native tunnel; use walle_rt.device.Tunnel and walle_rt.cloud.sink instead."""

from collections.abc import Callable, Sequence
from typing import Any

from .device import Device

# seq, time, task, feature, bytes
_Record = tuple[int, int, str, str, bytes]

class Tunnel:
    """A device's connection with its broker."""

    @staticmethod
    def open(
        device: Device,
        broker: str,
        id: str,
        *,
        authorities: str,
        certificate: str,
        key: str,
        session: str,
        address: str,
        options: dict[str, float],
        on_epoch: Callable[[tuple[int, int]], object] | None,
        on_down: Callable[[bytes], object] | None,
        on_state: Callable[[str], object] | None,
        on_answer: Callable[[dict[str, Any]], object] | None,
    ) -> Tunnel: ...
    def stop(self) -> None: ...
    def network_changed(self) -> None: ...
    def drain(self, timeout_s: float) -> bool: ...
    def stats(self) -> dict[str, Any]: ...

def read_message(
    data: bytes, dictionary: Callable[[str, int], bytes | None]
) -> list[tuple[str, int, int, bytes, list[_Record]]]: ...
def pack_message(sections: Sequence[tuple[str, bytes, bool, Sequence[_Record]]]) -> bytes: ...
def pack_ack(entries: Sequence[tuple[str, int, int, Sequence[tuple[int, int]]]]) -> bytes: ...
def read_ack(data: bytes) -> list[tuple[str, int, int, list[tuple[int, int]]]]: ...
def pack_answer(
    stream: str,
    seq: int,
    *,
    number: int,
    after: int,
    task: str,
    error: str,
    rows: Sequence[dict[str, Any]],
) -> bytes: ...
def read_answer(data: bytes) -> tuple[str, int, int, int, str, str, list[dict[str, Any]]]: ...
def pack_marks(marks: Sequence[tuple[str, int]]) -> bytes: ...
def read_marks(data: bytes) -> list[tuple[str, int]]: ...
def trace_id(stream: str, seq: int) -> int: ...
def pack_epoch(epoch: int, jitter_s: int) -> bytes: ...
