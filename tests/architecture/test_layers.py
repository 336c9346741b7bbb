"""Architecture rules that are checked in the source code: docs/architecture.md."""

import ast

import pytest
from django.apps import apps

from accounts.models.accounts import TenantModel
from tests.architecture.syntax_trees import (
    PACKAGES,
    ROOT,
    format_locations,
    get_attribute_chain,
    parse_modules,
    parse_modules_below,
    parse_modules_outside,
)
from tracking.amounts import AmountField

TENANT_MODELS = {model.__name__ for model in apps.get_models() if issubclass(model, TenantModel)}
AMOUNTS = {
    field.name
    for model in apps.get_models()
    for field in model._meta.get_fields()
    if isinstance(field, AmountField)
}

LEDGER_SETS = {"transfers", "ledger_accounts"}
LEDGER_MODELS = {"Transfer", "LedgerAccount"}
WRITES = {
    *("add", "bulk_create", "bulk_update", "change", "create", "delete", "set"),
    *("get_or_create", "insert_or_ignore", "update", "update_or_create"),
}


def iterate_nodes(trees, *kinds):
    return (
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    )


def test_queries_start_from_the_account():
    """Or say that they select rows `across_accounts`."""
    trees = parse_modules_outside("management", "migrations", "backoffice")
    scoped = {
        id(node.value)
        for _, node in iterate_nodes(trees, ast.Attribute)
        if node.attr in ("of", "across_accounts")
    }
    found = [
        (path, node)
        for path, node in iterate_nodes(trees, ast.Attribute)
        if node.attr in ("objects", "_base_manager", "_default_manager")
        and id(node) not in scoped
        and isinstance(node.value, ast.Name)
        and node.value.id in TENANT_MODELS
    ]

    assert format_locations(found) == []


def test_declares_no_queryset_in_a_field_or_relation():
    """`queryset=Model.objects…` would select rows of all accounts."""
    found = [
        (path, node.value)
        for path, node in iterate_nodes(parse_modules_below("affiliate_site"), ast.keyword)
        if node.arg == "queryset" and "objects" in get_attribute_chain(node.value)
    ]

    assert format_locations(found) == []


def test_imports_a_model_from_its_own_module():
    packages = {f"{package}.models" for package in PACKAGES}
    found = [
        (path, node)
        for path, node in iterate_nodes(parse_modules(), ast.ImportFrom)
        if node.module in packages
        and any(
            not (ROOT / node.module.replace(".", "/") / f"{name.name}.py").exists()
            for name in node.names
        )
    ]

    assert format_locations(found) == []


def test_imports_no_whole_models_package():
    packages = {f"{package}.models" for package in PACKAGES}
    found = [
        (path, node)
        for path, node in iterate_nodes(parse_modules_outside("migrations"), ast.Import)
        if packages & {name.name for name in node.names}
    ]

    assert format_locations(found) == []


def test_calculates_no_amount_in_sql():
    """F() on a scaled column silently adds scaled integers or yields a float.

    A column may stand behind a path: `F(f"{path}sub_id")`.
    """

    def get_column(node):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        last = parts[-1]
        return last.value.rpartition("__")[2] if isinstance(last, ast.Constant) else None

    found = [
        (path, node)
        for path, node in iterate_nodes(parse_modules_outside("migrations"), ast.Call)
        if get_attribute_chain(node.func)[-1:] == ["F"]
        and (not node.args or get_column(node.args[0]) in {None, *AMOUNTS})
    ]

    assert format_locations(found) == []


def test_creates_no_decimal_from_a_float_and_rounds_in_one_function():
    found = [
        (path, node)
        for path, node in iterate_nodes(parse_modules_below("tracking", "payouts"), ast.Call)
        if get_attribute_chain(node.func) == ["round"]
        or get_attribute_chain(node.func) == ["float"]
        or (
            get_attribute_chain(node.func) == ["Decimal"]
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, float)
        )
    ]

    assert format_locations(found) == []


def test_endpoints_contain_no_business_rules():
    """An endpoint parses the request, calls one service and serializes the result."""
    resources = parse_modules_below("affiliate_site/api/resources/")
    found = [
        (path, node)
        for path, node in iterate_nodes(resources, ast.Attribute, ast.Name)
        if (node.attr if isinstance(node, ast.Attribute) else node.id)
        in {"objects", "_base_manager", "_default_manager", "atomic", "transaction"}
    ]

    assert format_locations(found) == []


