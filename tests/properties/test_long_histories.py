"""A long random history of an account, its plain model, and processes that are killed.

The model is in whole cents. It knows nothing of ledgers, drafts or statuses of lines:
an affiliate is owed what it earned and was owed before, less what was paid to it, and
what the bank paid and did not get back is what counts as paid.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from accounts.errors import DomainError
from accounts.services import row_counts
from affiliate_site.moving.tables.undo import (
    TableImportBuiltUpon,
    TableImportUndone,
    undo_table_import,
)
from affiliate_site.payout_files.results.reading import read_results
from payouts.errors import (
    BalanceNotWithheld,
    DuplicateOpeningBalance,
    OpeningBalanceNotFound,
    PaymentNotFound,
    PaymentsUnanswered,
    PayoutLineInOtherState,
    PayoutMethodNotFound,
    PayoutRunEmpty,
    PersonNotFound,
    ReceiverErased,
)
from payouts.services.conversion_updates import update_commission
from payouts.services.erasure import erase_person
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_limits import lift_withheld_balance
from payouts.services.payout_methods import release_payout_method, set_payout_method
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_runs import (
    create_draft,
    put_back,
    record_export,
    remake_draft,
    take_out,
)
from payouts.services.payout_settings import update_payout_settings
from payouts.services.refunds import refund_conversion
from payouts.services.run_confirmation import confirm_run
from tests.affiliate_site.moving.tables.building import store
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.payout_scenario import PAYER, build_files
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tests.properties.arithmetic import allocate, calculate_commission
from tests.properties.bank import Bank, Transfer
from tests.properties.killed import run_killed
from tests.row_count_checks import assert_row_counts_exact
from tracking.attribution import TrackingParameters
from tracking.errors import ConversionNotFound, DuplicateConversion
from tracking.services.erasure import get_erased_id

pytestmark = pytest.mark.integration

RATE = Decimal("7.5")
STATUSES = ("approved", "approved", "approved", "pending", "disapproved")
KILLED = 0.1  # of the operations are killed first
MAX_STATEMENTS = 60
MAX_UNITS = 50_000
IBANS = ("DE89370400440532013000", "NL91ABNA0417164300")
SALES = (
    "Order ID,Affiliate,Amount,Currency,Commission,Status,Created,Program\n"
    "{name},{affiliate},{amount},EUR,{commission},approved,2026-03-03,{program}\n"
)


def to_amount(units: int) -> Decimal:
    """Convert cents to an amount."""
    return Decimal(units).scaleb(-2)


@dataclass
class CommissionModel:
    """A commission of a sale."""

    part: int
    units: int
    status: str = "pending"


@dataclass
class Sale:
    """A sale that is not removed; `report` is the ID of the import that made it."""

    affiliate: str
    currency: str
    units: int
    commissions: list[CommissionModel]
    table_import: str = ""


@dataclass
class PaymentModel:
    """A payment by hand, or one of a run, with what its answers say of it."""

    affiliate: str
    currency: str
    units: int
    run: str = ""
    is_canceled: bool = False


@dataclass
class History:
    """One seed: the account, its model and its bank. Each step is a method."""

    dice: Random
    slug: str
    at: datetime = CONVERSION_CREATED_AT
    sales: dict[str, Sale] = field(default_factory=dict)
    payments: dict[str, PaymentModel] = field(default_factory=dict)
    opening: dict[tuple[str, str], int] = field(default_factory=dict)
    erased: dict[str, str] = field(default_factory=dict)  # kinds, as `kinds`
    method_holds: set[str] = field(default_factory=set)
    withheld: set[tuple[str, str]] = field(default_factory=set)
    refunds: int = 0
    names: int = 0
    kills: int = 0

    def __post_init__(self) -> None:
        self.account = AccountFactory(slug=self.slug, plan__name="enterprise")
        self.scenario = ProgramScenario(self.account, rate=RATE)
        self.coupons: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        for kind in ("bank", "bank", "paypal"):
            self.enroll(kind)
        payer = {f"payer_{name}": value for name, value in PAYER.items()}
        update_payout_settings(self.account, changes=payer, at=self.at)
        self.bank = Bank(self.dice)

    def enroll(self, kind: str) -> None:
        """Enroll an affiliate who can be paid."""
        name = self.choose_name("Mina")
        person = self.scenario.create_enrolled_affiliate(name, "Kessler")
        details = {"email": f"{name.lower()}@notes.example.org"}
        if kind == "bank":
            details = {"account_holder": "A B", "iban": IBANS[self.names % 2]}
        self.set_method(person.slug, kind, details)
        self.coupons[person.slug], self.kinds[person.slug] = person.coupon, kind

    def set_method(self, slug: str, kind: str, details: dict[str, str]) -> None:
        set_payout_method(
            self.account,
            affiliate_id=slug,
            kind=kind,
            details=details,
            is_primary=True,
            at=self.at,
        )

    # What the model expects

    def list_keys(self, *, is_erased: bool = False) -> Iterator[tuple[str, str]]:
        """Affiliates and currencies; those of erased affiliates only, or none."""
        for slug, kind in (self.erased if is_erased else self.kinds).items():
            yield from ((slug, it) for it in ("EUR", "USD")[: 1 + (kind == "paypal")])

    def get_balance(self, affiliate: str, currency: str) -> int:
        key = (affiliate, currency)
        earned = sum(
            commission.units
            for sale in self.sales.values()
            for commission in sale.commissions
            if (sale.affiliate, sale.currency) == key and commission.status == "approved"
        )
        paid = sum(
            each.units
            for each in self.payments.values()
            if (each.affiliate, each.currency) == key and not each.is_canceled
        )
        return self.opening.get(key, 0) + earned - paid

    # How steps are sent

    def send(self, operation: Callable[[], Any], *repeated: type[DomainError]) -> Any:
        """Perform an operation, sometimes after a process was killed in it.

        `repeated` are the errors of one that had taken effect before.
        """
        if self.dice.random() >= KILLED:
            return operation()
        self.kills += 1
        run_killed(
            operation,
            statement=self.dice.randint(1, MAX_STATEMENTS),
            is_executed=self.dice.random() < 0.5,
        )
        try:
            return operation()
        except repeated:
            return None

    def choose(self, rows: Any) -> Any:
        rows = sorted(rows)
        return self.dice.choice(rows) if rows else None

    def choose_name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}-{self.names}"

    # Steps

    def sell(self) -> None:
        name = self.choose_name("order")
        affiliate, currency = self.choose(self.list_keys())
        count = self.dice.randint(1, 3)
        parts = [self.dice.randint(0, MAX_UNITS) for _ in range(count)]
        self.send(
            lambda: self.scenario.create_conversion(
                *map(to_amount, parts),
                parameters=TrackingParameters(coupon=self.coupons[affiliate]),
                external_id=name,
                currency=currency,
                at=self.at,
            ),
            DuplicateConversion,
        )
        commissions = [CommissionModel(it, calculate_commission(it)) for it in parts]
        self.sales[name] = Sale(affiliate, currency, sum(parts), commissions)

    def set_status(self) -> None:
        if name := self.choose(self.sales):
            sale = self.sales[name]
            index = self.dice.randrange(len(sale.commissions))
            status = self.dice.choice(STATUSES)
            rows = self.account.commissions.filter(conversion__external_id=name)
            pk = rows.not_deleted().order_by("id").values_list("pk", flat=True)[index]
            self.send(
                lambda: update_commission(
                    self.account,
                    commission_id=pk,
                    changes={"status": status},
                    at=self.at,
                )
            )
            sale.commissions[index].status = status

    def refund(self) -> None:
        own = {
            name: each for name, each in self.sales.items() if each.units and not each.table_import
        }
        if name := self.choose(own):
            sale = own[name]
            is_full = self.dice.random() < 0.2
            units = sale.units if is_full else self.dice.randint(1, sale.units)
            pk = self.account.conversions.get(external_id=name).pk
            self.refunds += 1
            refund_id = f"refund-{self.refunds}"
            self.send(
                lambda: refund_conversion(
                    self.account,
                    conversion_id=pk,
                    amount=to_amount(units),
                    external_id=refund_id,
                    reason="",
                    at=self.at,
                ),
                ConversionNotFound,
            )
            if units == sale.units:
                del self.sales[name]
                return
            parts = allocate(
                [each.part for each in sale.commissions],
                old_total=sale.units,
                new_total=sale.units - units,
                is_complete=True,
            )
            sale.units -= units
            for commission, part in zip(sale.commissions, parts, strict=True):
                commission.part, commission.units = part, calculate_commission(part)

    def pay_by_hand(self) -> None:
        affiliate, currency = self.choose(self.list_keys())
        units = self.dice.randint(1, MAX_UNITS // 10)
        order = PaymentOrder(affiliate, to_amount(units), currency)
        [payment] = create_payments(self.account, orders=[order], at=self.at)
        self.payments[payment.public_id] = PaymentModel(affiliate, currency, units)

    def cancel(self) -> None:
        rows = self.payments
        if name := self.choose(
            it for it, each in rows.items() if not each.run and not each.is_canceled
        ):
            self.send(
                lambda: cancel_payment(self.account, payment_id=name, at=self.at),
                PaymentNotFound,
            )
            rows[name].is_canceled = True

    def open_balance(self) -> None:
        """Post an opening balance, or take back the one that there is."""
        key = self.choose(self.list_keys())
        fields = {"affiliate_id": key[0], "currency": key[1], "at": self.at}
        if self.opening.pop(key, None) is not None:
            self.send(
                lambda: reverse_opening_balance(self.account, **fields),
                OpeningBalanceNotFound,
            )
            return
        units = self.dice.choice([1, -1]) * self.dice.randint(1, MAX_UNITS // 10)
        self.send(
            lambda: post_opening_balance(self.account, amount=to_amount(units), **fields),
            DuplicateOpeningBalance,
        )
        self.opening[key] = units

    def import_sale(self) -> None:
        name = self.choose_name("imported")
        affiliate = self.choose(self.kinds)
        units = self.dice.randint(0, MAX_UNITS)
        commission = calculate_commission(units)
        text = SALES.format(
            name=name,
            affiliate=affiliate,
            amount=to_amount(units),
            commission=to_amount(commission),
            program=self.scenario.program.slug,
        )
        account = self.account
        self.send(lambda: store(account, "conversions", text, at=self.at))
        table_import = account.table_imports.latest("pk").public_id
        self.sales[name] = Sale(
            affiliate,
            "EUR",
            units,
            [CommissionModel(units, commission, "approved")],
            table_import,
        )

    def undo_import(self) -> None:
        made = {name: each for name, each in self.sales.items() if each.table_import}
        if name := self.choose(made):
            try:
                self.send(
                    lambda: undo_table_import(
                        self.account, public_id=made[name].table_import, at=self.at
                    ),
                    TableImportUndone,
                )
            except TableImportBuiltUpon:
                return  # a status was set, or a run has paid it
            del self.sales[name]

    def pay_run(self) -> None:
        """Draft, make again, confirm; the files go to the bank at once."""
        account, day = self.account, self.at.date()
        run = self.send(lambda: create_draft(account, due_until=day, at=self.at))
        if self.dice.random() < 0.3:
            self.send(lambda: remake_draft(account, pk=run.pk, at=self.at))
        expected = self.list_payable()
        try:
            self.send(lambda: confirm_run(account, pk=run.pk, at=self.at))
        except PayoutRunEmpty:
            assert not expected
            return
        lines = account.payout_lines.filter(run=run).exclude(payment=None)
        names = {}
        for line in lines.select_related("affiliate", "payment"):
            key = (line.affiliate.slug, line.currency)
            name = line.payment.public_id
            assert line.payment.amount == to_amount(expected.pop(key))
            units = int(line.payment.amount * 100)
            self.payments[name] = PaymentModel(*key, units, run.public_id)
            names[name] = key
        assert not expected
        run.refresh_from_db()
        self.upload(run, names)

    def list_payable(self) -> dict[tuple[str, str], int]:
        """What the next run pays."""
        return {
            key: units
            for key in self.list_keys()
            if (units := self.get_balance(*key)) > 0
            and key[0] not in self.method_holds
            and key not in self.withheld
        }

    def withhold(self) -> None:
        """Take a balance out of a draft, or put it back there at once."""
        account = self.account
        if key := self.choose(self.list_payable()):
            run = create_draft(account, due_until=self.at.date(), at=self.at)
            lines = account.payout_lines.filter(run=run, currency=key[1])
            pk = lines.get(affiliate__slug=key[0]).pk
            reason = "asked"
            self.send(
                lambda: take_out(account, pk=pk, reason=reason, at=self.at),
                PayoutLineInOtherState,
            )
            self.withheld.add(key)
            if self.dice.random() < 0.2:
                self.send(lambda: put_back(account, pk=pk, at=self.at), PayoutLineInOtherState)
                self.withheld.remove(key)

    def lift(self) -> None:
        if key := self.choose(it for it in self.withheld if it[0] in self.kinds):
            slug, currency = key
            self.send(
                lambda: lift_withheld_balance(
                    self.account, affiliate_id=slug, currency=currency, at=self.at
                ),
                BalanceNotWithheld,
            )
            self.withheld.remove(key)

    def erase(self) -> None:
        """Erase an affiliate, unless a payment of it has no answer; another joins."""
        slug = self.choose(self.kinds)
        pk = self.account.affiliates.get(slug=slug).pk
        own = {
            it.replace("_", "-")
            for it, each in self.payments.items()
            if each.affiliate == slug and each.run and not each.is_canceled
        }
        states = {
            it.state
            for it in self.bank.transfers
            if it.name in own or it.name.replace("_", "-") in own
        }
        try:
            self.send(
                lambda: erase_person(self.account, identifier=slug, at=self.at),
                PersonNotFound,
            )
        except PaymentsUnanswered:
            assert "received" in states or self.bank.answers
            return
        assert "received" not in states
        self.rename_erased(slug, get_erased_id(pk))
        self.enroll(self.erased[get_erased_id(pk)])

    def rename_erased(self, slug: str, erased_id: str) -> None:
        """What is due to the affiliate stays, under an ID that names nobody."""
        self.erased[erased_id] = self.kinds.pop(slug)
        rows = (*self.sales.values(), *self.payments.values(), *self.bank.transfers)
        for row in rows:
            if row.affiliate == slug:
                row.affiliate = erased_id
        for key in [key for key in self.opening if key[0] == slug]:
            self.opening[erased_id, key[1]] = self.opening.pop(key)
        self.withheld = {
            (erased_id if name == slug else name, currency) for name, currency in self.withheld
        }
        self.method_holds.discard(slug)

    def upload(self, run: Any, names: dict[str, tuple[str, str]]) -> None:
        for file in build_files(run, formats=["pain001", "paypal"], at=self.at):
            record_export(run, at=self.at)
            if file.format == "pain001":
                slugs = {it.replace("_", "-"): key[0] for it, key in names.items()}
                self.bank.upload_pain001(file.content, slugs)
                continue
            paid = {it: key for it, key in names.items() if self.is_in(file, it)}
            transfers = [
                Transfer(it, key[0], to_amount(self.payments[it].units), key[1])
                for it, key in sorted(paid.items())
            ]
            self.bank.upload_paypal(file.name, transfers)

    @staticmethod
    def is_in(file: Any, name: str) -> bool:
        return name.encode() in file.content

    def upload_again(self) -> None:
        """Somebody takes the files of an old run to the bank once more."""
        if run_id := self.choose({each.run for each in self.payments.values()} - {""}):
            run = self.account.payout_runs.get(public_id=run_id)
            names = {
                it: (each.affiliate, each.currency)
                for it, each in self.payments.items()
                if each.run == run_id
            }
            if any(key[0] in self.erased for key in names.values()):
                with pytest.raises(ReceiverErased):
                    self.upload(run, names)
            else:
                self.upload(run, names)

    def process(self) -> None:
        self.bank.process()

    def send_back(self) -> None:
        self.bank.send_back()

    def deliver(self) -> None:
        """Apply an answer; answers overtake each other, and come again."""
        bank = self.bank
        if bank.answers:
            index = self.dice.randrange(len(bank.answers))
            bank.delivered.append(bank.answers.pop(index))
            self.apply(bank.delivered[-1])
        elif bank.delivered:
            self.apply(self.dice.choice(bank.delivered))

    def apply(self, content: bytes) -> None:
        results = read_results(content)
        self.send(lambda: apply_payout_results(self.account, results, at=self.at))
        delivered = {each.name.replace("-", "_"): each.state for each in self.find_known(content)}
        for name, state in delivered.items():
            payment = self.payments[name]
            if state in ("refused", "returned") and not payment.is_canceled:
                payment.is_canceled = True
                if payment.affiliate in self.kinds:
                    self.method_holds.add(payment.affiliate)

    def find_known(self, content: bytes) -> Iterator[Transfer]:
        """The payments that an answer names, unless it is older than their state."""
        text = content.decode()
        if "AM05" in text or "DU01" in text:
            return
        for message_id, file in self.bank.files.items():
            is_group = f"<OrgnlMsgId>{message_id}<" in text and "PART" not in text
            for each in file:
                says_settled = "Completed" in text or "ACSC" in text
                is_named = is_group or each.name in text
                if is_named and not (each.state == "returned" and says_settled):
                    yield each

    def refuse_what_is_settled(self) -> None:
        """A bank refuses a file whose payments have all arrived: nothing is owed."""
        lines = self.account.payout_lines.filter(state="settled")
        settled = set(lines.values_list("payment__public_id", flat=True))
        if name := self.choose(
            name
            for name, file in self.bank.files.items()
            if not name.endswith(".csv")
            and settled.issuperset(it.name.replace("-", "_") for it in file)
        ):
            self.bank.answer_group(name, "RJCT")
            results = read_results(self.bank.answers.pop())
            applied = apply_payout_results(self.account, results, at=self.at)
            assert not applied.failed
            assert len(applied.unmatched) == len(self.bank.files[name])

    def release_method(self) -> None:
        if slug := self.choose(self.method_holds):
            self.send(
                lambda: release_payout_method(
                    self.account, affiliate_id=slug, kind=self.kinds[slug], at=self.at
                ),
                PayoutMethodNotFound,
            )
            self.method_holds.remove(slug)

    def wait(self) -> None:
        self.at += timedelta(days=self.dice.randint(0, 3))

    # A whole history

    def run(self, steps: int, *, checks: int) -> None:
        """Perform random steps, check some times, and once all answers are there."""
        names = [name for name, weight in STEPS.items() for _ in range(weight)]
        for number in range(1, steps + 1):
            self.at += timedelta(minutes=1)
            self.bank.day = str(self.at.date())
            getattr(self, self.dice.choice(names))()
            if number % checks == 0:
                self.check()
        while any(it.state == "received" for it in self.bank.transfers):
            self.process()
        while self.bank.answers:
            self.deliver()
        self.check()
        self.check_bank()

    def check(self) -> None:
        expected: dict[str, dict[str, Decimal]] = {}
        for slug, currency in (*self.list_keys(), *self.list_keys(is_erased=True)):
            if units := self.get_balance(slug, currency):
                expected.setdefault(slug, {})[currency] = to_amount(units)
        balances = get_payable_balances_by_slug(self.account)
        assert balances == expected
        withheld = self.account.withheld_balances.values_list("affiliate__slug", "currency")
        assert set(withheld) == self.withheld
        rows = self.account.commissions.not_deleted().order_by("id")
        stored: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in self.account.conversions.filter(deleted_at=None)
            .values_list("external_id", flat=True)
        }  # fmt: skip
        columns = ("conversion__external_id", "sub_amount", "amount", "status")
        for name, *values in rows.values_list(*columns):
            stored[name].append(tuple(values))
        assert stored == {
            name: [
                (to_amount(each.part), to_amount(each.units), each.status)
                for each in sale.commissions
            ]
            for name, sale in self.sales.items()
        }
        payments = self.account.payments.not_canceled().values_list("public_id", "amount")
        assert dict(payments) == {
            name: to_amount(each.units)
            for name, each in self.payments.items()
            if not each.is_canceled
        }
        assert_ledger_consistent(self.account)
        assert_row_counts_exact(self.account, at=self.at)

    def check_bank(self) -> None:
        """Nobody got money twice, and nobody lost any."""
        lines = self.account.payout_lines.filter(state="settled")
        for slug, currency in (*self.list_keys(), *self.list_keys(is_erased=True)):
            own = lines.filter(affiliate__slug=slug, currency=currency)
            settled = sum(own.values_list("amount", flat=True), Decimal(0))
            assert self.bank.get_paid(slug, currency) == settled
        assert not self.account.payout_lines.filter(state="unknown").exists()


STEPS = {
    "sell": 22,
    "set_status": 20,
    "refund": 8,
    "pay_by_hand": 2,
    "cancel": 2,
    "open_balance": 2,
    "import_sale": 5,
    "undo_import": 2,
    "pay_run": 6,
    "withhold": 3,
    "lift": 2,
    "erase": 1,
    "upload_again": 2,
    "process": 6,
    "send_back": 2,
    "deliver": 12,
    "refuse_what_is_settled": 2,
    "release_method": 3,
    "wait": 4,
}


def run_history(seed: int, *, steps: int, checks: int) -> History:
    history = History(Random(seed), slug=f"history-{uuid4().hex[:12]}")  # noqa: S311
    history.run(steps, checks=checks)
    return history


@pytest.fixture(autouse=True)
def store_always(monkeypatch):
    """Store the row counts of short lists too."""
    monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 0)


@pytest.mark.parametrize("seed", range(2))
def test_a_history_matches_its_model(committed_db, seed):
    run_history(seed, steps=120, checks=10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_a_long_history_matches_its_model(committed_db, seed):
    history = run_history(seed, steps=500, checks=25)
    assert history.kills > 20
