"""Programs and their rates: commission types, levels and group rates.

A change of a rate counts for conversions from then on: a commission keeps the rate that
it was created with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from accounts.errors import InvalidSetting, InvalidSlug, run_checks
from accounts.ids import SLUG_PATTERN
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_name
from accounts.services.changes import log_event, record_changes
from payouts.calculation import DEFAULT_COMMISSION_TYPE
from payouts.errors import (
    CommissionTypeNotFound,
    DefaultCommissionType,
    DuplicateCommissionType,
    GroupRateNotFound,
    InnerLevel,
    LevelNotFound,
)
from payouts.models.commission_types import (
    MIN_PARENT_LEVEL,
    CommissionType,
    GroupRate,
    Level,
    RateKind,
)
from payouts.models.rates import Rate
from tracking.errors import DuplicateProgram, GroupNotFound
from tracking.models.affiliates import AffiliateGroup
from tracking.models.programs import Program, Visibility
from tracking.money import MAX_INTEGER_DIGITS, get_currency, round_amount
from tracking.services.hierarchy import get_group
from tracking.services.programs import get_program, validate_program

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
    visibility: str = Visibility.PUBLIC
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


MAX_LEVEL = 10


def create_commission_type(
    account: Account,
    *,
    program: Program,
    identifier: str,
    title: str,
    kind: str,
    value: Decimal,
    mlm: bool = True,
    is_default: bool = False,
    at: datetime,
) -> CommissionType:
    """Add a commission type, which API calls name by its identifier.

    `value` is in per cent or in units of the program's currency, depending on `kind`.
    Raises `InvalidSlug`, `InvalidSetting` and `DuplicateCommissionType`.
    """
    if not SLUG_PATTERN.fullmatch(identifier) or identifier == DEFAULT_COMMISSION_TYPE:
        raise InvalidSlug(slug=identifier, path="identifier")
    validate_title(title)
    validate_rate(kind, value, program.currency)
    try:
        with transaction.atomic():
            row = account.commission_types.create(
                program=program,
                identifier=identifier,
                title=title,
                kind=kind,
                value=value,
                mlm=mlm,
            )
            log_event(
                *(account, "commission_type.created", row),
                at=at,
                **serialize_rate(row),
            )
            if is_default:
                _make_default(account, row, at=at)
    except IntegrityError:
        if account.commission_types.filter(program=program, identifier=identifier).exists():
            raise DuplicateCommissionType(identifier=identifier) from None
        raise
    return row


def update_commission_type(
    account: Account, *, pk: int, changes: Mapping[str, Any], at: datetime
) -> CommissionType:
    """Set the columns in `changes`: title, kind, value, mlm and is_default.

    Raises `DefaultCommissionType` if the default one would be the default no longer.
    """
    with transaction.atomic():
        row = get_or_raise(account.commission_types, CommissionTypeNotFound, lock=True, pk=pk)
        columns = dict(changes)
        should_be_default = columns.pop("is_default", row.is_default)
        if row.is_default and not should_be_default:
            raise DefaultCommissionType(path="is_default")
        _update(account, row, "commission_type.updated", columns, row.program, at=at)
        if should_be_default and not row.is_default:
            _make_default(account, row, at=at)
    return row


def delete_commission_type(account: Account, *, pk: int, at: datetime) -> None:
    """Delete a commission type and its group rates.

    Raises `DefaultCommissionType` for the default one.
    """
    with transaction.atomic():
        row = get_or_raise(account.commission_types, CommissionTypeNotFound, lock=True, pk=pk)
        if row.is_default:
            raise DefaultCommissionType
        log_event(account, "commission_type.deleted", row, at=at, **serialize_rate(row))
        account.group_rates.filter(commission_type=row).delete()
        account.rates.filter(commission_type=row).delete()
        account.commission_types.filter(pk=row.pk).delete()


def create_level(
    account: Account,
    *,
    program: Program,
    title: str,
    kind: str,
    value: Decimal,
    at: datetime,
) -> Level:
    """Add the next level: 2 pays the parent of an affiliate, 3 the parent's parent.

    Raises `InvalidSetting` above `MAX_LEVEL`.
    """
    validate_title(title)
    validate_rate(kind, value, program.currency)
    with transaction.atomic():
        get_program(account, program.slug, lock=True)  # two levels get two numbers
        number = get_next_level(account, program)
        if number > MAX_LEVEL:
            rule = f"{MAX_LEVEL} at most"
            raise InvalidSetting(setting="The number of levels", rule=rule)
        row = account.levels.create(
            program=program, level=number, title=title, kind=kind, value=value
        )
        log_event(account, "level.created", row, at=at, **serialize_rate(row))
    return row


def get_next_level(account: Account, program: Program) -> int:
    """Return the number that the next level of a program gets."""
    numbers = account.levels.filter(program=program).values_list("level", flat=True)
    return max(numbers, default=MIN_PARENT_LEVEL - 1) + 1


def update_level(account: Account, *, pk: int, changes: Mapping[str, Any], at: datetime) -> Level:
    """Set the columns in `changes`: title, kind and value."""
    with transaction.atomic():
        row = get_or_raise(account.levels, LevelNotFound, lock=True, pk=pk)
        _update(account, row, "level.updated", changes, row.program, at=at)
    return row


def delete_level(account: Account, *, pk: int, at: datetime) -> None:
    """Delete the last level of a program; raise `InnerLevel` for another one."""
    with transaction.atomic():
        row = get_or_raise(account.levels, LevelNotFound, lock=True, pk=pk)
        if account.levels.filter(program=row.program, level__gt=row.level).exists():
            raise InnerLevel
        log_event(account, "level.deleted", row, at=at, **serialize_rate(row))
        account.levels.filter(pk=row.pk).delete()


def set_group_rate(
    account: Account,
    *,
    commission_type: CommissionType,
    group: AffiliateGroup,
    kind: str,
    value: Decimal,
    at: datetime,
) -> GroupRate:
    """Set what the affiliates of a group earn in place of a commission type's rate.

    Raises `InvalidSetting`, `CommissionTypeNotFound` and `GroupNotFound`.
    """
    validate_rate(kind, value, commission_type.program.currency)
    with transaction.atomic():
        get_or_raise(
            account.commission_types,
            CommissionTypeNotFound,
            lock=True,
            pk=commission_type.pk,
        )
        get_group(account, group.public_id, lock=True)  # nobody deletes it meanwhile
        row = account.group_rates.filter(commission_type=commission_type, group=group).first()
        if row is None:
            row = account.group_rates.create(
                commission_type=commission_type, group=group, kind=kind, value=value
            )
            log_event(account, "group_rate.created", row, at=at, **serialize_rate(row))
        else:
            changes = {"kind": kind, "value": value, "ends_at": None}
            _update(
                account,
                row,
                "group_rate.updated",
                changes,
                commission_type.program,
                at=at,
            )
    return row


def delete_group_rate(account: Account, *, pk: int, at: datetime) -> None:
    """Delete a group rate: the group earns the rate of the commission type again."""
    with transaction.atomic():
        row = lock_group_rate(account, pk=pk)
        log_event(account, "group_rate.deleted", row, at=at, **serialize_rate(row))
        account.group_rates.filter(pk=row.pk).delete()


def lock_group_rate(account: Account, *, pk: int) -> GroupRate:
    """Lock a group rate, and before it its commission type, as who sets one does."""
    row = get_or_raise(account.group_rates, GroupRateNotFound, pk=pk)
    kinds = account.commission_types.all()
    get_or_raise(kinds, GroupRateNotFound, lock=True, pk=row.commission_type_id)
    return get_or_raise(account.group_rates, GroupRateNotFound, lock=True, pk=pk)


def validate_title(title: str) -> None:
    """Raise `InvalidSetting` if a title is blank, too long or not in one line."""
    validate_name("The title", title, path="title")


def serialize_rate(row: CommissionType | Level | GroupRate | Rate) -> dict[str, str]:
    """Return a rate as details of an audit log entry."""
    return {"rate_kind": row.kind, "rate": str(row.value)}


def _update(
    account: Account,
    row: Any,
    event: str,
    changes: Mapping[str, Any],
    program: Program,
    *,
    at: datetime,
) -> None:
    if "title" in changes:
        validate_title(changes["title"])
    validate_rate(
        changes.get("kind", row.kind),
        changes.get("value", row.value),
        program.currency,
    )
    values = {column: value for column, value in changes.items() if value != getattr(row, column)}
    if values.keys() & {"kind", "value"} and getattr(row, "ends_at", None) is not None:
        values["ends_at"] = None  # it counts again
    if values:
        logged = {
            column: [str(getattr(row, column)), str(value)] for column, value in values.items()
        }
        row.update_row(**values)
        log_event(account, event, row, at=at, **logged)


def _make_default(account: Account, row: CommissionType, *, at: datetime) -> None:
    types = account.commission_types.filter(program=row.program_id)
    types.filter(is_default=True).update(is_default=False)
    row.update_row(is_default=True)
    log_event(account, "commission_type.made_default", row, at=at)


def delete_group(account: Account, *, group_id: str, at: datetime) -> None:
    """Delete a group and its rates; its affiliates and prospects are in no group then.

    Later conversions earn the rates of the commission types; earlier commissions keep
    their rates.
    """
    with transaction.atomic():
        rows = account.affiliate_groups.all()
        group = get_or_raise(rows, GroupNotFound, lock=True, public_id=group_id)
        # Prospects first: one that is promoted meanwhile is an affiliate afterwards.
        account.prospects.filter(group=group).update(group=None)
        members = account.affiliates.filter(group=group)
        changed = list(members.not_deleted())
        members.update(group=None)
        record_changes(account, "affiliate.updated", changed, at=at, group=None)
        account.program_invitations.filter(group=group).update(group=None)
        account.group_rates.filter(group=group).delete()
        account.rates.filter(group=group).delete()
        log_event(account, "affiliate_group.deleted", group, at=at)
        account.affiliate_groups.filter(pk=group.pk).delete()
