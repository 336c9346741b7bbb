"""The demo account, created through the same services as the API uses."""

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
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.accounts import create_account
from accounts.services.api_keys import create_api_key, find_api_key
from accounts.services.signing_secrets import create_signing_secret
from accounts.services.staff import create_staff_user, reset_password
from affiliate_site.env import VAR_DIR, open_private_file
from payouts.models.commission_types import RateKind
from payouts.models.commissions import CommissionStatus
from payouts.services.calculation_input import LineItemData
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.programs import ProgramSettings, create_program
from tracking.attribution import TrackingParameters
from tracking.models.programs import Program
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.enrollments import EnrollmentData, create_enrollment

ACCOUNT_SLUG = "demo"
EMAIL = "demo@example.org"
CREDENTIALS_FILE = VAR_DIR / "demo.json"
DEMO_PERIOD = timedelta(days=60)
UNUSABLE_PASSWORD = AffiliatePassword(hashed="!")  # matches no password
REVIEW_DELAY = timedelta(days=14)
CONVERSIONS_PER_SCALE = 60
CLICKS_PER_CONVERSION = 5
PAYMENT_BATCH_SIZE = 500

AFFILIATES = [
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
USER_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
)

ProgressWrapper = Callable[[Iterable[int]], Iterable[int]]


@dataclass(frozen=True)
class DemoCredentials:
    """What is needed to use the demo account."""

    account: str
    key: str
    referral_code: str
    email: str
    password: str


def get_or_load_demo() -> DemoCredentials | None:
    """Load the demo into an empty database, or find it; None in other databases."""
    if not Account.objects.exists():
        return load_demo(scale=1, at=timezone.now())
    return find_saved_credentials()


def find_saved_credentials() -> DemoCredentials | None:
    """The saved credentials, if their key and user are valid in this database."""
    with suppress(OSError, ValueError, TypeError, User.DoesNotExist):
        demo = DemoCredentials(**json.loads(CREDENTIALS_FILE.read_text()))
        key = find_api_key(demo.key)
        if key is not None and key.account.slug == demo.account:
            key.account.staff.get(email=demo.email)
            return demo
    return None


def load_demo(
    *, scale: int, at: datetime, progress: ProgressWrapper = iter
) -> DemoCredentials:
    """Create the demo account in one transaction; if it exists, return credentials.

    Credentials that are lost or invalid are replaced.
    """
    with transaction.atomic():
        account = Account.objects.filter(slug=ACCOUNT_SLUG).first()
        if account is None:
            account = create_demo_account(scale=scale, at=at, progress=progress)
        demo = find_saved_credentials()
        if demo is None:
            demo = DemoCredentials(
                account=account.slug,
                key=create_api_key(account, name="demo", role=Role.OWNER, at=at)[1],
                referral_code=get_first_referral_code(account),
                email=EMAIL,
                password=create_or_reset_staff_login(account, at=at),
            )
            save_credentials(demo)
    return demo


def save_credentials(credentials: DemoCredentials) -> None:
    """Save the credentials with mode 0600, so that the next run prints the same."""
    VAR_DIR.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(CREDENTIALS_FILE)  # noqa: PTH108 - a new file gets the right mode
    with open(CREDENTIALS_FILE, "x", opener=open_private_file) as file:
        json.dump(vars(credentials), file)


def create_demo_account(
    *, scale: int, at: datetime, progress: ProgressWrapper
) -> Account:
    """Programs, affiliates, clicks, conversions and payments of the last 60 days."""
    rng = random.Random(scale)  # noqa: S311 - sample data, not a secret
    started_at = at - DEMO_PERIOD
    account = create_account(
        slug=ACCOUNT_SLUG,
        name="Harbor Lamps",
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=started_at,
    )
    program = create_demo_program(account, started_at)
    create_signing_secret(account, at=started_at)
    codes = [
        create_enrolled_affiliate(
            account,
            program,
            index,
            scale=scale,
            at=started_at + timedelta(hours=index),
        )
        for index in range(len(AFFILIATES) * scale)
    ]
    conversion_count = CONVERSIONS_PER_SCALE * scale
    for index in progress(range(conversion_count)):
        # Evenly spread over the period, the last one just before its end.
        created_at = started_at + DEMO_PERIOD * (index + 1) / (conversion_count + 1)
        create_clicks_and_conversion(account, rng, codes, index, at=created_at)
    review_commissions(account, rng, before=at - REVIEW_DELAY, at=at)
    pay_affiliates(account, rng, at=at)
    return account


