"""The ledger: the only writer of transfers and balances.

`open_ledger_session` gives access to the balances of some balance keys (affiliate and
currency). Reading a balance creates missing ledger accounts and locks the rows of all
balances in the order of their ids. At the end of the block, the session inserts the
transfers and changes the balances, in the same order. Operations open the session as
late as they can (docs/architecture.md, section 3).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import IntegrityError, connection
from django.db.models import Max, Q, QuerySet

from accounts.actor import get_actor
from accounts.compiled_queries import compiled
from accounts.compiled_writes import update_each
from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from payouts.errors import BalanceTooLarge
from payouts.models.commissions import BalanceKey, Commission, CommissionStatus
from payouts.models.ledger import (
    AFFILIATE_ACCOUNT_TYPES,
    MAX_BALANCE,
    PAYMENT_REVERSALS,
    STORED_BALANCE_TYPES,
    TRANSFER_SIDES,
    LedgerAccount,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.models.payments import Payment
from tracking.amounts import ExactSum
from tracking.money import ZERO

# Relative, so that a session which only adds need not read and lock the row before.
BALANCE_FIELD = LedgerAccount._meta.get_field("balance")
ADD_TO_BALANCE_SQL = (
    f'UPDATE "{LedgerAccount._meta.db_table}" SET "balance" = "balance" + %s'  # noqa: S608
    ' WHERE "account_id" = %s AND "id" = %s'
)
BALANCE_CONSTRAINT = "ledger_account_balance_in_range"
MAX_SINGLE_CHANGES = 8  # of balances: more are one statement

# The transfers of a commission's amount when its status changes. The amount of a
# disapproved commission is in no balance, as before its creation.
STATUS_TRANSITIONS: dict[tuple[str, str], tuple[TransferType, ...]] = {
    (CommissionStatus.DISAPPROVED, CommissionStatus.PENDING): (TransferType.EARNED,),
    (CommissionStatus.DISAPPROVED, CommissionStatus.APPROVED): (
        TransferType.EARNED,
        TransferType.APPROVED,
    ),
    (CommissionStatus.PENDING, CommissionStatus.APPROVED): (TransferType.APPROVED,),
    (CommissionStatus.PENDING, CommissionStatus.DISAPPROVED): (TransferType.WITHDRAWN,),
    (CommissionStatus.APPROVED, CommissionStatus.PENDING): (TransferType.REOPENED,),
    (CommissionStatus.APPROVED, CommissionStatus.DISAPPROVED): (
        TransferType.REOPENED,
        TransferType.WITHDRAWN,
    ),
}


@compiled
def ledger_accounts_in(
    account: Account, affiliates: list[int], currencies: list[str]
) -> QuerySet[LedgerAccount]:
    """Return the ledger accounts of affiliates and of the account, in currencies."""
    rows = LedgerAccount.objects.of(account).filter(currency__in=currencies)
    return rows.filter(Q(affiliate__pk__in=affiliates) | Q(affiliate=None))


@compiled
def locked_ledger_accounts(account: Account, pks: list[int]) -> QuerySet[LedgerAccount]:
    """Return ledger accounts in the order of their ids, locked until the commit."""
    rows = LedgerAccount.objects.of(account).select_for_update(no_key=True)
    return rows.filter(pk__in=pks).order_by("id")


class LedgerAccountKey(NamedTuple):
    """Identifies a ledger account.

    Without `affiliate_id` it belongs to the whole account.
    """

    currency: str
    kind: str
    affiliate_id: int | None = None


class CommissionValue(NamedTuple):
    """Status and amount of a commission: the status says in which balance it is."""

    status: str
    amount: Decimal


class CommissionChange(NamedTuple):
    """A commission before and after a session; None: not created yet, or deleted."""

    commission: Commission
    before: CommissionValue | None
    after: CommissionValue | None


class LedgerSession:
    """Collects postings, and locks ledger accounts before it reads a balance."""

    def __init__(
        self,
        account: Account,
        balance_keys: Iterable[BalanceKey],
        funding_currencies: Iterable[str],
        at: datetime,
    ) -> None:
        self.account = account
        self.balance_keys = sorted(set(balance_keys))
        self.funding_currencies = set(funding_currencies)
        if account.uses_payouts:
            self.funding_currencies |= {currency for _, currency in self.balance_keys}
        self.at = at
        self.is_locked = False
        self.ledger_accounts: dict[LedgerAccountKey, LedgerAccount] = {}
        self.balances: dict[LedgerAccountKey, Decimal] = {}  # once they are locked
        self.changes: dict[LedgerAccountKey, Decimal] = defaultdict(Decimal)
        self.sequence_numbers: dict[int, int] = {}
        self.transfers: list[tuple[tuple[LedgerAccountKey, LedgerAccountKey], dict[str, Any]]] = []
        self.written: list[Transfer] = []
        self.commission_changes: list[CommissionChange] = []

    def add_balance_key(self, balance_key: BalanceKey, *, at: datetime) -> None:
        """Post another balance from here on, with another time, as imports do."""
        self.at = at
        if balance_key not in self.balance_keys:
            self.balance_keys = sorted([*self.balance_keys, balance_key])

    def take_over(self, other: "LedgerSession") -> None:
        """Post what another session has posted, which does not write it itself.

        So that an import locks balances last. Raises `BalanceTooLarge`, as far as that
        is known before they are locked.
        """
        changes = {key: self.changes[key] + n for key, n in other.changes.items()}
        if any(abs(change) >= MAX_BALANCE for change in changes.values()):
            raise BalanceTooLarge
        self.changes |= changes
        self.balance_keys = sorted({*self.balance_keys, *other.balance_keys})
        self.transfers += other.transfers
        self.commission_changes += other.commission_changes

    def post_commission_created(self, commission: Commission) -> None:
        """Post the amount of a new commission, according to its status."""
        self.sequence_numbers[commission.pk] = 0  # saves the query for the last number
        self._add_commission_change(commission, None)
        self._post_status_transition(
            commission,
            commission.amount,
            CommissionStatus.DISAPPROVED,
            commission.status,
        )

    def post_commission_changed(
        self,
        commission: Commission,
        *,
        previous_status: str,
        previous_amount: Decimal | None = None,
    ) -> None:
        """Post a change of a commission's status, and of its amount if that changed.

        The difference is posted at the previous status, then the whole new amount
        follows the status.
        """
        if previous_amount is None:
            previous_amount = commission.amount
        before = CommissionValue(previous_status, previous_amount)
        self._add_commission_change(commission, before)
        difference = commission.amount - previous_amount
        if difference > 0:
            self._post_status_transition(
                commission, difference, CommissionStatus.DISAPPROVED, previous_status
            )
        else:
            self._post_status_transition(
                commission, -difference, previous_status, CommissionStatus.DISAPPROVED
            )
        self._post_status_transition(
            commission, commission.amount, previous_status, commission.status
        )

    def post_commission_deleted(self, commission: Commission) -> None:
        """Take back the amount of a commission whose conversion is deleted."""
        before = CommissionValue(commission.status, commission.amount)
        self.commission_changes.append(CommissionChange(commission, before, None))
        self._post_status_transition(
            commission,
            commission.amount,
            commission.status,
            CommissionStatus.DISAPPROVED,
        )

    def post_commission_restored(self, commission: Commission) -> None:
        """Post the amount of a commission that is no longer deleted again."""
        self._add_commission_change(commission, None)
        self._post_status_transition(
            commission,
            commission.amount,
            CommissionStatus.DISAPPROVED,
            commission.status,
        )

    def post_payment(self, payment: Payment) -> None:
        """Post a payment, out of the payout balance if the account uses payouts, and
        the tax that is withheld."""
        credit_type = (
            LedgerAccountType.FUNDING if self.account.uses_payouts else LedgerAccountType.PAID
        )
        debit = LedgerAccountKey(payment.currency, LedgerAccountType.PAYABLE, payment.affiliate_id)
        credit = LedgerAccountKey(payment.currency, credit_type)
        net, tax = payment.net_amount, payment.tax_withheld
        self._add_transfer(TransferType.PAID, debit, credit, net, payment=payment)
        if tax is not None:
            office = LedgerAccountKey(payment.currency, LedgerAccountType.WITHHOLDING_TAX)
            self._add_transfer(TransferType.TAX_WITHHELD, debit, office, tax, payment=payment)

    def post_payment_canceled(self, payment: Payment) -> None:
        """Post the reversals of a payment's transfers."""
        self.lock_balances()
        rows = self.account.transfers.select_related("credit").filter(
            payment=payment, kind__in=PAYMENT_REVERSALS
        )
        credit = LedgerAccountKey(payment.currency, LedgerAccountType.PAYABLE, payment.affiliate_id)
        for row in rows.order_by("id"):
            self._add_transfer(
                PAYMENT_REVERSALS[row.kind],
                LedgerAccountKey(payment.currency, row.credit.kind),
                credit,
                row.amount,
                payment=payment,
                reversal_of=row,
            )

    def post_funding(self, amount: Decimal, currency: str) -> Decimal:
        """Post a top-up of the payout balance; return the new balance."""
        self.lock_balances()
        funding = LedgerAccountKey(currency, LedgerAccountType.FUNDING)
        self._add_transfer(
            TransferType.FUNDED,
            funding,
            LedgerAccountKey(currency, LedgerAccountType.EXTERNAL),
            amount,
        )
        return self._get_payout_balance(currency)

    def post_opening_balance(
        self,
        balance_key: BalanceKey,
        amount: Decimal,
        *,
        reversal_of: Transfer | None = None,
    ) -> None:
        """Post what an affiliate is owed from elsewhere; negative: what it owes."""
        affiliate_id, currency = balance_key
        expense = LedgerAccountKey(currency, LedgerAccountType.EXPENSE)
        payable = LedgerAccountKey(currency, LedgerAccountType.PAYABLE, affiliate_id)
        debit, credit = (expense, payable) if amount > 0 else (payable, expense)
        self._add_transfer(
            TransferType.OPENING_BALANCE,
            debit,
            credit,
            abs(amount),
            reversal_of=reversal_of,
        )

    def has_funds(
        self,
        balance_key: BalanceKey,
        amount: Decimal,
        *,
        reserved: Iterable[tuple[BalanceKey, Decimal]],
    ) -> bool:
        """Return whether the payout balance covers all payable balances and `amount`.

        `reserved` are amounts that become payable before `amount` does.
        """
        self.lock_balances()
        _, currency = balance_key
        payables: dict[int | None, Decimal] = defaultdict(Decimal)
        for key, balance in self.balances.items():
            if key.kind == LedgerAccountType.PAYABLE and key.currency == currency:
                payables[key.affiliate_id] += balance
        for (affiliate_id, reserved_currency), reserved_amount in reserved:
            if reserved_currency == currency:
                payables[affiliate_id] += reserved_amount
        locked_total = sum((max(owed, ZERO) for owed in payables.values()), ZERO)
        total = locked_total + self._get_payable_total_of_others(currency) + amount
        return self._get_payout_balance(currency) >= total

    def get_payable_balance(self, balance_key: BalanceKey) -> Decimal:
        self.lock_balances()
        affiliate_id, currency = balance_key
        return self.balances[LedgerAccountKey(currency, LedgerAccountType.PAYABLE, affiliate_id)]

    def lock_balances(self) -> None:
        """Lock all balances of the session until the end of the transaction."""
        if self.is_locked:
            return
        self.is_locked = True
        keys = self._list_keys()
        self.ledger_accounts = self._load_ledger_accounts()
        # All sessions insert in the same order, so that they cannot deadlock: these
        # first, by `str`, because None and an affiliate's id cannot be compared, then
        # those of the account. The latter have no lock, but another transaction waits
        # for who inserts them, so they come before any lock.
        expenses = {
            LedgerAccountKey(currency, LedgerAccountType.EXPENSE)
            for _, currency in self.balance_keys
        }
        missing = [
            key
            for group in (keys, expenses)
            for key in sorted(group - set(self.ledger_accounts), key=str)
        ]
        for key in missing:
            self._insert_ledger_account(key)
        if missing:
            self.ledger_accounts = self._load_ledger_accounts()
        # An account that no longer uses payouts may have a payout balance: a canceled
        # payment returns to it.
        keys |= {key for key in self.ledger_accounts if key.kind == LedgerAccountType.FUNDING}
        self._lock_ledger_accounts(keys)

    def _list_keys(self) -> set[LedgerAccountKey]:
        """Return the keys of the session's ledger accounts with a stored balance."""
        keys = {
            LedgerAccountKey(currency, LedgerAccountType.FUNDING)
            for currency in self.funding_currencies
        }
        return keys | {
            LedgerAccountKey(currency, kind, affiliate_id)
            for affiliate_id, currency in self.balance_keys
            for kind in AFFILIATE_ACCOUNT_TYPES
        }

    def write_transfers(self) -> None:
        """Insert the posted transfers, then change each balance by its difference.

        Raises `BalanceTooLarge`.
        """
        if not self.transfers:
            return
        if not self.ledger_accounts:
            self.ledger_accounts = self._load_ledger_accounts()
        keys = self._list_keys()
        others = {key for sides, _ in self.transfers for key in sides} - keys
        # In the order of `lock_balances`.
        for key in [*sorted(keys, key=str), *sorted(others, key=str)]:
            self._ensure_ledger_account(key)
        actor = get_actor().name
        for batch in split_into_batches(self.transfers, is_large=True):
            self.written += self.account.transfers.bulk_create(
                Transfer(
                    account=self.account,
                    currency=debit.currency,
                    debit=self.ledger_accounts[debit],
                    credit=self.ledger_accounts[credit],
                    actor=actor,
                    **values,
                )
                for (debit, credit), values in batch
            )
        self._change_balances()

    def _change_balances(self) -> None:
        """Add the differences to the stored balances, in the order of their ids."""
        changes = sorted((self.ledger_accounts[key].pk, n) for key, n in self.changes.items() if n)
        try:
            if self.is_locked and len(changes) > MAX_SINGLE_CHANGES:
                update_each(LedgerAccount, self.account.pk, ["balance"], changes, adds=True)
            else:
                for pk, change in changes:
                    self._add_to_balance(pk, change)
        except IntegrityError as error:
            if BALANCE_CONSTRAINT in str(error):
                raise BalanceTooLarge from error
            raise

    def _add_commission_change(
        self, commission: Commission, before: CommissionValue | None
    ) -> None:
        after = CommissionValue(commission.status, commission.amount)
        self.commission_changes.append(CommissionChange(commission, before, after))

    def _post_status_transition(
        self, commission: Commission, amount: Decimal, from_status: str, to_status: str
    ) -> None:
        """Post the transfers of an amount between two statuses, in their order."""
        if not amount or from_status == to_status:
            return
        affiliate_id, currency = commission.balance_key
        for kind in STATUS_TRANSITIONS[from_status, to_status]:
            debit, credit = (
                LedgerAccountKey(
                    currency,
                    side,
                    affiliate_id if side in AFFILIATE_ACCOUNT_TYPES else None,
                )
                for side in TRANSFER_SIDES[kind]
            )
            self._add_transfer(
                kind,
                debit,
                credit,
                amount,
                commission=commission,
                sequence_number=self._get_next_sequence_number(commission),
            )

    def _add_transfer(
        self,
        kind: TransferType,
        debit: LedgerAccountKey,
        credit: LedgerAccountKey,
        amount: Decimal,
        **links: object,
    ) -> None:
        self._change_balance(debit, -amount)
        self._change_balance(credit, amount)
        values = {"kind": kind, "amount": amount, "created_at": self.at} | links
        self.transfers.append(((debit, credit), values))

    def _change_balance(self, key: LedgerAccountKey, amount: Decimal) -> None:
        if key.kind not in STORED_BALANCE_TYPES:
            return
        self.changes[key] += amount
        if self.is_locked:
            self.balances[key] += amount
            if abs(self.balances[key]) >= MAX_BALANCE:
                raise BalanceTooLarge

    def _add_to_balance(self, pk: int, amount: Decimal) -> None:
        with connection.cursor() as cursor:
            stored = BALANCE_FIELD.get_prep_value(amount)
            cursor.execute(ADD_TO_BALANCE_SQL, [stored, self.account.pk, pk])

    def _get_next_sequence_number(self, commission: Commission) -> int:
        if commission.pk not in self.sequence_numbers:
            posted = self.account.transfers.filter(commission=commission)
            self.sequence_numbers[commission.pk] = (
                posted.aggregate(last=Max("sequence_number"))["last"] or 0
            )
        self.sequence_numbers[commission.pk] += 1
        return self.sequence_numbers[commission.pk]

    def _load_ledger_accounts(self) -> dict[LedgerAccountKey, LedgerAccount]:
        currencies = self.funding_currencies | {currency for _, currency in self.balance_keys}
        affiliate_ids = sorted({affiliate_id for affiliate_id, _ in self.balance_keys})
        return {
            _get_key(row): row
            for batch in split_into_batches(sorted(affiliate_ids), is_large=True) or [[]]
            for row in ledger_accounts_in.all(
                account=self.account, affiliates=batch, currencies=sorted(currencies)
            )
        }

    def _ensure_ledger_account(self, key: LedgerAccountKey) -> None:
        """Insert the row if it is missing, or load that of a concurrent transaction."""
        if key not in self.ledger_accounts and not self._insert_ledger_account(key):
            self.ledger_accounts[key] = self._load_ledger_accounts()[key]

    def _insert_ledger_account(self, key: LedgerAccountKey) -> bool:
        """Insert a row; return False if a concurrent transaction inserts it."""
        row = LedgerAccount(
            account=self.account,
            currency=key.currency,
            kind=key.kind,
            affiliate_id=key.affiliate_id,
            balance=ZERO if key.kind in STORED_BALANCE_TYPES else None,  # type: ignore[misc]
        )
        columns: tuple[str, ...] = ("account", "currency", "kind")
        condition_sql = "affiliate_id IS NULL"
        if key.affiliate_id is not None:
            columns = (*columns, "affiliate")
            condition_sql = "affiliate_id IS NOT NULL"
        is_inserted = self.account.ledger_accounts.insert_or_ignore(
            row, unique_fields=columns, condition_sql=condition_sql
        )
        if is_inserted:
            self.ledger_accounts[key] = row
        return is_inserted

    def _lock_ledger_accounts(self, keys: Iterable[LedgerAccountKey]) -> None:
        pks = sorted(self.ledger_accounts[key].pk for key in keys)
        for batch in split_into_batches(pks, is_large=True):
            for row in locked_ledger_accounts.all(account=self.account, pks=batch):
                key = _get_key(row)
                self.ledger_accounts[key] = row
                self.balances[key] = (row.balance or ZERO) + self.changes[key]

    def _get_payout_balance(self, currency: str) -> Decimal:
        """Return the locked payout balance, which is stored as a negative number."""
        return -self.balances[LedgerAccountKey(currency, LedgerAccountType.FUNDING)]

    def _get_payable_total_of_others(self, currency: str) -> Decimal:
        """Return the sum of the positive payable balances that are not locked.

        Only a session that has locked the payout balance can raise one of them.
        """
        locked_ids = [
            affiliate_id
            for affiliate_id, locked_currency in self.balance_keys
            if locked_currency == currency
        ]
        others = self.account.ledger_accounts.filter(
            currency=currency, kind=LedgerAccountType.PAYABLE, balance__gt=ZERO
        ).exclude(affiliate__in=locked_ids)
        return others.aggregate(total=ExactSum("balance"))["total"] or ZERO


