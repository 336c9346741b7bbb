"""Page calls that are not stored are counted (docs/api-contract.md, section 5.5)."""

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import OperationalError
from django.test import Client

from accounts.services.accounts import lock_account
from affiliate_site.backoffice.conversions.clicks import PROBLEMS
from affiliate_site.browser import views
from tests.program_scenario import ProgramScenario
from tracking.services.attempts import record_failed_attempt
from tracking.services.failed_page_calls import AMOUNT_REASONS, EXPECTED_REASONS

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
THANKS = "https://shop.example.net/thanks"


@pytest.fixture
def scenario(scenario, time_machine):
    time_machine.move_to(NOON, tick=False)
    return scenario


@pytest.fixture
def call(scenario):
    """Send a call of a page: `call("click", referral_code="a")`."""

    def send(name, *, referer=f"{THANKS}?order=order-1&mail=jane@example.org", **data):
        return Client().post(
            f"/track/{name}/",
            {"account": scenario.account.slug} | data,
            content_type="application/json",
            headers={"Referer": referer} if referer else {},
        )

    return send


@pytest.fixture
def vid(call, scenario):
    return call("click", referral_code=scenario.mina.code).json()["vid"]


def list_failures(scenario):
    rows = scenario.account.failed_page_calls.order_by("reason")
    return list(rows.values_list("reason", "page", "count"))


SALE = {"external_id": "order-1", "amount": 10}
OTHER_GROUP = {"program_group": "books"}
FAILED_CALLS = {
    # Amounts, currencies and ids.
    "invalid_amount": ("conversion", {"amount": "NaN"}),
    "invalid_amount ": ("conversion", {"amount": "1,249"}),
    "unclear_currency": ("conversion", {"amount": "$49.90"}),
    "unclear_currency ": (
        "conversion",
        {"commissions": [{"sub_amount": "5 EUR"}, {"sub_amount": "5 kr"}]},
    ),
    "missing_amount": ("conversion", {"amount": None}),
    "missing_amount ": ("conversion", {"amount": ""}),
    "invalid_amount  ": ("conversion", {"amount": -1}),
    "negative_amount": ("conversion", {"amount": "-0.30"}),
    "amount_too_large": ("conversion", {"amount": "9999999999999.999"}),
    "invalid_commissions": ("conversion", {"commissions": [{"sub_amount": None}]}),
    "invalid_commissions ": ("conversion", {"commissions": {"0": {"sub_amount": 1}}}),
    "invalid_currency": ("conversion", {"currency": "EURO"}),
    "invalid_external_id": ("conversion", {"external_id": "o" * 256}),
    "missing_customer_id": ("customer", {"customer_id": None}),
    "missing_customer_id ": ("customer", {"customer_id": " "}),
    "invalid_customer_id": ("customer", {"customer_id": {"id": 1}}),
    "invalid_initial_customer_status": ("customer", {"status": "paying"}),
    "invalid_status": ("customer", {"status": {}}),
    # Tracking parameters.
    "missing_tracking_parameter": ("conversion", {"vid": None}),
    "missing_tracking_parameter ": ("customer", {"vid": ""}),
    "invalid_tracking_id": ("conversion", {"vid": "0" * 32}),
    "unknown_coupon": ("conversion", {"vid": None, "coupons": ["", "NOBODY"]}),
    "unknown_customer": ("conversion", {"vid": None, "customer_id": "acct-1"}),
    "unknown_referral_code": ("click", {"referral_code": "nobody"}),
    "missing_tracking_parameter  ": ("click", {"referral_code": ["a"]}),
    "missing_tracking_parameter   ": ("click", {"asset_id": "4-b81d20"}),
    "invalid_asset_or_source": ("click", {"asset_id": "a", "source_id": "b"}),
    "unknown_referral_code ": ("click", {"referral_code": "{code}"} | OTHER_GROUP),
}


@pytest.mark.parametrize("reason", FAILED_CALLS)
def test_counts_a_failed_call(call, scenario, vid, reason):
    name, data = FAILED_CALLS[reason]
    before = {"vid": vid, "customer_id": "acct-1"} | SALE
    if name != "customer":
        del before["customer_id"]
    if name == "click":
        del before["vid"]  # else the click keeps what this visitor clicked

    if data.get("program_group"):
        ProgramScenario(scenario.account, "books", email=None, program_group="books")
        data = data | {"referral_code": scenario.mina.code}
    stored = snapshot_page_data(scenario.account)

    for _ in range(2):
        assert_says_nothing(name, call(name, **before | data))
        scenario.account.conversion_attempts.all().delete()

    (failure,) = scenario.account.failed_page_calls.all()
    is_about_amount = reason.strip() in AMOUNT_REASONS
    assert bool(failure.last_order_id and failure.last_amount) is is_about_amount
    assert list_failures(scenario) == [(reason.strip(), THANKS, 2)]
    assert snapshot_page_data(scenario.account) == stored


