"""The answer to an affiliate who misses a sale, from the records of the order."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from string import digits
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.models.accounts import Account
from payouts.missing_sales import (
    Answer,
    Participation,
    RefusedReport,
    ReportedSale,
    decide_answer,
)
from payouts.models.commissions import CommissionKind, CommissionStatus
from payouts.services.shop_customers import add_prefix
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.search import normalize_order_name

# One or two sentences, which never say who somebody else is.
ANSWER_TEXTS = {
    Answer.NOTHING: _(
        "The shop has reported no sale with this order ID that your links or coupons took part in."
    ),
    Answer.OWN: _("The shop reported this sale, and it is yours."),
    Answer.DISAPPROVED: _(
        "The shop reported this sale, and it is yours, but it was disapproved, so you earn nothing."
    ),
    Answer.REFUNDED: _(
        "The sale was yours. The customer got all the money back, so you earn nothing."
    ),
    Answer.REMOVED: _("The sale was yours, but the company removed it, so you earn nothing."),
    Answer.CONTESTED: _(
        "The shop reported this sale with your referral and with another one. The"
        " company decides which one counts."
    ),
    Answer.COUPON_FIRST: _(
        "The shop reported this sale, but another referral won: the customer used a"
        " coupon, and a coupon counts before a link."
    ),
    Answer.CUSTOMER_FIRST: _(
        "The shop reported this sale, but another referral won: the customer was won"
        " earlier, and stays with that referral."
    ),
    Answer.LATER_CLICK: _(
        "The shop reported this sale, but another referral won: a later click counts."
    ),
    Answer.OTHER_FIRST: _(
        "The shop reported this sale, but another referral won: the shop named one that"
        " counts before yours."
    ),
    Answer.OTHER_CONFIRMED: _(
        "The shop reported this sale, but another referral won: the shop or the company"
        " confirmed that one."
    ),
    Answer.CREDITED_TO_OTHER: _(
        "The shop reported this sale, but the company credited it to another referral."
    ),
    Answer.TOO_OLD: _(
        "The shop reported this sale, but the customer had followed your link too long"
        " before: the time in which a sale counts was over."
    ),
    Answer.NOT_APPROVED: _(
        "The shop reported this sale with your referral, but you were not approved for the program."
    ),
    Answer.PROGRAM_ARCHIVED: _(
        "The shop reported this sale with your referral, but the program has ended."
    ),
    Answer.NO_REFERRAL: _(
        "The shop reported this sale without any link or coupon: the customer came"
        " another way, or the browser had lost the cookie."
    ),
    Answer.UNKNOWN_REFERRAL: _(
        "The shop reported this sale, but with a link, coupon or cookie that nobody has."
    ),
    Answer.REFUSED: _(
        "The shop reported this sale, but the report was incomplete or wrong, so it"
        " could not be stored."
    ),
}


MAX_NAMED_ORDERS = 10  # of shops, with one name
MAX_RECENT_ORDERS = 50  # whose beginnings are known


@dataclass(frozen=True)
class MissingSale:
    """The answer, and the sale that was found; staff may see it, affiliates only if it
    `is_own`."""

    answer: Answer
    conversion: Conversion | None
    is_own: bool


def explain_missing_sale(affiliate: Affiliate, order_id: str) -> MissingSale:
    """Answer why the affiliate does not see the sale with this order ID."""
    account = affiliate.account
    order_ids = list_order_ids(account, order_id)
    found = [*filter(None, (find_conversion(account, each) for each in order_ids))]
    own = (each for each in found if each.affiliate_id == affiliate.pk)
    conversion = next(own, found[0] if found else None)
    if conversion is None:
        attempts = account.conversion_attempts.filter(external_id__in=order_ids)
        refused = [
            RefusedReport(
                row.reason,
                names_affiliate=row.affiliate_id is not None,
                is_own=row.affiliate_id == affiliate.pk,
            )
            for row in attempts.order_by("-failed_at", "-id")
        ]
        return MissingSale(decide_answer(None, refused), None, is_own=False)
    is_own = conversion.affiliate_id == affiliate.pk
    answer = decide_answer(describe_sale(affiliate, conversion))
    return MissingSale(answer, conversion, is_own)


def list_order_ids(account: Account, text: str) -> list[str]:
    """List the order IDs that an affiliate may mean, what was entered first.

    Case and a `#` do not matter. What customers know is the name of an order, which
    stands beside its ID in the orders of shops, or its number alone: `#1294` may be
    `ORDER-1294`, and the reverse, if other orders of the shop begin so.
    """
    plain = text.strip().removeprefix("#").strip()
    orders = account.shop_orders.filter(name=normalize_order_name(text) or None)
    rows = orders.select_related("connection").order_by("-id")[:MAX_NAMED_ORDERS]
    named = [
        add_prefix(row.connection, row.facts["sale"]["order_id"])
        for row in rows
        if "sale" in row.facts
    ]
    spellings = [text, plain, f"#{plain}", plain.upper(), plain.lower()]
    numbered = list_numbered(account, plain)
    return list(dict.fromkeys(filter(None, [*spellings, *named, *numbered])))


def list_numbered(account: Account, text: str) -> list[str]:
    """List order IDs with the number that ends the text, as recent orders begin.

    A text that begins as one of them means exactly that order.
    """
    start = text.rstrip(digits)
    number = text.removeprefix(start)
    if not number:
        return []
    recent = account.conversions.exclude(external_id=None).order_by("-id")
    order_ids = recent.values_list("external_id", flat=True)[:MAX_RECENT_ORDERS]
    beginnings = {str(each).rstrip(digits) for each in order_ids}
    if start.casefold() in {each.casefold() for each in beginnings if each}:
        return []
    return sorted(f"{each}{number}" for each in beginnings)


def find_conversion(account: Account, order_id: str) -> Conversion | None:
    """Return the sale with this ID, else one that had it, else a removed one."""
    rows = account.conversions.order_by("-id")
    by_id = rows.filter(external_id=order_id)
    former = account.former_external_ids.filter(external_id=order_id)
    by_former_id = rows.filter(pk__in=former.values("conversion"))
    found: Conversion | None = (
        by_id.not_deleted().first()
        or by_former_id.not_deleted().first()
        or by_id.first()
        or by_former_id.first()
    )
    return found


def describe_sale(affiliate: Affiliate, conversion: Conversion) -> ReportedSale:
    """Read what the decision needs of a sale."""
    account = affiliate.account
    if conversion.affiliate_id == affiliate.pk:
        rows = account.commissions.filter(conversion=conversion, affiliate=affiliate)
        statuses = set(rows.not_deleted().values_list("status", flat=True))
        return ReportedSale(
            is_own=True,
            is_removed=conversion.deleted_at is not None,
            is_refunded=account.refunds.filter(conversion=conversion, is_full=True).exists(),
            is_contested=conversion.is_contested,
            is_disapproved=statuses == {CommissionStatus.DISAPPROVED},
        )
    own = {"conversion": conversion, "affiliate": affiliate}
    commissions = account.commissions.filter(**own, kind=CommissionKind.REGULAR)
    names = {affiliate.slug}
    prospects = account.prospects.filter(affiliate=affiliate)
    names.update(prospects.values_list("public_id", flat=True))
    records = account.attribution_records.filter(conversion=conversion)
    stored = [
        (json.loads(inputs), json.loads(outcome))
        for inputs, outcome in records.order_by("-id").values_list("inputs", "outcome")
    ]
    winner, winner_clicked_at = find_winner(*stored[0]) if stored else (None, None)
    return ReportedSale(
        is_own=False,
        is_removed=conversion.deleted_at is not None,
        is_contested=conversion.is_contested,
        was_own=commissions.exists() or account.conversion_claims.filter(**own).exists(),
        participations=[
            each
            for inputs, outcome in stored
            for each in list_participations(inputs, outcome, names)
        ],
        winner=winner,
        winner_clicked_at=winner_clicked_at,
    )


def find_winner(
    inputs: dict[str, Any], outcome: dict[str, Any]
) -> tuple[str | None, datetime | None]:
    """Return the parameter that won, and when its click was."""
    clicks = [
        parse_time(each["clicked_at"])
        for each in inputs["candidates"]
        if each["parameter"] == outcome["parameter"]
    ]
    return outcome["parameter"], clicks[0] if clicks else None


def list_participations(
    inputs: dict[str, Any], outcome: dict[str, Any], names: Collection[str]
) -> list[Participation]:
    """List the rejected candidates of an affiliate, who has these IDs."""
    clicked_at = {
        each["parameter"]: parse_time(each["clicked_at"]) for each in inputs["candidates"]
    }
    return [
        Participation(each["reason"], clicked_at.get(each["parameter"]))
        for each in outcome["rejected_candidates"]
        if each["affiliate"] in names
    ]


def parse_time(text: str | None) -> datetime | None:
    """Read a stored time, if there is one."""
    return datetime.fromisoformat(text) if text else None
