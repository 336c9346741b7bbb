"""Each table of an account, and each of its columns, moves or has a reason not to."""

import re

import pytest
from django.apps import apps
from django.db import models

from accounts.models.accounts import Account, TenantModel
from affiliate_site.moving.account_references import SHIFTS, SUBJECTS
from affiliate_site.moving.account_tables import (
    get_left_out,
    is_exported,
    list_tables,
    list_unique_columns,
)

TABLES = {
    model._meta.label: model
    for model in apps.get_models(include_auto_created=True)
    if model._meta.managed and model._meta.app_label != "django_migration_linter"
}
# Tables that belong to no account, and why.
OF_THE_SITE = {
    "accounts.CommandRun": "when commands ran",
    "accounts.Plan": "found by its name",
    "accounts.RateWindow": "counters that may be lost",
    "payouts.LedgerDigest": "covers all accounts, see docs/reliability.md, section 3",
    "admin.LogEntry": "not written",
    "auth.Group": "not used",
    "auth.Group_permissions": "not used",
    "auth.Permission": "Django's own",
    "contenttypes.ContentType": "Django's own",
    "sessions.Session": "sessions",
    "otp_totp.TOTPDevice": "second-factor secrets",
}
# Columns with such a name may let somebody in. Those that move are hashes, keys that
# others have given, and what is compared.
SECRET_NAME = re.compile("blind|code|digest|factor|hash|key|otp|password|secret|session|token")
HARMLESS = {
    "accounts.Account": "customer_email_keys require_second_factor",
    "accounts.ApiKey": "digest",
    "accounts.IdempotencyKey": "key",
    "accounts.User": "password password_reset_at password_reset_by",
    "tracking.Affiliate": "password postal_code",
    "tracking.Click": "dedup_key",
    "tracking.Coupon": "code",
    "tracking.Enrollment": "code_chosen_at",
    "tracking.FormerIdDigest": "digest",
    "tracking.Prospect": "postal_code",
    "tracking.ReferralCode": "code",
    "tracking.ReferralCodeAlias": "code",
    "tracking.ShopCustomer": "key",
    "tracking.ShopEvent": "customer_key key",
    "tracking.ShopOrder": "customer_key",
    "payouts.ClosedMonth": "digest",
    "payouts.PayoutSettings": "payer_postal_code",
    "payouts.RiskFinding": "key",
}
# Whose name has IDs, and about which the audit log has no entries.
NOT_LOGGED = {
    "accounts.IdempotencyKey",
    "payouts.Correction",
    "payouts.ExchangeRate",
    "payouts.LedgerAccount",
    "payouts.PaymentAllocation",
    "payouts.PayoutFile",
    "payouts.PayoutLine",
    "payouts.PayoutMethod",
    "payouts.Refund",
    "payouts.RiskFinding",
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


def test_each_table_belongs_to_an_account_or_to_the_site():
    of_accounts = {
        label
        for label, model in TABLES.items()
        if model is Account
        or any(column.related_model is Account for column in model._meta.concrete_fields)
    }
    assert {
        label for label, model in TABLES.items() if issubclass(model, TenantModel)
    } <= of_accounts
    assert set(TABLES) - of_accounts <= set(OF_THE_SITE)
    assert of_accounts & set(OF_THE_SITE) == set()


@pytest.mark.parametrize("label", TABLES)
def test_marks_have_reasons_and_name_columns_that_can_be_left_out(label):
    """The import sets the plan of the account; other columns have a default."""
    model, left_out = TABLES[label], get_left_out(TABLES[label])
    if isinstance(left_out, str):
        assert left_out
        assert not is_exported(model)
        return
    for name, reason in left_out.items():
        column = model._meta.get_field(name)
        assert reason
        assert column.null or column.blank or column.has_default() or name == "plan"


def test_columns_that_may_let_somebody_in_are_left_out():
    found = {
        label: " ".join(sorted(name for name in table.columns if SECRET_NAME.search(name)))
        for label, table in list_tables().items()
    }
    assert {label: names for label, names in found.items() if names} == HARMLESS


def test_foreign_keys_refer_to_exported_tables_that_come_before():
    before = set()
    for table in list_tables().values():
        before.add(table.label)
        targets = {column.target for column in table.columns.values()}
        assert targets - before - {""} == set(), table.label


def test_only_tables_that_are_exported_are_referred_to():
    assert [label for label, it in list_tables().items() if not is_exported(it.model)] == []


def test_values_that_are_unique_in_the_site_are_compared_before_an_import():
    assert list_unique_columns() == {
        "accounts.ApiKey": "digest",
        "tracking.Connection": "public_id",
    }


def test_columns_that_name_ids_are_exported():
    for label, columns in SHIFTS.items():
        assert columns.keys() <= list_tables()[label].columns.keys()


@pytest.mark.parametrize("label", list(list_tables()))
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
    else:  # an ID may have as many digits by chance
        assert not {str(number) for number in values.values()} & set(re.findall(r"\d{7}", name))
