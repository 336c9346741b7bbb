"""What of the payable balances is due, and what is on hold."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db.models import Case, Max, When
from django.db.models.functions import TruncDate

from accounts.db_compat import BATCH_SIZE
from accounts.models.accounts import Account
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionQuerySet,
    CommissionStatus,
)
from payouts.models.ledger import LedgerAccountType
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO
from tracking.services.programs import MAX_HOLD_DAYS


@dataclass(frozen=True)
class AmountsDue:
    """A payable balance as the sum of `due` and `on_hold`, and what is pending.

    `on_hold` is the sum of the approved, unpaid commissions that are not due yet; at
    `held_until` all of them are. An opening balance is due at once. `due` is negative
    if payments exceeded what was due.
    """

    payable: Decimal = ZERO
    on_hold: Decimal = ZERO
    held_until: datetime | None = None
    pending: Decimal = ZERO
    days: tuple[tuple[date, Decimal], ...] = ()  # when how much of `on_hold` is due

    @property
    def due(self) -> Decimal:
        return self.payable - self.on_hold


def get_amounts_due(
    account: Account, affiliate_ids: Collection[int], *, at: datetime
) -> dict[BalanceKey, AmountsDue]:
    """Return the amounts of the balances of these affiliates."""
    pks = sorted(set(affiliate_ids))
    amounts: dict[BalanceKey, AmountsDue] = {}
    for start in range(0, len(pks), BATCH_SIZE):
        batch = pks[start : start + BATCH_SIZE]
        amounts |= _get_amounts_of_batch(account, batch, at)
    return amounts


def get_own_amounts_due(affiliate: Affiliate, *, at: datetime) -> dict[str, AmountsDue]:
    """Return the amounts of one affiliate by currency, with their `days` in order."""
    account, held = affiliate.account, dict[BalanceKey, AmountsDue]()
    rows = filter_on_hold(account.commissions.filter(affiliate=affiliate), at=at)
    day = TruncDate("due_at", tzinfo=account.zone)
    sums = rows.order_by(day).values_list("currency", day)
    totals = sums.annotate(ExactSum("amount"), Max("due_at"))
    for currency, due_on, total, until in totals:
        key = (affiliate.pk, currency)
        earlier = held.get(key, AmountsDue())
        held[key] = AmountsDue(
            on_hold=earlier.on_hold + total,
            held_until=until,
            days=(*earlier.days, (due_on, total)),
        )
    amounts = _add_balances(account, [affiliate.pk], held)
    return {currency: each for (_, currency), each in sorted(amounts.items())}


def filter_on_hold(rows: CommissionQuerySet, *, at: datetime) -> CommissionQuerySet:
    """The commissions that are approved, unpaid and not due yet.

    They are not older than the longest hold, which spares a list all earlier rows.
    """
    since = at - timedelta(days=MAX_HOLD_DAYS)
    return rows.unpaid().filter(due_at__gt=at, created_at__gte=since)


def sort_for_allocation(unpaid: CommissionQuerySet, *, at: datetime) -> CommissionQuerySet:
    """In the order in which payments pay them: what is due, then what is on hold."""
    held = Case(When(due_at__gt=at, then=1), default=0)
    return unpaid.order_by(held, "created_at", "id")


def is_on_hold(commission: Commission, *, at: datetime) -> bool:
    """Whether a commission that may be paid is not due yet."""
    return (
        commission.due_at is not None
        and commission.due_at > at
        and commission.deleted_at is None
        and commission.payment_id is None
        and commission.status != CommissionStatus.DISAPPROVED
    )


def _get_amounts_of_batch(
    account: Account, affiliate_ids: list[int], at: datetime
) -> dict[BalanceKey, AmountsDue]:
    held = {
        (affiliate_id, currency): AmountsDue(on_hold=total, held_until=until)
        for affiliate_id, currency, total, until in filter_on_hold(
            account.commissions.filter(affiliate__in=affiliate_ids), at=at
        )
        .order_by()
        .values_list("affiliate", "currency")
        .annotate(ExactSum("amount"), Max("due_at"))
    }
    return _add_balances(account, affiliate_ids, held)


def _add_balances(
    account: Account, affiliate_ids: list[int], held: dict[BalanceKey, AmountsDue]
) -> dict[BalanceKey, AmountsDue]:
    """Complete what is on hold by the balances; return the amounts of all balances."""
    kinds = (LedgerAccountType.PAYABLE, LedgerAccountType.PENDING)
    rows = account.ledger_accounts.filter(affiliate__in=affiliate_ids, kind__in=kinds)
    balances: dict[BalanceKey, dict[str, Decimal]] = {}
    for row in rows.order_by("affiliate", "currency"):
        key = (row.affiliate_id or 0, row.currency)
        balances.setdefault(key, {})[row.kind] = row.balance or ZERO
    return {
        key: replace(
            held.get(key, AmountsDue()),
            payable=balance.get(LedgerAccountType.PAYABLE, ZERO),
            pending=balance.get(LedgerAccountType.PENDING, ZERO),
        )
        for key, balance in balances.items()
    }
