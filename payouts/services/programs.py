"""Opening a program: the rules of tracking, and what a sale earns."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from accounts.errors import OddSetting, OddSlug
from accounts.ids import SLUG
from accounts.models.accounts import Account
from accounts.services.accounts import refuse_long
from accounts.services.events import note
from payouts.models.commission_types import RateKind
from tracking.errors import ProgramExists
from tracking.models.programs import Program
from tracking.money import WHOLE_DIGITS, currency_named, round_to
from tracking.services.clicks import LONGEST_ADDRESS, web_address

STANDARD = "standard"
LONGEST_COOKIE_TIME = 365
HIGHEST_PERCENTAGE = 100
FINEST = Decimal("0.0001")  # as fine as AmountField keeps it


@dataclass(frozen=True)
class Rules:
    """How a new program pays, approves and forgets."""

    title: str
    currency: str
    cookie_time: int = 45  # days
    rate_kind: str = RateKind.PERCENTAGE
    rate: Decimal = Decimal(10)
    landing_page: str = ""
    auto_approve_affiliates: bool = False
    auto_approve_commissions: bool = False


def open_program(account: Account, *, slug: str, rules: Rules, at: datetime) -> Program:
    """Make a program with its commission type `standard`."""
    currency = currency_named(rules.currency)
    _refuse_odd(slug, rules, currency)
    try:
        with transaction.atomic():
            program = account.programs.create(
                slug=slug,
                title=rules.title,
                currency=currency,
                cookie_time=rules.cookie_time,
                landing_page=rules.landing_page,
                auto_approve_affiliates=rules.auto_approve_affiliates,
                auto_approve_commissions=rules.auto_approve_commissions,
                created_at=at,
            )
            account.assets.create(program=program)
            account.commission_types.create(
                program=program,
                identifier=STANDARD,
                title="Standard",
                kind=rules.rate_kind,
                value=rules.rate,
                is_default=True,
            )
            note(account, "program.opened", program, at=at, rate=str(rules.rate))
    except IntegrityError:
        if account.programs.filter(slug=slug).exists():
            raise ProgramExists(slug=slug) from None
        raise
    return program


def _refuse_odd(slug: str, rules: Rules, currency: str) -> None:
    if not SLUG.fullmatch(slug):
        raise OddSlug(slug=slug)
    refuse_long("The title", rules.title)
    refuse_long("The landing page", rules.landing_page, LONGEST_ADDRESS)
    if not 1 <= rules.cookie_time <= LONGEST_COOKIE_TIME:
        raise OddSetting(setting="The cookie time", rule="1 to 365 days")
    page = rules.landing_page
    if page and ("#" in page or not web_address(page)):
        # Links end with `ref=<code>`, and clients split on it.
        rule = "an http(s) address without a fragment"
        raise OddSetting(setting="The landing page", rule=rule)
    _refuse_odd_rate(rules, currency)


def _refuse_odd_rate(rules: Rules, currency: str) -> None:
    rate = rules.rate
    if rate.adjusted() >= WHOLE_DIGITS or rate < 0 or rate != rate.quantize(FINEST):
        rule = f"0 or more, with {WHOLE_DIGITS} digits and 4 decimals at most"
        raise OddSetting(setting="The commission", rule=rule)
    if rules.rate_kind == RateKind.PERCENTAGE and rate > HIGHEST_PERCENTAGE:
        raise OddSetting(setting="The commission", rule="100 % at most")
    if rules.rate_kind == RateKind.FIXED and rate != round_to(currency, rate):
        rule = f"an amount with the decimals of {currency}"
        raise OddSetting(setting="The commission", rule=rule)
