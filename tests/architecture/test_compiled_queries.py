"""Every compiled query is the SQL of its ordinary queryset, and names the account."""

import importlib
from datetime import date
from decimal import Decimal

import pytest
from django.db import connection, models

from accounts.compiled_queries import CompiledQuery, Parameter
from accounts.models.accounts import TenantModel
from payouts.services.day_counts import COUNTED_KINDS, get_day_query
from payouts.services.ledger_invariant_queries import (
    list_tenant_foreign_keys,
    list_tenant_models,
    rows_of_other_accounts,
)
from tests.architecture.representations import list_representations
from tests.architecture.syntax_trees import ROOT, parse_modules_outside
from tests.conftest import NOW

MODULES = [
    importlib.import_module(path.removesuffix(".py").replace("/", "."))
    for path in parse_modules_outside("migrations", "management")
    if "@compiled" in (ROOT / path).read_text()
]
QUERIES = {
    f"{module.__name__}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, CompiledQuery)
}
QUERIES |= {
    f"{representation.__name__}.rows_by_pk": representation.rows_by_pk
    for representation in list_representations()
    if representation.model
}
QUERIES |= {
    f"rows_of_other_accounts.{model.__name__}": rows_of_other_accounts(model)
    for model in list_tenant_models()
    if list_tenant_foreign_keys(model)
}
QUERIES |= {
    f"get_day_query.{kind}.{by_program}": get_day_query(kind, by_program=by_program)
    for kind in COUNTED_KINDS
    for by_program in (True, False)
}
# Without an account: the reason.
WITHOUT_AN_ACCOUNT: dict[str, str] = {
    "accounts.services.api_keys.active_key_by_digest": "the key names the account"
}

SAMPLES = {
    models.IntegerField: 7,
    models.DateTimeField: NOW,
    models.DateField: date(2026, 3, 4),
    models.BooleanField: True,
    models.UUIDField: "01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97",
    models.DecimalField: Decimal("1.5"),
}
LIST_LENGTH = 2


def get_sizes(query):
    """The number of values of each argument that is a list, None for the others."""
    annotations = query.function.__annotations__
    return tuple(
        LIST_LENGTH if "list" in str(annotations.get(name, "")) else None for name in query.names
    )


def get_sample(field):
    for kind, sample in SAMPLES.items():
        if isinstance(field, kind):
            return sample
    return "x"


def get_parameters(compiled):
    return [p for p in compiled.statement.parameters if isinstance(p, Parameter)]


@pytest.mark.parametrize("name", QUERIES)
def test_is_the_sql_of_the_ordinary_queryset(name, db):
    query = QUERIES[name]
    compiled = query.compile(get_sizes(query))
    values: dict = {}
    for parameter in get_parameters(compiled):
        value = get_sample(parameter.compared_field)
        if parameter.index is not None:
            others = values.get(parameter.name, [])
            value = [*others, value + type(value)(len(others))]  # all different
        values[parameter.name] = value
    ordinary = query(**{name: values[name] for name in query.names})

    sql, parameters = ordinary.query.sql_with_params()

    assert compiled.statement.sql == sql
    assert compiled.statement.bind(values, connection) == list(parameters)


@pytest.mark.parametrize("name", QUERIES)
def test_names_the_account(name, db):
    query = QUERIES[name]
    if not issubclass(query.compile(get_sizes(query)).model, TenantModel):
        return
    names = {p.name for p in get_parameters(query.compile(get_sizes(query)))}

    assert ("account" in names) is (name not in WITHOUT_AN_ACCOUNT)
