"""Creation of a program: its settings and its first commission type."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from accounts.errors import InvalidSetting, InvalidSlug, run_checks
from accounts.ids import SLUG_PATTERN
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.models.commission_types import RateKind
from tracking.errors import DuplicateProgram
from tracking.models.programs import Program
from tracking.money import MAX_INTEGER_DIGITS, get_currency, round_amount
from tracking.services.programs import validate_program

STANDARD_COMMISSION_TYPE = "standard"
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
    shop_hosts: Sequence[str] | None = None  # besides that of the landing page
    program_group: str = ""
    link_parameters: Sequence[str] | None = None  # of other programs' links
    auto_approve_affiliates: bool = False
    auto_approve_commissions: bool = False
    auto_approve_browser_sales: bool = False
    trust_browser_customers: bool = False
    hold_days: int = 0
    recurring: bool = True
    recurring_cap: int | None = None
    recurring_period_days: int | None = None


PROGRAM_COLUMNS = tuple(
    field.name for field in fields(ProgramSettings) if field.name not in ("rate_kind", "rate")
)


def create_program(
    account: Account, *, slug: str, settings: ProgramSettings, at: datetime
) -> Program:
    """Create a program with its commission type `standard`."""
    currency = get_currency(settings.currency)
    columns = {name: getattr(settings, name) for name in PROGRAM_COLUMNS}
    kind, rate = settings.rate_kind, settings.rate
    run_checks(
        lambda: _validate_slug(slug),
        lambda: validate_program(columns),
        lambda: validate_rate(kind, rate, currency, path="rate"),
    )
    try:
        with transaction.atomic():
            program = account.programs.create(  # type: ignore[misc]
                slug=slug, created_at=at, **(columns | {"currency": currency})
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
            log_event(account, "program.created", program, at=at, rate=str(settings.rate))
    except IntegrityError:
        if account.programs.filter(slug=slug).exists():
            raise DuplicateProgram(slug=slug) from None
        raise
    return program


def _validate_slug(slug: str) -> None:
    if not SLUG_PATTERN.fullmatch(slug):
        raise InvalidSlug(slug=slug, path="slug")


def validate_rate(kind: str, value: Decimal, currency: str, *, path: str = "value") -> None:
    """Raise `InvalidSetting` for an invalid percentage or amount of the currency."""
    if (
        value.adjusted() >= MAX_INTEGER_DIGITS
        or value < 0
        or value != value.quantize(RATE_PRECISION)
    ):
        rule = f"0 or more, with {MAX_INTEGER_DIGITS} digits and 4 decimals at most"
        raise InvalidSetting(setting="The commission", rule=rule, path=path)
    if kind == RateKind.PERCENTAGE and value > MAX_PERCENTAGE:
        rule = "100 % at most"
        raise InvalidSetting(setting="The commission", rule=rule, path=path)
    if kind == RateKind.FIXED and value != round_amount(value, currency):
        rule = f"an amount with the decimals of {currency}"
        raise InvalidSetting(setting="The commission", rule=rule, path=path)
