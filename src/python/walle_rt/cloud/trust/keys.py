"""Private keys in a folder."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner, SSlibKey

from ...errors import ArgumentError
from ...whole_files import write_whole


class Scheme(StrEnum):
    """Kinds of keys that devices verify."""

    ED25519 = "ed25519"
    ECDSA_P256 = "ecdsa"
    RSA_PSS = "rsa"


class KeyFolder:
    """Private keys, one PKCS#8 file ``<key id>.pem`` each, readable by their owner alone.

    A key's id is the SHA-256 of its public part, so the files need no index and may be copied apart: to an
    offline medium, to another team. Keys that were withdrawn lie in ``withdrawn/`` and sign nothing.

    Args:
        folder: where the files lie; made at the first key.
        passphrase: encrypts new keys and opens encrypted ones.
    """

    def __init__(self, folder: Path | str, passphrase: bytes | None = None) -> None:
        """Remember the folder; nothing is read yet."""
        self.folder = Path(folder)
        self._passphrase = passphrase
        self._opened: dict[str, tuple[tuple[int, ...], Any]] = {}  # by id: its file as it was, and its signer

    def create(self, scheme: Scheme = Scheme.ED25519) -> Any:
        """A new key; returns its signer."""
        signer: Any = {
            Scheme.ED25519: CryptoSigner.generate_ed25519,
            Scheme.ECDSA_P256: CryptoSigner.generate_ecdsa,
            Scheme.RSA_PSS: CryptoSigner.generate_rsa,
        }[scheme]()
        key = load_pem_private_key(signer.private_bytes, None)
        closed = BestAvailableEncryption(self._passphrase) if self._passphrase else NoEncryption()
        content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, closed)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._file(signer.public_key.keyid), content, 0o600)
        return signer

    def __contains__(self, keyid: object) -> bool:
        """Whether the private key of this id is here."""
        return self._file(str(keyid)).is_file()

    def signer(self, keyid: str) -> Any:
        """What signs with this key.

        Raises:
            ArgumentError: the key is not here, damaged, or the passphrase is not its own.
        """
        file = self._file(keyid)
        try:
            stat = file.stat()
            now = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            before, signer = self._opened.get(keyid, ((), None))
            if before == now:  # opening one takes longer than signing with it
                return signer
            key: Any = load_pem_private_key(file.read_bytes(), self._passphrase)
        except FileNotFoundError:
            raise ArgumentError.of(
                f"no private key {keyid[:16]}...",
                "its .pem file",
                f"keys '{self.folder}'",
                "name the folder that holds it, or rotate the role's keys",
            ) from None
        except (ValueError, TypeError) as error:
            raise ArgumentError.of(
                f"a private key that cannot be opened ({error})",
                "PKCS#8 and its passphrase",
                f"file '{file}'",
                "check the passphrase, or take the file from your backup",
            ) from None
        signer = CryptoSigner(key, SSlibKey.from_crypto(key.public_key()))
        if signer.public_key.keyid != keyid:
            raise ArgumentError.of(
                f"the private key of {signer.public_key.keyid[:16]}...",
                f"that of {keyid[:16]}...",
                f"file '{file}'",
                "do not rename key files",
            )
        self._opened[keyid] = (now, signer)
        return signer

    def withdraw(self, keyid: str) -> None:
        """Put a key aside: it is kept for whoever has to look, and signs nothing any more."""
        file = self._file(keyid)
        if file.is_file():
            aside = self.folder / "withdrawn" / file.name
            aside.parent.mkdir(mode=0o700, exist_ok=True)
            file.rename(aside)

    def _file(self, keyid: str) -> Path:
        return self.folder / f"{keyid}.pem"
