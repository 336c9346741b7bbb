"""Tracking endpoints of the browser script (docs/api-contract.md, section 5.5)."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.test import Client

from affiliate_site.browser import views
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario
from tests.user_agents import BOTS, PEOPLE
from tracking.services.affiliates import PersonData
from tracking.services.attempts import record_failed_attempt
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")

VID = re.compile(r"[0-9a-f]{32}")
NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


class BrowserPage:
    """A browser on a page of the shop."""

    def __init__(self, scenario) -> None:
        self.scenario = scenario
        self.client = Client()
        self.headers = {"User-Agent": AGENT, "Origin": "https://shop.example.net"}

    def call(self, call, **data):
        body = {"account": self.scenario.account.slug} | data
        return self.client.post(
            f"/track/{call}/",
            body,
            content_type="application/json",
            headers=self.headers,
            REMOTE_ADDR="203.0.113.7",
        )

    def click(self, **data):
        """Send a click, by default on Mina's link; return the new tracking id."""
        data = data or {"referral_code": self.scenario.mina.code}
        response = self.call("click", **data)
        assert response.status_code == 200
        assert list(response.json()) == ["vid"]
        assert VID.fullmatch(response.json()["vid"])
        return response.json()["vid"]


@pytest.fixture
def scenario(scenario, time_machine):
    time_machine.move_to(NOON, tick=False)
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def page(scenario):
    return BrowserPage(scenario)


def snapshot_account_data(account):
    return {
        name: getattr(account, name).count()
        for name in ("clicks", "visitors", "customers", "conversions", "audit_log")
    }


# Clicks.


def test_records_click_and_returns_tracking_id(page, scenario):
    vid = page.click(
        referral_code=scenario.mina.code,
        landing_page="https://shop.example.net/lamps",
        referrer="https://notes.example.org/",
        meta_data={"subid1": "spring"},
    )

    click = scenario.account.clicks.get()
    assert scenario.account.visitors.get(tracking_id=vid).click == click
    assert click.affiliate == scenario.mina.affiliate
    assert click.landing_page == "https://shop.example.net/lamps"
    assert click.referrer == "https://notes.example.org/"
    assert click.meta_data == {"subid1": "spring"}
    assert (click.user_agent, click.ip) == (AGENT, "203.0.113.7")


@pytest.mark.parametrize("call", ["click", "conversion", "customer"])
def test_stores_nothing_for_a_page_that_is_not_shown_yet(page, scenario, call):
    before = snapshot_account_data(scenario.account)
    vid = page.click()
    page.headers |= {"Sec-Purpose": "prefetch;prerender"}
    data = {"referral_code": scenario.odette.code, "vid": vid}

    response = page.call(call, external_id="o", customer_id="c", amount=1, **data)

    assert (response.status_code, response["Cache-Control"]) == (400, "no-store")
    assert response["Access-Control-Allow-Origin"] == "*"
    after = before | {"clicks": 1, "visitors": 1}
    assert snapshot_account_data(scenario.account) == after


def test_tracking_id_ends_with_a_checksum_of_the_account(page, scenario):
    def read_checksum(slug):
        return page.call("click", account=slug, referral_code="x").json()["vid"][28:]

    assert scenario.account.slug == "harbor"
    assert read_checksum("harbor") == read_checksum(" harbor ") == "388c"
    assert read_checksum("nobody") == read_checksum("nobody") != "388c"
    assert page.click()[28:] == "388c"


def test_referral_code_takes_precedence_over_asset_link(page, scenario):
    pair = {
        "asset_id": scenario.odette.asset_id,
        "source_id": scenario.odette.source_id,
    }

    page.click(**pair)
    page.click(**pair, referral_code=scenario.mina.code)

    clicks = scenario.account.clicks.order_by("id").values_list("affiliate__slug")
    assert list(clicks) == [("odettevarga",), ("minakessler",)]


def test_each_click_returns_a_new_tracking_id(page, scenario):
    first, second = page.click(), page.click()

    assert first != second
    assert scenario.account.visitors.count() == 2


