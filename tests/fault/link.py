"""Faults between a device and its server.

    python -m tests.fault.link --seeds 2000
    python -m tests.fault.link --seeds 0 --install-kills 500

*Seeds.* Cuts, kills, doubled and reordered messages and acknowledgements on the way of records to the sink
(tests/fault/tunnel.py).

*Install kills.* A device that is killed at random while it installs: the old version or the new one, whole
(tests/fault/install_kills.py).
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fault import install_kills, tunnel

from walle_rt import ResourceError
from walle_rt.cloud.broker import find_mosquitto


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="devices whose records are counted")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--install-kills", type=int, default=install_kills.DEFAULT_KILLS, help="kills while a device installs"
    )
    options = parser.parse_args()
    failed = 0
    if options.install_kills:
        failed = install_kills.main(["--kills", str(options.install_kills), "--seed", str(options.first)])
    if options.seeds:
        try:
            find_mosquitto()
        except ResourceError as error:
            print(f"skipped: {error}")
            return failed
        began = time.monotonic()
        found = tunnel.run(options.seeds, options.first)
        print(f"{tunnel.report(found)}; {time.monotonic() - began:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
