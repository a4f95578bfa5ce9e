"""TLS of the server itself: whose certificate it shows, and how a new one is taken up.

Either files that somebody brings (``--certificate``, ``--key``), or a certificate of the server's own
authority (``--tls``), the one that signs devices: whoever is given ``keys/ca/ca.pem`` believes this server
and no other. TLS 1.2 and later, with the ciphers that Python's ``ssl`` prefers.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ...errors import ArgumentError, ResourceError
from ..service.state import ServerState, Settings
from ..trust.authority import Authority

LOG = logging.getLogger("walle_rt.cloud")

Files = tuple[Path, Path]  # chain and key, PEM


class Shown:
    """The certificate that connections are shown. ``again`` takes up files that have changed.

    Raises:
        ResourceError: files that cannot be read, or a key that is not the certificate's.
    """

    def __init__(self, files: Callable[[], Files]) -> None:
        """Read what ``files`` names."""
        self._files = files
        self._seen = self._load()
        # Connections begin with the first pair, and are given the newest before a certificate is chosen.
        # Loading into the context itself would leave it without a key for a moment, in which handshakes end.
        self.context = self._newest
        self.context.sni_callback = self._give

    def again(self) -> None:
        """Look for newer files; connections to come are shown them. What is wrong with them is logged, and
        the old certificate stays."""
        try:
            if _state(self._files()) != self._seen:
                self._seen = self._load()
                LOG.info("certificate read anew")
        except (OSError, ResourceError) as error:
            LOG.warning("certificate not read anew", extra={"reason": str(error)})

    def _give(self, connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        connection.context = self._newest

    def _load(self) -> list[tuple[int, int]]:
        chain, key = self._files()
        try:
            seen = _state((chain, key))
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.minimum_version = ssl.TLSVersion.TLSv1_2
            made.load_cert_chain(chain, key, password=_no_password)
            self._newest = made
        except (OSError, ValueError) as error:
            raise ResourceError.of(
                f"'{chain}' and '{key}' ({getattr(error, 'strerror', None) or error})",
                "a certificate chain and its key without a password, both PEM",
                "--certificate, --key",
                "check the two files",
            ) from None
        return seen


def shown_of(state: ServerState) -> Shown | None:
    """What the settings ask for; None: plain HTTP.

    Raises:
        ArgumentError: a certificate without a key, or one beside ``--tls``.
    """
    settings = state.settings
    chain, key = settings.certificate, settings.key
    if (chain is None) != (key is None) or (settings.tls and chain is not None):
        raise ArgumentError.of(
            "one of --certificate and --key" if not settings.tls else "--tls and --certificate",
            "both files, or --tls alone",
            "walle serve",
            "give both, or --tls for a certificate of the server's own authority",
        )
    if chain is not None and key is not None:
        given = chain, key
        return Shown(lambda: given)
    if settings.tls:
        return Shown(lambda: _own(state.authority, settings, state.utc()))
    return None


def _own(authority: Authority, settings: Settings, now: datetime) -> Files:
    return authority.server_certificate("https", settings.names(), now)


def _state(files: Files) -> list[tuple[int, int]]:
    return [((found := file.stat()).st_mtime_ns, found.st_ino) for file in files]


def _no_password() -> str:
    raise ValueError("a key with a password")
