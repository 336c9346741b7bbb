"""Statements: how the balance of an affiliate came about in a period, line by line.

All amounts come from the transfers of the affiliate's payable ledger accounts, so that
the opening balance plus all lines is exactly the closing balance. What undone imports
of tables had made stays in the ledger, but affiliates see none of it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from django.db.models import Q, QuerySet, TextChoices, Value
from django.db.models.functions import Concat

from accounts.days import A_DAY, start_of_day
from accounts.db_compat import use_snapshot
from accounts.models.accounts import Account
from payouts.errors import InvalidPeriod
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionKind,
    CommissionStatus,
)
from payouts.models.ledger import (
    AFFILIATE_ACCOUNT_TYPES,
    LedgerAccount,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLineState
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.models.imports import UNDONE_SOURCE_PREFIX
from tracking.money import ZERO

Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


def hide_undone_transfers(account: Account, rows: Rows) -> Rows:
    """Leave out the transfers of undone imports, and what took them back."""
    balances = _list_ids(account, "opening_balance")
    return (
        rows.exclude(commission__in=_list_commissions(account))
        .exclude(payment__in=_list_ids(account, "payment"))
        .exclude(pk__in=balances)
        .exclude(reversal_of__in=balances)
    )


def hide_undone_commissions(account: Account, rows: Rows) -> Rows:
    """Leave out the commissions of undone imports."""
    return rows.exclude(pk__in=_list_commissions(account))


def hide_undone_payments(account: Account, rows: Rows) -> Rows:
    """Leave out the payments of undone imports."""
    return rows.exclude(pk__in=_list_ids(account, "payment"))


def _list_ids(account: Account, kind: str) -> Any:
    undone = account.table_imports.exclude(undone_at=None)
    source = Concat(Value(UNDONE_SOURCE_PREFIX), "public_id")
    sources = undone.annotate(undone=source).values("undone")
    objects = account.imported_objects.filter(source__in=sources, kind=kind)
    return objects.values("local_id")


def _list_commissions(account: Account) -> Any:
    """Without those whose sale was restored since."""
    pks = _list_ids(account, "commission")
    return account.commissions.filter(pk__in=pks, deleted_at__isnull=False).values("pk")


FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2999, 12, 31)


class MovementKind(TextChoices):
    """What changed a balance."""

    COMMISSION = "commission", "Commission"
    LEVEL = "level", "Commission from a recruited affiliate"
    BONUS = "bonus", "Bonus"
    CORRECTION = "correction", "Correction"
    REFUND = "refund", "Refund"
    DISAPPROVED = "disapproved", "Commission disapproved"
    REOPENED = "reopened", "Commission pending again"
    REMOVED = "removed", "Sale removed"
    PAYMENT = "payment", "Payment"
    PAYMENT_CANCELED = "payment_canceled", "Payment canceled"
    TAX_WITHHELD = "tax_withheld", "Withholding tax"
    TAX_RETURNED = "tax_returned", "Withholding tax taken back"
    OPENING_BALANCE = "opening_balance", "Opening balance"
    OPENING_REVERSED = "opening_reversed", "Opening balance taken back"


APPROVALS: dict[str, MovementKind] = {
    CommissionKind.REGULAR: MovementKind.COMMISSION,
    CommissionKind.LEVEL: MovementKind.LEVEL,
    CommissionKind.BONUS: MovementKind.BONUS,
}
# Of transfers without a commission, by type and whether they are reversals.
OTHER_KINDS: dict[tuple[str, bool], MovementKind] = {
    (TransferType.PAID, False): MovementKind.PAYMENT,
    (TransferType.PAYMENT_CANCELED, True): MovementKind.PAYMENT_CANCELED,
    (TransferType.TAX_WITHHELD, False): MovementKind.TAX_WITHHELD,
    (TransferType.TAX_RETURNED, True): MovementKind.TAX_RETURNED,
    (TransferType.OPENING_BALANCE, False): MovementKind.OPENING_BALANCE,
    (TransferType.OPENING_BALANCE, True): MovementKind.OPENING_REVERSED,
}


class Interval(NamedTuple):
    """The moments of a period: `since` is in it, `before` is not."""

    since: datetime
    before: datetime

    @property
    def as_filter(self) -> Q:
        return Q(created_at__gte=self.since, created_at__lt=self.before)


def get_interval(account: Account, start: date, end: date) -> Interval:
    """Return the moments of these days of the account; raise `InvalidPeriod`."""
    if not FIRST_DAY <= start <= end <= LAST_DAY:
        raise InvalidPeriod
    zone = account.zone
    return Interval(start_of_day(start, zone), start_of_day(end + A_DAY, zone))


@dataclass(frozen=True)
class StatementLine:
    """A change of the balance: negative amounts lower it.

    `bank_reason` is why the bank refused or returned a payment that was canceled.
    """

    at: datetime
    kind: MovementKind
    amount: Decimal
    commission: Commission | None = None
    payment: Payment | None = None
    bank_reason: str = ""

    @property
    def order_id(self) -> str:
        """The shop's ID of the sale; empty without one."""
        conversion = self.commission and self.commission.conversion
        return (conversion and conversion.external_id) or ""

    @property
    def payment_id(self) -> str:
        """The ID of the payment; empty without one."""
        return self.payment.public_id if self.payment else ""


