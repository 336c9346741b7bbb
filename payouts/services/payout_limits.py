"""What payout runs do not pay: balances below a minimum, and those that staff withhold.

A withheld balance is paid by no run until somebody lifts that. Who changes one locks
the affiliate, which the confirmation of a run locks, too. Payments by hand and by the
API stay possible.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.actor import get_actor
from accounts.errors import InvalidSetting
from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import BalanceNotWithheld
from payouts.models.commissions import BalanceKey
from payouts.models.runs import PayoutMinimum, WithheldBalance
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.money import (
    MAX_INTEGER_DIGITS,
    get_currency,
    round_amount,
)
from tracking.services.affiliates import get_affiliate


@dataclass(frozen=True)
class Minimums:
    """The minimums of an account by currency, and those of affiliates."""

    of_account: dict[str, Decimal] = field(default_factory=dict)
    of_affiliates: dict[BalanceKey, Decimal] = field(default_factory=dict)

    def find(
        self, balance_key: BalanceKey, *, of_run: Mapping[str, Decimal] | None = None
    ) -> Decimal | None:
        """The affiliate's own minimum, else the run's, else the account's."""
        _, currency = balance_key
        by_currency = self.of_account | dict(of_run or {})
        return self.of_affiliates.get(balance_key, by_currency.get(currency))


def get_minimums(account: Account, affiliate_ids: Collection[int] | None = None) -> Minimums:
    """Return the minimums of the account and of affiliates: of these, else of all."""
    rows = account.payout_minimums.order_by()
    if affiliate_ids is not None:
        rows = rows.filter(Q(affiliate=None) | Q(affiliate__in=affiliate_ids))
    minimums = Minimums()
    for row in rows:
        if row.affiliate_id is None:
            minimums.of_account[row.currency] = row.amount
        else:
            minimums.of_affiliates[row.affiliate_id, row.currency] = row.amount
    return minimums


def annotate_minimum(balances: QuerySet[Any]) -> QuerySet[Any]:
    """Add the `minimum` of the affiliate, else of the account; None without one."""
    names = ("account", "currency")
    same = {name: OuterRef(name) for name in names}
    rows = PayoutMinimum.objects.across_accounts().filter(**same)
    own, of_account = (
        Subquery(rows.filter(affiliate=affiliate).values("amount")[:1])
        for affiliate in (OuterRef("affiliate"), None)
    )
    found: QuerySet[Any] = balances.annotate(minimum=Coalesce(own, of_account))
    return found


def set_minimum(
    account: Account,
    *,
    currency: str,
    amount: Decimal,
    affiliate_id: str | None = None,
    at: datetime,
) -> PayoutMinimum:
    """Set the minimum in a currency: of one affiliate, else of all without their own.

    Raises `UnknownCurrency`, `InvalidSetting` and `AffiliateNotFound`.
    """
    currency = get_currency(currency)
    _validate_minimum(amount, currency)
    with transaction.atomic():
        account.lock_row()
        affiliate = get_affiliate(account, affiliate_id) if affiliate_id else None
        rows = account.payout_minimums.filter(affiliate=affiliate, currency=currency)
        row = rows.first()
        if row is None:
            row = rows.create(
                account=account, affiliate=affiliate, currency=currency, amount=amount
            )
        elif row.amount == amount:
            return row
        else:
            row.update_row(amount=amount)
        _log(account, "payout_minimum.set", affiliate, amount, currency, at)
    return row


def remove_minimum(
    account: Account,
    *,
    currency: str,
    affiliate_id: str | None = None,
    at: datetime,
) -> None:
    """Remove a minimum, if there is one. Raises `AffiliateNotFound`."""
    with transaction.atomic():
        account.lock_row()
        affiliate = get_affiliate(account, affiliate_id) if affiliate_id else None
        rows = account.payout_minimums.filter(affiliate=affiliate, currency=currency)
        for row in rows:
            rows.filter(pk=row.pk).delete()
            kind = "payout_minimum.removed"
            _log(account, kind, affiliate, row.amount, currency, at)


def _validate_minimum(amount: Decimal, currency: str) -> None:
    if (
        amount <= 0
        or amount.adjusted() >= MAX_INTEGER_DIGITS
        or amount != round_amount(amount, currency)
    ):
        rule = f"above 0, with the decimals of {currency}"
        raise InvalidSetting(setting="The minimum", rule=rule, path="amount")


def _log(
    account: Account,
    kind: str,
    affiliate: Affiliate | None,
    amount: Decimal,
    currency: str,
    at: datetime,
) -> None:
    minimum = f"{format_decimal(amount)} {currency}"
    log_event(account, kind, affiliate or account, at=at, minimum=minimum)


def get_withheld_balances(
    account: Account, affiliate_ids: Collection[int] | None = None
) -> dict[BalanceKey, WithheldBalance]:
    """Return what is withheld: of these affiliates, else of all."""
    rows = account.withheld_balances.order_by("affiliate", "currency")
    if affiliate_ids is not None:
        rows = rows.filter(affiliate__in=affiliate_ids)
    return {(row.affiliate_id, row.currency): row for row in rows}


def withhold_balance(
    account: Account, affiliate: Affiliate, *, currency: str, reason: str, at: datetime
) -> None:
    """Withhold the balance of an affiliate that the caller has locked.

    Once more replaces the reason.
    """
    rows = account.withheld_balances.filter(affiliate=affiliate, currency=currency)
    rows.delete()
    account.withheld_balances.create(
        affiliate=affiliate,
        currency=currency,
        reason=reason,
        created_by=get_actor().name,
        created_at=at,
    )
    log_event(account, "affiliate.balance_withheld", affiliate, at=at, currency=currency)


def lift_if_withheld(
    account: Account, affiliate: Affiliate, *, currency: str, at: datetime
) -> bool:
    """Let payout runs pay the balance of an affiliate that the caller has locked.

    Returns whether it was withheld.
    """
    rows = account.withheld_balances.filter(affiliate=affiliate, currency=currency)
    is_withheld = bool(rows.delete()[0])
    if is_withheld:
        kind = "affiliate.balance_lifted"
        log_event(account, kind, affiliate, at=at, currency=currency)
    return is_withheld


def lift_withheld_balance(
    account: Account, *, affiliate_id: str, currency: str, at: datetime
) -> None:
    """Let payout runs pay a balance again, also one of a removed affiliate.

    Drafts leave it out until they are made again. Raises `AffiliateNotFound` and
    `BalanceNotWithheld`.
    """
    with transaction.atomic():
        affiliate = get_or_raise(
            account.affiliates, AffiliateNotFound, slug=affiliate_id, lock=True
        )
        if not lift_if_withheld(account, affiliate, currency=currency, at=at):
            raise BalanceNotWithheld(currency=currency, affiliate=affiliate)
