"""The dashboard over HTTP, and in a browser where Debian's is installed."""

from __future__ import annotations

import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cloud.servers import PASSWORD, Child, LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start
from waits import PATIENCE_S

from walle_rt.cloud.web import plots

FORM = {"Origin": "http://server", "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def visit(local: LocalServer, path: str, token: str) -> Any:
    return local.ask("GET", path, headers={"Cookie": f"walle={token}"})


def post(local: LocalServer, path: str, token: str = "", body: str = "", **headers: str) -> Any:
    return local.ask("POST", path, content=body, headers={**FORM, "Cookie": f"walle={token}", **headers})


def test_logging_in_and_out(local: LocalServer) -> None:
    sent_away = local.ask("GET", "/")
    assert sent_away.status_code == 303 and sent_away.headers["location"] == "/login"
    assert post(local, "/login", body="name=boss&password=wrong").status_code == 401
    done = post(local, "/login", body=f"name=boss&password={PASSWORD}".replace(" ", "+"))
    assert done.status_code == 303
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    token = re.match(r"walle=([^;]+)", cookie).group(1)  # type: ignore[union-attr]
    assert visit(local, "/", token).status_code == 200
    assert post(local, "/logout", token).status_code == 303
    assert visit(local, "/", token).status_code == 303


def test_forms_of_other_sites_are_refused(local: LocalServer) -> None:
    for origin in ("http://evil.example", "null", ""):
        for path in ("/login", "/logout", "/releases/rank-1/kill"):
            assert post(local, path, local.admin, Origin=origin).status_code == 403, (origin, path)
    assert post(local, "/login", body="x" * 5000).status_code == 413


def test_pages_show_what_there_is(local: LocalServer) -> None:
    assert "no version was published yet" in visit(local, "/", local.admin).text
    publish(local, "1.1.0")
    release, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 2)
    for device, status in zip(fleet.devices, ("ok", "phase_error"), strict=True):
        fleet.send(device, release, "claim")
        fleet.send(device, release, status, phase="execute", error_type="Boom")
    local.clock.forward(20)
    local.state.turn()
    page = visit(local, "/", local.admin).text
    assert "rank" in page and "1.1.0" in page and f"/releases/{release}" in page and "gray" in page
    page = visit(local, f"/releases/{release}", local.admin).text
    assert all(f'action="/releases/{release}/{what}"' in page for what in ("pause", "halt", "kill"))
    plotted = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    labels = [ElementTree.fromstring(each).attrib["aria-label"] for each in plotted]
    assert labels == [
        "share of devices over time", "devices by version", "reports per minute", "failures by phase"
    ]  # fmt: skip
    assert "treated ok" in page and "Boom" in page
    devices = visit(local, "/devices", local.admin).text
    assert all(device.id in devices for device in fleet.devices)
    log = visit(local, "/log", local.admin).text
    assert "release.start" in log and "the chain holds" in log


def test_buttons_do_what_they_say_for_whoever_may(local: LocalServer) -> None:
    publish(local, "1.1.0")
    release = start(local, "1.1.0", EVERYBODY)
    looks, nobody = local.operator("looks", shop="viewer"), local.operator("nobody")
    assert "<button" not in visit(local, f"/releases/{release}", looks).text.split("</header>")[1]
    said = "reason=odd&epoch=1"
    assert post(local, f"/releases/{release}/halt", looks, said).status_code == 403
    assert visit(local, f"/releases/{release}", nobody).status_code == 403
    assert visit(local, "/devices", looks).status_code == 403
    assert visit(local, "/log", looks).status_code == 403
    assert "no scenario that you may see" in visit(local, "/", nobody).text
    acts = local.operator("acts", shop="releaser")
    assert post(local, f"/releases/{release}/halt", acts, said).status_code == 303
    assert local.done("GET", f"/releases/{release}")["state"] == "halted"