def snapshot_page_data(account):
    names = ("clicks", "visitors", "customers", "conversions", "audit_log")
    return {name: getattr(account, name).count() for name in names}


def assert_says_nothing(name, response):
    """Check that the response is the one to a call that is stored."""
    if name == "click":
        assert response.status_code == 200
        assert re.fullmatch(r'{"vid": "[0-9a-f]{32}"}', response.text)
    else:
        assert (response.status_code, response.content) == (204, b"")


def make_disapproved(scenario):
    scenario.mina.enrollment.update_row(approved=False)


STATES = {
    "account_locked": lambda scenario: lock_account(scenario.account, at=NOON),
    "affiliate_deleted": lambda scenario: scenario.mina.affiliate.update_row(deleted_at=NOON),
    "affiliate_not_approved": make_disapproved,
    "program_archived": lambda scenario: scenario.archive(),
    "cookie_expired": lambda scenario: scenario.account.clicks.update(
        created_at=NOON - timedelta(days=46)
    ),
}


@pytest.mark.parametrize("reason", STATES)
def test_counts_sales_without_an_eligible_affiliate(call, scenario, vid, reason):
    STATES[reason](scenario)

    stored = snapshot_page_data(scenario.account)

    calls = {
        "conversion": {"vid": vid} | SALE,
        "customer": {"vid": vid, "customer_id": "acct-1"},
        "click": {"referral_code": scenario.mina.code},
    }
    if reason == "cookie_expired":
        del calls["click"]
    for name, data in calls.items():
        assert_says_nothing(name, call(name, **data))

    assert snapshot_page_data(scenario.account) == stored
    calls = 2 if reason == "cookie_expired" else 3
    assert list_failures(scenario) == [(reason, THANKS, calls)]


CLAIMS = {
    "claimed_amount_too_large": {"amount": 100_001},
    "claimed_currency_not_allowed": {"currency": "USD"},
    "invalid_signature": {"signature": "0" * 64},
    "missing_signature": {},
    "too_many_open_claims": {},
}


@pytest.mark.parametrize("reason", CLAIMS)
def test_counts_claims_that_are_not_allowed(call, scenario, vid, reason, monkeypatch, account):
    if reason == "missing_signature":
        account.require_signatures = True
        account.save()
    if reason == "too_many_open_claims":
        monkeypatch.setattr("payouts.services.claims.MAX_OPEN_CLAIMS", 0)

    call("conversion", vid=vid, **SALE | CLAIMS[reason])

    assert list_failures(scenario) == [(reason, THANKS, 1)]


@pytest.mark.parametrize(
    ("sale", "amount"),
    [
        ({"amount": "1.249"}, "1.249"),
        ({"amount": None}, "none"),
        ({"amount": "\u202e" + "9" * 300}, "9" * 254),
        ({"commissions": [{"sub_amount": "5,00"}, {"sub_amount": "a"}]}, "5,00; a"),
        ({"commissions": [{"comment": "jane@example.org"}]}, "none"),
    ],
)
def test_keeps_the_last_sale_whose_amount_was_refused(call, scenario, vid, sale, amount):
    sale = {"vid": vid, "customer_id": "acct-1", "external_id": "order-2"} | sale
    call("conversion", **sale | {"external_id": "order-1"})
    call("conversion", **sale)
    call("conversion", vid="0" * 32, external_id="order-3", amount=5)

    kept, other = scenario.account.failed_page_calls.order_by("-count")
    assert (kept.count, kept.last_order_id, kept.last_amount) == (2, "order-2", amount)
    assert (other.last_order_id, other.last_amount) == ("", "")


def test_counts_a_retry_within_ten_seconds(call, scenario, vid):
    record_failed_attempt(
        scenario.account,
        origin="browser",
        external_id=SALE["external_id"],
        error=OperationalError("database is locked"),
    )

    call("conversion", vid=vid, **SALE)

    assert list_failures(scenario) == [("too_many_conversion_attempts", THANKS, 1)]


