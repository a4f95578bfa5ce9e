"""Settings of the broker: one configuration and one list of access rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import ArgumentError

# The first that a client has is taken. An idle connection holds 0.4 KB less with it than with AES-256, which
# is OpenSSL's first; phones without AES in hardware are faster with it, and of a few KB nobody notices it.
_CIPHERS = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
# No device can have this name: an id has no '@'.
SINK = "@sink"


@dataclass(frozen=True)
class BrokerSettings:
    """Where the broker lives, whom it believes and how much it holds.

    Attributes:
        folder: its own; configuration, access rules, what it keeps over a restart, its process id.
        authorities: PEM; whoever has a certificate of these may connect, under its common name.
        certificate: PEM, the broker's chain.
        key: PEM, its key, which this process can read.
        host: address to listen on; "" is every one.
        port: 0 takes a free one.
        revoked: PEM, the authority's list of certificates that count no more; None: there is none.
        removed: common names that are let have and say nothing, whatever certificate they show.
        sink: common name of the sink's certificate, the one that may read every device's records.
        most_connections: at one time.
        most_packet_bytes: of one MQTT packet; a device's largest message is 4.1 MiB.
        queued_messages, queued_bytes: of each client that is slow or away; what comes beyond is dropped.
        away_days: after which the broker forgets a client that is away.
    """

    folder: Path
    authorities: Path
    certificate: Path
    key: Path
    host: str = "127.0.0.1"
    port: int = 8883
    revoked: Path | None = None
    removed: tuple[str, ...] = ()
    sink: str = SINK
    most_connections: int = 50_000
    most_packet_bytes: int = 5 << 20
    queued_messages: int = 10_000
    queued_bytes: int = 64 << 20
    away_days: int = 7

    def __post_init__(self) -> None:
        """Refuse what a configuration file would take for something else.

        Raises:
            ArgumentError: a value with a line break, a name with one of MQTT's wildcards, a limit below 1.
        """
        texts = [self.folder, self.authorities, self.certificate, self.key, self.host, self.sink]
        texts += [self.revoked or "", *self.removed]
        if bad := [str(t) for t in texts if "\n" in str(t) or "\r" in str(t)]:
            raise ArgumentError.of(repr(bad[0]), "one line", "BrokerSettings", "rename it")
        if not self.sink or set(self.sink) & set("+#/ "):
            raise ArgumentError.of(
                f"sink={self.sink!r}",
                "a name without '+', '#', '/' and spaces",
                "BrokerSettings",
                "rename it",
            )
        limits = ("most_connections", "most_packet_bytes", "queued_messages", "queued_bytes", "away_days")
        for name in limits:
            # 0 means "no limit" or "nothing" to Mosquitto, which of the two changed between its releases.
            if getattr(self, name) < 1:
                raise ArgumentError.of(
                    f"{name}={getattr(self, name)}", "1 or more", "BrokerSettings", "set it"
                )

    def access_rules(self) -> str:
        """Who may do what: a device its own topics, the sink those of all, nobody else anything.

        Who was removed has a rule of its own: a connection of before lives on, and so may one that is resumed
        by a ticket of before, in which nobody looks at the certificate again.
        """
        denied = "".join(f"user {name}\ntopic deny #\n\n" for name in self.removed)
        return denied + self._granted()

    def _granted(self) -> str:
        return f"""# Written anew at every start.
user {self.sink}
topic read w/+/up
topic read w/+/got
topic write w/+/ack
topic write w/+/down
topic readwrite w/epoch
topic read $SYS/broker/clients/connected

pattern write w/%u/up
pattern write w/%u/got
pattern read w/%u/ack
pattern read w/%u/down
pattern read w/epoch
"""

    def configuration(self, port: int) -> str:
        """The configuration of a broker that listens on ``port``."""
        return f"""# Written anew at every start.
user {_user()}
pid_file {self.folder}/mosquitto.pid
log_dest stderr
log_type error
log_type warning
log_type notice
log_type information
connection_messages false
sys_interval 2

persistence true
persistence_location {self.folder}/
persistence_file mosquitto.db
autosave_interval 30
persistent_client_expiration {self.away_days}d

max_packet_size {self.most_packet_bytes}
max_queued_messages {self.queued_messages}
max_queued_bytes {self.queued_bytes}
max_inflight_messages 1000
set_tcp_nodelay true

allow_anonymous false
acl_file {self.folder}/access

listener {port}{" " + self.host if self.host else ""}
protocol mqtt
max_connections {self.most_connections}
cafile {self.authorities}
certfile {self.certificate}
keyfile {self.key}
{f"crlfile {self.revoked}" if self.revoked else ""}
tls_version tlsv1.3
ciphers_tls1.3 {_CIPHERS}
require_certificate true
use_identity_as_username true
use_username_as_clientid true
"""


def _user() -> str:
    """Mosquitto started by root becomes the user ``mosquitto``, who could read neither key nor folder."""
    import getpass

    return getpass.getuser()
