"""Every table has an account, and indexes start with it: docs/architecture.md."""

import pytest
from django.apps import apps
from django.db import connection, models

from accounts.models.accounts import Account, TenantModel

APPS = ("accounts", "tracking", "payouts")
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models()]

# The tables without an account, each with the reason.
WITHOUT_AN_ACCOUNT = {
    "accounts.Account": "is the account itself",
    "accounts.CommandRun": "a time per command",
    "accounts.Plan": "a price list",
    "accounts.RateWindow": "short-lived counters",
    "accounts.User": "operators belong to no account",
    "payouts.LedgerDigest": "one chain over the rows of all accounts",
}
TENANTS = [model for model in MODELS if model._meta.label not in WITHOUT_AN_ACCOUNT]

# Unique over the whole site, because the lookup precedes the account.
UNIQUE_OVER_THE_SITE = {
    "one_key_per_digest": "authentication finds an API key by its digest",
    "one_invitation_per_digest": "a link finds the invitation by its digest",
    "one_connection_per_public_id": "the address of a shop names its connection",
    "one_account_per_slug": "identifies the account",
    "one_plan_per_name": "a price list",
    "one_operator_per_email": "operators belong to no account",
    "one_ledger_digest_per_predecessor": "one chain over the rows of all accounts",
}

# By which the database looks for the rows that a deleted row has: by the foreign key
# alone. Other tables with foreign keys to rows that are deleted are small.
OF_FOREIGN_KEYS = {
    "claims_of_click": "clicks are deleted by the thousand",
    "conversions_of_click": "clicks are deleted by the thousand",
    "customers_of_click": "clicks are deleted by the thousand",
    "visitors_of_click": "clicks are deleted by the thousand",
}


def label(model):
    return model._meta.label


def names_of(rule):
    """Return the columns of a constraint or an index without their direction."""
    if rule.fields:
        return [name.removeprefix("-") for name in rule.fields]
    return [
        source.name
        for expression in rule.expressions
        for source in ([expression, *getattr(expression, "flatten", list)()])
        if isinstance(source, models.F)
    ]


def rules(kind):
    return list(_rules(kind))


def _rules(kind):
    for model in MODELS:
        found = model._meta.constraints if kind == "unique" else model._meta.indexes
        for rule in found:
            if kind == "index" or isinstance(rule, models.UniqueConstraint):
                yield pytest.param(model, rule, id=rule.name)


@pytest.mark.parametrize("model", TENANTS, ids=label)
def test_belongs_to_an_account(model):
    field = model._meta.get_field("account")

    assert issubclass(model, TenantModel)
    assert not field.null
    assert field.remote_field.model is Account
    assert field.remote_field.on_delete is models.PROTECT


@pytest.mark.parametrize("model", TENANTS, ids=label)
def test_is_reached_from_the_account(model):
    accessor = model._meta.get_field("account").remote_field.get_accessor_name()

    assert accessor
    assert hasattr(Account, accessor)


def test_exempts_only_existing_tables():
    assert set(WITHOUT_AN_ACCOUNT) <= {label(model) for model in MODELS}


@pytest.mark.parametrize(("model", "rule"), rules("unique"))
def test_every_unique_constraint_starts_with_the_account(model, rule):
    if rule.name in UNIQUE_OVER_THE_SITE:
        assert "account" not in names_of(rule)
    else:
        assert names_of(rule)[0] == "account"


@pytest.mark.parametrize(("model", "rule"), rules("index"))
def test_every_index_starts_with_the_account(model, rule):
    if rule.name in OF_FOREIGN_KEYS:
        (name,) = names_of(rule)
        assert model._meta.get_field(name).is_relation
    else:
        assert names_of(rule)[0] == "account"


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_no_column_creates_its_own_index(model):
    invalid = [
        field.name
        for field in model._meta.local_fields
        if not field.primary_key
        and (
            field.db_index
            or field.unique
            or isinstance(field, models.SlugField | models.OneToOneField)
        )
    ]

    assert invalid == []
    assert not model._meta.unique_together


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_protects_referenced_rows(model):
    cascading = [
        field.name
        for field in model._meta.local_fields
        if field.remote_field and field.remote_field.on_delete is not models.PROTECT
    ]

    assert cascading == []


@pytest.mark.parametrize("model", TENANTS, ids=label)
def test_primary_key_is_a_big_integer(model):
    assert isinstance(model._meta.pk, models.BigAutoField)
    assert model._meta.pk.name == "id"


@pytest.mark.parametrize("model", TENANTS, ids=label)
@pytest.mark.django_db
def test_database_has_no_index_that_starts_with_another_column(model):
    """Check the database itself, because a migration may leave an index behind."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    invalid = {
        name: rule["columns"]
        for name, rule in found.items()
        if (rule["index"] or rule["unique"])
        and not rule["primary_key"]
        and rule["columns"][:1] != ["account_id"]
        and name not in (*UNIQUE_OVER_THE_SITE, *OF_FOREIGN_KEYS)
    }

    assert invalid == {}


@pytest.mark.parametrize("model", TENANTS, ids=label)
@pytest.mark.django_db
def test_database_has_an_index_that_starts_with_the_account(model):
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)

    assert any(
        rule["columns"][:1] == ["account_id"]
        for rule in found.values()
        if rule["index"] or rule["unique"]
    )


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_has_no_default_ordering(model):
    assert not model._meta.ordering
