"""Seeds for the fuzz target of the tunnel: tunnel_seeds.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from walle_rt import _core

RECORDS = [
    (1, 1_700_000_000_000_000, "task", "feature", b"words " * 20),
    (3, 1_700_000_000_000_100, "task", "feature", b""),
]


def seeds() -> dict[str, bytes]:
    native = _core.tunnel
    plain = native.pack_message([("s", b"", False, RECORDS), ("u", b"", True, RECORDS[:1])])
    ack = native.pack_ack([("s", 0, 7, [(1, 3), (9, 1)]), ("u", 2, 9, []), ("v", 1, 0, [(4, 1)])])
    answer = {"number": 2, "after": 1, "task": "task"}
    row = {"n": 1, "x": 0.5, "b": True, "t": "text", "r": b"raw", "a": None}
    found = {
        "plain": plain,
        "words": native.pack_message([("s", b"words " * 30, False, RECORDS)]),
        "ack": ack,
        "answer": native.pack_answer("s", 9, error="", rows=[row], **answer),
        "failed": native.pack_answer("s", 9, error="ValueError: no", rows=[], **answer),
        "marks": native.pack_marks([("s", 2), ("u", 0)]),
        "epoch": native.pack_epoch(7, 3),
    }
    found |= {f"{name}-open": data[:-4] for name, data in found.items()}
    topic = b"\0\7w/d/ack"
    packets = [
        b"\x90\x03\xff\xff\0",
        b"\x40\x02\0\1",
        b"\xd0\0",
        b"\x30" + bytes([len(topic + ack)]) + topic + ack,
    ]
    found["packets"] = b"".join(packets)
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, data in seeds().items():
        (folder / name).write_bytes(data)
