"""policy_seeds.py FOLDER: a header, plans and reports to mutate."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from cloud.memory_store import MemoryStore

from walle_rt.cloud.release import Controller, Package, Ramp, Report, Wish, pack_reports
from walle_rt.link import device_header

CHECKSUM_BYTES = 4


def plan() -> bytes:
    """A full and a gray release with policies, and a kill."""
    controller = Controller(MemoryStore())
    narrow = 'os in {"ios", "linux"} and bucket("s") < 10% or ram_mb > 900'
    for version, policy in (("1.0.0", ""), ("1.1.0", narrow)):
        package = Package("shop", "rank", version, "ab" * 32, 100)
        wish = Wish("shop", "rank", version, policy, Ramp(0.1, 1.0, 60))
        release = controller.draft(wish, package, "seeds", 0).id
        controller.start(release, "seeds", 0)
        if not policy:
            controller.full(release, "seeds", 1)
    controller.kill("shop", "old", "seeds", 2)
    return controller.plan()


def main() -> None:
    folder = Path(sys.argv[1])
    (folder / "header").write_text(device_header(app="a", app_version="1.2.3", device_id="d"))
    (folder / "plan").write_bytes(plan())
    reports = pack_reports([Report(1, "rank-1", "shop", "rank", "1.0.0", status="limit", limit="cpu_ms")])
    (folder / "reports").write_bytes(reports[:-CHECKSUM_BYTES])


if __name__ == "__main__":
    main()
