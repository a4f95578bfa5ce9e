"""The scenarios' git repositories under ``/git/<scenario>.git``, with the operators' tokens and roles.

``git`` asks for a name and a password; an API token is the password, whatever the name. Dulwich answers as
WSGI, so a request takes one of a few threads for as long as it runs.
"""

from __future__ import annotations

from typing import Any, cast

from a2wsgi import WSGIMiddleware

from ..git import GitApp
from ..git.serve import token_of
from ..model.accounts import Role, person_of
from ..service.server import Server
from .guard import App

PREFIX = "/git/"
_THREADS = 4


def git_app(state: Server) -> App:
    """The application below ``/git``."""

    def authorize(environ: dict[str, Any], scenario: str, pushes: bool) -> int:
        secret = token_of(environ)
        with state.database.reading() as session:
            person = person_of(session, secret, state.now()) if secret else None
        if person is None:
            return 401
        held = person.role(scenario)
        least = Role.AUTHOR if pushes else Role.VIEWER
        return 200 if held is not None and held >= least and not person.one_time else 403

    settings = state.settings
    served: Any = GitApp(
        settings.folder / "git", authorize, state.team_blobs, PREFIX[:-1], settings.public_https
    )
    app: Any = WSGIMiddleware(served, workers=_THREADS)
    return cast(App, app)
