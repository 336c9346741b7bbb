"""Short links: they count a visit, and lead to the shop and to no other host."""

import re
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from django.test import Client

from accounts.services.accounts import lock_account
from tests.conftest import NOW
from tests.user_agents import BOTS
from tracking.services.affiliates import PersonData
from tracking.services.enrollments import set_approval
from tracking.services.programs import archive_program
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
CLICK_ID = re.compile("click_id=([0-9a-f-]{36})&")
STATEMENTS = 11  # two savepoints and their releases included


class Browser:
    """A browser that follows short links of Mina."""

    def __init__(self, scenario) -> None:
        self.path = f"/r/{scenario.account.slug}/{scenario.mina.code}/"
        self.client = Client()
        self.headers = {"User-Agent": AGENT, "Referer": "https://notes.example.org/a"}

    def follow(self, query="", *, path=None, method="GET"):
        return self.client.generic(
            method,
            f"{path or self.path}{query}",
            headers=self.headers,
            REMOTE_ADDR="203.0.113.7",
        )

    def get_target(self, query="", **options):
        """The address that it leads to, without the ID of the click."""
        response = self.follow(query, **options)
        assert response.status_code == 302
        assert response["Cache-Control"] == "no-store"
        return CLICK_ID.sub("", response["Location"])


@pytest.fixture
def browser(scenario, time_machine):
    time_machine.move_to(datetime(2026, 3, 4, 12, tzinfo=UTC), tick=False)
    return Browser(scenario)


def test_counts_the_visit_and_leads_to_the_landing_page(browser, scenario):
    response = browser.follow("?sub_id=spring-1.a_B")

    click = scenario.account.clicks.get()
    code = scenario.mina.code
    assert response["Location"] == (
        f"https://shop.example.net/?click_id={click.public_id}&sub_id=spring-1.a_B&ref={code}"
    )
    assert click.enrollment == scenario.mina.enrollment
    assert click.sub_id == "spring-1.a_B"
    assert click.referrer == "https://notes.example.org/a"
    assert click.landing_page == (f"https://shop.example.net/?sub_id=spring-1.a_B&ref={code}")
    assert (click.user_agent, click.ip) == (AGENT, "203.0.113.7")


def test_the_script_on_the_page_reports_the_same_click(browser, scenario):
    target = browser.follow().headers["Location"]
    page_call = {
        "account": scenario.account.slug,
        "referral_code": target.rpartition("ref=")[2],
        "landing_page": target,
    }
    response = browser.client.post(
        "/track/click/",
        page_call,
        content_type="application/json",
        headers=browser.headers,
        REMOTE_ADDR="203.0.113.7",
    )

    click = scenario.account.clicks.get()
    visitor = scenario.account.visitors.get(tracking_id=response.json()["vid"])
    assert visitor.click == click
    assert CLICK_ID.search(target)[1] == str(click.public_id)


def test_counts_a_page_that_is_opened(browser, scenario):
    browser.headers |= {"Sec-Fetch-Dest": "document"}
    browser.follow()
    assert scenario.account.clicks.count() == 1


def test_a_click_within_a_minute_is_the_same(browser, scenario):
    assert browser.follow()["Location"] == browser.follow()["Location"]
    assert scenario.account.clicks.count() == 1


@pytest.mark.parametrize(
    ("headers", "method"),
    [
        ({}, "HEAD"),
        *(({"User-Agent": agent}, "GET") for agent in BOTS),
        ({"User-Agent": ""}, "GET"),
        ({"Sec-Fetch-Dest": "image"}, "GET"),
        ({"Sec-Fetch-Dest": "iframe"}, "GET"),
        ({"Sec-Fetch-Dest": "frame"}, "GET"),
        ({"Sec-Fetch-Dest": "script"}, "GET"),
        ({"Sec-Fetch-Dest": "empty"}, "GET"),
    ],
)
def test_counts_people_only(browser, scenario, headers, method):
    browser.headers |= headers
    target = f"https://shop.example.net/?ref={scenario.mina.code}"
    assert browser.get_target(method=method) == target
    assert scenario.account.clicks.count() == 0
    bots = scenario.account.failed_page_calls.filter(reason="bot", page="", count=1)
    assert bots.count() == ("User-Agent" in headers)