def create_demo_program(account: Account, at: datetime) -> Program:
    """A program that pays 10 % for lamps and 7.5 % for accessories."""
    program = create_program(
        account,
        slug="harbor-lamp-partners",
        settings=ProgramSettings(
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


def create_enrolled_affiliate(
    account: Account, program: Program, index: int, *, scale: int, at: datetime
) -> str:
    """Create an affiliate of the program; returns the referral code."""
    firstname, lastname, company = AFFILIATES[index % len(AFFILIATES)]
    affiliate = create_affiliate(
        account,
        data=PersonData(
            firstname=firstname,
            lastname=lastname,
            email=f"{firstname.lower()}{index or ''}@notes.example.org",
            company={"company_name": company} if company else {},
        ),
        password=UNUSABLE_PASSWORD,
        at=at,
    )
    coupon = f"{firstname.upper()}{index + 10}"
    data = EnrollmentData(affiliate_id=affiliate.slug, approved=True, coupon=coupon)
    enrollment = create_enrollment(account, program=program, data=data, at=at)
    return account.referral_codes.get(enrollment=enrollment).code


def create_clicks_and_conversion(
    account: Account,
    rng: random.Random,
    codes: list[str],
    index: int,
    *,
    at: datetime,
) -> None:
    """Create some clicks, and a conversion for the last one."""
    code = rng.choice(codes)
    for minutes in range(CLICKS_PER_CONVERSION, 0, -1):
        page = rng.choice(PAGES)
        click = record_click(
            account,
            visit=Visit(
                parameters=TrackingParameters(referral_code=code),
                referrer=f"https://notes.example.org/{page}",
                landing_page=f"https://shop.example.net/{page}?ref={code}",
                user_agent=rng.choice(USER_AGENTS),
                meta_data={"subid1": f"letter-{rng.randint(1, 12)}"},
            ),
            at=at - timedelta(minutes=minutes),
        )
    lamp = LineItemData(Decimal(rng.randint(1900, 24900)) / 100)
    shade = LineItemData(Decimal(rng.randint(500, 4900)) / 100, "accessories")
    create_conversion(
        account,
        data=ConversionData(
            parameters=TrackingParameters(
                click_id=str(click.public_id), customer_id=f"customer-{index + 1}"
            ),
            line_items=[lamp] if rng.random() < 0.6 else [lamp, shade],
            external_id=f"order-{index + 1001}",
        ),
        at=at,
    )


def review_commissions(
    account: Account, rng: random.Random, *, before: datetime, at: datetime
) -> None:
    """Approve most commissions that were created before `before`, disapprove others."""
    pending = account.commissions.filter(
        status=CommissionStatus.PENDING, created_at__lt=before
    )
    for commission_id in list(pending.order_by("id").values_list("id", flat=True)):
        review = approve_commission if rng.random() < 0.9 else disapprove_commission
        review(account, commission_id=commission_id, at=at)


def pay_affiliates(account: Account, rng: random.Random, *, at: datetime) -> None:
    """Pay the full balance of most affiliates."""
    orders = [
        PaymentOrder(affiliate, amount, currency)
        for affiliate, balances in get_payable_balances_by_slug(account).items()
        for currency, amount in balances.items()
        if amount > 0 and rng.random() < 0.7
    ]
    for start in range(0, len(orders), PAYMENT_BATCH_SIZE):
        batch = orders[start : start + PAYMENT_BATCH_SIZE]
        create_payments(account, orders=batch, at=at)


def create_or_reset_staff_login(account: Account, *, at: datetime) -> str:
    """Create the staff user of the demo or reset its password; returns the password."""
    if account.staff.filter(email=EMAIL).exists():
        return reset_password(account, email=EMAIL, at=at)
    _, password = create_staff_user(
        account, email=EMAIL, role=Role.OWNER, password=None, at=at
    )
    return password or ""


def get_first_referral_code(account: Account) -> str:
    """The referral code of the first affiliate."""
    return account.referral_codes.order_by("id").values_list("code", flat=True)[0]
