"""What floods a server: log-ins, slow bodies, huge heads, git pushes that inflate. On this machine alone.

    python -m tests.fault.flood_attack PORT SECONDS TOKEN

A process of its own: what it takes of the interpreter must not show in what tests/fault/flood.py measures.
It prints how often each kind was tried, by the status that came back.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import struct
import sys
import time
import zlib
from collections import Counter

LOGINS_PER_S = 200
SLOW_BODIES = 64
HUGE_HEADS = 4  # at once
HEAD_BYTES = 8 << 20
BOMB_BYTES = 1_600_000_000
_PIECE = 1 << 20

Counts = Counter[tuple[str, str]]


def bomb(size: int = BOMB_BYTES) -> bytes:
    """A push of one file of zeros: its pack has a thousandth of its bytes."""
    header = bytearray([0x30 | (size & 15)])
    left = size >> 4
    while left:
        header[-1] |= 0x80
        header.append(left & 0x7F)
        left >>= 7
    packer, packed = zlib.compressobj(9), bytearray()
    zeros = bytes(_PIECE)
    for at in range(0, size, _PIECE):
        packed += packer.compress(zeros[: min(_PIECE, size - at)])
    packed += packer.flush()
    pack = b"PACK" + struct.pack(">II", 2, 1) + bytes(header) + bytes(packed)
    line = b"0" * 40 + b" " + b"1" * 40 + b" refs/heads/rank\x00 report-status\n"
    return f"{len(line) + 4:04x}".encode() + line + b"0000" + pack + hashlib.sha1(pack).digest()


async def ask(port: int, head: str, body: bytes = b"") -> str:
    """The status of one request on a connection of its own; what ended it where none came."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        return type(error).__name__
    try:
        writer.write(head.encode() + body)
        line = await asyncio.wait_for(reader.readline(), 30)
        return line.split(b" ")[1].decode() if line else "closed"
    except (OSError, TimeoutError) as error:
        return type(error).__name__
    finally:
        writer.close()


def post(path: str, body: bytes, *lines: str) -> str:
    """The head of a request with a body."""
    given = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", "Connection: close", *lines]
    return "\r\n".join(given) + "\r\n\r\n"


class Attack:
    """All kinds at once, until ``end``."""

    def __init__(self, port: int, seconds: float, token: str, push: bytes) -> None:
        self.port, self.token, self.bomb = port, token, push
        self.end = time.monotonic() + seconds
        self.counts: Counts = Counter()

    async def run(self, kinds: list[str]) -> None:
        await asyncio.gather(*(getattr(self, kind)() for kind in kinds))

    def over(self) -> bool:
        return time.monotonic() > self.end

    async def logins(self) -> None:
        """At their rate whatever the server answers, each with another name."""
        number, began, running = 0, time.monotonic(), set()
        while not self.over():
            due = began + number / LOGINS_PER_S
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(self._login(number))
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
        await asyncio.wait(running, timeout=5) if running else None

    async def _login(self, number: int) -> None:
        body = json.dumps({"name": f"nobody-{number}", "password": "wrong" * 4}).encode()
        status = await ask(self.port, post("/api/v1/login", body, "Content-Type: application/json"), body)
        self.counts["login", status] += 1

    async def slow_bodies(self) -> None:
        """A byte a second, of a body that never ends."""
        await asyncio.gather(*(self._slow_body() for _ in range(SLOW_BODIES)))

    async def _slow_body(self) -> None:
        while not self.over():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(post("/v1/reports", bytes(200_000)).encode())
                while not self.over() and not writer.is_closing():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(1)
                writer.close()
                self.counts["slow body", "held to the end" if self.over() else "closed"] += 1
            except OSError:
                self.counts["slow body", "closed"] += 1

    async def huge_heads(self) -> None:
        """Requests whose head lines take megabytes."""
        await asyncio.gather(*(self._huge_head() for _ in range(HUGE_HEADS)))

    async def _huge_head(self) -> None:
        line = b"X-Long: " + b"x" * 4000 + b"\r\n"
        while not self.over():
            status = "closed"
            with contextlib.suppress(OSError, TimeoutError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                with contextlib.suppress(OSError):
                    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
                    for _ in range(HEAD_BYTES // len(line)):
                        writer.write(line)
                        await writer.drain()
                    writer.write(b"\r\n")
                with contextlib.suppress(OSError):
                    answer = await asyncio.wait_for(reader.readline(), 30)
                    status = answer.split(b" ")[1].decode() if answer else "closed"
                writer.close()
            self.counts["huge head", status] += 1
            await asyncio.sleep(0.2)

    async def bombs(self) -> None:
        """Pushes with a token that may push."""
        body = self.bomb
        lines = (
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/x-git-receive-pack-request",
        )
        while not self.over():
            status = await ask(self.port, post("/git/shop.git/git-receive-pack", body, *lines), body)
            self.counts["git bomb", status] += 1
            await asyncio.sleep(0.5)


ALL = ["logins", "slow_bodies", "huge_heads", "bombs"]


def main(port: str, seconds: str, token: str, *kinds: str) -> None:
    os.nice(5)  # it comes from elsewhere: that it shares the processor with the server is the test's doing
    wanted = list(kinds) or ALL
    push = bomb() if "bombs" in wanted else b""  # it takes its time, so first
    attack = Attack(int(port), float(seconds), token, push)
    print("begins", flush=True)
    asyncio.run(attack.run(wanted))
    for (kind, status), count in sorted(attack.counts.items()):
        print(f"{kind}: {status}: {count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
