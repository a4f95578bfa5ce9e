"""The dashboard over HTTP, and in a browser where Debian's is installed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cloud.servers import PASSWORD, Child, Desk, opened_desk
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start

from walle_rt.cloud.web import plots

FORM = {"Origin": "http://server", "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def visit(desk: Desk, path: str, token: str) -> Any:
    return desk.ask("GET", path, headers={"Cookie": f"walle={token}"})


def post(desk: Desk, path: str, token: str = "", body: str = "", **headers: str) -> Any:
    return desk.ask("POST", path, content=body, headers={**FORM, "Cookie": f"walle={token}", **headers})


def test_logging_in_and_out(desk: Desk) -> None:
    sent_away = desk.ask("GET", "/")
    assert sent_away.status_code == 303 and sent_away.headers["location"] == "/login"
    assert post(desk, "/login", body="name=boss&password=wrong").status_code == 401
    done = post(desk, "/login", body=f"name=boss&password={PASSWORD}".replace(" ", "+"))
    assert done.status_code == 303
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    token = re.match(r"walle=([^;]+)", cookie).group(1)  # type: ignore[union-attr]
    assert visit(desk, "/", token).status_code == 200
    assert post(desk, "/logout", token).status_code == 303
    assert visit(desk, "/", token).status_code == 303


def test_forms_of_other_sites_are_refused(desk: Desk) -> None:
    for origin in ("http://evil.example", "null", ""):
        for path in ("/login", "/logout", "/releases/rank-1/kill"):
            assert post(desk, path, desk.admin, Origin=origin).status_code == 403, (origin, path)
    assert post(desk, "/login", body="x" * 5000).status_code == 413


def test_pages_show_what_there_is(desk: Desk) -> None:
    assert "no version was published yet" in visit(desk, "/", desk.admin).text
    publish(desk, "1.1.0")
    release, fleet = start(desk, "1.1.0", EVERYBODY), Fleet(desk, 2)
    for device, status in zip(fleet.devices, ("ok", "phase_error"), strict=True):
        fleet.send(device, release, "claim")
        fleet.send(device, release, status, phase="execute", error_type="Boom")
    desk.clock.forward(20)
    desk.state.turn()
    page = visit(desk, "/", desk.admin).text
    assert "rank" in page and "1.1.0" in page and f"/releases/{release}" in page and "gray" in page
    page = visit(desk, f"/releases/{release}", desk.admin).text
    assert all(f'action="/releases/{release}/{what}"' in page for what in ("pause", "halt", "kill"))
    plotted = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    labels = [ElementTree.fromstring(each).attrib["aria-label"] for each in plotted]
    assert labels == ["share of devices over time", "reports per minute", "failures by phase"]
    assert "treated ok" in page and "Boom" in page
    devices = visit(desk, "/devices", desk.admin).text
    assert all(device.id in devices for device in fleet.devices)
    log = visit(desk, "/log", desk.admin).text
    assert "release.start" in log and "the chain holds" in log


def test_buttons_do_what_they_say_for_whoever_may(desk: Desk) -> None:
    publish(desk, "1.1.0")
    release = start(desk, "1.1.0", EVERYBODY)
    looks, nobody = desk.operator("looks", shop="viewer"), desk.operator("nobody")
    assert "<button" not in visit(desk, f"/releases/{release}", looks).text.split("</header>")[1]
    assert post(desk, f"/releases/{release}/halt", looks).status_code == 403
    assert visit(desk, f"/releases/{release}", nobody).status_code == 403
    assert visit(desk, "/devices", looks).status_code == 403
    assert visit(desk, "/log", looks).status_code == 403
    assert "no scenario that you may see" in visit(desk, "/", nobody).text
    assert post(desk, f"/releases/{release}/halt", desk.operator("acts", shop="releaser")).status_code == 303
    assert desk.done("GET", f"/releases/{release}")["state"] == "halted"


def test_nothing_that_was_typed_becomes_a_page(desk: Desk) -> None:
    publish(desk, "1.1.0")
    release = start(desk, "1.1.0", EVERYBODY)
    act(desk, release, "halt", reason="<script>alert(1)</script>")
    for path in ("/", f"/releases/{release}", "/log"):
        page = visit(desk, path, desk.admin).text
        assert "<script" not in page and "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.3, 0.5), (1, 1), (1.1, 2), (3, 5), (5, 5), (50.1, 100), (1e6, 1e6)]
)
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert plots.nice(value) == pytest.approx(top)


def test_plots_are_whole_for_any_points() -> None:
    for points in ([(0.0, 0.0)], [(5.0, 1.0), (5.0, 2.0)], [(0.0, 1e9), (1e9, 0.0)]):
        ElementTree.fromstring(plots.lines({"a<b": points}, "%", 'x"y'))
    ElementTree.fromstring(plots.bars({"a&b" * 30: 3.0, "": 0.0}, "t"))
    assert "nothing yet" in plots.lines({}, "", "t") and "nothing yet" in plots.bars({}, "t")


def test_in_a_browser(tmp_path: Path) -> None:
    selenium = pytest.importorskip(
        "selenium", reason="no package 'selenium' (apt-get install python3-selenium)"
    )
    driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or browser is None:
        pytest.skip("no chromium (apt-get install chromium chromium-driver)")
    from selenium.webdriver.common.by import By

    options = selenium.webdriver.ChromeOptions()
    options.binary_location = browser
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    child = Child(tmp_path / "server")
    service = selenium.webdriver.chrome.service.Service(driver)
    page = selenium.webdriver.Chrome(options=options, service=service)
    try:
        page.get(child.url)
        assert page.current_url.endswith("/login")
        page.find_element(By.NAME, "name").send_keys("admin")
        page.find_element(By.NAME, "password").send_keys(child.told["login"]["password"])
        page.find_element(By.TAG_NAME, "button").click()
        assert "change the one-time password" in page.find_element(By.CLASS_NAME, "problem").text
    finally:
        page.quit()
        child.kill()
