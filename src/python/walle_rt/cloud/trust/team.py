"""A scenario whose key stays with its team: what the team signs by itself, and the server checks and stores.

The team makes a key and signs an empty role; an administrator adds the scenario with the two. From then on
the team fetches the role, lists a version in it, signs it, and sends it back. The server never sees the
private key: whoever takes the whole server over can still sign no code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from securesystemslib.signer import Key
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Targets
from tuf.api.serialization.json import JSONSerializer

from ..._core import names
from ...errors import ArgumentError
from . import retention
from .keys import KeyFolder, Scheme

MOST_ROLE = 256 * 1024  # bytes of a signed role
_SCHEMES = ("ed25519", "ecdsa-sha2-nistp256", "rsassa-pss-sha256")  # that devices verify


def first_role(folder: KeyFolder, scheme: Scheme, now: datetime, days: int) -> dict[str, Any]:
    """A new key in ``folder``, and an empty role that it has signed: what an administrator needs."""
    signer = folder.create(scheme)
    made: Any = Metadata(Targets(expires=now.replace(microsecond=0) + timedelta(days=days)))
    made.sign(signer)
    key = signer.public_key
    return {"keyid": key.keyid, "key": key.to_dict(), "role": _text(made)}


def next_role(
    current: str, path: str, content: bytes, keys: Iterable[KeyFolder], keyids: Iterable[str],
    now: datetime, days: int, named: Collection[str] = (),
) -> str:  # fmt: skip
    """The role with one more version, signed. Of a version that is listed the signature is made anew.

    ``named`` are the paths that stay listed, because something can name them.

    Raises:
        ArgumentError: no key of the role in ``keys``; bytes that are no role; other bytes than are listed.
    """
    metadata = read_role(current.encode())
    target = retention.add_version(metadata.signed, path, content, named)
    if target.hashes.get("sha256") != hashlib.sha256(content).hexdigest():
        raise ArgumentError.of(
            f"'{path}' with other bytes than it was published with", "a version of its own", path,
            "raise the version",
        )  # fmt: skip
    return _signed(metadata, keys, keyids, now, days)


def renewed_role(
    current: str, keys: Iterable[KeyFolder], keyids: Iterable[str], now: datetime, days: int
) -> str:
    """The role as it stands, signed for another time.

    Raises:
        ArgumentError: no key of the role in ``keys``; bytes that are no role.
    """
    return _signed(read_role(current.encode()), keys, keyids, now, days)


def _signed(metadata: Any, keys: Iterable[KeyFolder], keyids: Iterable[str], now: datetime, days: int) -> str:
    metadata.signed.version += 1
    metadata.signed.expires = now.replace(microsecond=0) + timedelta(days=days)
    metadata.signatures.clear()
    folders = list(keys)
    for keyid in keyids:
        folder = next((each for each in folders if keyid in each), None)
        if folder is not None:
            metadata.sign(folder.signer(keyid), append=True)
    if not metadata.signatures:
        raise ArgumentError.of(
            "no key of the scenario", "its private key", "--keys", "name the folder that holds it"
        )
    return _text(metadata)


def read_role(signed: bytes) -> Any:
    """A role's metadata; nothing of it is believed yet.

    Raises:
        ArgumentError: too large, or none.
    """
    try:
        if len(signed) > MOST_ROLE:
            raise ValueError(f"{len(signed)} bytes")
        made: Any = Metadata.from_bytes(signed)
    except (RepositoryError, ValueError, RecursionError) as error:
        raise ArgumentError.of(
            f"bytes that are no signed role ({error})", f"TUF targets metadata, at most {MOST_ROLE} bytes",
            "role", "sign it with walle task publish --keys",
        ) from None  # fmt: skip
    if not isinstance(made.signed, Targets):
        raise _refused(f"metadata of '{made.signed.type}'", "those of a scenario")
    return made


def read_key(keyid: str, given: Mapping[str, Any]) -> Any:
    """A public key that a scenario may have.

    Raises:
        ArgumentError: none, or of a kind that devices do not verify.
    """
    try:
        names.check("sha256", keyid, "key")
        key: Any = Key.from_dict(keyid, json.loads(json.dumps(given)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refused(f"no public key ({error})", "one as walle keys team writes it") from None
    if key.scheme not in _SCHEMES:
        raise _refused(f"a key of '{key.scheme}'", f"one of {', '.join(_SCHEMES)}")
    return key


def check_next(
    before: Any, made: Any, scenario: str, contents: Mapping[str, bytes], now: datetime, days: int,
    named: Collection[str] = (),
) -> None:  # fmt: skip
    """Whether ``made`` may follow ``before``: one version on, nothing new in it but ``contents``, and nothing
    of what is ``named`` left out.

    Raises:
        ArgumentError: it may not.
    """
    if made.version != before.version + 1:
        raise _refused(
            f"version {made.version} of the role", f"{before.version + 1}", "fetch the role and sign anew"
        )
    if made.delegations is not None or made.unrecognized_fields:
        raise _refused("a role that delegates, or has fields of its own", "a list of versions")
    if not now < made.expires <= now + timedelta(days=days + 1):
        raise _refused(f"a role until {made.expires:%Y-%m-%d}", f"one for {days} days at most")
    tasks: dict[str, int] = {}
    for path, target in made.targets.items():
        found = names.package_names(path)
        if found is None or found[0] != scenario:
            raise _refused(f"'{path[:100]}'", f"{scenario}/TASK/TASK-VERSION.walp")
        tasks[found[1]] = tasks.get(found[1], 0) + (path not in named)
        if path in before.targets:
            if target.to_dict() != before.targets[path].to_dict():
                raise _refused(
                    f"'{path}' with other bytes than it was published with", "a version of its own"
                )
        elif path not in contents:
            raise _refused(f"'{path}', which was not sent along", "the version that is published")
        else:
            target_is(target, contents[path])
    if any(count > retention.NEWEST for count in tasks.values()):
        raise _refused("more versions of a task", f"at most {retention.NEWEST}, and those that are named")
    for path in named:
        if path in before.targets and path not in made.targets:
            raise _refused(
                f"a role without '{path}'", "every version that a release can name",
                "fetch the role and what it must list, and sign anew",
            )  # fmt: skip


def target_is(target: Any, content: bytes) -> None:
    """Whether a role lists these bytes, as devices compare them."""
    said = (target.length, target.hashes)
    if said != (len(content), {"sha256": hashlib.sha256(content).hexdigest()}):
        raise _refused(f"'{target.path}' with another digest", "that of the manifest that was sent along")
    if set(target.unrecognized_fields) != {"custom"} or not isinstance(target.custom, dict):
        raise _refused(f"'{target.path}' with other fields", "a place among its task's versions")
    if set(target.custom) != {"n"} or not isinstance(target.custom["n"], int):
        raise _refused(f"'{target.path}' with other fields", "a place among its task's versions")


def _refused(
    given: str, expected: str, next_step: str = "sign it with walle task publish --keys"
) -> ArgumentError:
    return ArgumentError.of(given, expected, "signed role", next_step)


def _text(metadata: Any) -> str:
    text: str = metadata.to_bytes(JSONSerializer(compact=True)).decode()
    return text
