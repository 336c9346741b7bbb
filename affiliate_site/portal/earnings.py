"""What affiliates earned and why, in words that name nobody else."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.formats import format_number, long_day
from affiliate_site.portal.rates import describe_bonus
from payouts.calculation import InitialStatusReason, RateSourceKind
from payouts.models.bonuses import BonusPeriod
from payouts.models.commission_types import RateKind
from payouts.models.commissions import Commission, CommissionKind, CommissionStatus
from payouts.services.decisions import get_reason
from payouts.services.explanation import explain_conversion
from payouts.services.payables import is_on_hold
from payouts.services.payout_runs import list_unanswered_payments
from payouts.services.programs import STANDARD_COMMISSION_TYPE
from payouts.services.statements import hide_undone_commissions
from tracking.attribution import STAFF
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.portal import OrderIds
from tracking.written_amounts import write_amount

# Why a sale is the affiliate's, by the parameter that won.
ATTRIBUTED = gettext_lazy("The sale is attributed to you.")
WINNERS = {
    "coupon": gettext_lazy("The customer used your coupon {value}."),
    "referral_code": gettext_lazy("The shop reported the sale with your referral code {value}."),
    "click_id": gettext_lazy("The customer had followed your link."),
    "tracking_id": gettext_lazy("The customer had followed your link."),
    "asset_id": gettext_lazy("The shop reported the sale with your link."),
    "customer": gettext_lazy("The customer is yours: an earlier referral of you won them."),
    STAFF: gettext_lazy("The company credited the sale to you."),
}
STATES = {
    "pending": gettext_lazy("Waits for approval"),
    "on_hold": gettext_lazy("On hold"),
    "due": gettext_lazy("Due"),
    "on_its_way": gettext_lazy("On its way"),
    "paid": gettext_lazy("Paid"),
    "disapproved": gettext_lazy("Disapproved"),
    "removed": gettext_lazy("Removed"),
}
KINDS = {
    CommissionKind.REGULAR: gettext_lazy("Sale"),
    CommissionKind.LEVEL: gettext_lazy("Sale by a recruit"),
    CommissionKind.BONUS: gettext_lazy("Bonus"),
}


@dataclass(frozen=True)
class Earning:
    """A commission as its affiliate sees it."""

    commission: Commission
    day: date
    what: str
    order_id: str
    amount: str
    state: str
    due_on: date | None  # while it is on hold
    is_under_review: bool
    goal: str  # of a bonus

    @property
    def state_label(self) -> str:
        return str(STATES[self.state])

    @property
    def reason(self) -> str:
        """Why the company disapproved it; empty without a comment."""
        return get_reason(self.commission) if self.state == "disapproved" else ""

    @property
    def is_lost(self) -> bool:
        return self.state in {"disapproved", "removed"}


def select_earnings(affiliate):
    """The commissions of an affiliate, newest first."""
    account = affiliate.account
    rows = account.commissions.filter(affiliate=affiliate)
    rows = hide_undone_commissions(account, rows)
    return rows.select_related("conversion", "bonus").order_by("-created_at", "-id")


def list_earnings(
    affiliate: Affiliate, rows: Iterable[Commission], order_ids: str, *, at: datetime
) -> list[Earning]:
    """What the pages show of commissions, which come with their conversions."""
    account, rows = affiliate.account, list(rows)
    open_payments = list_unanswered_payments(
        account.payout_lines.all(), (row.payment_id for row in rows)
    )
    return [
        Earning(
            commission=row,
            day=account.get_day(row.created_at),
            what=str(KINDS[CommissionKind(row.kind)]),
            order_id=find_order_id(row, order_ids),
            amount=write_amount(row.amount, row.currency),
            state=(state := get_state(row, open_payments, at=at)),
            due_on=account.get_day(row.due_at)
            if state == "on_hold" and row.due_at and not row.is_under_review
            else None,
            is_under_review=state in ("on_hold", "pending") and row.is_under_review,
            goal=explain_bonus(row),
        )
        for row in rows
    ]


def get_state(commission: Commission, open_payments: Collection[int], *, at: datetime) -> str:
    """A key of `STATES`."""
    if commission.deleted_at:
        return "removed"
    if commission.payment_id:
        return "on_its_way" if commission.payment_id in open_payments else "paid"
    if commission.status != CommissionStatus.APPROVED:
        return str(commission.status)
    return "on_hold" if is_on_hold(commission, at=at) else "due"


def find_order_id(commission: Commission, order_ids: str) -> str:
    """The shop's order ID as far as the account shows it; empty without one.

    That of a sale which somebody else referred is not shown.
    """
    conversion = commission.conversion
    order_id = (conversion and conversion.external_id) or ""
    is_own = commission.kind == CommissionKind.REGULAR
    if not order_id or not is_own or order_ids == OrderIds.NONE:
        return ""
    if order_ids == OrderIds.WHOLE or len(order_id) <= 4:
        return order_id if order_ids == OrderIds.WHOLE else "…"
    return f"…{order_id[-4:]}"


def explain_sale(
    affiliate: Affiliate, conversion: Conversion, commissions: Sequence[Commission]
) -> list[str]:
    """Why the affiliate earns from a sale: sentences."""
    live = [row for row in commissions if row.deleted_at is None] or commissions
    if all(row.kind == CommissionKind.LEVEL for row in live):
        return [_("An affiliate whom you or your recruits recruited referred the sale.")]
    if conversion.affiliate_id != affiliate.pk:
        return [_("Another referral won this sale: you earn nothing.")]
    return [explain_referral(affiliate, conversion)]


def explain_referral(affiliate: Affiliate, conversion: Conversion) -> str:
    """Which link or coupon won, and when."""
    account = affiliate.account
    attribution = explain_conversion(account, conversion_id=conversion.pk).attribution
    parameter = attribution["winner"]["parameter"]
    winner: dict[str, Any] = next(
        (
            each
            for each in attribution["candidates"]
            if each["parameter"] == parameter and each["affiliate"] == affiliate.slug
        ),
        {},
    )
    clicked_at = winner.get("clicked_at")
    if clicked_at and parameter not in {"coupon", "referral_code", "customer"}:
        day = account.get_day(datetime.fromisoformat(clicked_at))
        return _("The customer had followed your link on {day}.").format(day=long_day(day))
    if winner or parameter == STAFF:
        text = WINNERS.get(parameter, ATTRIBUTED)
        return str(text.format(value=winner.get("value")))
    return str(ATTRIBUTED)


def explain_amount(commission: Commission) -> str:
    """How the amount came about, in a sentence or two."""
    calculation = json.loads(commission.calculation)
    amount = write_amount(commission.amount, commission.currency)
    if commission.kind == CommissionKind.LEVEL:
        return explain_level(commission)
    if calculation.get("is_overridden"):
        return _("{amount} as the company set it.").format(amount=amount)
    if commission.rate_kind == RateKind.FIXED or commission.sub_amount is None:
        text = _("{amount}: a fixed amount for each sale.").format(amount=amount)
    else:
        text = explain_share(commission, Decimal(calculation["exact_amount"]))
    return f"{text} {explain_rate(commission, calculation)}".strip()


def explain_level(commission: Commission) -> str:
    """`2.08 EUR: 2 % of a sale by a recruit, level 1.`, without the recruit's sale."""
    level = commission.commission_type.rpartition("-")[2]
    if not level.isdecimal():  # of an import
        text = _("{amount}: your share of the sale.")
    elif commission.rate_kind == RateKind.FIXED:
        text = _("{amount}: a fixed amount for each sale by a recruit, level {level}.")
    else:
        text = _("{amount}: {percent} % of a sale by a recruit, level {level}.")
    return text.format(
        amount=write_amount(commission.amount, commission.currency),
        percent=format_number(commission.rate.normalize()),
        level=int(level) - 1 if level.isdecimal() else "",
    )