@dataclass
class CurrencyStatement:
    """The balance in one currency; `pending` is what waited for approval at the end,
    and no part of it."""

    currency: str
    opening: Decimal
    pending: Decimal
    lines: list[StatementLine] = field(default_factory=list)

    @property
    def closing(self) -> Decimal:
        return sum((line.amount for line in self.lines), self.opening)


@dataclass(frozen=True)
class Statement:
    """The balances of an affiliate from `start` to `end`, days of the account."""

    affiliate: Affiliate
    start: date
    end: date
    currencies: list[CurrencyStatement]


def get_statement(account: Account, affiliate: Affiliate, *, start: date, end: date) -> Statement:
    """Return the statement of these days, both included; raise `InvalidPeriod`.

    Currencies in which nothing was and nothing happened are left out.
    """
    interval = get_interval(account, start, end)
    with use_snapshot():
        currencies = _list_currencies(account, affiliate, interval)
    return Statement(affiliate, start, end, currencies)


@dataclass
class StatementTotals:
    """The sums of a statement in one currency; refunds lower `earned`.

    An opening balance (`OPENING_BALANCE`) of the period is part of `opening`.
    """

    opening: Decimal = ZERO
    earned: Decimal = ZERO
    paid: Decimal = ZERO

    @property
    def closing(self) -> Decimal:
        return self.opening + self.earned - self.paid


def sum_statements(
    account: Account, affiliates: Collection[int], *, start: date, end: date
) -> dict[BalanceKey, StatementTotals]:
    """Return the sums of these affiliates' statements, by affiliate and currency.

    Raises `InvalidPeriod`. The caller limits the number of affiliates.
    """
    interval = get_interval(account, start, end)
    rows = account.ledger_accounts.filter(affiliate__in=affiliates, kind=LedgerAccountType.PAYABLE)
    totals = {row.pk: StatementTotals() for row in rows}
    transfers = hide_undone_transfers(account, account.transfers.order_by())
    for side, sign in (("debit", -1), ("credit", 1)):
        changes = transfers.filter(**{f"{side}__in": totals}).values_list(side)
        earlier = changes.filter(created_at__lt=interval.since)
        within = changes.filter(interval.as_filter)
        moved_in = within.filter(commission=None, payment=None)
        for rows_before in (earlier, moved_in):
            for pk, amount in rows_before.annotate(ExactSum("amount")):
                totals[pk].opening += sign * amount
        earned = within.exclude(commission=None)
        for pk, amount in earned.annotate(ExactSum("amount")):
            totals[pk].earned += sign * amount
        for pk, amount in within.exclude(payment=None).annotate(ExactSum("amount")):
            totals[pk].paid -= sign * amount
    return {
        (row.affiliate_id, row.currency): totals[row.pk]
        for row in rows
        if row.affiliate_id is not None
    }


def sum_changes(rows: QuerySet[Transfer]) -> dict[int, Decimal]:
    """Sum what transfers change by ledger account: credits minus debits."""
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for side, sign in (("debit", -1), ("credit", 1)):
        totals = rows.order_by().values_list(side).annotate(ExactSum("amount"))
        for pk, total in totals:
            sums[pk] += sign * total
    return sums


