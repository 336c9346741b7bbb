"""Present numbers of the dashboard: balances, what to review, refunds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from accounts.days import A_DAY
from accounts.models.accounts import Account
from accounts.services.row_counts import CountedList
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.payables import (
    get_overpaid_totals,
    get_payable_totals,
    get_pending_totals,
)
from payouts.statistics import Period, Sums, start_of_day


@dataclass(frozen=True)
class ToReview:
    """What staff have to review."""

    applications: int
    commissions: int
    sums: Sums
    oldest: datetime | None
    webhooks: int


def count_removed_conversions(account: Account, periods: Sequence[Period]) -> list[int]:
    """Count the conversions that were removed in each of these periods: refunds."""
    counts = {
        f"removed_{number}": Count(
            "pk",
            filter=Q(
                deleted_at__gte=start_of_day(period.first),
                deleted_at__lt=start_of_day(period.last + A_DAY),
            ),
        )
        for number, period in enumerate(periods)
    }
    since = start_of_day(min(period.first for period in periods))
    removed = account.conversions.filter(deleted_at__gte=since)
    return list(removed.aggregate(**counts).values())


def get_balance_due(account: Account) -> Sums:
    """Return the sum of positive payable balances by currency."""
    return dict(sorted(get_payable_totals(account)))


def get_overpaid(account: Account) -> Sums:
    """Return what affiliates owe the account by currency: their negative balances."""
    return dict(sorted(get_overpaid_totals(account)))


def count_to_review(account: Account, *, at: datetime) -> ToReview:
    """Count what staff have to review."""
    status = CommissionStatus.PENDING.value
    pending = account.commissions.not_deleted().filter(status=status)
    oldest = pending.order_by("created_at").values_list("created_at", flat=True)
    count = CountedList(account, Commission, "status", status).count(at)
    return ToReview(
        applications=account.enrollments.not_deleted().filter(approved=None).count(),
        commissions=count.stored + count.later,
        sums=dict(sorted(get_pending_totals(account))),
        oldest=oldest.first(),
        webhooks=account.webhook_endpoints.all().needing_attention().count(),
    )
