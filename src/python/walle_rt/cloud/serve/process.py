"""The process of ``walle serve``: uvicorn, the release loop, and what is beside them.

The loop is a thread: once a second releases move on, a plan that changed is signed and told, and signatures
are made anew before they expire. An error in a turn is logged and counted, and the next turn tries again.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from anyio.to_thread import current_default_thread_limiter

from ...errors import ResourceError
from .. import metrics
from ..service.lane import OTHER_THREADS
from ..service.lease import LeaseLostError
from ..service.server import Server
from ..web.app import build
from .connection import Patient, places
from .tls import shown_of

LOG = logging.getLogger("walle_rt.cloud")
_AFTER_S = 20  # a connection without requests ends
_STOP_S = 5


class ReleaseLoop(threading.Thread):
    """Calls ``turn`` every ``every_s`` until it is stopped.

    Where another server has taken over the database it ends by itself, ``lost`` says why, and ``over`` is
    called.
    """

    def __init__(self, turn: Callable[[], None], every_s: float, over: Callable[[], None]) -> None:
        """Prepare; ``start()`` begins."""
        super().__init__(name="walle-releases", daemon=True)
        self._end = over
        self.lost: LeaseLostError | None = None
        self._turn, self._every_s = turn, every_s
        self._wake, self._over = threading.Event(), False

    def run(self) -> None:
        """Turn after turn."""
        while not self._over:
            began = time.monotonic()
            try:
                self._turn()
            except LeaseLostError as error:
                LOG.error("this server ends", extra={"because": str(error)})
                self.lost, self._over = error, True
                self._end()
            except Exception:
                metrics.LOOP_FAILURES.inc()
                LOG.exception("a turn of the release loop failed")
            took = time.monotonic() - began
            metrics.LOOP_SECONDS.observe(took)
            self._wake.wait(max(0.0, self._every_s - took))
            self._wake.clear()

    def soon(self) -> None:
        """The next turn begins at once: somebody has decided something."""
        self._wake.set()

    def stop(self) -> None:
        """End after the turn that runs."""
        self._over = True
        self._wake.set()
        if self.is_alive():
            self.join(30)


def serve(state: Server, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` gets the address when requests are taken.

    Raises:
        ArgumentError: a certificate without its key.
        ResourceError: the address is taken, or the certificate cannot be used.
        LeaseLostError: another server has taken over the database.
    """
    settings = state.settings
    shown = shown_of(state)
    listening = _listen(settings.host, settings.port)

    def turn() -> None:
        state.turn()
        if shown is not None:
            shown.again()

    def end() -> None:
        server.should_exit = True

    loop = ReleaseLoop(turn, settings.tick_s, end)
    state.wake = loop.soon
    Patient.most = places()
    config = uvicorn.Config(
        build(state),
        http=Patient,
        ws="none",  # an upgrade would leave all limits behind
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_AFTER_S,
        timeout_graceful_shutdown=_STOP_S,
    )
    if shown is not None:
        config.load()
        config.ssl = shown.context
    scheme = "http" if shown is None else "https"
    server = _Uvicorn(config, lambda: ready(f"{scheme}://{_address(listening)}"))
    beside = state.start_beside()
    loop.start()
    try:
        server.run(sockets=[listening])
    finally:
        loop.stop()
        for stop in reversed(beside):
            with contextlib.suppress(Exception):
                stop()
    if loop.lost is not None:
        raise loop.lost


class _Uvicorn(uvicorn.Server):
    """Says when it takes requests, and leaves the signals' default actions to whoever called."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        current_default_thread_limiter().total_tokens = OTHER_THREADS
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """As uvicorn's, without raising the signal again at the end: the exit code is 0 then."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # handed on to each connection on Linux
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ResourceError.of(
            f"{host}:{port}, which cannot be listened on ({error.strerror or error})",
            "an address of this machine and a free port",
            "--host, --port",
            "take another port; 0 takes any that is free",
        ) from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