def test_nothing_that_was_typed_becomes_a_page(local: LocalServer) -> None:
    publish(local, "1.1.0")
    release = start(local, "1.1.0", EVERYBODY)
    act(local, release, "halt", reason="<script>alert(1)</script>")
    told = local.ask("GET", "/<script>", headers={"Accept": "text/html"})
    assert told.status_code == 404 and "<script" not in told.text
    for path in ("/", f"/releases/{release}", "/log"):
        page = visit(local, path, local.admin).text
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


@pytest.fixture
def browser() -> Iterator[Any]:
    """Debian's Chromium without a window."""
    pytest.importorskip("selenium", reason="no package 'selenium' (the extra [dev])")
    driver, found = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or found is None:
        pytest.skip("no chromium (apt-get install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    made = webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(driver))
    try:
        yield made
    finally:
        made.quit()


@contextmanager
def listening(local: LocalServer) -> Iterator[str]:
    """The server of a test on a port."""
    import uvicorn

    taken = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(local.app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)


def press(browser: Any, button: Any) -> None:
    """Click what leads to another page and wait for it: on a busy machine the click returns first."""
    from selenium.webdriver.support import expected_conditions
    from selenium.webdriver.support.wait import WebDriverWait

    button.click()
    patience = WebDriverWait(browser, PATIENCE_S)
    patience.until(expected_conditions.staleness_of(button))
    patience.until(lambda b: b.execute_script("return document.readyState") == "complete")


def fill_in(browser: Any, name: str, password: str) -> None:
    from selenium.webdriver.common.by import By

    browser.find_element(By.NAME, "name").send_keys(name)
    browser.find_element(By.NAME, "password").send_keys(password)
    press(browser, browser.find_element(By.TAG_NAME, "button"))


def test_the_first_log_in_in_a_browser(tmp_path: Path, browser: Any) -> None:
    from selenium.webdriver.common.by import By

    child = Child(tmp_path / "server")
    try:
        browser.get(child.url)
        assert browser.current_url.endswith("/login")
        fill_in(browser, "admin", child.told["login"]["password"])
        assert "change the one-time password" in browser.find_element(By.CLASS_NAME, "problem").text
    finally:
        child.kill()


def test_every_page_in_a_browser(local: LocalServer, browser: Any) -> None:
    from selenium.webdriver.common.by import By

    long = "ranking-of-" + "items-" * 8 + "all"
    for task in (long, "rank"):
        publish(local, "1.1.0", task)
    given = {"task": long, "version": "1.1.0", "policy": "[release]\npolicy = 'device == \"Pixel 8\"'\n"}
    gray = local.done("POST", "/scenarios/shop/releases", json=given)["id"]
    release, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 1)
    fleet.send(fleet.devices[0], release, "claim")
    fleet.send(fleet.devices[0], release, "phase_error", phase="execute", error_type="Boom")
    local.clock.forward(60)
    act(local, release, "halt", reason="it went wrong")
    with listening(local) as url:
        browser.get(url)
        fill_in(browser, "boss", PASSWORD)
        assert browser.current_url == f"{url}/"
        for path in (
            "/",
            f"/releases/{release}",
            f"/releases/{gray}",
            f"/releases/{gray}/halt",
            "/devices",
            "/log",
            "/nothing",
        ):
            for width in (1100, 520):  # the least that Chromium has
                browser.set_window_size(width, 900)
                browser.get(url + path)
                wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert browser.execute_script(wide) <= 0, f"{path} is wider than {width}"
                assert browser.find_elements(By.CSS_SELECTOR, "h1, .problem"), path
        browser.get(f"{url}/releases/{release}")
        assert [each.text for each in browser.find_elements(By.CSS_SELECTOR, "text.halted")] == ["halted"]
        names = browser.find_elements(By.CSS_SELECTOR, "text.name")
        lines = browser.find_elements(By.CSS_SELECTOR, "line.grid")
        tops = [line.location["y"] for line in lines[:3]]
        assert names[0].location["y"] < min(tops), "the legend is above the plot"
        press(browser, browser.find_element(By.CSS_SELECTOR, "header button"))
        assert browser.current_url.endswith("/login"), "logged out by the button in the head"
