"""Fill the source of `benchmarks.moving`, or change it; print a key, or what was done.

    python -m benchmarks.moving_data fill AFFILIATES CONVERSIONS
    python -m benchmarks.moving_data change COUNT

The demo's history, in the account of many plain sales: levels, bonuses, refunds,
contested claims, coupons, payments and every state.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.management import call_command
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Concat
from django.utils import timezone

import benchmarks.django_setup  # noqa: F401 - before models are imported
from accounts.errors import DomainError
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.accounts import create_account
from accounts.services.api_keys import create_api_key
from affiliate_site.demo import history
from benchmarks.growth_data import create_filled_account, settle_account
from benchmarks.scenario import analyze_tables
from payouts.calculation import LineItem
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import delete_conversion, update_conversion
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_methods import set_payout_method
from payouts.services.refunds import refund_conversion
from tracking.attribution import TrackingParameters
from tracking.models.affiliates import Affiliate
from tracking.models.sources import Coupon
from tracking.services.affiliates import update_affiliate
from tracking.services.customers import cancel_customer
from tracking.services.notes import create_note

SLUG, TARGET = "source", "target"
AFFILIATES_PER_SCALE = 1250  # of the demo's history
SHARE_REVIEWED = 20  # one of so many plain sales is reviewed
SHARE_KNOWN = 10  # one of so many affiliates has a note and a payout method
CHILDREN = 10
MAX_TRIES = 20


def main() -> None:
    """Fill or change the database of DATABASE_URL."""
    command, *numbers = sys.argv[1:]
    counts = [int(number) for number in numbers]
    if command == "target":
        call_command("migrate", verbosity=0, interactive=False)
        at = timezone.now() - timedelta(days=400)
        create_empty_account(TARGET, at)
        print(create_key(Account.objects.get(slug=TARGET)))
    elif command == "fill":
        call_command("migrate", verbosity=0, interactive=False)
        print(create_key(fill(*counts)))
        analyze_tables()
    else:
        account = Account.objects.get(slug=SLUG)
        print(dict(change(account, *counts)))


def create_empty_account(slug: str, at: datetime) -> Account:
    """Create an account that an import fills."""
    return create_account(
        slug=slug,
        name=slug,
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=at,
    )


def create_key(account: Account) -> str:
    """Return the text of a new API key that reads everything."""
    return create_api_key(account, name="", role=Role.OWNER, at=timezone.now())[1]


def fill(affiliate_count: int, conversion_count: int) -> Account:
    """Create the account with everything that the API shows."""
    scale = max(1, affiliate_count // AFFILIATES_PER_SCALE)
    at = timezone.now()
    with transaction.atomic():
        account = create_filled_account(
            SLUG, conversion_count=conversion_count, affiliate_count=affiliate_count
        )
        settle_account(account)
        renamed = Concat(Value("plain-"), "external_id")  # the history has order-1001
        account.conversions.update(external_id=renamed)
        add_people(account, at=at)
        history.VISITS_PER_SALE = 0
        history.create_history(account, scale=scale, at=at, progress=iter)
        review(account, conversion_count // SHARE_REVIEWED, at=at)
    return account


def add_people(account: Account, *, at: datetime) -> None:
    """Coupons and parents for all plain affiliates, notes and methods for some."""
    enrollments = account.enrollments.order_by("id")
    account.coupons.bulk_create(
        Coupon(account=account, enrollment=each, code=f"PLAIN{number}")
        for number, each in enumerate(enrollments)
    )
    rows: list[Affiliate] = list(account.affiliates.order_by("id"))
    for number, row in enumerate(rows):
        if number:
            row.parent = rows[(number - 1) // CHILDREN]
        if number % SHARE_KNOWN == 0:
            create_note(account, affiliate=row, text=f"Note {number}", at=at)
            set_payout_method(
                account,
                affiliate_id=row.slug,
                kind="paypal",
                details={"email": f"a{number}@e.example"},
                is_primary=True,
                at=at,
            )
    account.affiliates.bulk_update(rows, ["parent"], batch_size=500)


def review(account: Account, count: int, *, at: datetime) -> None:
    """Disapprove some commissions that are not paid."""
    rng = random.Random(1)  # noqa: S311 - sample data
    unpaid = account.commissions.not_deleted().filter(payment=None)
    pks = list(unpaid.values_list("pk", flat=True))
    for pk in rng.sample(pks, min(count, len(pks) // 2)):
        with suppress(DomainError):
            disapprove_commission(account, commission_id=pk, at=at)


def change(account: Account, count: int) -> Counter[str]:
    """Make random changes; return how many of each kind."""
    rng = random.Random(2)  # noqa: S311 - sample data
    done: Counter[str] = Counter()
    for number in range(count * MAX_TRIES):
        action = rng.choice(CHANGES)
        with suppress(DomainError), transaction.atomic():
            action(account, rng, number, timezone.now())
            done[action.__name__] += 1
        if done.total() == count:
            break
    return done


def pick(rng: random.Random, rows: Any) -> Any:
    """Return a random row."""
    rows = rows.order_by("pk")
    return rows[rng.randrange(rows.count())]


def approve(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Approve a commission."""
    rows = account.commissions.not_deleted().exclude(status="approved")
    approve_commission(account, commission_id=pick(rng, rows).pk, at=at)