def test_a_page_that_is_loaded_again_is_no_failure(call, scenario, vid):
    for _ in range(3):
        call("conversion", vid=vid, **SALE)
        call("customer", vid=vid, customer_id="acct-1")

    assert scenario.account.conversions.count() == 1
    assert scenario.account.customers.count() == 1
    assert list_failures(scenario) == []


def test_every_reason_has_a_text_and_a_hint():
    reasons = {name.strip() for name in FAILED_CALLS} | set(STATES) | set(CLAIMS)

    tested_elsewhere = {
        "bot",
        "expired_handover",
        "proxy_without_address",
        "refused_handover",
        "too_many_conversion_attempts",
        "too_much_from_pages",
        "unsigned_currency",
        "wrong_proxy_key",
    }
    assert reasons | tested_elsewhere == set(PROBLEMS)
    assert set(PROBLEMS) >= EXPECTED_REASONS


@pytest.mark.parametrize(
    ("referer", "landing_page", "page"),
    [
        (
            "",
            "https://shop.example.net/lamps?ref=a#top",
            "https://shop.example.net/lamps",
        ),
        (
            "https://shop.example.net/",
            "https://shop.example.net/lamps",
            "https://shop.example.net/lamps",
        ),
        ("https://shop.example.net/", None, "https://shop.example.net/"),
        ("about:blank", None, ""),
        ("", ["https://shop.example.net/"], ""),
        ("", None, ""),
    ],
)
def test_names_the_page_without_query(call, scenario, referer, landing_page, page):
    call("click", referer=referer, referral_code="nobody", landing_page=landing_page)

    assert list_failures(scenario) == [("unknown_referral_code", page, 1)]


def test_stores_no_personal_data(call, scenario, vid):
    call(
        "conversion",
        referer="https://jane@shop.example.net/jane@example.org/order-90210?x=zz-canary",
        vid="zz-canary",
        external_id="zz-canary",
        customer_id="zz-canary",
        amount=10,
        meta_data={"zz-canary": "zz-canary"},
    )

    [row] = scenario.account.failed_page_calls.values()
    assert row["page"] == "https://shop.example.net/*/*"
    assert "zz-canary" not in str(row)


@pytest.mark.parametrize("slug", ["nobody", None, 5])
@pytest.mark.parametrize("name", ["click", "conversion", "customer"])
def test_stores_nothing_for_an_unknown_account(call, scenario, name, slug):
    data = {"referral_code": scenario.mina.code, "customer_id": "acct-1"} | SALE

    assert_says_nothing(name, call(name, account=slug, **data))

    assert sum(snapshot_page_data(scenario.account).values()) == (
        scenario.account.audit_log.count()
    )


def test_counts_nothing_for_another_account(call, scenario, other_account):
    call("conversion", account=other_account.slug, vid="0" * 32, **SALE)

    assert list_failures(scenario) == []
    assert other_account.failed_page_calls.get().day == date(2026, 3, 4)


def test_answers_if_the_failure_cannot_be_stored(call, scenario, monkeypatch):
    def fail(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr(views, "record_failed_page_call", fail)

    assert call("conversion", vid="0" * 32, **SALE).status_code == 204


# The log line.


@pytest.mark.parametrize(
    ("name", "data", "fields"),
    [
        pytest.param(
            "conversion",
            SALE | {"vid": "0" * 32},
            {"account": "harbor", "reason": "invalid_tracking_id"},
            id="known account",
        ),
        pytest.param(
            "conversion",
            SALE | {"account": "zz-canary", "vid": "zz-canary"},
            {"reason": "unknown_account"},
            id="unknown account",
        ),
        pytest.param(
            "click",
            {"account": None, "referral_code": "zz-canary"},
            {"reason": "unknown_account"},
            id="no account",
        ),
        pytest.param(
            "click",
            {"referral_code": "zz-canary"},
            {"account": "harbor", "reason": "unknown_referral_code"},
            id="unknown code",
        ),
    ],
)
def test_logs_the_reason(call, captured_log_records, name, data, fields):
    call(name, **data)

    [line] = captured_log_records()
    logged = {key: line[key] for key in ("account", "reason") if key in line}
    assert logged == fields
    assert "zz-canary" not in json.dumps(line)


def test_logs_no_reason_for_a_stored_call(call, scenario, captured_log_records):
    call("click", referral_code=scenario.mina.code)

    assert "reason" not in captured_log_records()[0]
