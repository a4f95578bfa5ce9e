"""What a phone's system has and a test on Linux has not: TLS and keys, lent to the Swift program by a socket.

Each connection asks for one thing, in a line of words in base64; `yes ANSWER` or `no WHY` comes back. Behind
the answer to `tls` the connection is the one that was asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from types import TracebackType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
PIECE = 16384


def _key(pem: bytes) -> Any:
    return load_pem_private_key(pem, None)


def _point(key: Any) -> bytes:
    return bytes(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def _make() -> bytes:
    made = ec.generate_private_key(ec.SECP256R1())
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _is_of(key: bytes, certificate: bytes) -> bytes:
    return bytes([_point(_key(key)) == _point(x509.load_pem_x509_certificate(certificate))])


def _sign(key: bytes, message: bytes) -> bytes:
    return bytes(_key(key).sign(message, ec.ECDSA(hashes.SHA256())))


KEYS: dict[bytes, Callable[..., bytes]] = {
    b"make": _make,
    b"point": lambda key: _point(_key(key)),
    b"is_of": _is_of,
    b"sign": _sign,
}


async def _tls(host: bytes, port: bytes, authorities: bytes, *own: bytes) -> Streams:
    context = ssl.create_default_context(cafile=authorities.decode() or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if own:
        context.load_cert_chain(*(file.decode() for file in own))
    return await asyncio.open_connection(host.decode(), int(port), ssl=context, server_hostname=host.decode())


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()


async def _join(one: Streams, other: Streams) -> None:
    """Until either end closes."""
    both = [asyncio.ensure_future(_pass_on(a, b)) for a, b in ((one[0], other[1]), (other[0], one[1]))]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for way in both:
        way.cancel()
    await asyncio.gather(*both, return_exceptions=True)
    other[1].close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    what, *words = (b64decode(word) for word in (await reader.readline()).split(b" "))
    peer = None
    try:
        if what == b"tls":
            peer, said = await _tls(*words), b""
        else:
            said = KEYS[what](*words)
        writer.write(b"yes " + b64encode(said) + b"\n")
    except Exception as error:
        writer.write(b"no " + b64encode(str(error).encode()) + b"\n")
    if peer:
        await _join((reader, writer), peer)
    with contextlib.suppress(OSError):
        await writer.drain()
    writer.close()


class Phone:
    """Listens on this machine, on a thread of its own."""

    def __enter__(self) -> Phone:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.start_server(_answer, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result()
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
