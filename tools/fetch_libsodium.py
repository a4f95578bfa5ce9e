"""Find the archive of libsodium's source, check it, unpack it once; print the source folder.

Exit status 3 and one line on stderr: none could be had. How it is looked for, and what --where says:
source_archive.py. The version is the one that Debian 12 and 13 keep: their pool holds its source for years,
and what is repaired in it meanwhile stands in their package's changelog.
"""

from __future__ import annotations

import sys

from source_archive import SourceArchive

VERSION = "1.0.18"
LIBSODIUM = SourceArchive(
    name="libsodium",
    top=f"libsodium-{VERSION}",
    sha256="d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4",
    suffix=".tar.gz",
    variable="WALLE_LIBSODIUM_TARBALL",
    debian_pool=f"pool/main/libs/libsodium/libsodium_{VERSION}.orig.tar.gz",
)

if __name__ == "__main__":
    sys.exit(LIBSODIUM.main())
