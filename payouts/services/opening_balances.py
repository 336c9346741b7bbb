"""Opening balances: what affiliates were owed, or owed, on the day they moved in.

The sales behind them stay at the other system. A payment pays an opening balance before
commissions; what an affiliate owes is deducted from its first commissions.
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Value

from accounts.db_compat import split_into_batches
from accounts.errors import InvalidSetting
from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import DuplicateOpeningBalance, OpeningBalanceNotFound
from payouts.models.commissions import BalanceKey
from payouts.models.ledger import Transfer, TransferType
from payouts.models.payments import Payment
from payouts.services.closed_months import ensure_month_open
from payouts.services.imported_people import Body, read_amount
from payouts.services.ledger import LedgerSession, open_ledger_session
from tracking.amounts import ExactSum
from tracking.errors import AffiliateNotFound, AmountTooLarge, UnknownCurrency
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO, get_currency, round_and_check_amount
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.imports import ImportMap, ImportProblem, read_text

# Of `_list_by_side`: the column of the affiliate's balance, and the sign.
SIDES = (("credit", "debit"), (1, -1))


def post_opening_balance(
    account: Account,
    *,
    affiliate_id: str,
    currency: str,
    amount: Decimal,
    at: datetime,
) -> Transfer:
    """Post what an affiliate is owed, or owes (negative); return the transfer.

    Affiliates may be deleted. Raises `AffiliateNotFound`, `UnknownCurrency`,
    `InvalidSetting`, `BalanceTooLarge`, `DayInClosedMonth` and `DuplicateOpeningBalance`.
    """
    currency = get_currency(currency)
    _validate(amount, currency)
    affiliate = _get_affiliate(account, affiliate_id)
    key = (affiliate.pk, currency)
    with transaction.atomic():
        ensure_month_open(account, at)
        with open_ledger_session(account, [key], at=at) as ledger:
            ledger.lock_balances()
            for known in _list_own(affiliate, currency):
                raise DuplicateOpeningBalance(
                    affiliate=affiliate.slug,
                    amount=format_decimal(get_signed_amount(known)),
                    currency=currency,
                )
            ledger.post_opening_balance(key, amount)
            _log("opening_balance.posted", affiliate, currency, amount, at)
        [transfer] = _list_own(affiliate, currency)
    return transfer


def reverse_opening_balance(
    account: Account,
    *,
    affiliate_id: str,
    currency: str,
    at: datetime,
    transfer: Transfer | None = None,
) -> Transfer:
    """Take back an opening balance; return the reversal. Another can be posted then.

    With a `transfer`, only that one is taken back. Raises `AffiliateNotFound`,
    `UnknownCurrency`, `BalanceTooLarge` and `OpeningBalanceNotFound`.
    """
    currency = get_currency(currency)
    affiliate = _get_affiliate(account, affiliate_id)
    key = (affiliate.pk, currency)
    with transaction.atomic():
        with open_ledger_session(account, [key], at=at) as ledger:
            ledger.lock_balances()
            found = _list_own(affiliate, currency)
            if not found or transfer not in (None, *found):
                raise OpeningBalanceNotFound(affiliate=affiliate.slug, currency=currency)
            [known] = found
            amount = get_signed_amount(known)
            ledger.post_opening_balance(key, -amount, reversal_of=known)
            _log("opening_balance.reversed", affiliate, currency, amount, at)
        return account.transfers.get(reversal_of=known)


def import_opening_balance(imports: ImportMap, body: Body, ledger: LedgerSession) -> None:
    """Post the opening balance of a row: `affiliate_id` (ours), `currency`, `amount`
    and `date`, by default the time of the import.

    Before the session is written, the caller locks its balances and calls
    `ensure_none_stands`. Raises `ImportProblem`.
    """
    amount, at = read_amount(body, "amount"), imports.read_entry_time(body, "date")
    try:
        currency = get_currency(read_text(body, "currency"))
        _validate(amount, currency)
        affiliate = _get_affiliate(imports.account, read_text(body, "affiliate_id"))
    except AffiliateNotFound:
        path, code = "affiliate_id", "unknown_affiliate"
    except UnknownCurrency:
        path, code = "currency", "unknown_currency"
    except InvalidSetting:
        path, code = "amount", "invalid_amount" if amount else "zero_amount"
    else:
        key = (affiliate.pk, currency)
        if key not in ledger.balance_keys and not _list_own(affiliate, currency):
            ledger.add_balance_key(key, at=at)
            ledger.post_opening_balance(key, amount)
            _log("opening_balance.posted", affiliate, currency, amount, imports.at)
            return
        path, code = "affiliate_id", "duplicate_opening_balance"
    raise ImportProblem(code, path, body.get(path))


def ensure_none_stands(account: Account, keys: Collection[BalanceKey]) -> None:
    """Raise `ConcurrentUpdate` if one of these locked balances has an opening balance.

    Somebody else has posted it after the caller looked.
    """
    sums = sum_opening_balances(account, {affiliate_id for affiliate_id, _ in keys})
    if any(sums.get(key) for key in keys):
        raise ConcurrentUpdate


def list_opening_balances(affiliate: Affiliate) -> list[Transfer]:
    """List the opening balances of an affiliate that are not taken back."""
    owed, owing = (
        rows.select_related("credit") for rows in _list_by_side(affiliate.account, [affiliate.pk])
    )
    found = list(owed.union(owing, all=True).order_by("currency", "id"))
    taken_back = {row.reversal_of_id for row in found}
    return [row for row in found if row.reversal_of_id is None and row.pk not in taken_back]


def is_standing(transfer: Transfer) -> bool:
    """Return whether a transfer is an opening balance that is not taken back."""
    return (
        transfer.kind == TransferType.OPENING_BALANCE
        and transfer.reversal_of_id is None
        and not transfer.account.transfers.filter(reversal_of=transfer).exists()
    )


def sum_opening_balances(
    account: Account, affiliate_ids: Collection[int]
) -> dict[BalanceKey, Decimal]:
    """Return the opening balances of affiliates, negative ones are owed by them."""
    sums: dict[BalanceKey, Decimal] = defaultdict(Decimal)
    for batch in split_into_batches(sorted(set(affiliate_ids))):
        owed, owing = select_opening_sums(account, batch)
        for affiliate_id, currency, sign, amount in owed.union(owing, all=True):
            sums[affiliate_id, currency] += sign * amount
    return sums


def select_opening_sums(
    account: Account, affiliate_ids: Collection[int]
) -> list[QuerySet[Any, Any]]:
    """Select affiliate, currency, sign and sum of what is owed to them, and by them."""
    owed, owing = _list_by_side(account, affiliate_ids)
    return [
        rows.values_list(f"{side}__affiliate", "currency", Value(sign))
        .annotate(ExactSum("amount"))
        .order_by()
        for rows, side, sign in zip((owed, owing), *SIDES, strict=True)
    ]


def find_paid_opening_balances(
    account: Account, payments: Collection[Payment]
) -> dict[int, Decimal]:
    """Return what payments pay of an opening balance, by their primary keys.

    Negative: what the affiliate owed, which is deducted from its first payment. A
    payment pays of one that was posted before it. Payments that pay nothing of one are
    left out.
    """
    postings = _list_postings(account, {row.affiliate_id for row in payments})
    earlier: dict[BalanceKey, Decimal] = defaultdict(Decimal)
    wanted, found = {row.pk for row in payments}, {}
    affiliate_ids = sorted({affiliate_id for affiliate_id, _ in postings})
    paid = account.transfers.filter(kind=TransferType.PAID, payment=OuterRef("pk"))
    transfer_pk = Subquery(paid.values("pk"))
    for batch in split_into_batches(affiliate_ids):
        rows = account.payments.not_canceled().filter(affiliate__in=batch)
        columns = ("pk", "amount", "affiliate_id", "currency", transfer_pk)
        for pk, amount, *names, transfer in rows.order_by("pk").values_list(*columns):
            key = tuple(names)
            own = postings.get(key, {})
            then = sum((own[it] for it in own if it < transfer), ZERO)
            part = _calculate_part(
                amount, then=then, now=sum(own.values(), ZERO), earlier=earlier[key]
            )
            if part and pk in wanted:
                found[pk] = part
            earlier[key] += part
    return found


def _calculate_part(amount: Decimal, *, then: Decimal, now: Decimal, earlier: Decimal) -> Decimal:
    """Return what a payment pays of the opening balance that there was `then`.

    Of one that was corrected since, not more than there is `now`; `earlier` is what the
    payments before it pay.
    """
    if now < ZERO:
        return min(max(then, now) - earlier, ZERO)
    return max(min(amount, min(then, now) - earlier), ZERO)


def _list_postings(
    account: Account, affiliate_ids: Collection[int]
) -> dict[BalanceKey, dict[int, Decimal]]:
    """Return the opening balances and reversals of affiliates, by primary key."""
    found: dict[BalanceKey, dict[int, Decimal]] = defaultdict(dict)
    for batch in split_into_batches(sorted(set(affiliate_ids))):
        by_side = _list_by_side(account, batch)
        owed, owing = (
            rows.values_list(
                *(f"{side}__affiliate", "currency", "pk", Value(sign), "amount")
            ).order_by()
            for rows, side, sign in zip(by_side, *SIDES, strict=True)
        )
        for affiliate_id, currency, pk, sign, amount in owed.union(owing, all=True):
            found[affiliate_id, currency][pk] = sign * amount
    return found


def get_signed_amount(transfer: Transfer) -> Decimal:
    """Return what an opening balance adds to what the affiliate is owed."""
    return transfer.amount if transfer.credit.affiliate_id else -transfer.amount


def _list_by_side(
    account: Account, affiliate_ids: Collection[int]
) -> tuple[QuerySet[Transfer], QuerySet[Transfer]]:
    """Return the opening balances and reversals that credit affiliates, and debit them.

    By the partial index of each side: SQLite would read more if it joined them, or
    looked for both sides at once.
    """
    own = account.ledger_accounts.filter(affiliate__in=affiliate_ids).values("pk")
    rows = account.transfers.filter(
        kind=TransferType.OPENING_BALANCE, commission=None, payment=None
    )
    return rows.filter(credit__in=own), rows.filter(debit__in=own)


def _list_own(affiliate: Affiliate, currency: str) -> list[Transfer]:
    """List the one that is not taken back, if there is one."""
    return [it for it in list_opening_balances(affiliate) if it.currency == currency]


def _get_affiliate(account: Account, slug: str) -> Affiliate:
    return get_or_raise(account.affiliates.all(), AffiliateNotFound, slug=slug)


def _validate(amount: Decimal, currency: str) -> None:
    rule = f"other than 0, with no more decimals than {currency} has"
    try:
        is_valid = amount and round_and_check_amount(abs(amount), currency) == abs(amount)
    except AmountTooLarge:
        rule, is_valid = "shorter", False
    if not is_valid:
        raise InvalidSetting(setting="The opening balance", rule=rule, path="amount")


def _log(kind: str, affiliate: Affiliate, currency: str, amount: Decimal, at: datetime) -> None:
    text = f"{format_decimal(amount)} {currency}"
    log_event(affiliate.account, kind, affiliate, at=at, amount=text)
