"""The guards of the service, how to remove each, and the test that fails without it."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from unittest.mock import patch

from django.db import connection, models

from accounts.append_only import get_trigger_names
from accounts.compiled_queries import CompiledQuery
from accounts.models.accounts import TenantModel
from payouts.services.reconciliation import APPEND_ONLY_MODELS
from tests.architecture.test_constraints import get_drop_sql
from tests.architecture.test_tenant_schema import MODELS

CONSTRAINTS = "tests/architecture/test_constraints.py"
LEDGER = "tests/payouts/services/test_ledger.py"
API = "tests/affiliate_site/api"
BACK_OFFICE = "tests/affiliate_site/backoffice"


@dataclass(frozen=True)
class Guard:
    """What prevents something, and a test (or all cases of one) that notices."""

    name: str
    remove: Callable[[], AbstractContextManager]
    test: str
    engine: str = ""  # the only one on which the test runs

    @property
    def is_testable(self) -> bool:
        return self.engine in ("", connection.vendor)


@contextmanager
def executed(*statements: str):
    """Change the schema within the transaction of the test."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # else checks of foreign keys are pending
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for statement in statements:
            cursor.execute(statement)
    yield


@contextmanager
def patched(*targets: tuple[str, object]):
    """Replace functions and values; no query is taken from the compiled ones."""
    with ExitStack() as stack:
        for target, replacement in targets:
            stack.enter_context(patch(target, replacement))
        stack.enter_context(
            patch.object(
                CompiledQuery,
                "all",
                lambda self, using="default", /, **values: list(self(**values)),
            )
        )
        yield


@contextmanager
def without_tenant_filter(table: str):
    """Let each condition on the account be true in what reads this table."""

    def execute(run, sql, parameters, many, context):
        if f'FROM "{table}"' in sql:
            sql = re.sub(r'("?\w+"?\."account_id" = %s)', r"(\1 OR 1 = 1)", sql)
        return run(sql, parameters, many, context)

    with connection.execute_wrapper(execute):
        yield


def list_constraint_guards() -> list[Guard]:
    """Each constraint of each model, with its test."""
    return [
        Guard(
            constraint.name,
            lambda m=model, c=constraint: executed(get_drop_sql(m, c)),
            f"{CONSTRAINTS}::{get_constraint_test(constraint)}[{constraint.name}]",
            engine="postgresql",
        )
        for model in MODELS
        for constraint in model._meta.constraints
    ]


def get_constraint_test(constraint) -> str:
    return (
        "test_refuses_an_equal_row"
        if isinstance(constraint, models.UniqueConstraint)
        else "test_refuses_a_row_that_breaks_the_rule"
    )


def list_trigger_guards() -> list[Guard]:
    """Each trigger of each append-only table."""
    return [
        Guard(
            trigger,
            lambda name=trigger, table=model._meta.db_table: executed(
                f"DROP TRIGGER {name}" + ("" if connection.vendor == "sqlite" else f" ON {table}")
            ),
            f"{CONSTRAINTS}::test_append_only_tables_refuse_changes[{model.__name__}]",
            engine="postgresql",
        )
        for model in APPEND_ONLY_MODELS
        for trigger in get_trigger_names(model._meta.db_table)
    ]


def list_tenant_guards() -> list[Guard]:
    """The condition on the account of tables that the API lists."""
    resources = {
        "tracking_customer": "customers",
        "tracking_conversion": "conversions",
        "tracking_affiliate": "affiliates",
        "tracking_click": "clicks",
        "tracking_program": "programs",
        "payouts_commission": "commissions",
        "payouts_payment": "payments",
    }
    return [
        Guard(
            f"account of {table}",
            lambda table=table: without_tenant_filter(table),
            f"tests/architecture/test_tenant_isolation.py::test_isolates_tenants[{resource}]",
        )
        for table, resource in resources.items()
    ]


def accept(*arguments, **options) -> bool:
    return True


def guard(name: str, test: str, *targets, engine="") -> Guard:
    return Guard(name, lambda: patched(*targets), test, engine)


CODE_GUARDS = [
    guard(
        "lock of the balances",
        f"{LEDGER}::test_locks_rows_once_in_the_order_of_their_ids",
        (
            "django.db.models.query.QuerySet.select_for_update",
            lambda rows, **options: rows.all(),
        ),
        engine="postgresql",
    ),
    guard(
        "expected value of an UPDATE",
        "tests/accounts/models/test_accounts.py::test_does_not_update_a_row_with_other_values",
        (
            "accounts.models.accounts.TenantModel.update_row",
            lambda row, *, expected=None, _update=TenantModel.update_row, **values: (
                _update(row, **values) or True
            ),
        ),
    ),
    guard(
        "digest of the API key",
        f"{API}/test_authentication.py::test_rejects_a_revoked_key_on_the_next_request",
        (
            "affiliate_site.api.access.find_api_key",
            lambda text: _find_any_key(),
        ),
    ),
    guard(
        "role and plan",
        f"{API}/test_permissions.py::test_forbids_viewers_to_write_without_reading_the_body",
        ("affiliate_site.api.access.PlanAndRolePermission.has_permission", accept),
    ),
    guard(
        "account of the back office",
        f"{BACK_OFFICE}/test_tenant_isolation.py::test_shows_nothing_of_another_account",
        ("accounts.tenant_admin.filter_for_user", lambda rows, user: rows),
        engine="sqlite",
    ),
    guard(
        "ten-second rule",
        "tests/tracking/services/test_attempts.py::test_rejects_a_retry_within_ten_seconds",
        ("tracking.services.attempts.MIN_RETRY_INTERVAL", timedelta(0)),
    ),
    guard(
        "payout balance",
        "tests/payouts/services/test_funding.py::test_approves_up_to_the_payout_balance",
        ("payouts.services.ledger.LedgerSession.has_funds", accept),
    ),
    guard(
        "fingerprint of an Idempotency-Key",
        f"{API}/test_idempotency.py::test_rejects_the_key_of_another_request",
        ("affiliate_site.api.idempotency.calculate_fingerprint", lambda request: ""),
    ),
    guard(
        "public addresses of webhooks",
        "tests/affiliate_site/webhooks/test_address_resolution.py",
        ("affiliate_site.safe_http.is_public", accept),
        engine="sqlite",
    ),
    guard(
        "route instead of the path in the log",
        "tests/affiliate_site/operations/test_logs.py::test_logs_the_route_but_not_the_path",
        ("affiliate_site.operations.logs.get_route", lambda request: request.path),
    ),
    guard(
        "version of a form",
        f"{BACK_OFFICE}/test_every_form.py::test_two_people_do_not_overwrite_each_other",
        (
            "affiliate_site.backoffice.form_pages.digest_value",
            lambda form, name, value: "1",
        ),
    ),
]


def _find_any_key():
    from accounts.models.api_keys import ApiKey

    return ApiKey.objects.select_related("account__plan").first()


GUARDS = [
    *list_constraint_guards(),
    *list_trigger_guards(),
    *list_tenant_guards(),
    *CODE_GUARDS,
]
