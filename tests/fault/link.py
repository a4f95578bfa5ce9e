"""Faults between a device and its server.

    python -m tests.fault.link --seeds 2000

*Seeds.* Cuts, kills, doubled and reordered messages and acknowledgements on the way of records to the sink
(tests/fault/tunnel.py).
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fault import tunnel

from walle_rt import ResourceError
from walle_rt.cloud.broker import find_mosquitto


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="devices whose records are counted")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    if options.seeds:
        try:
            find_mosquitto()
        except ResourceError as error:
            print(f"skipped: {error}")
            return 0
        began = time.monotonic()
        found = tunnel.run(options.seeds, options.first)
        print(f"{tunnel.report(found)}; {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
