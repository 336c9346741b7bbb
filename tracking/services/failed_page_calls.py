"""The log of page calls that were not stored (docs/api-contract.md, section 5.5).

Anybody can fill it, so it is bounded: one row per account, day, reason and page, and at
most `MAX_PAGES_PER_DAY` rows that name a page. The calls themselves are limited per
address.
"""

import re
from datetime import date, datetime

from django.db import connection
from django.db.models import Count, Subquery, Sum

from accounts.models.accounts import Account
from accounts.url_safety import MAX_URL_LENGTH, split_url
from tracking.models.clicks import FailedPageCall

BOT = "bot"  # the visit of a link by a crawler or preview, which is no click
MAX_PAGES_PER_DAY = 200
MAX_PAGE_LENGTH = 255
MAX_VALUE_LENGTH = 255
# Reasons that say something of the amount of one sale.
AMOUNT_REASONS = frozenset(
    {
        "amount_too_large",
        "claimed_amount_too_large",
        "invalid_amount",
        "invalid_commissions",
        "missing_amount",
        "negative_amount",
        "unclear_currency",
    }
)
# Reasons of correct snippets: a sale without an affiliate, or one that came too late.
EXPECTED_REASONS = frozenset(
    {
        BOT,
        "cookie_expired",
        "expired_handover",
        "too_many_conversion_attempts",
        "unknown_coupon",
        "unknown_customer",
    }
)
PERSONAL_MARK = re.compile(r"@|%40|[0-9]{3}", re.ASCII)  # in a segment of a path
TABLE = FailedPageCall._meta.db_table
RECORD_SQL = f"""
    INSERT INTO {TABLE} AS f
        (account_id, day, reason, page, count, first_at, last_at,
         last_order_id, last_amount)
    SELECT %s, %s, %s, CASE WHEN (
        SELECT COUNT(*) FROM {TABLE} WHERE account_id = %s AND day = %s
            AND page <> '' AND NOT (reason = %s AND page = %s)
    ) < %s THEN %s ELSE '' END, 1, %s, %s, %s, %s WHERE true
    ON CONFLICT (account_id, day, reason, page) DO UPDATE SET
        count = f.count + 1, last_at = excluded.last_at,
        last_order_id = excluded.last_order_id, last_amount = excluded.last_amount
"""  # noqa: S608 - the name is our own


def record_failed_page_call(
    account: Account,
    *,
    reason: str,
    page: str,
    order_id: str = "",
    amount: str = "",
    at: datetime,
) -> None:
    """Count a failed call in one SQL statement.

    `page` is the URL of the page; `order_id` and `amount`, cut at 255 letters, are
    those of a sale whose amount was refused, and replace those of the last one. Call
    it outside any transaction, so that a rollback does not undo it.
    """
    adapt = connection.ops
    day = adapt.adapt_datefield_value(account.get_day(at))
    now = adapt.adapt_datetimefield_value(at)
    page = normalize_page(page)
    subject = (account.pk, day)
    with connection.cursor() as cursor:
        cursor.execute(
            RECORD_SQL,
            [
                *(*subject, reason),
                *(*subject, reason, page, MAX_PAGES_PER_DAY),
                *(page, now, now),
                *(clean_text(order_id), clean_text(amount)),
            ],
        )


def clean_text(text: str) -> str:
    """Return text of a page as it can be stored and shown, cut at 255 letters."""
    return "".join(filter(str.isprintable, text[:MAX_VALUE_LENGTH]))


def normalize_page(url: str) -> str:
    """Return origin and path of a URL, truncated, or "" if it is invalid.

    Query, fragment and user are removed. Path segments that may be personal or differ
    for each order, which are those with an `@` or three digits in a row, become `*`.
    """
    url = url[:MAX_URL_LENGTH]
    try:
        parts = split_url(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    if parts.scheme not in ("http", "https") or not host or not url.isprintable():
        return ""
    path = "/".join(
        "*" if PERSONAL_MARK.search(segment) else segment for segment in parts.path.split("/")
    )
    return f"{parts.scheme}://{host}{path}"[:MAX_PAGE_LENGTH]


def count_bots(account: Account, *, since: date) -> int:
    """Count the visits of bots, which are no clicks."""
    visits = account.failed_page_calls.filter(reason=BOT, day__gte=since)
    return visits.aggregate(number=Sum("count"))["number"] or 0


def count_page_problems(account: Account, *, since: date) -> tuple[int, int]:
    """Count the failed calls that a correct snippet would not make, and the conversions
    that two visitors claim, in one statement."""
    failures = account.failed_page_calls.filter(day__gte=since)
    failures = failures.exclude(reason__in=EXPECTED_REASONS).order_by()
    contested = account.conversion_claims.filter(is_original=True, decided_at=None)
    counts = Account.objects.values_list(
        Subquery(failures.values("account").values_list(Sum("count"))),
        Subquery(contested.order_by().values("account").values_list(Count("pk"))),
    ).get(pk=account.pk)
    return counts[0] or 0, counts[1] or 0
