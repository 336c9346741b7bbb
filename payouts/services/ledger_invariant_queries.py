"""What the ledger invariants read: queries that are compiled once for all accounts.

See `payouts/services/ledger_invariants.py`. Sums are rows of the grouping columns and
the sum; the other queries find the rows that violate an invariant.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Count, Exists, F, Max, Min, Model, OuterRef, Q, QuerySet

from accounts.compiled_queries import CompiledQuery, compiled
from accounts.models.accounts import Account, TenantModel
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
    PaymentAllocation,
)
from payouts.models.ledger import (
    TRANSFER_SIDES,
    VALID_TRANSFERS,
    LedgerAccount,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.models.payments import Payment
from tracking.amounts import ExactSum
from tracking.money import ZERO

SIDES_BY_TRANSFER_TYPE: dict[str, tuple[str, ...]] = {
    str(kind): sides for kind, sides in TRANSFER_SIDES.items()
}
TENANT_APPS = ("accounts", "tracking", "payouts")
READ_BATCH_SIZE = 2000  # rows read at once, which bounds the memory


@compiled
def all_ledger_accounts(account: Account) -> QuerySet[LedgerAccount]:
    """All ledger accounts, with their affiliates."""
    return LedgerAccount.objects.of(account).select_related("affiliate")


@compiled
def sums_by_debit(account: Account) -> QuerySet[Any, Any]:
    """Transfers by debited ledger account."""
    rows = Transfer.objects.of(account).values_list("debit")
    return rows.annotate(ExactSum("amount"))


@compiled
def sums_by_credit(account: Account) -> QuerySet[Any, Any]:
    """Transfers by credited ledger account."""
    rows = Transfer.objects.of(account).values_list("credit")
    return rows.annotate(ExactSum("amount"))


@compiled
def top_ups_by_currency(account: Account) -> QuerySet[Any, Any]:
    """Additions to the payout balance, by currency."""
    rows = Transfer.objects.of(account).filter(kind=TransferType.FUNDED)
    return rows.values_list("currency").annotate(ExactSum("amount"))


@compiled
def opening_balances_by_debit(account: Account) -> QuerySet[Any, Any]:
    """Opening balances that affiliates owe, by affiliate and currency."""
    rows = Transfer.objects.of(account).filter(
        kind=TransferType.OPENING_BALANCE, debit__affiliate__isnull=False
    )
    groups = rows.values_list("debit__affiliate", "currency")
    return groups.annotate(ExactSum("amount"))


@compiled
def opening_balances_by_credit(account: Account) -> QuerySet[Any, Any]:
    """Opening balances that affiliates are owed, by affiliate and currency."""
    rows = Transfer.objects.of(account).filter(
        kind=TransferType.OPENING_BALANCE, credit__affiliate__isnull=False
    )
    groups = rows.values_list("credit__affiliate", "currency")
    return groups.annotate(ExactSum("amount"))


@compiled
def opening_balances(account: Account) -> QuerySet[Transfer]:
    """Opening balances and their reversals, oldest first."""
    rows = Transfer.objects.of(account).filter(kind=TransferType.OPENING_BALANCE)
    return rows.select_related("debit", "credit").order_by("id")


@compiled
def payments_by_source(account: Account) -> QuerySet[Any, Any]:
    """Payments that are not canceled, by payout source and currency."""
    rows = Transfer.objects.of(account).filter(
        kind=TransferType.PAID, payment__isnull=False, payment__canceled_at=None
    )
    return rows.values_list("credit__kind", "currency").annotate(ExactSum("amount"))


@compiled
def taxes_withheld_by_currency(account: Account) -> QuerySet[Any, Any]:
    """The tax that is withheld of payments that are not canceled, by currency."""
    rows = Payment.objects.of(account).not_canceled().exclude(tax_withheld=None)
    return rows.values_list("currency").annotate(ExactSum("tax_withheld"))


@compiled
def payments_by_affiliate(account: Account) -> QuerySet[Any, Any]:
    """Payments that are not canceled, by affiliate and currency."""
    rows = Payment.objects.of(account).not_canceled()
    return rows.values_list("affiliate", "currency").annotate(ExactSum("amount"))


@compiled
def commissions_by_status(account: Account) -> QuerySet[Any, Any]:
    """Commissions by status, affiliate and currency."""
    rows = Commission.objects.of(account).not_deleted()
    groups = rows.values_list("status", "affiliate", "currency")
    return groups.annotate(ExactSum("amount"))


@compiled
def transfers_by_commission(account: Account, commissions: list[int]) -> QuerySet[Any, Any]:
    """Transfers of some commissions, by type and the affiliates of both sides.

    After the sum: their count, and the first and last of their sequence numbers.
    """
    rows = Transfer.objects.of(account).filter(commission__pk__in=commissions)
    groups = rows.values_list("commission", "kind", "debit__affiliate", "credit__affiliate")
    return groups.annotate(
        ExactSum("amount"),
        Count("id"),
        Min("sequence_number"),
        Max("sequence_number"),
    )


@compiled
def commissions_of_invalid_sales(account: Account) -> QuerySet[Commission]:
    """E6: commissions whose conversion is deleted or has another currency."""
    rows = Commission.objects.of(account).not_deleted()
    valid = Q(conversion__deleted_at=None, conversion__currency=F("currency"))
    rows = rows.filter(conversion__isnull=False).exclude(valid)
    return rows.select_related("conversion")


@compiled
def invalid_transfers(account: Account) -> QuerySet[Transfer]:
    """E9: transfers that are not positive, or with sides that are not valid."""
    has_valid_sides = Q(pk=None)
    for kind, debit, credit in sorted(VALID_TRANSFERS):
        has_valid_sides |= Q(kind=kind, debit__kind=debit, credit__kind=credit)
    valid = has_valid_sides & Q(
        amount__gt=ZERO,
        debit__account=F("account"),
        credit__account=F("account"),
        debit__currency=F("currency"),
        credit__currency=F("currency"),
    )
    rows = Transfer.objects.of(account)
    return rows.exclude(pk__in=rows.filter(valid).values("pk"))


@compiled
def invalid_paid_commissions(account: Account) -> QuerySet[Commission]:
    """E12: paid commissions that do not fit their payment or its allocations."""
    paid = Commission.objects.of(account).filter(payment__isnull=False)
    valid = Q(
        status=CommissionStatus.APPROVED,
        deleted_at=None,
        affiliate=F("payment__affiliate"),
        currency=F("payment__currency"),
        payment__canceled_at=None,
    )
    allocations = PaymentAllocation.objects.of(account).filter(
        commission=OuterRef("pk"), payment=OuterRef("payment")
    )
    valid_ids = paid.filter(valid, Exists(allocations)).values("pk")
    return paid.exclude(pk__in=valid_ids).select_related("payment")


@compiled
def commissions_of_other_affiliates(account: Account) -> QuerySet[Any, Any]:
    """E14: id, affiliate, and affiliate and id of the conversion, where they differ."""
    rows = Commission.objects.of(account).not_deleted()
    rows = rows.filter(kind=CommissionKind.REGULAR)
    rows = rows.exclude(affiliate=F("conversion__affiliate"))
    return rows.values_list("pk", "affiliate", "conversion__affiliate", "conversion")


@cache
def rows_of_other_accounts(model: type[Model]) -> CompiledQuery[Any]:
    """E11: rows of a model that reference rows of another account.

    The query has their ids, and the account of each of `list_tenant_foreign_keys`.
    """
    keys = list_tenant_foreign_keys(model)

    def select_rows(account: Account) -> QuerySet[Any, Any]:
        is_foreign = Q(pk=None)
        for key in keys:
            is_own = Q(**{f"{key}__account": account})
            is_foreign |= Q(**{f"{key}__isnull": False}) & ~is_own
        rows = model._base_manager.filter(is_foreign, account=account)
        return rows.values_list("pk", *(f"{key}__account" for key in keys))

    return CompiledQuery(select_rows)


@cache
def list_tenant_foreign_keys(model: type[Model]) -> tuple[str, ...]:
    """List the foreign keys of a model to rows that belong to an account."""
    return tuple(
        column.name
        for column in model._meta.fields
        if isinstance(column.related_model, type) and issubclass(column.related_model, TenantModel)
    )


@dataclass
class CommissionTotals:
    """The balances that the transfers of one commission add up to."""

    pending: Decimal = ZERO
    payable: Decimal = ZERO
    transfer_count: int = 0
    first_sequence_number: int = 1
    last_sequence_number: int = 0
    affiliate_ids: set[int] = field(default_factory=set)

    @property
    def has_complete_sequence(self) -> bool:
        """Whether the sequence numbers are 1 to n; a constraint keeps them distinct."""
        return self.first_sequence_number == 1 and self.last_sequence_number == self.transfer_count

    def add(self, kind: str, amount: Decimal, count: int, first: int, last: int) -> None:
        """Add the sum of the transfers of one type; E9 reports an unknown type."""
        debit, credit = SIDES_BY_TRANSFER_TYPE.get(kind, ("", ""))
        for side, change in ((debit, -amount), (credit, amount)):
            if side == LedgerAccountType.PENDING:
                self.pending += change
            elif side == LedgerAccountType.PAYABLE:
                self.payable += change
        self.first_sequence_number = (
            min(self.first_sequence_number, first) if self.transfer_count else first
        )
        self.last_sequence_number = max(self.last_sequence_number, last)
        self.transfer_count += count


def read_in_batches(
    rows: models.QuerySet[Any],
    *,
    columns: Sequence[str] = (),
    deferred: Sequence[str] = (),
) -> Iterator[list[Any]]:
    """Yield lists of at most `READ_BATCH_SIZE` of an account's rows, in order of ids.

    The rows are instances, without columns that are `deferred`, or dicts of `columns`.
    All ids are read first, and then the rows by id alone: otherwise SQLite would read
    the whole account for each list.
    """
    pks = rows.order_by("pk").values_list("pk", flat=True)
    ids = array("q", pks.iterator(READ_BATCH_SIZE))
    by_id: Any = rows.model._base_manager.order_by("pk").defer(*deferred)
    if columns:
        by_id = by_id.values(*columns)
    for start in range(0, len(ids), READ_BATCH_SIZE):
        batch = ids[start : start + READ_BATCH_SIZE].tolist()
        yield list(by_id.filter(pk__in=batch))


def list_tenant_models() -> list[type[models.Model]]:
    """List the models whose rows belong to an account."""
    return [
        model
        for app in TENANT_APPS
        for model in apps.get_app_config(app).get_models()
        if issubclass(model, TenantModel)
    ]
