"""Nobody writes back columns that another connection changes meanwhile.

Each page of the office that is about a row, and a service for each locked model without
one, reads a row before it locks it. Just before the lock, another connection commits
other values of the columns that the page does not have; they must be there afterwards.
The law of `tests/conftest.py` fails where a model is locked that this does not prove.
"""

from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.db import (
    IntegrityError,
    ProgrammingError,
    connection,
    models,
    transaction,
)
from django.utils import timezone

from accounts.errors import DomainError
from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from accounts.services.deliveries import DeliveryResult, record_delivery_result
from accounts.services.recovery_codes import create_recovery_codes
from accounts.services.staff import create_staff_user, set_password
from affiliate_site.backoffice.account.account_pages import AccountSettingsPage
from affiliate_site.backoffice.affiliates.portal_pages import PortalSettingsPage
from affiliate_site.backoffice.site import BackOfficeAdminSite
from affiliate_site.safe_http import FetchedResponse
from affiliate_site.shops import catching_up
from payouts.models.documents import SupplierKind
from payouts.services import encryption
from payouts.services.encryption import rotate_encryption
from payouts.services.payments import cancel_payment
from payouts.services.scenarios import claim_scenario
from payouts.services.tax_data import set_tax_data
from tests.affiliate_site.backoffice.form_samples import (
    SETTINGS_PAGES,
    create_rows_for_all_pages,
    list_cases,
)
from tests.conftest import NOW, ApiClient
from tests.factories.accounts import AccountFactory
from tests.lock_order import LOCKED_MODELS, NEVER_UPDATED
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.portal_settings import (
    get_portal_settings,
    update_portal_settings,
)
from tracking.services.retention import anonymize_visitor_data
from tracking.services.second_factor import start_second_factor

pytestmark = pytest.mark.integration

# Columns whose text or mapping decides what the code does.
READ_AS_CODE = {
    *("affiliate", "attribution", "body", "content", "kind", "language", "settings"),
    *("currency", "country", "prefix"),
    *("payouts.Scenario.changes", "payouts.Scenario.result"),
}
# What another connection writes beside, or instead of, other values of all columns.
ELSEWHERE = {
    "AccountSettingsPage": {"onboarding_dismissed_at": NOW, "locked_at": NOW},
    "EditCodesPage": {"approved": False},
    "PortalSettingsPage": {"host": "elsewhere.example.org"},
}
# Columns that a page sets without a field of its form.
WRITTEN = {
    "EditExchangeRatePage": {"into_currency", "worth_of_10000", "set_on"},
    "SetSecretPage": {"refused_count"},
    "ProcessAgainPage": {"attempts"},
    "SwitchRuleOnPage": {"evaluated_to", "settled_to", "pass_to"},
}
REFUSALS = (IntegrityError, ProgrammingError)  # of constraints and triggers
LOCKS = ("FOR NO KEY UPDATE", "FOR UPDATE")


@contextmanager
def before_the_lock(model, change):
    """Call `change` once, just before this connection locks or writes a row.

    On SQLite a transaction locks everything when it begins: a savepoint in a test.
    """
    table = f'"{model._meta.db_table}"'
    waiting = [change]

    def execute(run, sql, *arguments):
        is_first = sql.startswith(("UPDATE", "DELETE")) and table in sql
        if connection.vendor == "sqlite":
            is_first |= sql.startswith("SAVEPOINT")
        else:
            is_first |= table in sql and any(lock in sql for lock in LOCKS)
        if is_first and waiting:
            waiting.pop()()
        return run(sql, *arguments)

    with connection.execute_wrapper(execute):
        yield


def list_keys(model):
    """The columns of unique constraints, by which services find a row."""
    constraints = model._meta.total_unique_constraints
    constraints += tuple(
        each for each in model._meta.constraints if isinstance(each, models.UniqueConstraint)
    )
    return {name for each in constraints for name in each.fields}


def find_other_value(field, value):
    """Another value of a column; None for relations, states and what has no other."""
    is_state = isinstance(field, models.BooleanField | models.DateTimeField)
    is_code = bool({field.name, str(field)} & READ_AS_CODE) or (field.max_length or 9) < 4
    if is_state or is_code or field.is_relation or field.unique or field.choices:
        return None
    if isinstance(value, dict):
        return value | {f"elsewhere {len(value)}": "1"}
    if isinstance(value, list):
        return value + value[-1:] or None
    if isinstance(value, date):
        return value + timedelta(days=1)
    if isinstance(value, int | Decimal):
        return value + 10
    if isinstance(field, models.CharField | models.TextField):
        texts = [text[: field.max_length] for text in ("elsewhere", "before")]
        return texts[value == texts[0]]
    return None


