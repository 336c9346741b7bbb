"""Creation of a program: its settings and its first commission type."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from accounts.errors import InvalidSetting, InvalidSlug
from accounts.ids import SLUG_PATTERN
from accounts.models.accounts import Account
from accounts.services.accounts import validate_length
from accounts.services.audit_log import log_event
from payouts.models.commission_types import RateKind
from tracking.errors import DuplicateProgram
from tracking.models.programs import Program
from tracking.money import MAX_INTEGER_DIGITS, get_currency, round_amount
from tracking.services.clicks import MAX_VISIT_URL_LENGTH, normalize_url

STANDARD_COMMISSION_TYPE = "standard"
MAX_COOKIE_TIME_DAYS = 365
MAX_PERCENTAGE = 100
RATE_PRECISION = Decimal("0.0001")  # of `AmountField`


@dataclass(frozen=True)
class ProgramSettings:
    """The settings of a new program."""

    title: str
    currency: str
    cookie_time: int = 45  # days
    rate_kind: str = RateKind.PERCENTAGE
    rate: Decimal = Decimal(10)
    landing_page: str = ""
    auto_approve_affiliates: bool = False
    auto_approve_commissions: bool = False


def create_program(
    account: Account, *, slug: str, settings: ProgramSettings, at: datetime
) -> Program:
    """Create a program with its commission type `standard`."""
    currency = get_currency(settings.currency)
    _validate_settings(slug, settings, currency)
    try:
        with transaction.atomic():
            program = account.programs.create(
                slug=slug,
                title=settings.title,
                currency=currency,
                cookie_time=settings.cookie_time,
                landing_page=settings.landing_page,
                auto_approve_affiliates=settings.auto_approve_affiliates,
                auto_approve_commissions=settings.auto_approve_commissions,
                created_at=at,
            )
            account.assets.create(program=program)
            account.commission_types.create(
                program=program,
                identifier=STANDARD_COMMISSION_TYPE,
                title="Standard",
                kind=settings.rate_kind,
                value=settings.rate,
                is_default=True,
            )
            log_event(
                account, "program.created", program, at=at, rate=str(settings.rate)
            )
    except IntegrityError:
        if account.programs.filter(slug=slug).exists():
            raise DuplicateProgram(slug=slug) from None
        raise
    return program


def _validate_settings(slug: str, settings: ProgramSettings, currency: str) -> None:
    if not SLUG_PATTERN.fullmatch(slug):
        raise InvalidSlug(slug=slug)
    validate_length("The title", settings.title)
    validate_length("The landing page", settings.landing_page, MAX_VISIT_URL_LENGTH)
    if not 1 <= settings.cookie_time <= MAX_COOKIE_TIME_DAYS:
        raise InvalidSetting(setting="The cookie time", rule="1 to 365 days")
    page = settings.landing_page
    if page and ("#" in page or not normalize_url(page)):
        # Referral links end with `ref=<code>`, at which clients split them.
        rule = "an http(s) URL without a fragment"
        raise InvalidSetting(setting="The landing page", rule=rule)
    _validate_rate(settings, currency)


def _validate_rate(settings: ProgramSettings, currency: str) -> None:
    rate = settings.rate
    if (
        rate.adjusted() >= MAX_INTEGER_DIGITS
        or rate < 0
        or rate != rate.quantize(RATE_PRECISION)
    ):
        rule = f"0 or more, with {MAX_INTEGER_DIGITS} digits and 4 decimals at most"
        raise InvalidSetting(setting="The commission", rule=rule)
    if settings.rate_kind == RateKind.PERCENTAGE and rate > MAX_PERCENTAGE:
        raise InvalidSetting(setting="The commission", rule="100 % at most")
    if settings.rate_kind == RateKind.FIXED and rate != round_amount(rate, currency):
        rule = f"an amount with the decimals of {currency}"
        raise InvalidSetting(setting="The commission", rule=rule)
