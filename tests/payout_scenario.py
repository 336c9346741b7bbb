"""A confirmed payout run: payments by the service, rows as a confirmation has them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from accounts.ids import generate_public_id
from affiliate_site.payout_files.writing import plan_files
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLine, PayoutRun
from payouts.services.payments import PaymentOrder, create_payments
from tracking.models.affiliates import Affiliate

CONFIRMED_AT = datetime(2026, 4, 5, 8, 30, 15, 123456, tzinfo=UTC)
IBAN = "DE89370400440532013000"
BANK = {"account_holder": "Mina Keßler", "iban": IBAN, "bic": "COBADEFFXXX"}
PAYER = {
    "name": "Hafen & Söhne GmbH",
    "iban": "NL91ABNA0417164300",
    "bic": "ABNANL2A",
    "street": "Kade",
    "building": "7",
    "postal_code": "1011 AB",
    "city": "Amsterdam",
    "country": "NL",
}
BASIS = {
    **{name: [] for name in ("programs", "groups", "methods", "currencies")},
    "minimums": {},
}
ADDRESS = {"street": "Wall 3", "postal_code": "20095", "city": "Köln", "country": "DE"}


@dataclass
class Paid:
    """What a line pays."""

    amount: str = "12.50"
    currency: str = "EUR"
    method: str = "bank"
    details: dict | None = None
    name: str = "Mina Keßler"
    address: dict | None = None
    slug: str = "minakessler"

    @property
    def receiver(self):
        return {
            "name": self.name,
            "kind": self.method,
            "details": BANK if self.details is None else self.details,
            "address": ADDRESS if self.address is None else self.address,
        }


def build_run(*paid, state="confirmed", payer=PAYER, account=None):
    """A run and its lines that are not stored, with ids that tests can name."""
    run = PayoutRun(
        public_id="pr_AAAABBBBCCCCDDDD",
        state=state,
        confirmed_at=CONFIRMED_AT,
        payer=payer,
        account=account,
    )
    lines = [
        PayoutLine(
            account=account,
            run=run,
            affiliate=Affiliate(slug=each.slug),
            currency=each.currency,
            amount=Decimal(each.amount),
            method=each.method,
            state="unknown",
            receiver=each.receiver,
            payment=Payment(public_id=f"pa_000000000000000{number}"),
        )
        for number, each in enumerate(paid, start=1)
    ]
    return run, lines


BASIS = {"programs": [], "groups": [], "methods": [], "currencies": [], "minimums": {}}


def create_run(account, *paid, state="exported", payer=PAYER, at=CONFIRMED_AT):
    """A confirmed run with a line of one affiliate and currency each."""
    run = account.payout_runs.create(
        public_id=generate_public_id("pr"),
        state=state,
        due_before=at,
        basis=BASIS,
        created_by="staff 1",
        created_at=at,
        confirmed_by="staff 2",
        confirmed_at=at,
        payer=payer,
    )
    for each in paid:
        order = PaymentOrder(each.slug, Decimal(each.amount), each.currency)
        [payment] = create_payments(account, orders=[order], at=at)
        account.payout_lines.create(
            run=run,
            affiliate=payment.affiliate,
            currency=each.currency,
            amount=payment.amount,
            method=each.method,
            state="unknown",
            receiver=each.receiver,
            payment=payment,
        )
    return run


def get_lines(run):
    return list(run.account.payout_lines.filter(run=run).order_by("id"))


def build_files(run, *, formats, at):
    """Record and write the files of a run in these formats."""
    return [planned.build(run, at=at) for planned in plan_files(run, formats=formats)]