class OtherConnection:
    """Commits other values of a row. SQLite has no two transactions that write: there
    they are part of the transaction of the test, before the savepoint of the page."""

    def __init__(self):
        is_shared = connection.vendor == "sqlite"
        self.connection = connection if is_shared else connection.copy()

    def close(self):
        if self.connection is not connection:
            self.connection.close()

    def write(self, row, values):
        """Write values that the database accepts; return those."""
        written = {}
        for name, value in values.items():
            field = row._meta.get_field(name)
            sql = (
                f'UPDATE "{row._meta.db_table}"'  # noqa: S608
                f' SET "{field.column}" = %s WHERE id = %s'
            )
            stored = field.get_db_prep_save(value, self.connection)
            with suppress(*REFUSALS), self.connection.cursor() as cursor:
                cursor.execute(sql, [stored, row.pk])
                written[name] = value
        return written

    def change(self, row, without):
        """Change the columns whose names are not in `without`; return them."""
        without = without | list_keys(type(row))
        values = {
            field.name: find_other_value(field, getattr(row, field.attname))
            for field in row._meta.concrete_fields
            if field.name not in without
        }
        return self.write(row, {n: v for n, v in values.items() if v is not None})


@pytest.fixture(scope="module")
def office(django_db_setup, django_db_blocker):
    """An account with rows for all pages, which are committed, and its owner."""
    slug, at = f"office-{uuid4().hex[:8]}", timezone.now()
    no_orders = FetchedResponse(200, {}, b"[]")
    with (
        django_db_blocker.unblock(),
        patch.object(BackOfficeAdminSite, "each_context", return_value={}),
        patch.object(catching_up, "fetch", return_value=no_orders),
        patch.object(encryption, "_needs_rotation", return_value=True),
    ):
        account = AccountFactory(slug=slug, plan__name="enterprise")
        _, key = create_api_key(account, name="test", role=Role.OWNER, at=at)
        create_rows_for_all_pages(account, ApiClient(key), slug)
        update_portal_settings(account, changes={"is_on": True}, at=at)
        account.clicks.update(user_agent="Lamps/1.0")
        email = f"owner@{slug}.example.net"
        owner, _ = create_staff_user(account, email=email, role=Role.OWNER, password=None, at=at)
        yield account, owner
        connection.close()


@dataclass
class Writer:
    """What writes a row: `prepare` returns the operation, which has read the row."""

    name: str
    row: Any
    prepare: Callable[[], Callable[[], Any]]
    without: frozenset = frozenset()  # the columns that it writes
    values: dict | None = None  # written elsewhere, instead of all columns


def list_page_writers(account, owner):
    rows = {
        AccountSettingsPage: lambda: account,
        PortalSettingsPage: lambda: get_portal_settings(account),
    }
    for case in list_cases(account):
        row = case.row
        if case.page in SETTINGS_PAGES:
            row = rows.get(case.page, account.payout_settings.get)()
        if row is not None and row.pk is not None:
            form = case.get_form(owner)
            without = frozenset((*form.fields, *form.initial))
            prepare = partial(prepare_page, case, owner)
            yield Writer(case.name, row, prepare, without)
            if values := ELSEWHERE.get(case.name):
                yield Writer(case.name, row, prepare, values=values)


def prepare_page(case, owner):
    """Open a page; return what sends its form, and confirms the effects."""
    values = case.get_values(owner)
    with transaction.atomic():
        shown = getattr(case.call(owner, values), "context_data", None) or {}
        if effects := shown.get("effects"):
            values["effects"] = effects.digest
        transaction.set_rollback(True)
    return lambda: case.call(owner, values)


