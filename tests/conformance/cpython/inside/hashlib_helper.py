"""Which digests there are: without OpenSSL, those that hashlib makes itself."""

import hashlib
import unittest


def requires_hashdigest(digestname, openssl=None, usedforsecurity=True):
    """Skips what needs a digest that is not here."""
    try:
        hashlib.new(digestname)
    except ValueError:
        return unittest.skip(f"no {digestname} in the VM")
    return lambda decorated: decorated