def test_a_mangled_link_counts_for_whom_it_names(page, scenario):
    code = scenario.mina.code
    for text in (code.upper(), f"{code}).", f"{code}\u200b", f"{code}?utm=x"):
        page.click(referral_code=text)
    assert scenario.account.clicks.get().enrollment == scenario.mina.enrollment


@pytest.mark.parametrize("agent", PEOPLE)
def test_visits_of_people_are_clicks(page, scenario, agent):
    page.headers["User-Agent"] = agent
    page.click()
    assert scenario.account.clicks.get().user_agent == agent


def test_a_visit_is_a_click_if_a_proxy_drops_the_user_agent(page, scenario):
    del page.headers["User-Agent"]
    page.click()
    assert scenario.account.clicks.get().user_agent is None


@pytest.mark.parametrize("agent", BOTS)
def test_a_bot_gets_a_tracking_id_that_refers_to_nothing(page, scenario, agent):
    page.headers["User-Agent"] = agent

    assert re.fullmatch("[0-9a-f]{32}", page.click())

    assert scenario.account.clicks.count() == scenario.account.visitors.count() == 0
    (bots,) = scenario.account.failed_page_calls.all()
    assert (bots.reason, bots.page, bots.count) == ("bot", "", 1)


@pytest.mark.parametrize(
    ("seconds", "clicks"), [(0, 1), (1, 1), (59, 1), (60, 2), (61, 2), (119, 2)]
)
@pytest.mark.parametrize("start", [0, 30, 59])
def test_deduplicates_clicks_within_a_minute(page, scenario, time_machine, start, seconds, clicks):
    time_machine.move_to(NOON + timedelta(seconds=start), tick=False)
    page.click()

    time_machine.move_to(NOON + timedelta(seconds=start + seconds), tick=False)
    page.click()

    assert scenario.account.clicks.count() == clicks


def test_deduplicates_clicks_across_a_new_secret_key(page, scenario, settings):
    page.click()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"
    page.click()

    assert scenario.account.clicks.count() == 1


def test_does_not_deduplicate_other_links_or_browsers(page, scenario):
    page.click()
    page.click(referral_code=scenario.odette.code)
    page.click(asset_id=scenario.mina.asset_id, source_id=scenario.mina.source_id)
    page.headers |= {"User-Agent": f"{AGENT} Other/1"}
    page.click()

    assert scenario.account.clicks.count() == 4


@pytest.mark.parametrize(
    "data",
    [
        {"referral_code": "nobody"},
        {"referral_code": "q" * 256},
        {"referral_code": 5.5},
        {},
    ],
)
def test_unknown_code_keeps_the_click_of_the_previous_id(page, scenario, data):
    previous = page.click()

    vid = page.click(**data, vid=previous)

    click = scenario.account.clicks.get()
    assert vid != previous
    assert scenario.account.visitors.get(tracking_id=vid).click == click


def test_ignores_tracking_id_of_another_account(page, scenario, other_account):
    other_scenario = ProgramScenario(other_account, prefix="z-", email="z@notes.example.org")
    previous = BrowserPage(other_scenario).click()

    page.click(referral_code="nobody", vid=previous)
    page.call("conversion", vid=previous, external_id="order-1", amount=200)

    assert snapshot_account_data(scenario.account) | {"audit_log": 0} == dict.fromkeys(
        ("clicks", "visitors", "customers", "conversions", "audit_log"), 0
    )


def test_records_click_on_prospect_link(page, scenario):
    prospect = create_prospect(
        scenario.account, data=ProspectData(PersonData("Pia", "Lang")), at=NOON
    )
    code = scenario.account.referral_codes.get(prospect=prospect).code

    vid = page.click(referral_code=code)
    page.call("conversion", vid=vid, external_id="order-1", amount=200)

    [conversion] = scenario.account.conversions.all()
    assert conversion.affiliate.promoted_at is not None
    assert scenario.account.clicks.get().affiliate == conversion.affiliate


# Conversions.


