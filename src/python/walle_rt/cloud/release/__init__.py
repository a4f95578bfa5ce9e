"""Releases: who runs what, by policies, ramps and the guard that halts them.

    controller = Controller(store)  # a `Store`: the seam to a database
    wish = read_wish(Path("rank.toml").read_text())
    release = controller.draft(wish, package, actor="ada", now_s=time.time())
    controller.start(release.id, actor="ada", now_s=time.time())
    repository.direct(...)  # signs controller.plan()

docs/concepts/release.md tells how it fits together, docs/reference/release-policy.md what policies can say.
"""

from ..._core.policy import Plan
from .controller import Controller
from .named import NAMING, behind, named
from .plan import write_plan
from .policy import Policy
from .preview import Change, Preview
from .ramp import Guard, Ramp
from .release import LIVE, Package, Params, Release, State, Wish, read_wish
from .reports import Report, pack_reports, unpack_reports
from .store import Store
from .taken_back import Why, taken_back
from .trial import Claim, Counts, Trial

__all__ = [
    "LIVE",
    "NAMING",
    "Change",
    "Claim",
    "Controller",
    "Counts",
    "Guard",
    "Package",
    "Params",
    "Plan",
    "Policy",
    "Preview",
    "Ramp",
    "Release",
    "Report",
    "State",
    "Store",
    "Trial",
    "Why",
    "Wish",
    "behind",
    "named",
    "pack_reports",
    "read_wish",
    "taken_back",
    "unpack_reports",
    "write_plan",
]