def list_service_writers(account, owner):
    """One for each locked model without a page of its rows."""
    at, later = timezone.now(), timezone.now() + timedelta(days=900)
    delivery = account.deliveries.filter(due_at__isnull=False).first()
    for result in (DeliveryResult(200), DeliveryResult(error="away")):
        yield Writer(
            "record_delivery_result",
            delivery,
            lambda r=result: prepare_delivery(delivery, r, at),
            frozenset({"attempts", "status", "response_body", "error"}),
        )
    yield Writer(
        "record_delivery_result",
        delivery.endpoint,
        lambda: prepare_delivery(delivery, DeliveryResult(error="away"), at),
        values={"failing_since": at - timedelta(days=1)},
    )
    mail = account.mails.filter(due_at__isnull=False).first()
    yield Writer(
        "claim_mail",
        mail,
        lambda: (
            lambda: record_mail_result(
                claim_mail(account, due_before=later), MailResult(), at=later
            )
        ),
        frozenset({"attempts", "error"}),
    )
    waiting = {"first_day": at, "last_day": at, "changes": "{}", "due_at": at}
    yield Writer(
        "claim_scenario",
        account.scenarios.create(**waiting),
        lambda: lambda: claim_scenario(account, due_before=later, at=later),
        frozenset({"attempts", "done", "total"}),
    )
    yield Writer(
        "anonymize_visitor_data",
        account.clicks.first(),
        lambda: lambda: anonymize_visitor_data(account, at=later, dry_run=False),
        frozenset({"user_agent", "ip"}),
    )
    billed = account.documents.first().payment
    yield Writer(
        "cancel_payment",
        account.document_sequences.get(),
        lambda: lambda: cancel_payment(account, payment_id=billed.public_id, at=at),
    )
    yield Writer(
        "rotate_encryption",
        account.documents.first(),
        lambda: lambda: rotate_encryption(is_dry_run=False, on_batch=lambda _: None),
    )
    taxed = account.tax_data.get()
    yield Writer(
        "set_tax_data",
        taxed,
        lambda: (
            lambda: set_tax_data(
                account,
                affiliate_id=taxed.affiliate.slug,
                kind=SupplierKind.PRIVATE,
                country="SI",
                consented_on=account.get_day(at),
                at=at,
            )
        ),
        frozenset({"country", "consented_on"}),
    )
    factor = account.portal_second_factors.first()
    yield Writer(
        "start_second_factor",
        factor,
        lambda: lambda: start_second_factor(factor.affiliate),
        values={"confirmed_at": at},
    )
    dismissed = {"is_active": False, "password": "!", "role": Role.VIEWER}
    for name, operation in (
        ("set_password", lambda user: set_password(user, "lamps-by-the-sea", at=at)),
        ("create_recovery_codes", lambda user: create_recovery_codes(user, at=at)),
    ):
        yield Writer(
            name,
            owner,
            lambda operation=operation: prepare_user(owner, operation),
            values=dismissed,
        )


def prepare_delivery(delivery, result, at):
    read = type(delivery).objects.of(delivery.account).select_related("endpoint")
    stale = read.get(pk=delivery.pk)
    return lambda: record_delivery_result(stale, result, at=at)


def prepare_user(owner, operation):
    stale = type(owner).objects.get(pk=owner.pk)
    return lambda: operation(stale)


def run(operation):
    with suppress(DomainError):
        operation()


def find_lost_columns(writer, other):
    """Change a row elsewhere while a page is sent; the columns that it wrote back.

    Such a column has the value as it was read before; a number, or one of `values`, any
    other than the one from elsewhere.
    """
    rows = type(writer.row)._base_manager.filter(pk=writer.row.pk)
    original, first, changed = rows.get(), {}, {}

    def change():
        if writer.values:
            changed.update(other.write(before, writer.values))
        else:
            changed.update(other.change(before, writer.without))

    try:
        if not writer.values:
            first = other.change(original, writer.without)
        before, operation = rows.get(), writer.prepare()
        with transaction.atomic():
            run(operation)
            alone = rows.first()
            transaction.set_rollback(True)
        operation = writer.prepare()
        with transaction.atomic():
            with before_the_lock(type(before), change):
                run(operation)
            after = rows.first()
            transaction.set_rollback(True)
    finally:
        names = first | changed
        other.write(original, {name: getattr(original, name) for name in names})
    return changed, {
        name
        for name, new in changed.items()
        if after
        and (found := getattr(after, name)) != new
        and (
            writer.values
            or found == getattr(before, name)
            or (isinstance(new, int | Decimal) and found == getattr(alone, name))
        )
    } - WRITTEN.get(writer.name, set())


def test_no_page_and_no_service_writes_back_what_it_read(office, request):
    other, lost, proven = OtherConnection(), [], set()
    request.addfinalizer(other.close)
    for list_writers in (list_page_writers, list_service_writers):
        for writer in list_writers(*office):
            changed, columns = find_lost_columns(writer, other)
            lost += [(writer.name, name) for name in columns]
            if changed:
                proven.add(type(writer.row).__name__)

    assert lost == []
    assert set(LOCKED_MODELS) - proven == set(NEVER_UPDATED)
