"""The equations of the books, each a question that must find nothing.

The numbers are those of the design. A balance is credits less debits, for every kind
of ledger account alike.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from django.apps import apps
from django.db import models
from django.db.models import Count, F, Max, Min, Q

from accounts.models.accounts import Account, Owned
from payouts.models.commissions import Status
from payouts.models.ledger import (
    BETWEEN,
    PAIRS,
    LedgerAccount,
    Move,
    Place,
    Transfer,
)
from tracking.amounts import ExactSum
from tracking.money import NOUGHT

PLACES: dict[str, tuple[str, ...]] = {str(it): BETWEEN[it] for it in BETWEEN}
OURS = ("accounts", "tracking", "payouts")


@dataclass(frozen=True)
class Failure:
    """One row that an equation does not hold for."""

    equation: str
    account: str
    row: str
    stored: str
    computed: str


Sums = dict[tuple[int | None, str], Decimal]  # (whose, currency) → amount


class Books:
    """The books of one account, read whole."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.rows = list(account.ledger_accounts.select_related("affiliate"))
        into, out_of = self.posted_to("credit"), self.posted_to("debit")
        self.computed = {
            row.pk: into.get(row.pk, NOUGHT) - out_of.get(row.pk, NOUGHT)
            for row in self.rows
        }

    def posted_to(self, side: str) -> dict[int, Decimal]:
        rows = self.account.transfers.values_list(side)
        return dict(rows.annotate(ExactSum("amount")))

    def failures(self) -> Iterator[Failure]:
        """Whatever does not hold."""
        yield from self.of_money()
        yield from self.e11_one_account()

    def of_money(self) -> Iterator[Failure]:
        """Amounts that do not agree: all but whose the rows are."""
        yield from self.e1_all_balances_cancel_out()
        yield from self.e2_stored_balances()
        yield from self.e3_e4_what_affiliates_have()
        yield from self.e5_expense()
        yield from self.e6_each_commission()
        yield from self.e7_each_payment()
        yield from self.e8_funding_and_paid()
        yield from self.e9_each_transfer()
        yield from self.e12_covered_commissions()

    def e1_all_balances_cancel_out(self) -> Iterator[Failure]:
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for row in self.rows:
            stored = row.balance
            totals[row.currency] += self.computed[row.pk] if stored is None else stored
        for currency, total in totals.items():
            if total:
                yield self.failure("E1", currency, total, NOUGHT)

    def e2_stored_balances(self) -> Iterator[Failure]:
        for row in self.rows:
            if row.balance is not None and row.balance != self.computed[row.pk]:
                yield self.failure("E2", _name(row), row.balance, self.computed[row.pk])

    def e3_e4_what_affiliates_have(self) -> Iterator[Failure]:
        owed = self.commissions(Status.APPROVED)
        for purse, amount in self.paid().items():
            owed[purse] = owed.get(purse, NOUGHT) - amount
        yield from self.compared("E3", Place.PAYABLE, owed)
        yield from self.compared("E4", Place.PENDING, self.commissions(Status.PENDING))

    def compared(self, equation: str, place: str, owed: Sums) -> Iterator[Failure]:
        for row in self.rows:
            if row.kind == place:
                sum_of = owed.pop((row.affiliate_id, row.currency), NOUGHT)
                if row.balance != sum_of:
                    yield self.failure(equation, _name(row), row.balance, sum_of)
        for (affiliate, currency), amount in owed.items():
            if amount:
                whose = f"affiliate {affiliate} {currency}"
                yield self.failure(equation, whose, None, amount)

    def e5_expense(self) -> Iterator[Failure]:
        earned: dict[str, Decimal] = defaultdict(Decimal)
        for status in (Status.PENDING, Status.APPROVED):
            for (_, currency), amount in self.commissions(status).items():
                earned[currency] += amount
        for row in self.rows:
            if row.kind == Place.EXPENSE:
                sum_of = earned.pop(row.currency, NOUGHT)
                if -self.computed[row.pk] != sum_of:
                    stored = -self.computed[row.pk]
                    yield self.failure("E5", row.currency, stored, sum_of)
        for currency, amount in earned.items():
            if amount:
                yield self.failure("E5", currency, None, amount)

    def e6_each_commission(self) -> Iterator[Failure]:
        moved = self.moved_by_commission()
        rows = self.account.commissions.order_by("id").values_list(
            "id", "status", "amount", "removed_at", "affiliate"
        )
        for number, status, amount, removed_at, affiliate in rows.iterator():
            lies = moved.get(number, _Moved())
            places = {
                Status.PENDING: (amount, NOUGHT),
                Status.APPROVED: (NOUGHT, amount),
            }
            expected = (NOUGHT, NOUGHT)
            if removed_at is None:
                expected = places.get(Status(status), expected)
            if (lies.pending, lies.payable) != expected or not lies.numbered:
                yield self.failure(
                    "E6",
                    f"commission {number} ({status})",
                    f"pending {lies.pending}, payable {lies.payable},"
                    f" {lies.count} transfers, steps {lies.first} to {lies.last}",
                    f"pending {expected[0]}, payable {expected[1]}",
                )
            if lies.whose - {affiliate}:
                yield self.failure(
                    "E6",
                    f"commission {number} ({status})",
                    f"moved for affiliates {sorted(lies.whose)}",
                    f"affiliate {affiliate}",
                )
        yield from self.e6_each_commission_beside_its_sale()

    def e6_each_commission_beside_its_sale(self) -> Iterator[Failure]:
        """Nothing is earned by a sale that is gone, nor in another currency."""
        rows = self.account.commissions.present().filter(conversion__isnull=False)
        sound = Q(conversion__removed_at=None, conversion__currency=F("currency"))
        for commission in rows.exclude(sound).select_related("conversion"):
            sale = commission.conversion
            yield self.failure(
                "E6",
                f"commission {commission.pk} ({commission.status})",
                f"{commission.currency}, by a sale in {sale.currency}, "  # type: ignore[union-attr]
                f"removed {sale.removed_at or 'never'}",  # type: ignore[union-attr]
                "a sale that stands, in the same currency",
            )

    def e7_each_payment(self) -> Iterator[Failure]:
        for payment in self.account.payments.order_by("id").iterator():
            rows = self.booked.get(payment.pk, [])
            paid = [row for row in rows if row.kind == Move.PAID]
            back = [row for row in rows if row.kind == Move.PAYMENT_CANCELED]
            sides = (paid[0].debit_id, paid[0].credit_id) if paid else None
            right = (
                len(paid) == 1
                and len(back) == (payment.canceled_at is not None)
                and all(row.amount == payment.amount for row in rows)
                and all(
                    row.reverses_id == paid[0].pk
                    and (row.credit_id, row.debit_id) == sides
                    for row in back
                )
            )
            state = "canceled" if payment.canceled_at else "standing"
            name = f"payment {payment.public_id} ({state})"
            if not right:
                told = ", ".join(f"{row.kind} {row.amount}" for row in rows)
                expected = f"one paid of {payment.amount}, {state}"
                yield self.failure("E7", name, told or "no transfer", expected)
            for payer in {row.debit.affiliate_id for row in paid}:
                if payer != payment.affiliate_id:
                    of_whom = f"affiliate {payment.affiliate_id}"
                    yield self.failure("E7", name, f"of affiliate {payer}", of_whom)

    def e8_funding_and_paid(self) -> Iterator[Failure]:
        standing = self.standing_by_pocket()
        topped = dict(
            self.account.transfers.filter(kind=Move.FUNDED)
            .values_list("currency")
            .annotate(ExactSum("amount"))
        )
        for row in self.rows:
            currency = row.currency
            up = topped.get(currency, NOUGHT)
            expected = {
                Place.FUNDING: standing[Place.FUNDING, currency] - up,
                Place.EXTERNAL: up,
                Place.PAID: standing[Place.PAID, currency],
            }.get(Place(row.kind))
            if expected is not None and self.computed[row.pk] != expected:
                yield self.failure("E8", _name(row), self.computed[row.pk], expected)

    def e9_each_transfer(self) -> Iterator[Failure]:
        fits = Q(pk=None)
        for kind, debit, credit in PAIRS:
            fits |= Q(kind=kind, debit__kind=debit, credit__kind=credit)
        sound = fits & Q(
            amount__gt=NOUGHT,
            debit__account=F("account"),
            credit__account=F("account"),
            debit__currency=F("currency"),
            credit__currency=F("currency"),
        )
        sound_ids = self.account.transfers.filter(sound).values("pk")
        for row in self.account.transfers.exclude(pk__in=sound_ids):
            pairs = [
                " → ".join(pair[1:]) for pair in sorted(PAIRS) if pair[0] == row.kind
            ]
            between = " or ".join(pairs) or "no such kind"
            yield self.failure("E9", f"transfer {row.pk}", str(row), between)

    def e11_one_account(self) -> Iterator[Failure]:
        for model in tenant_models():
            keys = list(_keys_to_tenants(model))
            strange = Q(pk=None)
            for key in keys:
                is_ours = Q(**{f"{key}__account": self.account})
                strange |= Q(**{f"{key}__isnull": False}) & ~is_ours
            rows = model._base_manager.filter(strange, account=self.account)
            owners = [f"{key}__account" for key in keys]
            for number, *found in rows.values_list("pk", *owners) if keys else ():
                for key, owner in zip(keys, found, strict=True):
                    if owner not in (None, self.account.pk):
                        table = f"{model._meta.db_table} {number}"
                        yield self.failure("E11", table, "another account's", key)

    def e12_covered_commissions(self) -> Iterator[Failure]:
        covered = self.account.commissions.filter(payment__isnull=False)
        sound = Q(
            status=Status.APPROVED,
            removed_at=None,
            affiliate=F("payment__affiliate"),
            currency=F("payment__currency"),
            payment__canceled_at=None,
        )
        sound_ids = covered.filter(sound).values("pk")
        rows = covered.exclude(pk__in=sound_ids).select_related("payment")
        for commission in rows:
            payment = commission.payment.public_id if commission.payment else "-"
            whose = f"commission {commission.pk} ({commission.status})"
            yield self.failure("E12", whose, payment, "no payment")

    @cached_property
    def booked(self) -> dict[int | None, list[Transfer]]:
        """The transfers of payments, by payment."""
        booked: dict[int | None, list[Transfer]] = defaultdict(list)
        rows = self.account.transfers.filter(payment__isnull=False)
        for row in rows.select_related("debit", "credit", "payment").order_by("id"):
            booked[row.payment_id].append(row)
        return booked

    def standing_by_pocket(self) -> dict[tuple[str, str], Decimal]:
        """Standing payments by what they came out of, and by currency."""
        sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for rows in self.booked.values():
            for row in rows:
                stands = row.payment is not None and row.payment.canceled_at is None
                if row.kind == Move.PAID and stands:
                    sums[row.credit.kind, row.currency] += row.amount
        return sums

    def paid(self) -> Sums:
        """Standing payments, per affiliate and currency."""
        rows = (
            self.account.payments.standing()
            .values_list("affiliate", "currency")
            .annotate(ExactSum("amount"))
        )
        return {(affiliate, currency): amount for affiliate, currency, amount in rows}

    def commissions(self, status: Status) -> Sums:
        rows = (
            self.account.commissions.present()
            .filter(status=status)
            .values_list("affiliate", "currency")
            .annotate(ExactSum("amount"))
        )
        return {(affiliate, currency): amount for affiliate, currency, amount in rows}

    def moved_by_commission(self) -> "dict[int, _Moved]":
        moved: dict[int, _Moved] = defaultdict(_Moved)
        posted = self.account.transfers.filter(commission__isnull=False)
        rows = posted.values_list(
            "commission", "kind", "debit__affiliate", "credit__affiliate"
        ).annotate(ExactSum("amount"), Count("id"), Min("step"), Max("step"))
        for number, kind, payer, payee, *sums in rows:
            moved[number].whose |= {payer, payee} - {None}
            moved[number].add(kind, *sums)
        return moved

    def failure(
        self, equation: str, row: str, stored: object, computed: object
    ) -> Failure:
        return Failure(equation, self.account.slug, row, str(stored), str(computed))