def explain_bonus(commission: Commission) -> str:
    """The goal that was reached, and when its period began; empty for a sale."""
    bonus = commission.bonus
    if bonus is None:
        return ""
    text = describe_bonus(bonus, commission.currency)
    start = commission.period_start
    if start is None or bonus.period == BonusPeriod.ALL_TIME:
        return text
    began = _("The period began on {day}.").format(day=long_day(start))
    return f"{text} {began}"


def explain_disapproval(commission: Commission) -> str:
    """Why a rule disapproved a commission; empty if it was not a rule."""
    reason = json.loads(commission.calculation).get("reason")
    if commission.status != CommissionStatus.DISAPPROVED:
        return ""
    if reason != InitialStatusReason.CAP_REACHED:
        return ""
    return _("A rule disapproved it: this customer has earned you as much as the program allows.")


def explain_rate(commission: Commission, calculation: dict[str, Any]) -> str:
    """Why the rate is another one than the program offers; empty if it is that one."""
    source = calculation["rate"]["source"]["kind"]
    if source == RateSourceKind.GROUP:
        return _("It is the rate of your group.")
    if source == RateSourceKind.RULE:
        return _("It is a rate that the program pays for some sales.")
    if source == RateSourceKind.NONE:
        return _("The program pays nothing for sales like this one.")
    if commission.commission_type != STANDARD_COMMISSION_TYPE:
        return _("It is the rate of “{name}”.").format(name=commission.name)
    return ""


def explain_share(commission: Commission, exact: Decimal) -> str:
    """`10 % of 199.99 EUR are 19.999 EUR, rounded to 20.00 EUR.`"""
    currency = commission.currency
    amount = write_amount(commission.amount, currency)
    base = write_amount(commission.sub_amount, currency)
    if commission.rate_fixed:
        base = f"{base} + {write_amount(commission.rate_fixed, currency)}"
    percent = format_number(commission.rate)
    if exact == commission.amount:
        text = _("{percent} % of {base} are {amount}.")
        return text.format(percent=percent, base=base, amount=amount)
    return _("{percent} % of {base} are {exact}, rounded to {amount}.").format(
        percent=percent,
        base=base,
        exact=f"{format_number(exact)} {currency}",
        amount=amount,
    )
