"""reliability.md, T26: a list as CSV, with its filters, and without formulas."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from affiliate_site.backoffice.exports import defused
from tests.shop import SOLD, Shop


def exported(client, page, **filters):
    answer = client.get(reverse(f"admin:{page}_export"), filters)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    text = b"".join(answer.streaming_content).decode()
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("\t=1", "'\t=1"),
        ("\r\n@x", "'\r\n@x"),
        ("\tx", "'\tx"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("\u200b=1", "'\u200b=1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("\x01=1", "'\x01=1"),
        ("Tom <tom@example.org>", "Tom <tom@example.org>"),
        ("https://x.example/" + "<a" * 900, "https://x.example/" + "<a" * 900),
        ("-12.50", "-12.50"),
        ("+49 30 123", "'+49 30 123"),
        ("lamp", "lamp"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
        (Decimal("20.5000"), "20.5"),
        (Decimal(-3), "-3"),
        (7, "7"),
        (datetime(2026, 3, 4, 9, 15, tzinfo=UTC), "2026-03-04T09:15:00Z"),
        (format_html("<a href='/x'>{}</a>", "a<b"), "a<b"),
    ],
    ids=repr,
)
def test_defuses_what_a_spreadsheet_would_run(value, cell):
    assert defused(value) == cell


def test_exports_the_rows_of_the_list(staff, shop):
    sale = shop.sell("200", external_id="=1+1", at=SOLD)
    shop.sell("50", external_id="order-2", at=SOLD)

    lines = exported(staff(), "payouts_commission", q="=1+1")

    commission = shop.commission_of(sale)
    assert [line[:8] for line in lines] == [
        ["No.", "Affiliate", "Amount", "Status", "Kind", "Name", "Sale", "Payment"],
        [
            *(str(commission.pk), "minakessler", "20 EUR", "pending", "regular"),
            *("Standard", "'=1+1", ""),
        ],
    ]


def test_exports_all_pages_in_the_order_of_the_list(staff, shop):
    for number in range(55):
        shop.sell("10", external_id=f"order-{number}", at=SOLD)

    lines = exported(staff(), "tracking_conversion")

    assert len(lines) == 56
    assert [line[1] for line in lines[1:3]] == ["order-54", "order-53"]


def test_exports_what_the_filters_let_pass(staff, shop, account):
    shop.sell("10", at=SOLD)

    client = staff()
    assert len(exported(client, "payouts_commission", status__exact="pending")) == 2
    assert len(exported(client, "payouts_commission", status__exact="approved")) == 1


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda it: it._meta.label)
def test_exports_nothing_of_another_account(staff, shop, other_account, model):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.sell("10", customer_id="zz-marker", external_id="zz-marker")

    lines = exported(staff(), f"{model._meta.app_label}_{model._meta.model_name}")

    assert "zz-marker" not in str(lines)


def test_exports_nothing_to_a_stranger(client, db):
    answer = client.get(reverse("admin:payouts_commission_export"))

    assert answer.status_code == 302
