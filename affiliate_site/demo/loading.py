"""The demo account, created through the same services as the API uses."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.ids import generate_random_text
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.accounts import create_account
from accounts.services.api_keys import create_api_key, find_api_key
from accounts.services.staff import create_staff_user, reset_password
from affiliate_site.demo.history import (
    ProgressWrapper,
    create_history,
    get_first_moment,
)
from affiliate_site.env import VAR_DIR, open_private_file
from tracking.services.creatives import create_creative
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

ACCOUNT_SLUG = "demo"
EMAIL = "demo@example.org"
FINANCE_EMAIL = "finance@example.org"
PASSWORD_LENGTH = 20
WELCOME_TEXT = "Recommend our lamps and earn from every sale."
CREDENTIALS_FILE = VAR_DIR / "demo.json"


@dataclass(frozen=True)
class DemoCredentials:
    """What is needed to use the demo account."""

    account: str
    key: str
    referral_code: str
    email: str
    password: str
    # Of the role finance; empty in a file of an earlier version.
    finance_email: str = ""
    finance_password: str = ""
    # Of an affiliate at the portal; as empty.
    affiliate_email: str = ""
    affiliate_password: str = ""


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


def load_demo(*, scale: int, at: datetime, progress: ProgressWrapper = iter) -> DemoCredentials:
    """Create the demo account in one transaction; if it exists, return credentials.

    Credentials that are lost or invalid are replaced.
    """
    with transaction.atomic():
        account = Account.objects.filter(slug=ACCOUNT_SLUG).first()
        if account is None:
            account = create_demo_account(scale=scale, at=at, progress=progress)
        demo = find_saved_credentials()
        if demo is None:
            affiliate_email, affiliate_password = reset_affiliate_login(account, at=at)
            demo = DemoCredentials(
                account=account.slug,
                key=create_api_key(account, name="demo", role=Role.OWNER, at=at)[1],
                referral_code=get_first_referral_code(account),
                email=EMAIL,
                password=create_or_reset_login(account, EMAIL, Role.OWNER, at=at),
                finance_email=FINANCE_EMAIL,
                finance_password=create_or_reset_login(account, FINANCE_EMAIL, Role.FINANCE, at=at),
                affiliate_email=affiliate_email,
                affiliate_password=affiliate_password,
            )
            with suppress(OSError):  # of an image, whose files cannot be written
                save_credentials(demo)
    return demo


def save_credentials(credentials: DemoCredentials) -> None:
    """Save the credentials with mode 0600, so that the next run prints the same.

    Raises OSError.
    """
    VAR_DIR.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(CREDENTIALS_FILE)  # noqa: PTH108 - a new file gets the right mode
    with open(CREDENTIALS_FILE, "x", opener=open_private_file) as file:
        json.dump(vars(credentials), file)


def create_demo_account(*, scale: int, at: datetime, progress: ProgressWrapper) -> Account:
    """A lamp shop with two programs, and its history until now."""
    account = create_account(
        slug=ACCOUNT_SLUG,
        name="Harbor Lamps",
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=get_first_moment(at),
    )
    create_history(account, scale=scale, at=at, progress=progress)
    # Last, so that the history mails no decisions.
    portal = {
        "is_on": True,
        "is_open": True,
        "welcome_text": WELCOME_TEXT,
        "payout_day": 1,
        "shows_comments": True,
        "shows_recruit_sales": True,
    }
    update_portal_settings(account, changes=portal, at=at)
    create_creative(
        account,
        program_id=account.programs.order_by("id")[0].slug,
        title="Reading lamps",
        text="A lamp by which a book is read to its end: 10 % off with my coupon.",
        at=at,
    )
    return account


def create_or_reset_login(account: Account, email: str, role: str, *, at: datetime) -> str:
    """Create a staff user of the demo or reset its password; returns the password."""
    if account.staff.filter(email=email).exists():
        return reset_password(account, email=email, at=at)
    _, password = create_staff_user(account, email=email, role=role, password=None, at=at)
    return password or ""


def reset_affiliate_login(account: Account, *, at: datetime) -> tuple[str, str]:
    """Set a password of the first affiliate; returns its e-mail address and that."""
    affiliate = account.affiliates.order_by("id")[0]
    invitation = invite_affiliate(account, affiliate_id=affiliate.slug, at=at)
    password = generate_random_text(PASSWORD_LENGTH)
    set_portal_password(account, invitation.token, password=password, at=at)
    return affiliate.email or "", password


def get_first_referral_code(account: Account) -> str:
    return account.referral_codes.order_by("id").values_list("code", flat=True)[0]
