"""Seeds for tuf_fuzz: one file of each role, with the ids that their keys have.

python tuf_seeds.py FOLDER
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ED25519 = {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": "ab" * 32}}
P256 = {
    "keytype": "ecdsa",
    "scheme": "ecdsa-sha2-nistp256",
    "keyval": {"public": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZI\n-----END PUBLIC KEY-----\n"},
}


def packed(value: Any) -> str:
    """Canonical JSON, for texts without control characters the same as Python's shortest."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def keyid(key: dict[str, Any]) -> str:
    """The id of a key: its canonical form's digest, where line ends stand as they are."""
    return hashlib.sha256(packed(key).replace("\\n", "\n").encode()).hexdigest()


def signed(kind: str, **content: Any) -> bytes:
    """A file of a role with a signature that is none."""
    whole = {"_type": kind, "spec_version": "1.0.31", "version": 1, "expires": "2030-01-01T00:00:00Z"}
    whole |= content
    signatures = [{"keyid": keyid(ED25519), "sig": "00" * 64}]
    return json.dumps({"signatures": signatures, "signed": whole}).encode()


KEYS = {keyid(ED25519): ED25519, keyid(P256): P256}
ROLE = {"keyids": list(KEYS), "threshold": 1}
META = {"version": 1, "length": 10, "hashes": {"sha256": "0" * 64, "sha512": "1" * 128}}
DELEGATED = {
    "keys": KEYS,
    "roles": [
        {"name": "a", "terminating": True, "paths": ["a/*", "b?"], **ROLE},
        {"name": "b", "terminating": False, "path_hash_prefixes": ["0a", "f"], **ROLE},
    ],
}
SEEDS = [
    signed("root", keys=KEYS, roles=dict.fromkeys(("root", "timestamp", "snapshot", "targets"), ROLE)),
    signed("timestamp", meta={"snapshot.json": META}),
    signed("snapshot", meta={"targets.json": META, "a.json": {"version": 2}}),
    signed("targets", targets={"a/x": {**META, "custom": {"n": 1}}}, delegations=DELEGATED),
    b'{"b":[1,-2,true,null,"\\u00e9\\n"],"a":{"":[]}}',
    b"2030-01-31T23:59:59Z",
    b"-----BEGIN PUBLIC KEY-----YWJj-----END PUBLIC KEY-----",
    b"aXbXc/ddda*b*c/d?*",
]


def main(folder: Path) -> None:
    """Write the seeds once; a folder that has some is left alone."""
    if any(folder.glob("seed_*")):
        return
    for i, seed in enumerate(SEEDS):
        (folder / f"seed_{i}").write_bytes(seed)
    print(f"{len(SEEDS)} seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
