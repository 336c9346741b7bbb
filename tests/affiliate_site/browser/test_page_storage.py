"""What pages store without a key or signature is bounded: docs/tracking-trust.md."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from accounts.services.api_keys import calculate_signature, create_signing_secret
from tests.ledger_checks import assert_amounts_consistent
from tracking.services import page_storage

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def scenario(scenario, time_machine):
    time_machine.move_to(NOON, tick=False)
    yield scenario
    assert_amounts_consistent(scenario.account)


class Page:
    """Calls of the browser script, each by another visitor."""

    def __init__(self, account) -> None:
        self.account, self.visitors = account, 0

    def call(self, name, **data):
        self.visitors += 1
        return Client(REMOTE_ADDR=f"198.51.100.{self.visitors}").post(
            f"/track/{name}/",
            {"account": self.account.slug} | data,
            content_type="application/json",
        )

    def click(self, affiliate, **data):
        return self.call("click", referral_code=affiliate.code, **data).json()["vid"]

    def follow(self, affiliate):
        self.visitors += 1
        return Client(REMOTE_ADDR=f"198.51.100.{self.visitors}").get(
            f"/r/{self.account.slug}/{affiliate.code}/",
            headers={"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0"},
        )

    def list_failures(self):
        rows = self.account.failed_page_calls.order_by("reason")
        return dict(rows.values_list("reason", "count"))


@pytest.fixture
def page(scenario):
    return Page(scenario.account)


def limit(monkeypatch, name, **limits):
    """Set the limits of a kind, wherever it is used."""
    old = getattr(page_storage, name)
    new = replace(old, **limits)
    for module in ("page_storage", "customers"):
        monkeypatch.setattr(f"tracking.services.{module}.{name}", new, raising=False)
    if name == "CLAIMS":
        for module in ("conversion_creation", "claims"):
            monkeypatch.setattr(f"payouts.services.{module}.{name}", new)


@pytest.mark.parametrize("level", ["link", "affiliate", "account"])
def test_bounds_the_clicks_of_a_day(page, scenario, monkeypatch, level, time_machine):
    limit(monkeypatch, "CLICKS", **{level: 3})
    visitors = [page.click(scenario.mina) for _ in range(5)]
    assert len(set(visitors)) == 5  # the answer does not show it
    assert scenario.account.clicks.count() == 3
    assert scenario.account.visitors.count() == 3
    assert page.list_failures() == {"too_much_from_pages": 2}
    page.click(scenario.create_enrolled_affiliate("Nils", "Berg"))
    assert scenario.account.clicks.count() == 3 + (level != "account")
    time_machine.move_to(NOON + timedelta(days=1), tick=False)
    page.click(scenario.mina)
    assert scenario.account.clicks.count() == 4 + (level != "account")


@pytest.mark.parametrize("level", ["link", "affiliate", "account"])
def test_bounds_the_texts_of_clicks(page, scenario, monkeypatch, level):
    """Beyond the bytes a click is a small row; it counts all the same."""
    limit(monkeypatch, "CLICK_TEXTS", **{level: 5000})
    referrer = "https://n.example.org/" + "é" * 900
    for number in range(4):
        landing_page = f"https://shop.example.net/?sub_id=s{number}"
        page.click(scenario.mina, referrer=referrer, landing_page=landing_page)
    columns = ("referrer", "landing_page", "sub_id")
    clicks = scenario.account.clicks.order_by("id").values_list(*columns)
    texts = [(referrer, f"https://shop.example.net/?sub_id=s{n}", f"s{n}") for n in "01"]
    assert list(clicks) == [*texts, *[(None, None, None)] * 2]
    assert scenario.account.visitors.count() == 4
    assert page.list_failures() == {}
    page.follow(scenario.mina)  # small enough
    assert scenario.account.clicks.last().user_agent.startswith("Mozilla/5.0")
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    page.click(nils, referrer=referrer)
    stored = scenario.account.clicks.order_by("id").last().referrer
    assert stored == (None if level == "account" else referrer)


def test_a_short_link_beyond_the_texts_keeps_its_click(page, scenario, monkeypatch):
    limit(monkeypatch, "CLICK_TEXTS", link=10)
    assert "click_id=" in page.follow(scenario.mina)["Location"]
    click = scenario.account.clicks.get()
    assert (click.landing_page, click.user_agent, click.meta_data) == (None, None, {})
    assert click.ip is not None


def test_a_visit_without_its_texts_is_one_click(page, scenario, monkeypatch):
    limit(monkeypatch, "CLICK_TEXTS", link=10)
    agent = "Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0"
    for _ in range(2):
        page.visitors = 0
        page.follow(scenario.mina)
    page.visitors = 0
    page.call("click", referral_code=scenario.mina.code, agent=agent)
    assert scenario.account.clicks.count() == 2  # of two user agents


def test_clicks_that_are_refused_take_nothing_from_others(page, scenario, monkeypatch):
    limit(monkeypatch, "CLICKS", link=2, account=4)
    for _ in range(9):
        page.click(scenario.mina)
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    for _ in range(9):
        page.click(nils)
    assert scenario.account.clicks.count() == 4


def test_a_link_beyond_the_limit_leads_to_the_shop(page, scenario, monkeypatch):
    limit(monkeypatch, "CLICKS", link=1)
    assert "click_id=" in page.follow(scenario.mina)["Location"]
    response = page.follow(scenario.mina)
    assert response.status_code == 302
    assert response["Location"].endswith(f"?ref={scenario.mina.code}")
    assert scenario.account.clicks.count() == 1


@pytest.mark.parametrize("name", ["conversion", "customer"])
def test_bounds_the_claims_of_a_day(page, scenario, monkeypatch, name):
    vid = page.click(scenario.mina)
    limit(monkeypatch, "CLAIMS", link=14)
    for number in range(5):
        data = {"customer_id": f"c-{number}"}
        if name == "conversion":
            data = {"external_id": f"o-{number}", "amount": 10}
        assert page.call(name, vid=vid, **data).status_code == 204
    rows = getattr(scenario.account, f"{name}s")
    assert rows.count() == {"conversion": 2, "customer": 3}[name]
    assert page.list_failures()["too_much_from_pages"] > 1


def test_the_api_has_no_such_limit(page, scenario, api, monkeypatch):
    limit(monkeypatch, "CLICKS", account=0)
    limit(monkeypatch, "CLAIMS", account=0)
    body = {"referral_code": scenario.mina.code}
    click = api.post("/clicks/", body)
    assert click.status_code == 200
    body = {"external_id": "o-1", "amount": 10, "click_id": click.json()["id"]}
    assert api.post("/conversions/", body).status_code == 200


def report_items(page, scenario, number, **data):
    items = [{"sub_amount": "1.00", "comment": "x" * 1000} for _ in range(number)]
    vid = page.click(scenario.mina)
    page.call("conversion", vid=vid, external_id="o-1", commissions=items, **data)
    comments = scenario.account.commissions.values_list("comment", flat=True)
    return [len(comment) for comment in comments]


def test_cuts_comments_of_claims_only(page, scenario):
    cut = page_storage.MAX_UNSIGNED_COMMENT_LENGTH
    prefix = len("A page sent: ")
    lengths = report_items(page, scenario, 100)
    assert len(lengths) == 100  # as many as the contract allows
    assert set(lengths) <= {cut, cut + prefix}


def test_a_call_leaves_short_entries_in_the_log(page, scenario):
    """Nobody can delete them; `docs/reliability.md` has the figure."""
    visitor = page.click(scenario.mina)
    before = scenario.account.audit_log.latest("id").pk
    items = [{"sub_amount": 1, "comment": "x" * 5000} for _ in range(100)]
    page.call("conversion", vid=visitor, external_id="x", commissions=items)
    entries = scenario.account.audit_log.filter(pk__gt=before).values(
        *("kind", "subject", "details", "actor", "trace_id", "created_at")
    )
    sizes = [sum(len(str(value)) for value in row.values()) for row in entries]
    assert len(sizes) == 101
    assert max(sizes) <= 120
    assert {str(row["details"]) for row in entries} == {"{}"}


def test_keeps_comments_of_signed_calls(page, scenario):
    secret = create_signing_secret(scenario.account, at=NOON)
    lines = ("conversion", "o-1", "2.00", "EUR", "")
    signature = calculate_signature(secret.secret, lines)
    data = {"amount": "2.00", "currency": "EUR", "signature": signature}
    assert min(report_items(page, scenario, 2, **data)) > 900


def test_bounds_the_commissions_of_open_claims(page, scenario, monkeypatch):
    monkeypatch.setattr("payouts.services.claims.MAX_CLAIMED_COMMISSIONS", 30)
    vid = page.click(scenario.mina)
    items = [{"sub_amount": "1.00"}] * 20
    for number in range(4):
        order = f"o-{number}"
        page.call("conversion", vid=vid, external_id=order, commissions=items)
    assert scenario.account.conversions.count() == 2
    assert page.list_failures() == {"too_many_open_claims": 2}
    page.call("conversion", vid=vid, external_id="o-9", amount=10)
    assert scenario.account.conversions.count() == 3
