"""A believable account, told through the same services as the API."""

import json
import os
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.accounts import open_account
from accounts.services.keys import issue, recognise
from accounts.services.staff import invite_staff, new_password
from affiliate_site.env import VAR, private
from payouts.models.commission_types import RateKind
from payouts.models.commissions import Status
from payouts.services.commissions import approve, disapprove
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, pay
from payouts.services.programs import Rules, open_program
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tracking.attribution import Clues
from tracking.models.programs import Program
from tracking.services.affiliates import Application, Secret, sign_up
from tracking.services.clicks import Visit, record_click
from tracking.services.enrolments import Entry, enrol

ACCOUNT = "demo"
EMAIL = "demo@example.org"
KEPT = VAR / "demo.json"
DAYS = timedelta(days=60)
NO_PASSWORD = Secret(hashed="!")  # nobody signs in as one of these
DECIDED_AFTER = timedelta(days=14)
SALES_PER_SCALE = 60
CLICKS_PER_SALE = 5
PAID_AT_ONCE = 500

PEOPLE = [
    ("Ada", "Stone", "Stone & Shade Review"),
    ("Bruno", "Takala", "Takala Interiors"),
    ("Carla", "Ndiaye", None),
    ("Dmitri", "Olsen", "Evening Light"),
    ("Elif", "Marchetti", None),
    ("Farid", "Quist", "Quist Home Letters"),
    ("Greta", "Imanov", "The Reading Corner"),
    ("Hana", "Whitlock", None),
]
PAGES = ("lamps", "desk", "garden", "sale", "")
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
)

Progress = Callable[[Iterable[int]], Iterable[int]]


@dataclass(frozen=True)
class Demo:
    """What a newcomer needs to try the demo account."""

    account: str
    key: str
    referral_code: str
    email: str
    password: str


def demo_at_hand() -> Demo | None:
    """The demo, loaded into a database that holds no account yet; None in another."""
    if not Account.objects.exists():
        return load(scale=1, at=timezone.now())
    return kept()


def kept() -> Demo | None:
    """The demo that was loaded earlier, if its key still opens this database."""
    with suppress(OSError, ValueError, TypeError, User.DoesNotExist):
        demo = Demo(**json.loads(KEPT.read_text()))
        key = recognise(demo.key)
        if key is not None and key.account.slug == demo.account:
            key.account.staff.get(email=demo.email)
            return demo
    return None


def load(*, scale: int, at: datetime, progress: Progress = iter) -> Demo:
    """Make the demo account, all of it or nothing; loaded already: only its key."""
    with transaction.atomic():
        account = Account.objects.filter(slug=ACCOUNT).first()
        if account is None:
            account = make(scale=scale, at=at, progress=progress)
        demo = kept()
        if demo is None:
            demo = Demo(
                account=account.slug,
                key=issue(account, name="demo", role=Role.OWNER, at=at)[1],
                referral_code=first_code(account),
                email=EMAIL,
                password=let_in(account, at=at),
            )
            keep(demo)
    return demo


def keep(demo: Demo) -> None:
    """Keep the key, so that the next run prints the same one; mode 0600."""
    VAR.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(KEPT)  # noqa: PTH108 - made anew, so that its mode is right
    with open(KEPT, "x", opener=private) as file:
        json.dump(vars(demo), file)


def make(*, scale: int, at: datetime, progress: Progress) -> Account:
    """Programs, affiliates, clicks, sales and decisions of the last sixty days."""
    dice = random.Random(scale)  # noqa: S311 - a story, not a secret
    began = at - DAYS
    account = open_account(
        slug=ACCOUNT,
        name="Harbor Lamps",
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=began,
    )
    lamps = open_lamps(account, began)
    codes = [
        join(account, lamps, number, scale=scale, at=began + timedelta(hours=number))
        for number in range(len(PEOPLE) * scale)
    ]
    for number in progress(range(SALES_PER_SCALE * scale)):
        # Even steps through the sixty days, the last one just before now.
        moment = began + DAYS * (number + 1) / (SALES_PER_SCALE * scale + 1)
        sell(account, dice, codes, number, at=moment)
    decide(account, dice, before=at - DECIDED_AFTER, at=at)
    settle(account, dice, at=at)
    return account


