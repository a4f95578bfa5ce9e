"""The hashes of the standard library that a task is likely to meet."""

from _md5 import md5
from _sha1 import sha1
from _sha2 import sha224, sha256, sha384, sha512

algorithms_guaranteed = algorithms_available = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}


def new(name, data=b"", **kwargs):
    if name.lower() not in algorithms_available:
        raise ValueError("unsupported hash type " + name)
    return globals()[name.lower()](data, **kwargs)


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    import hmac

    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    mac = hmac.new(password, None, hash_name)
    dklen = dklen or mac.digest_size
    out = b""
    block = 1
    while len(out) < dklen:
        part = mac.copy()
        part.update(salt + block.to_bytes(4, "big"))
        last = part.digest()
        total = int.from_bytes(last, "big")
        for _ in range(iterations - 1):
            part = mac.copy()
            part.update(last)
            last = part.digest()
            total ^= int.from_bytes(last, "big")
        out += total.to_bytes(mac.digest_size, "big")
        block += 1
    return out[:dklen]