@pytest.mark.parametrize(
    ("page", "target"),
    [
        (
            "https://shop.example.net/desk?a=1#b",
            "https://shop.example.net/desk?a=1&{}#b",
        ),
        ("http://shop.example.net/desk", "https://shop.example.net/desk?{}"),
        ("https://SHOP.example.net", "https://SHOP.example.net/?{}"),
        ("https://shop.example.net/?ref=x&r%65f=y&b", "https://shop.example.net/?b&{}"),
    ],
)
def test_leads_to_a_page_of_the_shop(browser, scenario, page, target):
    code = f"ref={scenario.mina.code}"
    assert browser.get_target(f"?to={quote(page)}") == target.format(code)


@pytest.mark.parametrize("end", [".", "),", "%E2%80%8B", "%3Futm=x"])
def test_a_mangled_link_counts_for_whom_it_names(browser, scenario, end):
    code = scenario.mina.code
    path = f"/r/{scenario.account.slug}/{code.upper()}{end}/"
    target = browser.get_target(path=path)
    assert target == f"https://shop.example.net/?ref={code}"
    assert scenario.account.clicks.get().enrollment == scenario.mina.enrollment


def test_leads_to_further_hosts_of_the_shop(browser, scenario):
    scenario.program.update_row(shop_hosts=["shop.example.de:8443", "lamps.example"])
    for host, is_of_shop in (
        ("www.shop.example.net", True),
        ("shop.example.de:8443", True),
        ("www.lamps.example", True),
        ("shop.example.de", False),
        ("example.net", False),
        ("www.www.lamps.example", False),
    ):
        response = browser.follow(f"?to=https://{host}/desk")
        assert response.status_code == (302 if is_of_shop else 404), host


@pytest.mark.parametrize(
    "page",
    [
        "//evil.example/",
        "\\\\evil.example/",
        "/\\evil.example/",
        "https:evil.example",
        "https:///evil.example/",
        "https://evil.example/",
        "https://evil.example\\@shop.example.net/",
        "https://shop.example.net\\.evil.example/",
        "https://shop.example.net@evil.example/",
        "https://mina@shop.example.net/",
        "https://shop.example.net:8443/",
        "https://shop.example.net.evil.example/",
        "https://shop.example.net%2f@evil.example/",
        "https://shop.example.net%00.evil.example/",
        "https://shop。example.net/",
        "javascript:alert(1)",
        "javascript://shop.example.net/%0aalert(1)",
        "data:text/html,hello",
        "https://shop.example.net/\r\nSet-Cookie: a=b",
        " https://shop.example.net/",
        "ht\ttps://evil.example/",
        "https://[/",
        "/desk",
    ],
)
@pytest.mark.parametrize("encode", [quote, lambda page: quote(quote(page, safe=""))])
def test_is_no_open_redirect(browser, scenario, page, encode):
    response = browser.follow(f"?to={encode(page)}")
    assert response.status_code == 404
    assert "Location" not in response
    assert scenario.account.clicks.count() == 0


def disapprove(scenario):
    enrollment = {"affiliate_id": scenario.mina.slug, "approved": False}
    set_approval(scenario.account, program=scenario.program, at=NOW, **enrollment)


@pytest.mark.parametrize(
    "change",
    [
        disapprove,
        lambda scenario: lock_account(scenario.account, at=NOW),
        lambda scenario: scenario.program.update_row(landing_page=""),
        lambda scenario: archive_program(scenario.account, slug=scenario.program.slug, at=NOW),
        lambda scenario: scenario.mina.affiliate.update_row(deleted_at=NOW),
    ],
    ids=["disapproved", "locked", "no landing page", "archived", "deleted"],
)
def test_a_link_that_earns_nothing_is_not_found(browser, scenario, change):
    change(scenario)
    for method in ("GET", "HEAD"):
        response = browser.follow(method=method)
        assert response.status_code == 404
        assert response["Cache-Control"] == "no-store"
    assert scenario.account.clicks.count() == 0


