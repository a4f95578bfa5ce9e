"""Git LFS: the batch API and the "basic" transfer, so that plain ``git lfs`` gets what pointers stand for.

    POST <scenario>.git/info/lfs/objects/batch        which files are there, and where
    GET  <scenario>.git/blobs/<SHA-256>               one of them (serve.py)
    PUT  <scenario>.git/info/lfs/objects/<SHA-256>    a new one

As its specification has it (git-lfs/docs/api/batch.md). Locks are not kept: their paths are 404, which
clients take for a server without locks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..._core import names
from ...errors import ArgumentError, ResourceError
from ..blobs import BlobStore

BATCH, OBJECT = "info/lfs/objects/batch", "info/lfs/objects/"
TYPE = "application/vnd.git-lfs+json"
MOST_BATCH = 1 << 20  # bytes
_MOST_OBJECTS = 1000  # a client asks for 100

Answer = tuple[int, dict[str, Any]]


class MistakeError(Exception):
    """An answer that refuses the whole request."""

    def __init__(self, status: int, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status


def read_batch(body: bytes) -> dict[str, Any]:
    """A request, as far as it must be right as a whole.

    Raises:
        MistakeError: 422, no such request; 409, digests of another kind.
    """
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise MistakeError(422, "no JSON") from None
    if not isinstance(given, dict) or given.get("operation") not in ("download", "upload"):
        raise MistakeError(422, "expected an operation 'download' or 'upload'")
    if given.get("hash_algo", "sha256") != "sha256":
        raise MistakeError(409, "expected hash_algo sha256")
    objects = given.get("objects")
    if not isinstance(objects, list) or len(objects) > _MOST_OBJECTS:
        raise MistakeError(422, f"expected at most {_MOST_OBJECTS} objects")
    transfers = given.get("transfers", ["basic"])
    if not isinstance(transfers, list) or (transfers and "basic" not in transfers):
        raise MistakeError(422, "expected the transfer 'basic' among those offered")
    return given


def answer_batch(
    given: dict[str, Any], blobs: BlobStore, base: str, header: dict[str, str]
) -> dict[str, Any]:
    """What is there of the objects, or where they go; ``header`` comes along with those requests."""
    uploads = given["operation"] == "upload"
    objects = [_object(each, uploads, blobs, base, header) for each in given["objects"]]
    return {"transfer": "basic", "hash_algo": "sha256", "objects": objects}


def _object(each: Any, uploads: bool, blobs: BlobStore, base: str, header: dict[str, str]) -> dict[str, Any]:
    digest, size = (each.get("oid"), each.get("size")) if isinstance(each, dict) else (None, None)
    known = isinstance(digest, str) and names.valid("sha256", digest)
    if not known or not isinstance(size, int) or isinstance(size, bool) or size < 0:
        error = {"code": 422, "message": "expected an oid (SHA-256) and a size"}
        return {"oid": str(digest)[:64], "size": 0, "error": error}
    digest = str(digest)
    answer: dict[str, Any] = {"oid": digest, "size": size}
    there = digest in blobs
    if there and blobs.size(digest) != size:
        return {**answer, "error": {"code": 422, "message": f"it has {blobs.size(digest)} bytes"}}
    if uploads and not there:
        if size > blobs.most_blob_bytes:
            return {**answer, "error": {"code": 422, "message": f"at most {blobs.most_blob_bytes} bytes"}}
        answer |= {"authenticated": True}
        answer["actions"] = {"upload": {"href": f"{base}/{OBJECT}{digest}", "header": header}}
    elif not uploads and there:
        answer |= {"authenticated": True}
        answer["actions"] = {"download": {"href": f"{base}/blobs/{digest}", "header": header}}
    elif not uploads:
        answer["error"] = {"code": 404, "message": "it was not uploaded"}
    return answer


def store(blobs: BlobStore, digest: str, pieces: Iterable[bytes]) -> None:
    """An upload's bytes.

    Raises:
        MistakeError: 422, the bytes have another digest; 507, they do not fit.
    """
    try:
        with blobs.receive(digest) as upload:
            for piece in pieces:
                upload.write(piece)
            upload.keep()
    except ArgumentError as error:
        raise MistakeError(422, str(error)) from None
    except ResourceError as error:
        raise MistakeError(507, str(error)) from None
