"""Gives a damaged .walle file valid checksums again, so that the damage reaches what lies behind them."""

from __future__ import annotations

import struct

_POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected
HEADER = 64


def _table() -> list[int]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        rows.append(byte)
    return rows


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The checksum as .walle files hold it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def seal(data: bytes) -> bytes:
    """The file with both checksums recomputed; a file too short for a header comes back as it is."""
    if len(data) < HEADER:
        return data
    out = bytearray(data)
    graph_at, graph_bytes = struct.unpack_from("<QQ", out, 16)
    struct.pack_into("<I", out, 48, crc32c(bytes(out[graph_at : graph_at + graph_bytes])))
    struct.pack_into("<I", out, 52, crc32c(bytes(out[:52])))
    return bytes(out)