def disapprove(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Disapprove a commission."""
    rows = account.commissions.not_deleted().exclude(status="disapproved")
    disapprove_commission(account, commission_id=pick(rng, rows).pk, at=at)


def change_amount(account: Account, rng: random.Random, n: int, at: datetime) -> None:
    """Change the amount of a sale, whose commissions follow."""
    update_conversion(
        account,
        conversion_id=pick(rng, account.conversions.not_deleted()).pk,
        changes={"amount": Decimal(rng.randint(100, 30_000)) / 100},
        should_recalculate=n % 2 == 0,
        at=at,
    )


def change_meta_data(account: Account, rng: random.Random, number: int, at: datetime) -> None:
    """Change the meta data of a sale."""
    update_conversion(
        account,
        conversion_id=pick(rng, account.conversions.not_deleted()).pk,
        changes={"meta_data": {"number": str(number)}},
        should_recalculate=False,
        at=at,
    )


def refund(account: Account, rng: random.Random, number: int, at: datetime) -> None:
    """Refund a sale, or five of its amount."""
    refund_conversion(
        account,
        conversion_id=pick(rng, account.conversions.not_deleted()).pk,
        reason="sent back",
        amount=None if number % 2 else Decimal(5),
        at=at,
    )


def remove(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Remove a sale."""
    row = pick(rng, account.conversions.not_deleted())
    delete_conversion(account, conversion_id=row.pk, at=at)


def sell(account: Account, rng: random.Random, number: int, at: datetime) -> None:
    """Record a sale by a coupon."""
    coupon = pick(rng, account.coupons.filter(enrollment__approved=True))
    parameters = TrackingParameters(coupon=coupon.code, customer_id=f"late-{number}")
    data = ConversionData(parameters, [LineItem(Decimal(rng.randint(1, 900)))], f"late-{number}")
    create_conversion(account, data=data, at=at)


def pay(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Pay an affiliate some cents."""
    slug = pick(rng, account.affiliates.not_deleted()).slug
    create_payments(account, orders=[PaymentOrder(slug, Decimal("0.5"), "EUR")], at=at)


def cancel_one_payment(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Cancel a payment."""
    row = pick(rng, account.payments.not_canceled())
    cancel_payment(account, payment_id=row.public_id, at=at)


def cancel_one_customer(account: Account, rng: random.Random, _: int, at: datetime) -> None:
    """Cancel a customer."""
    row = pick(rng, account.customers.not_deleted())
    cancel_customer(account, public_id=row.public_id, at=at)


def rename(account: Account, rng: random.Random, number: int, at: datetime) -> None:
    """Rename an affiliate."""
    slug = pick(rng, account.affiliates.not_deleted()).slug
    changes = {"lastname": f"Other {number}"}
    update_affiliate(account, affiliate_id=slug, changes=changes, at=at)


CHANGES: tuple[Callable[..., None], ...] = (
    approve,
    disapprove,
    change_amount,
    change_meta_data,
    refund,
    remove,
    sell,
    pay,
    cancel_one_payment,
    cancel_one_customer,
    rename,
)

if __name__ == "__main__":
    main()