@pytest.mark.parametrize("path", ["harbor/nobody", "nowhere/{code}", "harbor/%20"])
def test_an_unknown_link_is_not_found(browser, scenario, path):
    path = f"/r/{path.format(code=scenario.mina.code)}/"
    response = browser.follow(path=path)
    assert response.status_code == 404
    assert "This link does not work any more." in response.text


def test_ignores_a_sub_id_that_is_none(browser, scenario):
    for sub_id in ("a b", "x" * 65, "%F0%9F%9B%B6", "a&sub_id=<"):
        target = browser.get_target(f"?sub_id={sub_id}")
        assert target == f"https://shop.example.net/?ref={scenario.mina.code}"
    assert scenario.account.clicks.get().sub_id is None


def test_counts_the_visit_of_a_prospect(browser, scenario):
    account = scenario.account
    data = ProspectData(PersonData("Nils", "Berg"))
    prospect = create_prospect(account, data=data, at=NOW)
    code = account.referral_codes.get(prospect=prospect).code
    target = browser.get_target(path=f"/r/{account.slug}/{code}/")
    assert target == f"https://shop.example.net/?ref={code}"
    assert account.clicks.get().prospect == prospect


def test_is_limited_by_address(browser, scenario, monkeypatch):
    monkeypatch.setattr("affiliate_site.throttling.count_browser_call", lambda *_: True)
    response = browser.follow()
    assert (response.status_code, response.content) == (429, b"Too many requests")
    assert scenario.account.clicks.count() == 0


def test_takes_few_statements(browser, capture_queries):
    with capture_queries() as captured:
        browser.follow("?sub_id=a")
    assert len(captured) == STATEMENTS


@pytest.mark.parametrize("purpose", ["prefetch", "prefetch;prerender"])
def test_refuses_a_prefetch_so_that_the_visit_counts(browser, scenario, purpose):
    before = dict(browser.headers)
    browser.headers |= {"Sec-Purpose": purpose}
    response = browser.follow()
    assert (response.status_code, response["Cache-Control"]) == (400, "no-store")
    assert scenario.account.clicks.count() == 0

    browser.headers = before
    assert "click_id=" in browser.follow()["Location"]
    assert scenario.account.clicks.count() == 1


@pytest.mark.parametrize(
    ("language", "title", "button"),
    [
        ("de", "Dieser Link funktioniert nicht mehr.", "Weiter zu Harbor"),
        ("fr-CH, fr", "Ce lien ne fonctionne plus.", "Aller sur Harbor"),
        ("nl", "This link does not work any more.", "Go to Harbor"),
    ],
)
def test_leads_shoppers_of_a_dead_link_to_the_shop(browser, scenario, language, title, button):
    type(scenario.account).objects.update(name="Harbor")
    browser.headers["Accept-Language"] = language
    response = browser.follow(path=f"/r/{scenario.account.slug}/gone/")
    page = response.text
    assert response.status_code == 404
    assert title in page
    assert f'href="https://shop.example.net/">{button}</a>' in page
    assert not re.search("API|admin|docs|Trace", page)
    assert not scenario.account.clicks.exists()


def test_leads_to_no_other_host_from_a_dead_link(browser, scenario):
    path = f"/r/{scenario.account.slug}/gone/?to="
    page = browser.follow(path=f"{path}https://evil.example.org/").text
    assert 'href="https://shop.example.net/"' in page
    page = browser.follow(path=f"{path}https://shop.example.net/lamps").text
    assert 'href="https://shop.example.net/lamps"' in page


def test_says_nothing_of_an_account_that_is_not_there(browser):
    response = browser.follow(path="/r/nobody/gone/")
    assert response.status_code == 404
    assert "This link does not work any more." in response.text
    assert not re.search("API|admin|docs|button", response.text)
