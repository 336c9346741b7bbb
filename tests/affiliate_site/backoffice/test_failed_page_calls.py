"""The page of failed page calls, and the risk indicators of odd options."""

import csv
from datetime import UTC, datetime, timedelta
from html import escape, unescape

import pytest
from django.urls import reverse

from affiliate_site.backoffice.conversions.clicks import PROBLEMS
from affiliate_site.browser.serializers import (
    BrowserConversionSerializer,
    BrowserLineItemSerializer,
    LenientFieldMixin,
)
from payouts.explanation import WARNING_TEXTS
from tests.factories.tracking import CustomerFactory
from tracking.claims import FORMER_CUSTOMER_ID
from tracking.models.clicks import FailedPageCall
from tracking.services.failed_page_calls import record_failed_page_call

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
CHANGELIST = "admin:tracking_failedpagecall_changelist"


def record(account, reason, page="https://shop.example.net/thanks"):
    record_failed_page_call(account, reason=reason, page=page, at=NOON)


def test_shows_reason_page_count_and_advice(staff_client, account):
    record(account, "invalid_amount")
    record(account, "invalid_amount")

    page = unescape(staff_client(role="viewer").get(reverse(CHANGELIST)).content.decode())

    problem = PROBLEMS["invalid_amount"]
    for text in (
        problem.text,
        problem.hint,
        "https://shop.example.net/thanks",
        "2026-03-04",
        "2026-03-04 12:00 UTC",
    ):
        assert text in page
    assert account.failed_page_calls.get().count == 2


def test_escapes_the_page(staff_client, account):
    record(account, "invalid_amount", "https://shop.example.net/<script>alert(1)</script>")

    page = staff_client().get(reverse(CHANGELIST)).content.decode()

    assert "<script>alert(1)" not in page
    assert escape("/<script>alert(1)</script>") in page


def test_shows_a_reason_without_a_text_in_words(staff_client, account):
    record(account, "foreign_currency", "")

    assert "Foreign currency" in staff_client().get(reverse(CHANGELIST)).content.decode()


def test_exports_reasons_in_words(staff_client, account):
    record(account, "cookie_expired")

    response = staff_client().get(reverse("admin:tracking_failedpagecall_export"))

    [row] = csv.DictReader(response.getvalue().decode("utf-8-sig").splitlines())
    assert PROBLEMS["cookie_expired"].text in row.values()


def test_is_in_the_navigation(staff_client, account):
    page = staff_client().get("/admin/").content.decode()

    assert f'href="{reverse(CHANGELIST)}"' in page


def test_pages_cannot_be_changed(staff_client, account):
    record(account, "invalid_amount")
    url = reverse(
        "admin:tracking_failedpagecall_change",
        args=[account.failed_page_calls.get().pk],
    )

    assert staff_client().post(url, {"count": 5}).status_code == 403
    assert FailedPageCall.objects.get().count == 1


# Risk indicators.


def list_lenient_options(serializer_class):
    fields = serializer_class().fields.items()
    return {name for name, field in fields if isinstance(field, LenientFieldMixin)}


def test_every_odd_option_has_a_text():
    options = (
        list_lenient_options(BrowserConversionSerializer)
        | list_lenient_options(BrowserLineItemSerializer)
        | {"commissions"}
    )

    assert {f"odd_{name}" for name in options} <= set(WARNING_TEXTS)


@pytest.mark.parametrize(
    ("warnings", "texts"),
    [
        (
            ["odd_meta_data", "odd_coupons"],
            [WARNING_TEXTS["odd_meta_data"], WARNING_TEXTS["odd_coupons"]],
        ),
        ([FORMER_CUSTOMER_ID], [WARNING_TEXTS[FORMER_CUSTOMER_ID]]),
        (["unheard_of"], ["unheard_of"]),
    ],
)
def test_shows_warnings_as_risk_indicators(staff_client, scenario, warnings, texts):
    conversion = scenario.create_conversion("10", extra_warnings=tuple(warnings))
    customer = CustomerFactory(
        account=scenario.account,
        enrollment=scenario.mina.enrollment,
        warnings=warnings,
    )

    client = staff_client()
    for row in (conversion, customer):
        name = row._meta.model_name
        url = reverse(f"admin:tracking_{name}_change", args=[row.pk])
        page = unescape(client.get(url).content.decode())
        for text in texts:
            assert text in page


def test_clicks_say_how_many_bots_were_left_out(staff_client, account, time_machine):
    time_machine.move_to(NOON, tick=False)
    for days in (31, 30, 0, 0):
        at = NOON - timedelta(days=days)
        record_failed_page_call(account, reason="bot", page="", at=at)
    page = staff_client().get("/admin/tracking/click/").content.decode()
    assert "Left out in the last 30 days: 3 visits by bots." in page
