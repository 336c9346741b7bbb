"""Ledger invariants of one account, checked by queries: E1 to E9, E11, E12, E14, E17, E18.

E10 and E13 concern the whole database, see `payouts/services/reconciliation.py`, E15
the audit log and E16 the digests, see `audit_log_invariants.py` and `ledger_digests.py`.
The balance of a ledger account of any type is credits minus debits. Commissions and
payments are read in batches, so that memory does not grow with them.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import groupby

from accounts.models.accounts import Account
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.ledger import (
    PAYMENT_REVERSALS,
    VALID_TRANSFERS,
    LedgerAccount,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.models.payments import Payment
from payouts.services.explanation import list_calculation_differences
from payouts.services.ledger_invariant_queries import (
    READ_BATCH_SIZE,
    CommissionTotals,
    all_ledger_accounts,
    commissions_by_status,
    commissions_of_invalid_sales,
    commissions_of_other_affiliates,
    invalid_paid_commissions,
    invalid_transfers,
    list_tenant_foreign_keys,
    list_tenant_models,
    opening_balances,
    opening_balances_by_credit,
    opening_balances_by_debit,
    payments_by_affiliate,
    payments_by_source,
    read_in_batches,
    rows_of_other_accounts,
    sums_by_credit,
    sums_by_debit,
    taxes_withheld_by_currency,
    top_ups_by_currency,
    transfers_by_commission,
)
from payouts.services.risk_cases import list_wrong_marks
from tracking.money import ZERO


@dataclass(frozen=True)
class Discrepancy:
    """A row that violates an invariant, with its stored and its computed value."""

    invariant: str
    account: str
    row: str
    stored: str
    computed: str


AmountByBalanceKey = dict[tuple[int | None, str], Decimal]


class LedgerInvariants:
    """Checks the ledger of one account; each check yields the discrepancies."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.ledger_accounts = all_ledger_accounts.all(account=account)
        credits = dict(sums_by_credit.all(account=account))
        debits = dict(sums_by_debit.all(account=account))
        self.computed_balances = {
            row.pk: credits.get(row.pk, ZERO) - debits.get(row.pk, ZERO)
            for row in self.ledger_accounts
        }

    def list_discrepancies(self) -> Iterator[Discrepancy]:
        """Yield every violation of an invariant."""
        yield from self.list_amount_discrepancies()
        yield from self.check_e11_tenant_isolation()
        yield from self.check_e18_reviews()

    def list_amount_discrepancies(self) -> Iterator[Discrepancy]:
        """Yield the violations of all invariants about amounts: all but E11, E18."""
        yield from self.check_e1_balances_sum_to_zero()
        yield from self.check_e2_stored_balances()
        yield from self.check_e3_e4_affiliate_balances()
        yield from self.check_e5_expense()
        yield from self.check_e6_e14_commissions()
        yield from self.check_e7_payments()
        yield from self.check_e8_funding_and_paid()
        yield from self.check_e9_transfers()
        yield from self.check_e12_paid_commissions()
        yield from self.check_e14_affiliates()
        yield from self.check_e17_opening_balances()

    def check_e1_balances_sum_to_zero(self) -> Iterator[Discrepancy]:
        """The balances of each currency add up to zero."""
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for row in self.ledger_accounts:
            stored = row.balance
            totals[row.currency] += self.computed_balances[row.pk] if stored is None else stored
        for currency, total in totals.items():
            if total:
                yield self.build_discrepancy("E1", currency, total, ZERO)

    def check_e2_stored_balances(self) -> Iterator[Discrepancy]:
        """Each stored balance equals the sum of its transfers."""
        for row in self.ledger_accounts:
            if row.balance is not None and row.balance != self.computed_balances[row.pk]:
                yield self.build_discrepancy(
                    "E2",
                    _describe_ledger_account(row),
                    row.balance,
                    self.computed_balances[row.pk],
                )

    def check_e3_e4_affiliate_balances(self) -> Iterator[Discrepancy]:
        """Payable balances are approved commissions and opening balances minus payments
        (E3), and pending balances are pending commissions (E4)."""
        payables = self.get_commissions_by_balance_key(CommissionStatus.APPROVED)
        for balance_key, amount in self.get_payments_by_balance_key().items():
            payables[balance_key] = payables.get(balance_key, ZERO) - amount
        for balance_key, amount in self.opening_balances.items():
            payables[balance_key] = payables.get(balance_key, ZERO) + amount
        yield from self.compare_balances("E3", LedgerAccountType.PAYABLE, payables)
        yield from self.compare_balances(
            "E4",
            LedgerAccountType.PENDING,
            self.get_commissions_by_balance_key(CommissionStatus.PENDING),
        )

    def compare_balances(
        self, invariant: str, kind: str, expected: AmountByBalanceKey
    ) -> Iterator[Discrepancy]:
        """Compare the stored balances of one type with the expected ones."""
        for row in self.ledger_accounts:
            if row.kind == kind:
                balance = expected.pop((row.affiliate_id, row.currency), ZERO)
                if row.balance != balance:
                    yield self.build_discrepancy(
                        invariant, _describe_ledger_account(row), row.balance, balance
                    )
        for (affiliate_id, currency), amount in expected.items():
            if amount:
                label = f"affiliate {affiliate_id} {currency}"
                yield self.build_discrepancy(invariant, label, None, amount)

    def check_e5_expense(self) -> Iterator[Discrepancy]:
        """Expense is the sum of pending and approved commissions and of opening
        balances."""
        earned: dict[str, Decimal] = defaultdict(Decimal)
        for totals in (
            self.get_commissions_by_balance_key(CommissionStatus.PENDING),
            self.get_commissions_by_balance_key(CommissionStatus.APPROVED),
            self.opening_balances,
        ):
            for (_, currency), amount in totals.items():
                earned[currency] += amount
        for row in self.ledger_accounts:
            if row.kind == LedgerAccountType.EXPENSE:
                expense = earned.pop(row.currency, ZERO)
                stored = -self.computed_balances[row.pk]
                if stored != expense:
                    yield self.build_discrepancy("E5", row.currency, stored, expense)
        for currency, amount in earned.items():
            if amount:
                yield self.build_discrepancy("E5", currency, None, amount)

    def check_e6_e14_commissions(self) -> Iterator[Discrepancy]:
        """The transfers of each commission add up to its amount at its status (E6); the
        amount equals the stored calculation (E14)."""
        for commissions in read_in_batches(self.account.commissions.all()):
            totals = self.get_totals_by_commission(commissions)
            for commission in commissions:
                yield from self.check_e6_transfers(commission, totals[commission.pk])
                label = f"commission {commission.pk} ({commission.status})"
                for what, stored, calculated in list_calculation_differences(commission):
                    yield self.build_discrepancy("E14", label, f"{what} {stored}", calculated)
        yield from self.check_e6_commission_conversions()

    def check_e6_transfers(
        self, commission: Commission, totals: "CommissionTotals"
    ) -> Iterator[Discrepancy]:
        """The transfers of a commission add up to its amount at its status."""
        status, affiliate_id = commission.status, commission.affiliate_id
        expected = (ZERO, ZERO)
        if commission.deleted_at is None and status == CommissionStatus.PENDING:
            expected = (commission.amount, ZERO)
        elif commission.deleted_at is None and status == CommissionStatus.APPROVED:
            expected = (ZERO, commission.amount)
        label = f"commission {commission.pk} ({status})"
        is_equal = (totals.pending, totals.payable) == expected
        if not is_equal or not totals.has_complete_sequence:
            first, last = totals.first_sequence_number, totals.last_sequence_number
            yield self.build_discrepancy(
                "E6",
                label,
                f"pending {totals.pending}, payable {totals.payable},"
                f" {totals.transfer_count} transfers, steps {first} to {last}",
                f"pending {expected[0]}, payable {expected[1]}",
            )
        if totals.affiliate_ids - {affiliate_id}:
            yield self.build_discrepancy(
                "E6",
                label,
                f"moved for affiliates {sorted(totals.affiliate_ids)}",
                f"affiliate {affiliate_id}",
            )

    def check_e6_commission_conversions(self) -> Iterator[Discrepancy]:
        """The conversion of a commission is not deleted and has its currency."""
        for commission in commissions_of_invalid_sales.all(account=self.account):
            conversion = commission.conversion
            yield self.build_discrepancy(
                "E6",
                f"commission {commission.pk} ({commission.status})",
                f"{commission.currency}, by a sale in {conversion.currency}, "  # type: ignore[union-attr]
                f"removed {conversion.deleted_at or 'never'}",  # type: ignore[union-attr]
                "a sale that stands, in the same currency",
            )

    def check_e7_payments(self) -> Iterator[Discrepancy]:
        """Each payment has one transfer, one more of the tax that is withheld, and a
        canceled one their reversals."""
        rows = self.account.transfers.filter(payment__isnull=False)
        rows = rows.select_related("debit").order_by("payment", "id")
        groups = groupby(rows.iterator(READ_BATCH_SIZE), lambda row: row.payment_id)
        payment_id, transfers = next(groups, (None, iter(())))
        # Without the encrypted column: the check needs no key.
        stored = self.account.payments.all()
        for payments in read_in_batches(stored, deferred=("payout_details",)):
            for payment in payments:
                own = []
                if payment.pk == payment_id:
                    own = list(transfers)
                    payment_id, transfers = next(groups, (None, iter(())))
                yield from self.check_e7_payment(payment, own)

    def check_e7_payment(self, payment: Payment, rows: list[Transfer]) -> Iterator[Discrepancy]:
        """Its transfers are those that a payment has, reversed if it is canceled."""
        paid = [row for row in rows if row.kind == TransferType.PAID]
        withheld = [row for row in rows if row.kind == TransferType.TAX_WITHHELD]
        tax = payment.tax_withheld
        is_valid = len(paid) == 1 and [row.amount for row in (*paid, *withheld)] == [
            *(payment.net_amount,),
            *([] if tax is None else [tax]),
        ]
        expected_reversals = {
            (reversal, row.pk, row.amount, row.credit_id, row.debit_id)
            for row in (*paid, *withheld)
            for reversal in [PAYMENT_REVERSALS[row.kind]]
            if payment.canceled_at is not None
        }
        reversals = [
            (row.kind, row.reversal_of_id, row.amount, row.debit_id, row.credit_id)
            for row in rows
            if row.kind not in PAYMENT_REVERSALS
        ]
        is_valid = is_valid and set(reversals) == expected_reversals
        state = "canceled" if payment.canceled_at else "standing"
        label = f"payment {payment.public_id} ({state})"
        if not is_valid:
            stored = ", ".join(f"{row.kind} {row.amount}" for row in rows)
            expected = f"one paid of {payment.net_amount}, {state}"
            expected += "" if tax is None else f", {tax} withheld"
            yield self.build_discrepancy("E7", label, stored or "no transfer", expected)
        for affiliate_id in {row.debit.affiliate_id for row in (*paid, *withheld)}:
            if affiliate_id != payment.affiliate_id:
                yield self.build_discrepancy(
                    "E7",
                    label,
                    f"of affiliate {affiliate_id}",
                    f"affiliate {payment.affiliate_id}",
                )

    def check_e8_funding_and_paid(self) -> Iterator[Discrepancy]:
        """Payout sources agree with payments and top-ups, and withholding tax with
        payments."""
        paid = self.get_payments_by_source()
        top_ups = dict(top_ups_by_currency.all(account=self.account))
        withheld = dict(taxes_withheld_by_currency.all(account=self.account))
        for row in self.ledger_accounts:
            currency = row.currency
            topped_up = top_ups.get(currency, ZERO)
            funding_paid = paid[LedgerAccountType.FUNDING, currency]
            expected = {
                LedgerAccountType.FUNDING: funding_paid - topped_up,
                LedgerAccountType.EXTERNAL: topped_up,
                LedgerAccountType.PAID: paid[LedgerAccountType.PAID, currency],
                LedgerAccountType.WITHHOLDING_TAX: withheld.get(currency, ZERO),
            }.get(LedgerAccountType(row.kind))
            if expected is not None and self.computed_balances[row.pk] != expected:
                yield self.build_discrepancy(
                    "E8",
                    _describe_ledger_account(row),
                    self.computed_balances[row.pk],
                    expected,
                )

    def check_e9_transfers(self) -> Iterator[Discrepancy]:
        """Each transfer is positive, with valid sides of its account and currency."""
        for row in invalid_transfers.all(account=self.account):
            valid_sides = [
                " → ".join(sides) for kind, *sides in sorted(VALID_TRANSFERS) if kind == row.kind
            ]
            expected = " or ".join(valid_sides) or "no such kind"
            label = f"transfer {row.pk}"
            yield self.build_discrepancy("E9", label, str(row), expected)

    def check_e11_tenant_isolation(self) -> Iterator[Discrepancy]:
        """No row references a row of another account."""
        for model in list_tenant_models():
            keys = list_tenant_foreign_keys(model)
            if not keys:
                continue
            for pk, *owners in rows_of_other_accounts(model).all(account=self.account):
                for key, owner in zip(keys, owners, strict=True):
                    if owner not in (None, self.account.pk):
                        label = f"{model._meta.db_table} {pk}"
                        yield self.build_discrepancy("E11", label, "another account's", key)

    def check_e12_paid_commissions(self) -> Iterator[Discrepancy]:
        """A paid commission is approved and fits its payment, which is not canceled and
        was allocated to it."""
        for commission in invalid_paid_commissions.all(account=self.account):
            payment = commission.payment.public_id if commission.payment else "-"
            label = f"commission {commission.pk} ({commission.status})"
            yield self.build_discrepancy("E12", label, payment, "no payment")

    def check_e14_affiliates(self) -> Iterator[Discrepancy]:
        """A commission that is not of a level belongs to its conversion's affiliate."""
        rows = commissions_of_other_affiliates.all(account=self.account)
        for pk, stored, affiliate_id, conversion_id in rows:
            yield self.build_discrepancy(
                "E14",
                f"commission {pk}",
                f"affiliate {stored}",
                f"affiliate {affiliate_id} of conversion {conversion_id}",
            )

    def check_e17_opening_balances(self) -> Iterator[Discrepancy]:
        """An affiliate has at most one opening balance in a currency that is not taken
        back; a reversal has its amount and exchanged sides. Both are of no commission
        and no payment."""
        standing: dict[LedgerAccount, Transfer] = {}
        for row in opening_balances.all(account=self.account):
            side = row.credit if row.credit.affiliate_id else row.debit
            previous = standing.pop(side, None)
            expected = "no other opening balance of this affiliate and currency"
            if row.reversal_of_id is None:
                standing[side] = row
                is_valid = previous is None
            else:
                expected = "the reversal of a standing opening balance"
                is_valid = (
                    previous is not None
                    and previous.pk == row.reversal_of_id
                    and previous.amount == row.amount
                    and previous.debit_id == row.credit_id
                )
            if not is_valid or row.commission_id or row.payment_id:
                label = f"transfer {row.pk}"
                yield self.build_discrepancy("E17", label, str(row), expected)

    def check_e18_reviews(self) -> Iterator[Discrepancy]:
        """An affiliate is under review while a case that holds all it earns is open."""
        for row in list_wrong_marks(self.account):
            stored = row.under_review_since
            expected = "no open case" if stored else "an open case"
            label = f"affiliate {row.log_id}"
            yield self.build_discrepancy("E18", label, f"under review since {stored}", expected)

    def get_payments_by_source(self) -> dict[tuple[str, str], Decimal]:
        """Sum the payments that are not canceled, by payout source and currency."""
        sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for kind, currency, amount in payments_by_source.all(account=self.account):
            sums[kind, currency] = amount
        return sums

    def get_payments_by_balance_key(self) -> AmountByBalanceKey:
        """Sum the payments that are not canceled, by affiliate and currency."""
        rows = payments_by_affiliate.all(account=self.account)
        return {(affiliate_id, currency): amount for affiliate_id, currency, amount in rows}

    def get_commissions_by_balance_key(self, status: CommissionStatus) -> AmountByBalanceKey:
        """Sum the commissions of a status, by affiliate and currency."""
        return dict(self.commissions_by_status[status])

    @cached_property
    def opening_balances(self) -> AmountByBalanceKey:
        """Sum the opening balances and their reversals, by affiliate and currency."""
        sums: AmountByBalanceKey = defaultdict(Decimal)
        for query, sign in (
            (opening_balances_by_credit, 1),
            (opening_balances_by_debit, -1),
        ):
            for affiliate_id, currency, amount in query.all(account=self.account):
                sums[affiliate_id, currency] += sign * amount
        return sums

    @cached_property
    def commissions_by_status(self) -> dict[str, AmountByBalanceKey]:
        rows = commissions_by_status.all(account=self.account)
        sums: dict[str, AmountByBalanceKey] = defaultdict(dict)
        for status, affiliate_id, currency, amount in rows:
            sums[status][affiliate_id, currency] = amount
        return sums

    def get_totals_by_commission(
        self, commissions: list[Commission]
    ) -> "dict[int, CommissionTotals]":
        """Return the totals of the transfers by id of the commission."""
        totals: dict[int, CommissionTotals] = defaultdict(CommissionTotals)
        ids = [row.pk for row in commissions]
        rows = transfers_by_commission.all(account=self.account, commissions=ids)
        for commission_id, kind, debited_id, credited_id, *sums in rows:
            total = totals[commission_id]
            total.affiliate_ids |= {debited_id, credited_id} - {None}
            total.add(kind, *sums)
        return totals

    def build_discrepancy(
        self, invariant: str, row: str, stored: object, computed: object
    ) -> Discrepancy:
        """Build a discrepancy of this account, with its values as text."""
        return Discrepancy(invariant, self.account.slug, row, str(stored), str(computed))


def _describe_ledger_account(row: LedgerAccount) -> str:
    owner = row.affiliate.slug if row.affiliate else "the account"
    return f"{row.kind} of {owner} in {row.currency}"
