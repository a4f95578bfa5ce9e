"""A mobile link as a process of an ordinary user: what TCP over 4G does to bytes, done to bytes of the loopback.

Per direction of a connection: segments of 1,400 bytes leave in order, no more at a time than a congestion
window that starts at ten segments, grows by one with each that is acknowledged, is halved by a loss and starts
anew after an idle time; a bottleneck serialises them; each travels half a round trip; a lost one comes a round
trip later where others follow it (fast retransmit) and two where none does (tail loss probe, RFC 8985), and
everything behind it waits. A connection's first byte comes a round trip after its SYN.

    python mobile_relay.py PORT      prints the port it listens on
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
import socket
import sys
from dataclasses import dataclass

SEGMENT = 1400
LEAST_RTT_S, MOST_RTT_S = 0.080, 0.120
LOSS = 0.01
BITS_PER_S = 10e6
FIRST_WINDOW = 10  # segments, RFC 6928
TIMEOUT_S = 0.3  # idle time behind which the window starts anew: about what retransmission waits


@dataclass
class Link:
    """One direction's bottleneck."""

    free_at: float = 0.0


class Flow:
    """One direction of one connection: when each segment arrives."""

    def __init__(self, rng: random.Random, link: Link) -> None:
        self._rng, self._link = rng, link
        self._window, self._threshold = float(FIRST_WINDOW), 1e9
        self._acks: list[float] = []  # when what is in flight is acknowledged
        self._last_arrival = self._last_sent = 0.0
        self.hold_until = 0.0

    def arrivals(self, now: float, segments: int) -> list[float]:
        """When ``segments`` that are written at ``now`` arrive."""
        if now - self._last_sent > TIMEOUT_S and not [a for a in self._acks if a > now]:
            self._window = float(FIRST_WINDOW)
        out = []
        at = max(now, self.hold_until)
        for i in range(segments):
            while self._acks and (self._acks[0] <= at or len(self._acks) >= int(self._window)):
                at = max(at, heapq.heappop(self._acks))
                self._window += 1 if self._window < self._threshold else 1 / self._window
            half = self._rng.uniform(LEAST_RTT_S, MOST_RTT_S) / 2
            leaves = max(at, self._link.free_at) + SEGMENT * 8 / BITS_PER_S
            self._link.free_at = leaves
            arrives = leaves + half
            if self._rng.random() < LOSS:
                arrives += 2 * half * (1 if segments - i > 3 else 2)
                self._window = self._threshold = max(2.0, self._window / 2)
            # Acknowledged by itself (SACK), handed over in order.
            heapq.heappush(self._acks, arrives + half)
            self._last_arrival, self._last_sent = max(arrives, self._last_arrival), leaves
            out.append(self._last_arrival)
        return out


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flow: Flow) -> None:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            at, data = await waiting.get()
            if (left := at - loop.time()) > 0:
                await asyncio.sleep(left)
            if not data:
                writer.close()
                return
            writer.write(data)

    delivery = asyncio.create_task(deliver())
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            parts = [data[i : i + SEGMENT] for i in range(0, len(data), SEGMENT)]
            for at, part in zip(flow.arrivals(loop.time(), len(parts)), parts, strict=True):
                waiting.put_nowait((at, part))
    waiting.put_nowait((loop.time(), b""))
    with contextlib.suppress(ConnectionError):
        await delivery


async def relay(port: int, seed: int = 1) -> None:
    """Serve until the process ends."""
    rng = random.Random(seed)
    up, down = Link(), Link()

    async def connected(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        forward, backward = Flow(rng, up), Flow(rng, down)
        forward.hold_until = asyncio.get_running_loop().time() + rng.uniform(LEAST_RTT_S, MOST_RTT_S)
        far, on = await asyncio.open_connection("127.0.0.1", port)
        for each in (back, on):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(_pump(near, on, forward), _pump(far, back, backward), return_exceptions=True)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1])))
