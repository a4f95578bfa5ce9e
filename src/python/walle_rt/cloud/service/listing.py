"""Listing: that devices believe every version which a release can name.

What can be named says ``release.named``; the trust asks here before it drops a version, and whoever is about
to name one has it listed first.
"""

from __future__ import annotations

import json
import logging

from sqlalchemy import select

from ...errors import ResourceError
from ..model.database import Database
from ..model.tables import Release as Row
from ..release import NAMING, Package, Release, named
from ..trust import TaskRepository

LOG = logging.getLogger("walle_rt.cloud")


def named_paths(database: Database, scenario: str) -> frozenset[str]:
    """The paths of a scenario's versions that its releases can name."""
    chosen = select(Row.body).where(Row.scenario == scenario, Row.state.in_([str(each) for each in NAMING]))
    with database.reading() as session:
        bodies = session.scalars(chosen).all()
    releases = [Release.from_dict(json.loads(body)) for body in bodies]
    return frozenset(package.path for package in named(releases))


def list_again(repository: TaskRepository, package: Package) -> None:
    """Have a version believed that a release is about to name; the caller holds ``signing`` until it does.

    Raises:
        ResourceError: it is listed no more, and the scenario's key is not on this server.
    """
    scenario = package.scenario
    if repository.lists(scenario, package.path):
        return
    if not repository.role(scenario)[2]:
        raise ResourceError.of(
            f"'{package.path}', which its scenario lists no more",
            "a version that devices believe",
            f"scenario '{scenario}'",
            f"have its team publish it again: walle task publish DIR --scenario {scenario} --keys DIR",
        )
    repository.list_again(scenario, package.path)
    LOG.info("version listed again", extra={"path": package.path})
