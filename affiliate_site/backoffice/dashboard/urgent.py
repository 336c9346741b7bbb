"""What staff must look at before money goes out, or sales get lost."""

from datetime import datetime
from typing import Any

from accounts.lookups import count_rows
from accounts.models.accounts import Account
from affiliate_site.backoffice.connections.details import list_missing
from affiliate_site.backoffice.list_urls import build_changelist_url
from payouts.models.commissions import CommissionStatus
from payouts.models.runs import PayoutRunState
from payouts.services.watches import RUN_DAYS, leave_out_dismissed, list_failed_runs
from tracking.models.shops import ConnectionMode
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

MAX_NAMES = 3


def list_urgent(account, *, at: datetime) -> list[tuple[int, str, str, str]]:
    """The number, title, note and list of each."""
    pending = CommissionStatus.PENDING.value
    self_referrals = account.commissions.not_deleted().filter(
        status=pending, conversion__in=find_self_referrals(account)
    )
    returned = account.payout_methods.exclude(on_hold_reason="")
    runs = leave_out_dismissed(account, "failed_run", list_failed_runs(account, at=at))
    numbers = count_each(account, self_referrals, returned, runs)
    live = account.connections.filter(mode=ConnectionMode.LIVE)
    failed = [each.name for each in live.order_by("name") if list_missing(each)]
    return [
        (
            len(failed),
            "Shops that cannot report",
            ", ".join(failed[:MAX_NAMES]),
            build_changelist_url("tracking_connection"),
        ),
        (
            numbers[0],
            "Self-referrals",
            "The customer is the affiliate: disapprove or approve them",
            build_changelist_url(
                "payouts_commission",
                to_check=CUSTOMER_IS_AFFILIATE,
                status__exact=pending,
                deleted_at__isnull=True,
            ),
        ),
        (
            numbers[1],
            "Returned payout accounts",
            "A payment came back: nothing is paid there until you have looked",
            build_changelist_url("payouts_payoutmethod", to_check="True"),
        ),
        (
            numbers[2],
            "Failed or partly failed payout runs",
            f"Of the last {RUN_DAYS} days; what came back is owed again",
            build_changelist_url(
                "payouts_payoutrun", state__exact=PayoutRunState.PARTLY_FAILED.value
            ),
        ),
    ]


def count_each(account, *queries) -> list[int]:
    """Count the rows of several queries of an account in one statement."""
    return list(Account.objects.filter(pk=account.pk).values_list(*map(count_rows, queries)).get())


def find_self_referrals(account) -> Any:
    """The sales whose customer seems to be the affiliate; an index has all warnings."""
    warned = account.conversions.filter(warnings__isnull=False)
    code = f'"{CUSTOMER_IS_AFFILIATE}"'
    return warned.filter(warnings__icontains=code).values("pk")
