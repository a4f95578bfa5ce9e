"""The certificate authority of the server: who is a device of ours.

ECDSA on P-256 all the way: a device's certificate and the authority's are 0.9 KB together, where RSA took 2.3
KB of every handshake. A certificate says one thing, its common name: the device id, which is the name in the
broker, too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...errors import ArgumentError
from ...whole_files import write_whole

DEVICE_DAYS = 365.0
_RENEWED_AFTER = 2 / 3  # of a certificate's time: a device that is off for four months still has one
_AUTHORITY_DAYS = 3650
_SERVER_DAYS = 365
_EARLY = timedelta(minutes=10)  # devices' clocks are behind
MAX_REQUEST = 4096  # bytes of a certificate request; a P-256 one is 400


@dataclass(frozen=True)
class Issued:
    """A device's certificate."""

    pem: str
    serial: str
    public_key: bytes  # SubjectPublicKeyInfo, DER
    expires: float
    renew_at: float


class Authority:
    """Signs certificates with a key in ``folder`` (``ca.key``, ``ca.pem``); made when there is none yet."""

    def __init__(self, folder: Path, device_days: float = DEVICE_DAYS) -> None:
        """Open the authority, or make one; a device's certificate counts so many days."""
        self.folder, self._device_days = folder, device_days
        if not (folder / "ca.pem").is_file():
            self._create()
        self._key = _private_key(folder / "ca.key")
        self.certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
        self.pem = self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(self, device: str, request: bytes, now: datetime) -> Issued:
        """A certificate for the key that signed ``request`` (PKCS#10, PEM); its subject is ours to say.

        Raises:
            ArgumentError: no request, another kind of key, or a signature that is not the key's.
        """
        csr = _read_request(request)
        key = csr.public_key()
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        made = self._sign(device, key, now, self._device_days, [usage])
        der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        pem = made.public_bytes(Encoding.PEM).decode()
        expires = made.not_valid_after_utc.timestamp()
        renew_at = now.timestamp() + _RENEWED_AFTER * (expires - now.timestamp())
        return Issued(pem, f"{made.serial_number:x}", der, expires, renew_at)

    @property
    def revoked(self) -> Path:
        """PEM file of the certificates that count no more; ``revoke`` writes it."""
        return self.folder / "ca.crl"

    def revoke(self, serials: Iterable[str], now: datetime) -> None:
        """These certificates count no more, and no others; a broker believes the newest list.

        The list does not expire: a server that is down for a month would lock all of its devices out.
        """
        since = now - _EARLY
        if self.revoked.is_file():  # whoever reads both takes the later one, to the second
            before = x509.load_pem_x509_crl(self.revoked.read_bytes())
            since = max(since, before.last_update_utc + timedelta(seconds=1))
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(since)
            .next_update(self.certificate.not_valid_after_utc)
        )
        for serial in serials:
            entry = x509.RevokedCertificateBuilder().serial_number(int(serial, 16)).revocation_date(since)
            builder = builder.add_revoked_certificate(entry.build())
        made = builder.sign(self._key, hashes.SHA256())
        write_whole(self.revoked, made.public_bytes(Encoding.PEM))

    def server_certificate(self, name: str, hosts: list[str], now: datetime) -> tuple[Path, Path]:
        """Certificate chain and key for a service of this machine, ``<name>.pem`` and ``<name>.key``; as long
        as a third of its time is left and its hosts are the same, the one of before."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        # Python from 3.13 on believes no certificate of a server without it.
        ours = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ours)
        return self._kept(name, hosts[0], now, [usage, names, signer], sorted(hosts))

    def client_certificate(self, name: str, common_name: str, now: datetime) -> tuple[Path, Path]:
        """The same for a client of the broker."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._kept(name, common_name, now, [usage], [])

    def _kept(
        self,
        name: str,
        common_name: str,
        now: datetime,
        extensions: list[x509.ExtensionType],
        hosts: list[str],
    ) -> tuple[Path, Path]:
        chain, key_file = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        if chain.is_file() and key_file.is_file():
            old = x509.load_pem_x509_certificate(chain.read_bytes())
            third = timedelta(days=_SERVER_DAYS / 3)
            if _hosts(old) == hosts and old.not_valid_after_utc - now > third:
                return chain, key_file
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._sign(common_name, key.public_key(), now, _SERVER_DAYS, extensions)
        chain.unlink(missing_ok=True)  # a process that dies between leaves none, and the next one makes both
        write_whole(key_file, _pem_of(key), 0o600)
        write_whole(chain, made.public_bytes(Encoding.PEM) + self.pem.encode())
        return chain, key_file

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePublicKey,
        now: datetime,
        days: float,
        extensions: list[x509.ExtensionType],
    ) -> x509.Certificate:
        """Not an authority's: without BasicConstraints nobody takes it for one, and it is smaller."""
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]))
            .issuer_name(self.certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLY)
            .not_valid_after(now + timedelta(days=days))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _create(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "walle_rt devices")])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLY)
            .not_valid_after(now + timedelta(days=_AUTHORITY_DAYS))
            .add_extension(x509.BasicConstraints(True, 0), critical=True)
            .add_extension(_AUTHORITY_USAGE, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        # The key first: a certificate without one would look like an authority that works.
        write_whole(self.folder / "ca.key", _pem_of(key), 0o600)
        write_whole(self.folder / "ca.pem", made.public_bytes(Encoding.PEM))


def verify(public_key: bytes, signature: bytes, signed: bytes) -> bool:
    """Whether the P-256 key made this signature (DER) over the SHA-256 of the bytes."""
    try:
        _loaded_key(public_key).verify(signature, signed, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def _loaded_key(der: bytes) -> ec.EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    key = load_der_public_key(der)
    assert isinstance(key, ec.EllipticCurvePublicKey)  # the only kind that issue() lets in
    return key


def _read_request(request: bytes) -> x509.CertificateSigningRequest:
    def refused(what: str) -> ArgumentError:
        return ArgumentError.of(
            what, "a certificate request (PKCS#10, PEM) for a P-256 key", "csr", "make a new key and request"
        )

    if len(request) > MAX_REQUEST:
        raise refused(f"{len(request)} bytes")
    try:
        csr = x509.load_pem_x509_csr(request)
        key = csr.public_key()
        genuine = csr.is_signature_valid
    except Exception as error:  # the parser raises whatever its layers raise
        raise refused(f"no request that can be read ({type(error).__name__})") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise refused("a key of another kind")
    if not genuine:
        raise refused("a request that its key has not signed")
    return csr


def _private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    made: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return sorted(str(name.value) for name in names)


_AUTHORITY_USAGE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
