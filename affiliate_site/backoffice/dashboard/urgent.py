"""What staff must look at before money goes out, or sales get lost."""

from datetime import datetime, timedelta
from typing import Any

from affiliate_site.backoffice.connections.details import list_missing
from affiliate_site.backoffice.list_urls import build_changelist_url
from payouts.models.commissions import CommissionStatus
from payouts.models.runs import PayoutRunState
from tracking.models.shops import ConnectionMode
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

RECENT = timedelta(days=30)  # of runs: what came back is in later ones
MAX_NAMES = 3


def list_urgent(account, *, at: datetime) -> list[tuple[int, str, str, str]]:
    """The number, title, note and list of each."""
    pending = CommissionStatus.PENDING.value
    self_referrals = account.commissions.not_deleted().filter(
        status=pending, conversion__in=find_self_referrals(account)
    )
    returned = account.payout_methods.exclude(on_hold_reason="")
    runs = account.payout_runs.filter(
        state=PayoutRunState.PARTLY_FAILED, confirmed_at__gt=at - RECENT
    )
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
            self_referrals.count(),
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
            returned.count(),
            "Returned payout accounts",
            "A payment came back: nothing is paid there until you have looked",
            build_changelist_url("payouts_payoutmethod", to_check="True"),
        ),
        (
            runs.count(),
            "Failed or partly failed payout runs",
            f"Of the last {RECENT.days} days; what came back is owed again",
            build_changelist_url(
                "payouts_payoutrun", state__exact=PayoutRunState.PARTLY_FAILED.value
            ),
        ),
    ]


def find_self_referrals(account) -> Any:
    """The sales whose customer seems to be the affiliate; an index has all warnings."""
    warned = account.conversions.filter(warnings__isnull=False)
    code = f'"{CUSTOMER_IS_AFFILIATE}"'
    return warned.filter(warnings__icontains=code).values("pk")
