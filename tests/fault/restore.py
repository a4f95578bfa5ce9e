"""The restore drill: a server is killed, its folder is gone, and all of its devices follow the restored one.

    python -m tests.fault.restore --devices 50

`walle serve`, `walle backup` and `walle restore` as processes, real devices with tunnels in this one
(tests/python/cloud/restore_drill.py). Between backup and loss the devices saw two more versions, so plans and
metadata of the backup are below what they know. The restored server and its broker have other ports.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from cloud.restore_drill import drill


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="walle-restore-") as work:
        found = drill(Path(work), given.devices)
    held = found.by_tunnel + found.by_pull == found.online == found.devices
    print(
        f"{'' if held else 'FAILED: '}restore: {found.devices} devices, {found.by_tunnel} followed by "
        f"tunnel, {found.by_pull} by pull, {found.online} tunnels at the new port, {found.seconds:.1f} s"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