def _list_currencies(
    account: Account, affiliate: Affiliate, interval: Interval
) -> list[CurrencyStatement]:
    rows = account.ledger_accounts.filter(affiliate=affiliate, kind__in=AFFILIATE_ACCOUNT_TYPES)
    ledger_accounts = {row.pk: row for row in rows}
    transfers = hide_undone_transfers(
        account,
        account.transfers.filter(Q(debit__in=ledger_accounts) | Q(credit__in=ledger_accounts)),
    )
    opening = sum_changes(transfers.filter(created_at__lt=interval.since))
    statements: dict[str, CurrencyStatement] = {}
    for pk, row in ledger_accounts.items():
        empty = CurrencyStatement(row.currency, ZERO, ZERO)
        statement = statements.setdefault(row.currency, empty)
        if row.kind == LedgerAccountType.PAYABLE:
            statement.opening = opening[pk]
        else:
            statement.pending = opening[pk]
    within = transfers.filter(interval.as_filter)
    approved = _sum_approved_before(account, within, interval)
    refunds = account.refunds.filter(
        interval.as_filter, conversion__in=within.values("commission__conversion")
    )
    returned = account.payout_lines.filter(affiliate=affiliate, state=PayoutLineState.RETURNED)
    reasons = dict(returned.values_list("payment", "bank_reason"))
    refunded = set(refunds.values_list("conversion", "created_at"))
    for group in _group_by_cause(within):
        first, changes = group[0], _sum_by_type(group, ledger_accounts)
        pending, amount = (changes[kind] for kind in AFFILIATE_ACCOUNT_TYPES)
        statement = statements[first.currency]
        statement.pending += pending
        if not amount:
            continue
        commission, payment, reason = first.commission, first.payment, ""
        if commission is None:
            kind = OTHER_KINDS[first.kind, first.reversal_of_id is not None]
            if kind == MovementKind.PAYMENT_CANCELED:
                reason = reasons.get(first.payment_id or 0, "")
        else:
            kind = _get_kind(
                commission,
                before=approved[commission.pk],
                amount=amount,
                is_pending=pending > 0,
                is_refunded=(commission.conversion_id, first.created_at) in refunded,
                at=first.created_at,
            )
            approved[commission.pk] += amount
        statement.lines.append(
            StatementLine(first.created_at, kind, amount, commission, payment, reason)
        )
    return [
        statement
        for _, statement in sorted(statements.items())
        if statement.opening or statement.pending or statement.lines
    ]


def _sum_approved_before(
    account: Account, within: QuerySet[Transfer], interval: Interval
) -> dict[int, Decimal]:
    """Sum what was payable before the period of the commissions that change in it."""
    sums: dict[int, Decimal] = defaultdict(Decimal)
    rows = account.transfers.filter(
        commission__in=within.exclude(commission=None).values("commission"),
        created_at__lt=interval.since,
    ).order_by()
    for kind, sign in ((TransferType.APPROVED, 1), (TransferType.REOPENED, -1)):
        totals = rows.filter(kind=kind).values_list("commission")
        for pk, total in totals.annotate(ExactSum("amount")):
            sums[pk] += sign * total
    return sums


def _group_by_cause(rows: QuerySet[Transfer]) -> Iterable[list[Transfer]]:
    """Group the transfers of one change of a commission, oldest first.

    A correction takes the old amount out of the balance and puts the new one in. Other
    changes are one transfer each.
    """
    groups: dict[object, list[Transfer]] = defaultdict(list)
    related = rows.select_related("commission__conversion", "payment")
    for row in related.order_by("created_at", "id"):
        is_alone = row.commission_id is None
        groups[row.pk if is_alone else (row.created_at, row.commission_id)].append(row)
    return groups.values()


def _sum_by_type(
    group: Iterable[Transfer], ledger_accounts: Mapping[int, LedgerAccount]
) -> dict[str, Decimal]:
    """Sum what transfers change of these ledger accounts, by their type."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in group:
        for pk, sign in ((row.debit_id, -1), (row.credit_id, 1)):
            if pk in ledger_accounts:
                sums[ledger_accounts[pk].kind] += sign * row.amount
    return sums


def _get_kind(
    commission: Commission,
    *,
    before: Decimal,
    amount: Decimal,
    is_pending: bool,
    is_refunded: bool,
    at: datetime,
) -> MovementKind:
    """Return why the payable amount of a commission changed from `before`."""
    if amount > 0:
        return MovementKind.CORRECTION if before else APPROVALS[commission.kind]
    if is_refunded:
        return MovementKind.REFUND
    if is_pending:
        return MovementKind.REOPENED
    if commission.deleted_at == at:
        return MovementKind.REMOVED
    is_zero = commission.status == CommissionStatus.APPROVED and not commission.amount
    if before + amount or is_zero:
        return MovementKind.CORRECTION
    return MovementKind.DISAPPROVED
