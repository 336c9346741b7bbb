"""The database enforces every constraint of the models, under its name.

A row is made of the plainest values that its columns take. Foreign keys are deferred,
and each test is rolled back before they are checked. The other constraints of the table
are dropped first, which only PostgreSQL can do, so that none of them refuses the row.
"""

from datetime import UTC, date, datetime

import pytest
from django.db import IntegrityError, connection, models, transaction

from accounts.append_only import get_trigger_names, try_forbidden_changes
from payouts.services.reconciliation import APPEND_ONLY_MODELS
from tests.architecture.test_tenant_schema import MODELS

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite cannot drop constraints"),
]
PLAIN_VALUES = {
    "BooleanField": False,
    "DateTimeField": datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC),
    "DateField": date(2026, 3, 4),
    "JSONField": {},
    "BinaryField": b"x",
    "CharField": "x",
    "TextField": "x",
    "UUIDField": "00000000-0000-4000-8000-000000000001",
}

# What makes a row one of those that a partial unique constraint is about.
CONDITIONS = {
    "one_lasting_alert_per_subject": {"closed_at": None},
    "one_open_risk_case_per_rule": {"state": "open"},
    "one_operator_per_email": {"account": None},
    "unique_default_commission_type": {"is_default": True},
    "unique_paid_transfer": {"kind": "paid"},
    "unique_primary_payout_method": {"is_primary": True},
    "unique_tenant_ledger_account": {"affiliate": None},
}
# What breaks a check constraint.
VIOLATIONS = {
    "attribution_record_has_one_subject": {"customer": 1, "conversion": 1},
    "bonus_amounts_not_negative": {"goal": -1},
    "claim_amount_not_negative": {"amount": -1},
    "click_has_affiliate_or_prospect": {"affiliate": None, "prospect": None},
    "commission_amounts_not_negative": {"amount": -1},
    "commission_has_conversion_or_bonus": {"conversion": None, "bonus": None},
    "commission_type_value_not_negative": {"value": -1},
    "conversion_amount_not_negative": {"amount": -1},
    "creative_has_image_or_text": {"kind": "text", "file_name": "a.png"},
    "extra_commission_has_conversion": {"is_extra": True, "conversion": None},
    "group_rate_value_not_negative": {"value": -1},
    "ledger_account_balance_in_range": {"balance": 900_000_000_000_000},
    "level_at_least_minimum": {"level": 1},
    "paid_commission_is_approved": {"payment": 1, "status": "pending"},
    "payment_amount_positive": {"amount": 0},
    "program_invitation_within_limit": {"uses": 2, "max_uses": 1},
    "rate_amounts_not_negative": {"fixed": -1},
    "rate_ends_after_its_start": dict.fromkeys(
        ("starts_at", "ends_at"), PLAIN_VALUES["DateTimeField"]
    ),
    "exchange_rate_positive": {"worth_of_10000": 0},
    "payout_minimum_positive": {"amount": 0},
    "refund_amount_not_negative": {"amount": -1},
    "referral_code_has_affiliate_or_prospect": {"enrollment": None, "prospect": None},
    "source_has_affiliate_or_prospect": {"affiliate": None, "prospect": None},
    "staff_of_an_account_or_operator": {"account": 1, "is_superuser": True},
    "tax_rule_rate_in_range": {"rate": 100},
    "transfer_amount_positive": {"amount": 0},
    "transfer_has_single_source": {"commission": None, "sequence_number": 1},
    "transfer_sides_differ": {"debit": 1, "credit": 1},
}


@pytest.fixture(autouse=True)
def rolled_back(db):
    """Take rows back before the checks of foreign keys at the end of a test."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def list_constraints(kind):
    return [
        pytest.param(model, constraint, id=constraint.name)
        for model in MODELS
        for constraint in model._meta.constraints
        if isinstance(constraint, kind)
    ]


def get_drop_sql(model, constraint) -> str:
    """The statement that removes a constraint, which may be an index."""
    with connection.schema_editor(collect_sql=True) as editor:
        return str(constraint.remove_sql(model, editor))


def drop_other_constraints(model, kept):
    with connection.cursor() as cursor:
        for constraint in model._meta.constraints:
            if constraint is not kept:
                cursor.execute(get_drop_sql(model, constraint))


def insert_row(model, **values):
    """Insert a row with these values, plain ones where needed, and else NULL."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    row = {
        field.column: field.get_db_prep_save(
            values.get(field.name, None if field.null else get_plain_value(field)),
            connection,
        )
        for field in fields
    }
    columns, placeholders = ", ".join(row), ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({placeholders})",  # noqa: S608
            list(row.values()),
        )


def get_plain_value(field):
    return PLAIN_VALUES.get(field.get_internal_type(), 1)


@pytest.mark.parametrize(("model", "constraint"), list_constraints(models.UniqueConstraint))
def test_refuses_an_equal_row(model, constraint):
    values = {
        name: get_plain_value(model._meta.get_field(name)) for name in constraint.fields
    } | CONDITIONS.get(constraint.name, {})
    drop_other_constraints(model, constraint)
    insert_row(model, **values)

    with pytest.raises(IntegrityError, match=f'"{constraint.name}"'):
        insert_row(model, **values)


@pytest.mark.parametrize(("model", "constraint"), list_constraints(models.CheckConstraint))
def test_refuses_a_row_that_breaks_the_rule(model, constraint):
    drop_other_constraints(model, constraint)

    with pytest.raises(IntegrityError, match=f'"{constraint.name}"'):
        insert_row(model, **VIOLATIONS[constraint.name])


@pytest.mark.parametrize("model", APPEND_ONLY_MODELS, ids=lambda model: model.__name__)
def test_append_only_tables_refuse_changes(model):
    drop_other_constraints(model, None)
    insert_row(model)

    assert get_trigger_names(model._meta.db_table)
    assert try_forbidden_changes(model._meta.db_table) == []