# The list that collects the sessions written in a block of `record_sessions`.
RECORDED_SESSIONS: ContextVar[list[LedgerSession] | None] = ContextVar(
    "recorded_sessions", default=None
)


def _get_key(row: LedgerAccount) -> LedgerAccountKey:
    return LedgerAccountKey(row.currency, row.kind, row.affiliate_id)


@contextmanager
def open_ledger_session(
    account: Account,
    balance_keys: Iterable[BalanceKey],
    *,
    at: datetime,
    funding_currencies: Iterable[str] = (),
    is_locked: bool = False,
) -> Iterator[LedgerSession]:
    """Open a ledger session for these balances; write its transfers after the block.

    With `is_locked` they are locked before it. The session also has the payout balances
    in `funding_currencies`. An error in the block leaves nothing written.
    """
    ledger = LedgerSession(account, balance_keys, funding_currencies, at)
    if is_locked:
        ledger.lock_balances()
    yield ledger
    ledger.write_transfers()
    if (recorded := RECORDED_SESSIONS.get()) is not None:
        recorded.append(ledger)


@contextmanager
def record_sessions() -> Iterator[list[LedgerSession]]:
    """Collect the ledger sessions that are written within the block, in this order."""
    sessions: list[LedgerSession] = []
    token = RECORDED_SESSIONS.set(sessions)
    try:
        yield sessions
    finally:
        RECORDED_SESSIONS.reset(token)


def get_payable_balances_by_slug(
    account: Account, affiliate_id: int | None = None
) -> dict[str, dict[str, Decimal]]:
    """Return payable balances by affiliate slug and currency, without zero ones."""
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE).exclude(balance=ZERO)
    if affiliate_id is not None:
        rows = rows.filter(affiliate=affiliate_id)
    balances: dict[str, dict[str, Decimal]] = {}
    for slug, currency, balance in rows.values_list("affiliate__slug", "currency", "balance"):
        balances.setdefault(slug, {})[currency] = balance
    return {slug: dict(sorted(balances[slug].items())) for slug in sorted(balances)}