def test_records_conversion_of_the_visitors_click(page, scenario):
    vid = page.click()

    response = page.call(
        "conversion",
        vid=vid,
        external_id="order-1",
        amount="200",
        customer_id="acct-1",
        meta_data={"plan": "pro"},
    )

    conversion = scenario.account.conversions.get()
    assert (response.status_code, response.content) == (204, b"")
    assert "Content-Type" not in response.headers
    assert response["Access-Control-Allow-Origin"] == "*"
    assert (conversion.external_id, conversion.amount) == ("order-1", Decimal(200))
    assert conversion.affiliate == scenario.mina.affiliate
    assert conversion.click == scenario.account.clicks.get()
    assert conversion.tracking_source == "tracking_id"
    assert conversion.customer.customer_id == "acct-1"
    assert conversion.meta_data == {"plan": "pro"}
    assert (conversion.user_agent, conversion.ip) == (AGENT, "203.0.113.7")
    assert scenario.get_commission(conversion).amount == 20


def test_records_line_items_of_a_conversion(page, scenario):
    scenario.create_commission_type("accessories", "7.5")
    line_items = [
        {"sub_amount": 100},
        {"sub_amount": "10.50", "commission_type": "accessories"},
    ]

    page.call("conversion", vid=page.click(), external_id="o", commissions=line_items)

    assert scenario.account.conversions.get().amount == Decimal("110.50")
    assert scenario.account.commissions.count() == 2


@pytest.mark.parametrize(
    ("data", "affiliate"),
    [
        pytest.param({"coupons": "ODETTE"}, "odettevarga", id="coupon"),
        pytest.param({"coupons": ["NOBODY", "ODETTE"]}, "odettevarga", id="known"),
        pytest.param({"coupons": ["NOBODY"]}, "minakessler", id="unknown coupon"),
        pytest.param({"coupons": []}, "minakessler", id="no coupon"),
        pytest.param({"customer_id": "acct-o"}, "odettevarga", id="customer"),
        pytest.param({"customer_id": "acct-new"}, "minakessler", id="new customer"),
        pytest.param({"customer_id": "acct-o", "coupons": "MINA"}, "odettevarga", id="both"),
    ],
)
def test_customer_and_coupon_take_precedence_over_cookie(page, scenario, data, affiliate):
    scenario.account.coupons.filter(enrollment=scenario.odette.enrollment).update(code="ODETTE")
    scenario.account.coupons.filter(enrollment=scenario.mina.enrollment).update(code="MINA")
    scenario.create_customer("acct-o", coupon="ODETTE")

    page.call("conversion", vid=page.click(), external_id="o", amount=200, **data)

    assert scenario.account.conversions.get().affiliate.slug == affiliate


def test_last_click_wins(page, scenario):
    first = page.click()
    vid = page.click(referral_code=scenario.odette.code, vid=first)

    page.call("conversion", vid=vid, external_id="order-1", amount=200)

    assert scenario.account.conversions.get().affiliate == scenario.odette.affiliate


@pytest.mark.parametrize("days", [45, 46])
def test_expired_cookie_records_no_conversion(page, scenario, time_machine, days):
    vid = page.click()
    time_machine.move_to(NOON + timedelta(days=days), tick=False)

    response = page.call("conversion", vid=vid, external_id="order-1", amount=200)

    assert response.status_code == 204
    assert scenario.account.conversions.count() == (days == 45)


def test_records_a_conversion_once(page, scenario):
    vid = page.click()
    data = {"vid": vid, "external_id": "order-1", "amount": 200}

    responses = [page.call("conversion", **data) for _ in range(3)]

    assert {response.status_code for response in responses} == {204}
    assert scenario.account.conversions.count() == 1
    assert scenario.account.conversion_attempts.count() == 0


def test_failed_attempt_delays_browser_retries_only(page, scenario):
    record_browser_failure(scenario.account)

    page.call("conversion", vid=page.click(), external_id="order-1", amount=200)

    assert scenario.account.conversions.count() == 0
    scenario.create_conversion("200", external_id="order-1")


def record_browser_failure(account):
    """A failure of the server, or of a signed call; refused claims delay nothing."""
    record_failed_attempt(
        account,
        origin="browser",
        external_id="order-1",
        error=OperationalError("database is locked"),
    )


