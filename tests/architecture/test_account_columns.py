"""Each model and column is in the file of an account, or left out for a reason."""

import re

import pytest
from django.apps import apps
from django.db import models

from accounts.models.accounts import TenantModel
from affiliate_site.moving.account_columns import (
    EXPORTED,
    LEFT_OUT,
    OF_THE_SITE,
    UNIQUE_IN_SITE,
)
from affiliate_site.moving.account_references import SHIFTS, SUBJECTS
from affiliate_site.moving.account_tables import list_tables

OPTIONAL_APPS = ("otp_totp",)
TABLES = {
    model._meta.label: model
    for model in apps.get_models(include_auto_created=True)
    if model._meta.managed and model._meta.app_label != "django_migration_linter"
}
# Whose name has IDs, and about which the audit log has no entries.
NOT_LOGGED = {
    "accounts.IdempotencyKey",
    "payouts.Correction",
    "payouts.LedgerAccount",
    "payouts.PaymentAllocation",
    "payouts.PayoutFile",
    "payouts.PayoutLine",
    "payouts.PayoutMethod",
    "payouts.Refund",
    "payouts.TaxData",
    "payouts.WithheldBalance",
    "tracking.Asset",
    "tracking.AttributionRecord",
    "tracking.ConversionClaim",
    "tracking.PrunedClickCount",
    "tracking.ShopCustomer",
    "tracking.ShopOrder",
    "tracking.Source",
    "tracking.TermsAcceptance",
}
FIRST_NUMBER = 7_000_001


def test_each_table_is_declared_once():
    left_out = {label for label in LEFT_OUT if label.count(".") == 1}
    declared = [*EXPORTED, *left_out, *OF_THE_SITE]
    optional = {label for label in declared if label.split(".")[0] in OPTIONAL_APPS}

    assert len(set(declared)) == len(declared)
    assert set(TABLES) - set(declared) == set(), (
        "declare these tables in affiliate_site/moving/account_columns.py"
    )
    assert set(declared) - set(TABLES) - optional == set(), "these do not exist"


@pytest.mark.parametrize("label", EXPORTED)
def test_each_column_is_declared_once(label):
    start = f"{label}."
    left_out = [name.removeprefix(start) for name in LEFT_OUT if name.startswith(start)]
    found = {it.name for it in TABLES[label]._meta.concrete_fields}
    declared = [*EXPORTED[label].split(), *left_out]

    assert len(set(declared)) == len(declared)
    assert set(declared) == found - {"id", "account"}, (
        "declare these columns in affiliate_site/moving/account_columns.py"
    )


@pytest.mark.parametrize("label", EXPORTED)
def test_columns_that_are_left_out_have_a_default(label):
    """Except those that the import sets."""
    start = f"{label}."
    for name in LEFT_OUT:
        if name.startswith(start) and name != "accounts.Account.plan":
            column = TABLES[label]._meta.get_field(name.removeprefix(start))
            assert column.null or column.blank or column.has_default(), name


def test_tables_that_belong_to_an_account_are_not_those_of_the_site():
    of_accounts = {label for label, model in TABLES.items() if issubclass(model, TenantModel)}
    assert of_accounts & set(OF_THE_SITE) == set()


def test_foreign_keys_refer_to_exported_tables_that_come_before():
    before = set()
    for table in list_tables().values():
        before.add(table.label)
        targets = {column.target for column in table.columns.values()}
        assert targets - before - {""} == set(), table.label


def test_values_that_are_unique_in_the_site_are_compared_before_an_import():
    unique = {
        label: constraint.fields[0]
        for label in EXPORTED
        for constraint in TABLES[label]._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
        and constraint.fields
        and "account" not in constraint.fields
    }
    del unique["accounts.Account"]  # the slug is given
    del unique["accounts.User"]  # of operators, who are not exported

    assert unique.items() <= UNIQUE_IN_SITE.items()
    assert set(UNIQUE_IN_SITE) <= set(unique)


def test_columns_that_name_ids_are_exported():
    for label, columns in SHIFTS.items():
        assert columns.keys() <= list_tables()[label].columns.keys()


@pytest.mark.parametrize("label", EXPORTED)
def test_the_audit_log_names_rows_by_their_own_number_or_by_none(label):
    """Only numbers of `SUBJECTS` are replaced when an account moves."""
    model = TABLES[label]
    if label in NOT_LOGGED or hasattr(model, "log_id"):
        return
    values = {
        column.attname: number
        for number, column in enumerate(model._meta.concrete_fields, FIRST_NUMBER)
        if column.primary_key or isinstance(column, models.ForeignKey)
    }
    try:
        name = str(model(**values))
    except (TypeError, ValueError):  # its name needs a value of another column
        name = ""
    own = str(values[model._meta.pk.attname])
    if SUBJECTS.get(model._meta.model_name) == label:
        assert name == own
    else:
        assert re.findall(r"\d{7}", name) == []