def open_lamps(account: Account, at: datetime) -> Program:
    """A program that pays 10 % for lamps and 7.5 % for accessories."""
    program = open_program(
        account,
        slug="harbor-lamp-partners",
        rules=Rules(
            title="Harbor Lamp Partners",
            currency="EUR",
            landing_page="https://shop.example.net/",
        ),
        at=at,
    )
    account.commission_types.create(
        program=program,
        identifier="accessories",
        title="Accessories",
        kind=RateKind.PERCENTAGE,
        value=Decimal("7.5"),
    )
    return program


def join(
    account: Account, program: Program, number: int, *, scale: int, at: datetime
) -> str:
    """An affiliate of the program; its referral code."""
    firstname, lastname, company = PEOPLE[number % len(PEOPLE)]
    affiliate = sign_up(
        account,
        application=Application(
            firstname=firstname,
            lastname=lastname,
            email=f"{firstname.lower()}{number or ''}@notes.example.org",
            company={"company_name": company} if company else {},
        ),
        secret=NO_PASSWORD,
        at=at,
    )
    coupon = f"{firstname.upper()}{number + 10}"
    entry = Entry(affiliate_id=affiliate.slug, approved=True, coupon=coupon)
    enrolment = enrol(account, program=program, entry=entry, at=at)
    return account.referral_codes.get(enrolment=enrolment).code


def sell(
    account: Account,
    dice: random.Random,
    codes: list[str],
    number: int,
    *,
    at: datetime,
) -> None:
    """Some visits, the last of which buys."""
    code = dice.choice(codes)
    for minutes in range(CLICKS_PER_SALE, 0, -1):
        page = dice.choice(PAGES)
        click = record_click(
            account,
            visit=Visit(
                clues=Clues(referral_code=code),
                referrer=f"https://notes.example.org/{page}",
                landing_page=f"https://shop.example.net/{page}?ref={code}",
                user_agent=dice.choice(AGENTS),
                meta_data={"subid1": f"letter-{dice.randint(1, 12)}"},
            ),
            at=at - timedelta(minutes=minutes),
        )
    lamp = Item(Decimal(dice.randint(1900, 24900)) / 100)
    shade = Item(Decimal(dice.randint(500, 4900)) / 100, "accessories")
    record_conversion(
        account,
        sale=Sale(
            clues=Clues(
                click_id=str(click.public_id), customer_id=f"customer-{number + 1}"
            ),
            items=[lamp] if dice.random() < 0.6 else [lamp, shade],
            external_id=f"order-{number + 1001}",
        ),
        at=at,
    )


def decide(
    account: Account, dice: random.Random, *, before: datetime, at: datetime
) -> None:
    """What is older than two weeks was looked at: most of it counts."""
    waiting = account.commissions.filter(status=Status.PENDING, created_at__lt=before)
    for number in list(waiting.order_by("id").values_list("id", flat=True)):
        decision = approve if dice.random() < 0.9 else disapprove
        decision(account, commission_id=number, at=at)


def settle(account: Account, dice: random.Random, *, at: datetime) -> None:
    """Most affiliates were paid what they are owed."""
    owed = [
        Order(affiliate, amount, currency)
        for affiliate, balances in balances_of(account).items()
        for currency, amount in balances.items()
        if amount > 0 and dice.random() < 0.7
    ]
    for first in range(0, len(owed), PAID_AT_ONCE):
        pay(account, orders=owed[first : first + PAID_AT_ONCE], at=at)


def let_in(account: Account, *, at: datetime) -> str:
    """The password of the demo's sign-in, a new one."""
    if account.staff.filter(email=EMAIL).exists():
        return new_password(account, email=EMAIL, at=at)
    _, password = invite_staff(
        account, email=EMAIL, role=Role.OWNER, password=None, at=at
    )
    return password or ""


def first_code(account: Account) -> str:
    """The referral code of whoever joined first."""
    return account.referral_codes.order_by("id").values_list("code", flat=True)[0]
