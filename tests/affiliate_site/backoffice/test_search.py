"""Search of lists: by affiliates, order IDs and exact values of the user's account."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib import admin
from django.urls import reverse

from accounts import days
from payouts.services.payments import cancel_payment
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services import search

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = "tracking_conversion"
PAID_AT = CONVERSION_CREATED_AT + timedelta(hours=1)


def search_ids(client, page, term):
    response = client.get(reverse(f"admin:{page}_changelist"), {"q": term})
    assert response.status_code == 200
    return sorted(row.pk for row in response.context["cl"].result_list)


def create_conversions(scenario, *external_ids):
    """Create conversions, one minute apart."""
    return [
        scenario.create_conversion(
            external_id=external_id,
            at=CONVERSION_CREATED_AT + timedelta(minutes=minute),
        )
        for minute, external_id in enumerate(external_ids)
    ]


@pytest.fixture
def owner_client(staff_client):
    return staff_client(role="viewer")


@pytest.mark.parametrize("term", ["order 7", " order 7 "])
def test_finds_an_id_with_a_space(owner_client, scenario, term):
    conversion, *_ = create_conversions(scenario, "order 7", "order", "7")

    assert search_ids(owner_client, LIST, term) == [conversion.pk]


def test_searches_all_columns(owner_client, scenario):
    first = scenario.create_conversion("10", external_id="990042", customer_id="c-1")
    second = scenario.create_conversion("10", external_id="990043", customer_id="990042")
    scenario.create_conversion("10", external_id="990044", customer_id="c-2")

    assert search_ids(owner_client, LIST, "990042") == [first.pk, second.pk]
    assert search_ids(owner_client, LIST, "c-1") == [first.pk]


@pytest.mark.parametrize("term", ["%", "_", "42%", "', 1", "\u0663", "x" * 9000])
def test_finds_nothing_by_other_or_invalid_terms(owner_client, scenario, term):
    scenario.create_conversion("10", external_id="42", customer_id="c-1")

    for page in (LIST, "tracking_click", "payouts_payment", "accounts_auditlogentry"):
        assert search_ids(owner_client, page, term) == []


def test_finds_conversions_by_a_part_of_their_order_id(owner_client, scenario):
    conversions = create_conversions(scenario, "QZX-990042", "QZX-990043", "qzx-990042", "9900")
    pks = [conversion.pk for conversion in conversions]
    commission = scenario.get_commission(conversions[1])

    assert search_ids(owner_client, LIST, "X-99004") == pks[:3]
    assert search_ids(owner_client, LIST, "zx-990043") == pks[1:2]
    assert search_ids(owner_client, LIST, "90043") == pks[1:2]
    assert search_ids(owner_client, "payouts_commission", "90043") == [commission.pk]


def test_finds_a_row_by_its_own_id(owner_client, scenario):
    conversion = scenario.create_conversion("10", external_id="a-1")
    commission = scenario.get_commission(conversion)

    assert search_ids(owner_client, LIST, conversion.pk) == [conversion.pk]
    found = search_ids(owner_client, "payouts_commission", commission.pk)
    assert found == [commission.pk]


def test_an_empty_search_says_what_part_of_an_order_id_is_needed(owner_client, scenario):
    scenario.create_conversion("10", external_id="order-7990129")
    url = reverse(f"admin:{LIST}_changelist")

    assert search_ids(owner_client, LIST, "990128") == []
    page = owner_client.get(url, {"q": "990128"}).content.decode()
    assert "Nothing matches “990128”. Search by order ID, conversion ID, customer" in page
    assert "found by any part of three characters or more." in page
    payments = owner_client.get(reverse("admin:payouts_payment_changelist"), {"q": "990128"})
    assert "Type the whole order ID" in payments.content.decode()


def test_finds_the_payments_of_an_order(owner_client, scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    payments = {}
    for number, each in enumerate((scenario, scenario, theirs)):
        commission = each.get_commission(
            each.create_conversion(
                "10",
                external_id=f"order-9{number}512",
                at=CONVERSION_CREATED_AT + timedelta(minutes=number),
            )
        )
        each.approve(commission, at=PAID_AT)
        payments[number] = each.pay(commission.amount, to=each.mina.slug, at=PAID_AT)
    cancel_payment(scenario.account, payment_id=payments[0].public_id, at=PAID_AT)

    page = "payouts_payment"
    # No shorter number: a generated code may contain it.
    for term in (
        *("order-90512", "ORDER-90512", "#90512", "90512"),
        payments[0].public_id,
    ):
        assert search_ids(owner_client, page, term) == [payments[0].pk]
    for term in ("order-9051", "order-92512"):
        assert search_ids(owner_client, page, term) == []


def test_says_whose_coupon_was_searched(owner_client, scenario):
    by_coupon = scenario.create_conversion(
        "10", parameters=TrackingParameters(coupon=scenario.mina.coupon)
    )
    by_code = scenario.create_conversion(
        "10", parameters=TrackingParameters(referral_code=scenario.mina.code)
    )
    url = reverse(f"admin:{LIST}_changelist")

    page = owner_client.get(url, {"q": scenario.mina.coupon.lower()})

    text = unescape(page.content.decode())
    assert search_ids(owner_client, LIST, scenario.mina.coupon) == [
        by_coupon.pk,
        by_code.pk,
    ]
    assert f"“{scenario.mina.coupon}” is a coupon of Mina Kessler: <a" in text
    assert (
        f"Only those by coupon in {scenario.program.title}</a>, or all conversions of"
        " this affiliate, as shown." in text
    )
    link = re.search(r'href="([^"]*)">Only those by coupon', text)[1]
    found = owner_client.get(link).context["cl"].result_list
    assert [row.pk for row in found] == [by_coupon.pk]
    assert "is a coupon of" not in owner_client.get(url, {"q": "mina"}).content.decode()


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({}, ", who has no conversions yet."),
        ({"currency": "EUR"}, ": no conversions of this affiliate match the filters."),
    ],
)
def test_says_that_the_affiliate_of_a_coupon_has_no_rows(owner_client, scenario, filters, reason):
    query = {"q": scenario.mina.coupon} | filters

    page = owner_client.get(reverse(f"admin:{LIST}_changelist"), query)

    text = unescape(page.content.decode())
    assert f"“{scenario.mina.coupon}” is a coupon of Mina Kessler{reason}" in text
    assert "Only those by coupon" not in text


def test_finds_deleted_conversions_too(owner_client, scenario):
    deleted = scenario.create_conversion("10", external_id="42")
    scenario.delete(deleted)
    created = scenario.create_conversion(
        "10", external_id="42", at=CONVERSION_CREATED_AT + timedelta(minutes=1)
    )

    assert search_ids(owner_client, LIST, "42") == [deleted.pk, created.pk]


def test_finds_affiliates_and_their_rows_by_a_part_of_a_name(owner_client, scenario):
    odette = scenario.create_enrolled_affiliate("Odétte", "Varga")
    scenario.create_conversion("10")
    conversion = scenario.create_conversion("10", affiliate=odette)

    for term in ("dett", "DETTE", "varga odé", odette.slug, odette.coupon[3:]):
        for page, row in (
            ("tracking_affiliate", odette.affiliate),
            ("tracking_enrollment", odette.enrollment),
            (LIST, conversion),
            ("payouts_commission", scenario.get_commission(conversion)),
        ):
            assert search_ids(owner_client, page, term) == [row.pk]


def test_says_what_found_an_affiliate(owner_client, scenario):
    url = reverse("admin:tracking_affiliate_changelist")

    page = owner_client.get(url, {"q": scenario.mina.coupon}).content.decode()

    assert f"coupon {scenario.mina.coupon}" in page
    assert "Found by" not in owner_client.get(url).content.decode()


def test_says_that_more_rows_match(owner_client, scenario, monkeypatch):
    monkeypatch.setattr(search, "MAX_FOUND_AFFILIATES", 1)
    scenario.create_enrolled_affiliate("Odette", "Kessler")
    url = reverse("admin:tracking_affiliate_changelist")

    page = owner_client.get(url, {"q": "kessler"}).content.decode()

    assert "More than 1,000 match" in page


@pytest.mark.engine_independent
def test_a_search_takes_at_most_16_statements(
    owner_client, scenario, capture_queries, subtests, monkeypatch
):
    monkeypatch.setattr(days, "CLOSING_DELAY", timedelta())  # else yesterday is counted, too
    scenario.create_conversion("10", external_id="mina-1")
    owner_client.get("/admin/")  # stores the statistics of past days

    for model, page in admin.site._registry.items():
        if page.search_fields:
            with subtests.test(model=model._meta.label), capture_queries() as executed:
                search_ids(owner_client, str(model._meta).replace(".", "_"), "mina")
            assert len(executed) <= 16  # in the log also those of an order and its commissions


def test_finds_nothing_of_another_account(owner_client, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    foreign.create_conversion("10", external_id="42", customer_id="c-9")

    for term in ("42", "c-9", "4", "zz-marker", "mina", foreign.mina.coupon):
        assert search_ids(owner_client, LIST, term) == []
    for term in (foreign.mina.slug, "mina", foreign.mina.code, foreign.mina.coupon):
        assert search_ids(owner_client, "tracking_affiliate", term) == [
            row.pk for row in scenario.account.affiliates.filter(slug__contains=term)
        ]
