"""Files by their SHA-256, in a folder: what packages and repositories point at."""

from ._ranges import one_range
from ._store import BlobStore, Part
from ._stores import Stores

__all__ = ["BlobStore", "Part", "Stores", "one_range"]