def test_deletes_failed_attempt_after_success(page, scenario):
    record_browser_failure(scenario.account)
    scenario.account.conversion_attempts.update(failed_at=NOON - timedelta(hours=1))

    page.call("conversion", vid=page.click(), external_id="order-1", amount=200)

    assert scenario.account.conversions.count() == 1
    assert scenario.account.conversion_attempts.count() == 0


@pytest.mark.parametrize("failure", [OperationalError, ConcurrentUpdate])
def test_a_503_is_not_stored_as_failed_attempt(page, scenario, monkeypatch, failure):
    def fail(*args, **kwargs):
        raise failure("connection lost")

    vid = page.click()
    monkeypatch.setattr(views, "create_conversion", fail)
    page.client.raise_request_exception = False

    response = page.call("conversion", vid=vid, external_id="order-1", amount=200)

    assert response.status_code == 503
    assert response.json()["message"] == "Service Unavailable"
    assert not scenario.account.conversion_attempts.exists()


# Customers.


@pytest.mark.parametrize("status", ["new", "trial", "lead"])
def test_creates_customer_of_the_visitors_click(page, scenario, status):
    response = page.call("customer", vid=page.click(), customer_id="acct-1", status=status)

    customer = scenario.account.customers.get()
    assert (response.status_code, response.content) == (204, b"")
    assert (customer.customer_id, customer.status) == ("acct-1", status)
    assert customer.affiliate == scenario.mina.affiliate
    assert customer.click == scenario.account.clicks.get()


def test_api_creates_customer_by_tracking_id(page, scenario, api):
    data = {"customer_id": "acct-1", "tracking_id": page.click()}

    response = api.post("/customers/", data)

    assert response.status_code == 200
    assert response.json()["affiliate"]["id"] == "minakessler"
    assert scenario.account.customers.get().click == scenario.account.clicks.get()


# Rules of all tracking endpoints.


@pytest.mark.parametrize("call", ["click", "conversion", "customer"])
class TestAllEndpoints:
    """Rules that hold for all three calls."""

    def send(self, call, method="POST", data=b"", **environ):
        return Client().generic(method, f"/track/{call}/", data, **environ)

    @pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a": NaN}', b'"x"'])
    def test_rejects_body_that_is_not_an_object(self, db, call, data):
        response = self.send(call, data=data)

        assert response.status_code == 400
        assert response.json() == {"errors": [{"message": "Request body was not valid JSON"}]}
        assert response["Access-Control-Allow-Origin"] == "*"

    def test_rejects_body_over_one_mebibyte(self, db, call):
        response = self.send(call, data=b" " * (1024 * 1024 + 1))

        assert response.status_code == 413
        assert response.json()["message"] == "Request Entity Too Large"

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_rejects_other_methods(self, db, call, method):
        response = self.send(call, method)

        assert response.status_code == 405
        assert response["Allow"] == "POST, OPTIONS"

    def test_allows_cors_preflight(self, db, call):
        response = self.send(call, "OPTIONS")

        assert (response.status_code, response.content) == (204, b"")
        assert response["Allow"] == "POST, OPTIONS"
        assert response["Access-Control-Allow-Origin"] == "*"
        assert "Content-Type" in response["Access-Control-Allow-Headers"]
        assert response["Access-Control-Max-Age"] == "600"

    def test_allows_120_calls_per_minute_and_ip(self, db, call, time_machine):
        time_machine.move_to(NOON, tick=False)
        kwargs = {"data": b"{}", "REMOTE_ADDR": "198.51.100.9"}

        responses = [self.send(call, **kwargs).status_code for _ in range(121)]
        other_ip = self.send(call, **kwargs | {"REMOTE_ADDR": "198.51.100.10"})

        assert responses == [200 if call == "click" else 204] * 120 + [429]
        assert other_ip.status_code != 429
        rejected = self.send(call, **kwargs)
        assert rejected.content == b"Too many requests"
        assert rejected["Content-Type"] == "text/plain"
