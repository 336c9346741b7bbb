"""The bounded log of failed page calls."""

from datetime import UTC, date, datetime, timedelta

import pytest

from tracking.services import failed_page_calls
from tracking.services.failed_page_calls import (
    count_page_problems,
    normalize_page,
    record_failed_page_call,
)
from tracking.services.retention import delete_expired_failed_page_calls

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
SHOP = "https://shop.example.net"


def record(account, *, reason="invalid_amount", page=f"{SHOP}/", at=NOON):
    record_failed_page_call(account, reason=reason, page=page, at=at)


def list_rows(account):
    rows = account.failed_page_calls.order_by("day", "reason", "page")
    return list(rows.values_list("day", "reason", "page", "count"))


def test_counts_calls_per_day_reason_and_page(account):
    midnight = datetime(2026, 3, 5, tzinfo=UTC)
    for at in (NOON, NOON + timedelta(hours=1), midnight):
        record(account, at=at)
    record(account, reason="cookie_expired")
    record(account, page=f"{SHOP}/thanks")

    today, tomorrow = date(2026, 3, 4), date(2026, 3, 5)
    assert list_rows(account) == [
        (today, "cookie_expired", f"{SHOP}/", 1),
        (today, "invalid_amount", f"{SHOP}/", 2),
        (today, "invalid_amount", f"{SHOP}/thanks", 1),
        (tomorrow, "invalid_amount", f"{SHOP}/", 1),
    ]
    first = account.failed_page_calls.get(count=2)
    assert (first.first_at, first.last_at) == (NOON, NOON + timedelta(hours=1))


def test_names_at_most_200_pages_per_account_and_day(account, other_account):
    for number in range(205):
        record(account, page=f"{SHOP}/{number % 100}/{number // 100}")
    record(account, page=f"{SHOP}/0/0")
    record(account, page=f"{SHOP}/new", reason="cookie_expired")
    record(account, page=f"{SHOP}/new", at=NOON + timedelta(days=1))
    record(other_account, page=f"{SHOP}/new")

    today = account.failed_page_calls.filter(day=NOON.date())
    assert today.exclude(page="").count() == 200
    assert today.get(page=f"{SHOP}/0/0").count == 2
    nameless = today.filter(page="").order_by("reason")
    assert list(nameless.values_list("reason", "count")) == [
        ("cookie_expired", 1),
        ("invalid_amount", 5),
    ]
    assert account.failed_page_calls.filter(page=f"{SHOP}/new").count() == 1
    assert other_account.failed_page_calls.get().page == f"{SHOP}/new"


def test_counts_with_one_statement(account, capture_queries):
    with capture_queries() as queries:
        record(account)

    assert len(queries) == 1


@pytest.mark.parametrize(
    ("url", "page"),
    [
        (f"{SHOP}/a/b/?c=d#e", f"{SHOP}/a/b/"),
        (SHOP, SHOP),
        ("http://Shop.Example.net:8000/A", "http://shop.example.net:8000/A"),
        ("https://jane:secret@shop.example.net/a", f"{SHOP}/a"),
        (f"{SHOP}/u/jane@example.org/", f"{SHOP}/u/*/"),
        (f"{SHOP}/u/jane%40example.org", f"{SHOP}/u/*"),
        (f"{SHOP}/order-received/10417/", f"{SHOP}/order-received/*/"),
        (f"{SHOP}/lamp-42/", f"{SHOP}/lamp-42/"),
        (f"{SHOP}/{'a' * 300}", f"{SHOP}/{'a' * 230}"),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("/thanks", ""),
        ("https://[::1/", ""),
        (f"{SHOP}/{'1' * 60_000}", f"{SHOP}/*"),
        (f"{SHOP}/\x00", ""),
        (f"{SHOP}/\u202egnp", ""),
        ("", ""),
    ],
)
def test_keeps_origin_and_path(url, page):
    assert normalize_page(url) == page


def test_counts_failures_that_a_correct_snippet_would_not_cause(account, other_account):
    for reason in failed_page_calls.EXPECTED_REASONS:
        record(account, reason=reason)
    record(other_account)
    record(account, at=NOON - timedelta(days=7))
    assert count_page_problems(account, since=date(2026, 2, 26)) == (0, 0)

    for _ in range(3):
        record(account, at=NOON - timedelta(days=6))

    assert count_page_problems(account, since=date(2026, 2, 26)) == (3, 0)


def test_deletes_rows_older_than_90_days(account, other_account):
    for owner in (account, other_account):
        for days in (90, 91):
            record(owner, at=NOON - timedelta(days=days))

    for owner in (account, other_account):
        for dry_run in (True, False):
            options = {"at": NOON, "dry_run": dry_run}
            assert delete_expired_failed_page_calls(owner, **options) == 1
        [row] = owner.failed_page_calls.all()
        assert row.day == date(2025, 12, 4)