@dataclass
class _Moved:
    """Where the transfers of one commission leave its amount."""

    pending: Decimal = NOUGHT
    payable: Decimal = NOUGHT
    count: int = 0
    first: int = 1
    last: int = 0
    whose: set[int] = field(default_factory=set)

    @property
    def numbered(self) -> bool:
        """Are the steps 1…n? No two are the same: a constraint sees to it."""
        return self.first == 1 and self.last == self.count

    def add(
        self, kind: str, amount: Decimal, count: int, first: int, last: int
    ) -> None:
        debit, credit = PLACES.get(kind, ("", ""))  # E9 speaks of an odd kind
        for place, signed in ((debit, -amount), (credit, amount)):
            if place == Place.PENDING:
                self.pending += signed
            elif place == Place.PAYABLE:
                self.payable += signed
        self.first = min(self.first, first) if self.count else first
        self.last = max(self.last, last)
        self.count += count


def _name(row: LedgerAccount) -> str:
    whose = row.affiliate.slug if row.affiliate else "the account"
    return f"{row.kind} of {whose} in {row.currency}"


def tenant_models() -> list[type[models.Model]]:
    """Every table whose rows belong to an account."""
    return [
        model
        for app in OURS
        for model in apps.get_app_config(app).get_models()
        if issubclass(model, Owned)
    ]


def _keys_to_tenants(model: type[models.Model]) -> Iterator[str]:
    for column in model._meta.fields:
        target = column.related_model
        if isinstance(target, type) and issubclass(target, Owned):
            yield column.name
