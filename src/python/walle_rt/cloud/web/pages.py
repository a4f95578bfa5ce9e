"""The dashboard: pages that the server renders. No script, no build step, plots as SVG.

A page needs a session, as the API does; without one the browser is sent to the log-in. Forms are taken from
pages of this site alone (``Origin``), beside the cookie that no other site's form brings along.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader
from sqlalchemy import func, select

from ..._core import names
from ...link._why import WORDS
from ..model.accounts import Person, Role, end_token, person_of
from ..model.audit import first_broken
from ..model.tables import AuditEntry, Device, Epoch, Release, ReportDetail, Scenario, Version
from ..service.expiry import Countdown
from ..service.server import Server
from ..trust import Level
from . import devices as device_routes
from . import plots, releases
from .accounts import client_of, queued_log_in
from .auth import COOKIE, State, need, state_of
from .errors import RefusalError
from .named import DeviceId, ReleaseId

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).with_name("templates")
_PAGES = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True)
_PAGES.filters["when"] = lambda at: time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
_PAGES.filters["words"] = lambda why: WORDS.get(why, "")
_REFRESH_S = 5
_MOST_FORM = 4096
_MOST_DIGITS = 16  # of an epoch
_ROWS = 50


def page(name: str, person: Person | None = None, status: int = 200, **values: Any) -> HTMLResponse:
    """A template, filled."""
    text = _PAGES.get_template(f"{name}.html").render(person=person, **values)
    return HTMLResponse(text, status, headers={"cache-control": "no-store"})


def problem(content: dict[str, str], status: int) -> Response:
    """What went wrong, for whoever came with a browser."""
    text = f"{content['given']}; expected {content['expected']}"
    return page("problem", status=status, problem=text, next_step=content["next"])


def visitor(request: Request) -> Person:
    """Who looks; others are sent to the log-in."""
    state = state_of(request)
    secret = request.cookies.get(COOKIE, "")
    with state.database.reading() as session:
        person = person_of(session, secret, state.now()) if secret else None
    if person is None or person.one_time:
        raise RefusalError(303, "no session", "a log-in", request.url.path, "log in", location="/login")
    return person


async def visitor_in_lane(request: Request) -> Person:
    """The same, in the reserved lane."""
    return await state_of(request).lane.run(visitor, request)


Visitor = Annotated[Person, Depends(visitor)]
VisitorInLane = Annotated[Person, Depends(visitor_in_lane)]


async def form_of(request: Request) -> dict[str, str]:
    """A form's fields, sent from a page of this site.

    Raises:
        RefusalError: 403, it comes from elsewhere; 413, too large.
    """
    origin = request.headers.get("origin", "")
    if urlsplit(origin).netloc != request.headers.get("host"):
        raise RefusalError(
            403, f"a form from '{origin[:80]}'", "one of this site", request.url.path, "use its pages"
        )
    body = await request.body()
    if len(body) > _MOST_FORM:
        raise RefusalError(413, "a large form", f"at most {_MOST_FORM} bytes", request.url.path, "send less")
    try:
        return {k: v[0] for k, v in parse_qs(body.decode(), max_num_fields=16).items()}
    except ValueError:
        raise RefusalError(
            400, "a form that cannot be read", "name=value", request.url.path, "correct it"
        ) from None


Form = Annotated[dict[str, str], Depends(form_of)]


@router.get("/style.css")
def style() -> Response:
    """How pages look."""
    return PlainTextResponse((_FOLDER / "style.css").read_text(), media_type="text/css")


@router.get("/login")
def login_page() -> HTMLResponse:
    """Name and password."""
    return page("login")


@router.post("/login")
async def login(request: Request, form: Form, state: State) -> Response:
    """A session as a cookie."""
    name, password = form.get("name", "")[: names.longest("login")], form.get("password", "")[:256]
    try:
        made = await queued_log_in(state, client_of(request), name, password)
    except RefusalError as error:
        return page("login", status=error.status, problem=f"{error.given}; {error.next_step}")
    if made.one_time:
        return page(
            "login", status=403, problem="change the one-time password first: walle operator password"
        )
    reply = RedirectResponse("/", 303)
    lasts = int(made.expires - state.now())
    secure = state.settings.public_https or state.settings.ends_tls
    reply.set_cookie(COOKIE, made.token, max_age=lasts, httponly=True, samesite="strict", secure=secure)
    return reply


@router.post("/logout")
def logout(_: Form, person: Visitor, state: State) -> Response:
    """The session ends."""
    with state.database.writing() as session:
        end_token(session, person.token_id)
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(COOKIE)
    return reply


@router.get("/")
def tasks(person: Visitor, state: State) -> HTMLResponse:
    """Tasks and releases of every scenario that one may see."""
    with state.database.reading() as session:
        known = session.scalars(select(Scenario.name).order_by(Scenario.name)).all()
        shown = [_scenario(session, name, role) for name in known if (role := person.role(name)) is not None]
        newest = session.scalar(select(func.max(Epoch.number)).where(Epoch.signed.is_not(None)))
        devices = session.scalar(select(func.count()).select_from(Device).where(Device.revoked.is_(False)))
        hour = state.now() - 3600
        seen = session.scalar(select(func.count()).select_from(Device).where(Device.seen > hour))
    rates = plots.lines(state.tunnel_rates(), "/s", "records on the tunnel")
    figures: dict[str, Any] = {"epoch": newest or 0, "devices": devices, "seen": seen}
    return page(
        "tasks",
        person,
        scenarios=shown,
        tunnel=rates,
        refresh=_REFRESH_S,
        expiring=_expiring(person, state),
        **figures,
    )


@router.get("/releases/{number}")
def release(number: ReleaseId, person: Visitor, state: State) -> HTMLResponse:
    """A release: ramp, reports, failures, and what one may do."""
    role = _release_role(state, number, person)
    row = releases.status_of(state, number)
    minutes = releases.minutes(number, person, state)
    with state.database.reading() as session:
        bad = (ReportDetail.release_id == number, ReportDetail.status.not_in(("ok", "claim")))
        phases = session.execute(
            select(ReportDetail.phase, func.count()).where(*bad).group_by(ReportDetail.phase)
        ).all()
    return page(
        "release",
        person,
        row=row,
        figures=_figures(row.progress),
        acts=state.releases.possible(number) if role >= Role.RELEASER else [],
        ramp=plots.lines(
            state.releases.ramp(number),
            "%",
            "share of devices over time",
            100.0,
            {} if row.state in ("draft", "gray") else {row.state.replace("_", " "): row.changed},
            steps=True,
        ),
        adoption=plots.lines(state.releases.adoption_over_time(number), "", "devices by version", steps=True),
        reports=plots.lines(_per_minute(minutes), "", "reports per minute"),
        phases=plots.bars({phase or "unknown": count for phase, count in phases}, "failures by phase"),
        failures=releases.failures(number, person, state, _ROWS),
        refresh=_REFRESH_S,
    )


@router.get("/releases/{number}/{act}")
async def confirm(number: ReleaseId, act: releases.Act, person: VisitorInLane, state: State) -> HTMLResponse:
    """Whom an act changes, and the form that does it."""

    def work() -> HTMLResponse:
        _need_releaser(state, number, person)
        row, preview = releases.status_of(state, number), releases.preview_of(state, number, act)
        return page("act", person, row=row, preview=preview, longest=releases.MOST_REASON)

    return await state.lane.run(work)


@router.post("/releases/{number}/{act}")
async def act(
    number: ReleaseId, act: releases.Act, form: Form, person: VisitorInLane, state: State
) -> Response:
    """What was previewed is done, for a reason."""

    def work() -> str:
        _need_releaser(state, number, person)
        reason, epoch = form.get("reason", "").strip()[: releases.MOST_REASON], form.get("epoch", "")
        if not reason or not (epoch.isascii() and epoch.isdigit() and len(epoch) < _MOST_DIGITS):
            raise RefusalError(
                400, f"'{act}' without a reason, or unseen",
                "a reason, on the page that says whom it changes",
                f"release {number}", f"see /releases/{number}/{act}",
            )  # fmt: skip
        return state.releases.act(number, act, reason, person.name, int(epoch))

    return RedirectResponse(f"/releases/{await state.lane.run(work)}", 303)


@router.get("/devices")
def devices(person: Visitor, state: State) -> HTMLResponse:
    """Enrolled devices, the last seen first."""
    if not person.admin or person.narrowed:
        return page("problem", person, 403, problem="the list of devices is for administrators")
    now = state.now()
    with state.database.reading() as session:
        rows = session.scalars(select(Device).order_by(Device.seen.desc()).limit(_ROWS)).all()
        total = session.scalar(select(func.count()).select_from(Device))
        ages = [now - hours * 3600 for hours in range(24, -1, -1)]
        seen = [(at, float(_seen_since(session, at))) for at in ages]
    plot = plots.lines({"devices seen since": seen}, "", "devices seen since")
    return page("devices", person, rows=rows, total=total, plot=plot)


@router.get("/devices/{number}")
def one_device(number: DeviceId, person: Visitor, state: State) -> HTMLResponse:
    """A device: what is wrong with it, and its newest failures."""
    if not person.admin or person.narrowed:
        return page("problem", person, 403, problem="devices are for administrators")
    return page("device", person, row=device_routes.device(number, person, state))


@router.get("/log")
def log(person: Visitor, state: State) -> HTMLResponse:
    """What operators did."""
    if not person.admin or person.narrowed:
        return page("problem", person, 403, problem="the log is for administrators")
    with state.database.reading() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.n.desc()).limit(200)).all()
        return page("log", person, rows=rows, broken=first_broken(session))


def _expiring(person: Person, state: Server) -> list[Countdown]:
    """What somebody has to sign anew: that of scenarios for whoever may see them."""
    of_teams = state.repository.scenarios()
    return [
        each
        for each in state.expiries.found
        if each.level != Level.OK and (each.role not in of_teams or person.role(each.role) is not None)
    ]


def _scenario(session: Any, name: str, role: Role) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for row in session.scalars(select(Version).where(Version.scenario == name).order_by(Version.id)):
        task = found.setdefault(row.task, {"name": row.task, "versions": 0})
        task |= {
            "versions": task["versions"] + 1,
            "newest": row.version,
            "created": row.created,
            "by": row.by,
        }
    chosen = select(Release).where(Release.scenario == name).order_by(Release.number.desc()).limit(_ROWS)
    rows = session.scalars(chosen).all()
    return {"name": name, "role": role.name.lower(), "tasks": list(found.values()), "releases": rows}


def _release_role(state: Server, number: str, person: Person) -> Role:
    scenario = releases.scenario_of(state, number)
    role = person.role(scenario) if scenario else None
    if role is None:
        raise RefusalError(
            403, f"release {number}", "one that you may see", "releases", "ask an owner of its scenario"
        )
    return role


def _need_releaser(state: Server, number: str, person: Person) -> None:
    if _release_role(state, number, person) < Role.RELEASER:
        need(person, releases.scenario_of(state, number), Role.RELEASER)


def _figures(progress: dict[str, Any]) -> dict[str, str]:
    """How far a release is, in words that an operator reads."""
    in_control = progress["control_good"] + progress["control_bad"]
    figures = {
        "share of devices": f"{100 * progress['share']:.3g} %",
        "control cohort": f"{100 * progress['control_share']:.3g} %",
        "let in": f"{progress['claimed']}",
        "good": f"{progress['good']}",
        "failed": f"{progress['bad']}" + (f", {progress['missing']} missing" if progress["missing"] else ""),
        "outstanding": f"{progress['outstanding']} of at most {progress['most_outstanding']}",
        "failed in control": f"{progress['control_bad']} of {in_control}",
        "evidence": f"{progress['evidence']:.3g}, halts at {progress['halts_at']:.3g}",
    }
    return {"killed": "yes", **figures} if progress["killed"] else figures


def _per_minute(rows: list[releases.MinuteRow]) -> dict[str, list[plots.Point]]:
    series: dict[str, list[plots.Point]] = {}
    for row in rows:
        series.setdefault(f"{row.cohort} {row.status}", []).append((row.minute * 60.0, float(row.count)))
    return series


def _seen_since(session: Any, at: float) -> int:
    return int(session.scalar(select(func.count()).select_from(Device).where(Device.seen >= at)))
