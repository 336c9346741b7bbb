"""Programs: look up, change the settings, archive and unarchive."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from accounts.errors import InvalidSetting, run_checks
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_length, validate_name
from accounts.services.changes import log_event
from tracking.errors import ArchivedProgramReadOnly, CurrencyInUse, ProgramNotFound
from tracking.models.programs import Program
from tracking.services.clicks import MAX_VISIT_URL_LENGTH, normalize_url

MAX_COOKIE_TIME_DAYS = 365
MAX_HOLD_DAYS = 180
MAX_SHOP_HOSTS = 20
SHOP_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?", re.ASCII)
MAX_RECURRING = 100_000  # sales per customer, and days
VALIDATED_COLUMNS = (
    *("title", "program_group", "landing_page", "cookie_time"),
    *("recurring_cap", "recurring_period_days", "hold_days", "shop_hosts"),
)


def get_program(account: Account, slug: str, *, lock: bool = False) -> Program:
    """Get the program with this slug; raise `ProgramNotFound`."""
    return get_or_raise(account.programs, ProgramNotFound, lock=lock, slug=slug)


def find_oldest_active_program(account: Account) -> Program | None:
    """Find the oldest program that is not archived."""
    programs = account.programs.filter(archived_at=None)
    return programs.order_by("created_at", "id").first()


def archive_program(account: Account, *, slug: str, at: datetime) -> Program:
    """Archive a program, which then accepts no conversions; idempotent."""
    program = get_program(account, slug)
    with transaction.atomic():
        if program.update_row(expected={"archived_at": None}, archived_at=at):
            log_event(account, "program.archived", program, at=at)
    return program


def unarchive_program(account: Account, *, slug: str, at: datetime) -> Program:
    """Unarchive a program, which then accepts conversions again; idempotent."""
    program = get_program(account, slug)
    with transaction.atomic():
        if program.update_row(expected={"archived_at__isnull": False}, archived_at=None):
            log_event(account, "program.unarchived", program, at=at)
    return program


def update_program(
    account: Account, *, slug: str, changes: Mapping[str, Any], at: datetime
) -> Program:
    """Set the columns in `changes`; later conversions follow them, earlier ones stay.

    The currency is fixed by the first conversion: raises `CurrencyInUse`.
    """
    with transaction.atomic():
        program = get_program(account, slug, lock=True)
        present = {name: getattr(program, name) for name in VALIDATED_COLUMNS}
        validate_program(present | dict(changes))
        values = {name: value for name, value in changes.items() if getattr(program, name) != value}
        if "currency" in values and has_conversions(account, program):
            raise CurrencyInUse
        if values:
            logged = {name: [getattr(program, name), values[name]] for name in values}
            program.update_row(**values)
            log_event(account, "program.updated", program, at=at, **logged)
    return program


def has_conversions(account: Account, program: Program) -> bool:
    """Whether the program ever had a conversion, deleted ones included."""
    return account.conversions.filter(program=program).exists()


def validate_program(values: Mapping[str, Any]) -> None:
    """Raise `InvalidSetting`, or an `ErrorList` of these, for the invalid values."""
    limits = [
        ("The number of sales", "recurring_cap", MAX_RECURRING),
        ("The number of days", "recurring_period_days", MAX_RECURRING),
    ]
    numbers = [limit for limit in limits if values.get(limit[1]) is not None]
    numbers.append(("The cookie time", "cookie_time", MAX_COOKIE_TIME_DAYS))
    program_group = values.get("program_group", "")
    run_checks(
        lambda: validate_name("The title", values["title"], path="title"),
        lambda: validate_length("The program group", program_group, path="program_group"),
        *(partial(_validate_number, values, *number) for number in numbers),
        lambda: validate_hold_days(values["hold_days"]),
        lambda: _validate_landing_page(values["landing_page"]),
        lambda: _validate_shop_hosts(values["shop_hosts"] or ()),
    )


def _validate_landing_page(page: str) -> None:
    validate_length("The landing page", page, MAX_VISIT_URL_LENGTH, path="landing_page")
    if page and ("#" in page or not normalize_url(page)):
        # Referral links end with `ref=<code>`, at which clients split them.
        raise InvalidSetting(
            setting="The landing page",
            rule="an address that starts with https:// or http://, without #",
            path="landing_page",
        )


def _validate_shop_hosts(hosts: Sequence[str]) -> None:
    if len(hosts) > MAX_SHOP_HOSTS or not all(map(SHOP_HOST.fullmatch, hosts)):
        raise InvalidSetting(
            setting="The list of further hosts",
            rule=f"up to {MAX_SHOP_HOSTS} hosts like shop.example.net, each on a line",
            path="shop_hosts",
        )


def _validate_number(values: Mapping[str, Any], setting: str, column: str, limit: int) -> None:
    if not 1 <= values[column] <= limit:
        raise InvalidSetting(setting=setting, rule=f"1 to {limit:,}", path=column)


def validate_hold_days(days: int) -> None:
    """Raise `InvalidSetting` if sales cannot be on hold for so many days."""
    if not 0 <= days <= MAX_HOLD_DAYS:
        rule = f"0 to {MAX_HOLD_DAYS}"
        raise InvalidSetting(setting="The days on hold", rule=rule, path="hold_days")


def ensure_not_archived(program: Program) -> None:
    """Raise `ArchivedProgramReadOnly` if the program is archived."""
    if program.archived_at is not None:
        raise ArchivedProgramReadOnly
