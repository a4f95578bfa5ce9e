"""Devices that hold a connection with the broker and say nothing, as a process: TLS 1.3, a certificate each.

    python idle_connections.py PORT FOLDER FIRST COUNT

FOLDER has ca.pem, device.key and a certificate <number>.pem for each. What a device says at its start is
said: CONNECT with a session that is kept, SUBSCRIBE to its three topics. Prints "held" when the broker has
answered all of them, and holds them until its standard input ends.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import ssl
import sys
from pathlib import Path

KEEPALIVE_S = 600


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


def packet(first: int, body: bytes) -> bytes:
    assert len(body) < 128 * 128
    low, high = len(body) & 127, len(body) >> 7
    return bytes([first, low | 128, high] if high else [first, low]) + body


def exactly(connection: ssl.SSLSocket, size: int) -> bytes:
    out = b""
    while len(out) < size:
        piece = connection.recv(size - len(out))
        if not piece:
            raise ConnectionError("the broker has ended a connection")
        out += piece
    return out


def connected(port: int, folder: Path, number: int) -> ssl.SSLSocket:
    name = f"d-{number:020x}"
    # A device sends its certificate and no authority's. Python's client cannot be told so, but one that knows
    # no authority has none to send.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(folder / f"{number}.pem", folder / "device.key")
    bare = socket.create_connection(("127.0.0.1", port), 30)
    connection = context.wrap_socket(bare, server_hostname="127.0.0.1")
    hello = text("MQTT") + b"\x04\x00" + KEEPALIVE_S.to_bytes(2, "big") + text(name)
    topics = b"".join(text(topic) + b"\1" for topic in (f"w/{name}/ack", f"w/{name}/down", "w/epoch"))
    connection.sendall(packet(0x10, hello) + packet(0x82, b"\0\1" + topics))
    answers = exactly(connection, 4 + 7)  # CONNACK, SUBACK of three topics
    assert answers == b"\x20\x02\x00\x00\x90\x05\x00\x01\x01\x01\x01", answers.hex()
    return connection


def main(port: int, folder: Path, first: int, count: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as held:
        for number in range(first, first + count):
            held.enter_context(connected(port, folder, number))
        print("held", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