def list_viewsets():
    for path, node in iterate_nodes(parse_modules_below("affiliate_site/api/"), ast.ClassDef):
        if node.name.endswith("ViewSet"):
            yield path, node


@pytest.mark.parametrize(
    ("path", "viewset"), [pytest.param(p, v, id=v.name) for p, v in list_viewsets()]
)
def test_endpoints_catch_no_exceptions(path, viewset):
    found = [(path, node) for node in ast.walk(viewset) if isinstance(node, ast.Try)]

    assert format_locations(found) == []


def test_lower_layers_do_not_know_http():
    """The apps below the site use no HTTP status and no request."""
    found = [
        (path, node)
        for path, node in iterate_nodes(
            parse_modules_below("accounts", "tracking", "payouts"), ast.arg, ast.keyword
        )
        if node.arg in {"request", "status_code"}
        and path != "accounts/tenant_admin.py"  # methods of Django's admin take it
    ]

    assert format_locations(found) == []


def is_write_to(node, names):
    """Return whether the call writes through one of these related managers."""
    parts = get_attribute_chain(node.func)
    return parts[-1:] and parts[-1] in WRITES and names & set(parts[:-1])


def test_only_the_ledger_service_writes_the_ledger():
    found = [
        (path, node)
        for path, node in iterate_nodes(parse_modules_outside("migrations"), ast.Call)
        if path != "payouts/services/ledger.py"
        and (
            is_write_to(node, LEDGER_SETS)
            or get_attribute_chain(node.func)[-1:] in list_creating_functions()
        )
    ]

    assert format_locations(found) == []


def list_creating_functions():
    return [[name] for name in LEDGER_MODELS]


def is_unscoped_query(path, node):
    """Return whether a manager is reached from a row other than the account."""
    owner = get_attribute_chain(node)[-2:-1]
    return owner != ["account"] and (owner != ["self"] or "/models/" in path)


def read_managers(tree):
    """Yield the attributes that are used as managers.

    These are `x.commissions` in `x.commissions.filter(…)` and arguments of
    `get_or_raise`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            yield node.value
        elif isinstance(node, ast.Call) and get_attribute_chain(node.func) == ["get_or_raise"]:
            yield from (argument for argument in node.args if isinstance(argument, ast.Attribute))


def reverse_managers():
    """Return the names of the reverse managers of all tenant models."""
    return {
        relation.get_accessor_name()
        for model in apps.get_models()
        if issubclass(model, TenantModel)
        for relation in model._meta.related_objects
        if relation.get_accessor_name()
    }


def test_queries_no_reverse_manager_except_the_accounts():
    names = reverse_managers()
    found = [
        (path, node)
        for path, tree in parse_modules_outside("management", "migrations").items()
        for node in read_managers(tree)
        if node.attr in names and is_unscoped_query(path, node)
    ]

    assert format_locations(found) == []


@pytest.mark.parametrize(
    ("line", "is_rejected"),
    [
        ("affiliate.commissions.filter(status=1)", True),
        ("get_or_raise(affiliate.commissions, CommissionNotFound, pk=1)", True),
        ("[row.pk for row in affiliate.commissions.all()]", True),
        ("account.commissions.filter(affiliate=affiliate)", False),
        ("get_or_raise(account.commissions, CommissionNotFound, pk=1)", False),
        ("[row for row in explanation.commissions]", False),
    ],
)
def test_distinguishes_a_reverse_manager_from_plain_data(line, is_rejected):
    found = [
        node
        for node in read_managers(ast.parse(line))
        if node.attr == "commissions" and is_unscoped_query("a.py", node)
    ]

    assert bool(found) is is_rejected


def test_only_outer_layers_read_the_clock():
    """Services take `at` as an argument and do not read the clock."""
    found = [
        (path, node)
        for path, node in iterate_nodes(
            parse_modules_below("accounts/services", "tracking", "payouts"), ast.Call
        )
        if get_attribute_chain(node.func)[-1:] in (["now"], ["today"], ["utcnow"])
    ]

    assert format_locations(found) == []
