"""architecture.md, sections 2, 8, 11, 18: laws that are read off the code."""

import ast
import subprocess
import sys
import tomllib

import pytest
from django.apps import apps

from accounts.models.accounts import Owned
from tests.architecture.tree import (
    PACKAGES,
    ROOT,
    chain,
    modules,
    modules_below,
    modules_outside,
    places,
)
from tracking.amounts import AmountField

TENANT_MODELS = {
    model.__name__ for model in apps.get_models() if issubclass(model, Owned)
}
AMOUNTS = {
    field.name
    for model in apps.get_models()
    for field in model._meta.get_fields()
    if isinstance(field, AmountField)
}

# `<TenantModel>.objects`: the module, the model, and why the account is not known.
WITHOUT_AN_ACCOUNT = {
    ("accounts/services/keys.py", "ApiKey"): "a key is asked who it is, by its digest",
    (
        "accounts/services/deliveries.py",
        "WebhookEndpoint",
    ): "one worker serves them all",
    ("accounts/services/deliveries.py", "Delivery"): "one worker serves them all",
    ("accounts/models/webhooks.py", "Delivery"): "joined by the endpoint's account",
}

# An import inside a function: the module, what, and why it cannot stand on top.
LATE_IMPORTS = {
    ("affiliate_site/apps.py", "affiliate_site.checks"): "apps must be ready first",
    ("affiliate_site/apps.py", "affiliate_site.admin"): "apps must be ready first",
    ("affiliate_site/run.py", "affiliate_site.demo"): "Django must be set up first",
}

# Who may know who acts: they name the actor, or write it down.
KNOW_THE_ACTOR = {
    "accounts/commands.py",
    "accounts/services/events.py",
    "affiliate_site/api/authentication.py",
    "affiliate_site/backoffice/seam.py",
    "affiliate_site/logs.py",
}

LEDGER_SETS = {"transfers", "ledger_accounts"}
LEDGER_MODELS = {"Transfer", "LedgerAccount"}
WRITES = {
    "add",
    "bulk_create",
    "bulk_update",
    "change",
    "create",
    "delete",
    "get_or_create",
    "insert_unless_taken",
    "set",
    "update",
    "update_or_create",
}

# Contracts that come with the modules they speak of (architecture.md, section 18).
CONTRACTS = {
    "Four floors": None,
    "Faces live on the roof": None,
    "The back office knows no REST": "affiliate_site/backoffice/__init__.py",
    "One seam to the admin's theme": "affiliate_site/backoffice/__init__.py",
    "Rules that are only rules": None,
    "Inside an app": None,
    "Inside the roof": None,
    "Inside the API": None,
    "Resources do not know each other": None,
    "Services do not go in circles": None,
    "A conversion is only written by the story that also pays for it": (
        "tracking/services/conversions.py"
    ),
    "Money has one door": "payouts/models/ledger.py",
}


def nodes(trees, *kinds):
    return (
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    )


def test_keeps_the_import_contracts():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import importlinter.cli as cli; raise SystemExit(cli.lint_imports())",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_has_every_import_contract_whose_modules_there_are():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]

    assert {contract["name"] for contract in contracts} == {
        name
        for name, module in CONTRACTS.items()
        if module is None or (ROOT / module).exists()
    }


def test_walks_from_the_account():
    found = {
        (path, node.value.id): node
        for path, node in nodes(
            modules_outside(
                "management", "migrations", "backoffice", "tenant_admin.py"
            ),
            ast.Attribute,
        )
        if node.attr in ("objects", "_base_manager", "_default_manager")
        and isinstance(node.value, ast.Name)
        and node.value.id in TENANT_MODELS
    }

    assert set(found) == set(WITHOUT_AN_ACCOUNT)


def test_asks_for_no_set_of_rows_in_a_field_or_a_relation():
    """`queryset=Model.objects…` would choose among all tenants' rows."""
    found = [
        (path, node.value)
        for path, node in nodes(modules_below("affiliate_site"), ast.keyword)
        if node.arg == "queryset" and "objects" in chain(node.value)
    ]

    assert places(found) == []


def test_imports_absolutely():
    found = [
        (path, node)
        for path, node in nodes(modules(), ast.ImportFrom)
        if node.level > 0
    ]

    assert places(found) == []


def test_imports_a_model_from_its_own_module():
    packages = {f"{package}.models" for package in PACKAGES}
    found = [
        (path, node)
        for path, node in nodes(modules(), ast.ImportFrom)
        if node.module in packages
        and any(
            not (ROOT / node.module.replace(".", "/") / f"{name.name}.py").exists()
            for name in node.names
        )
    ]

    assert places(found) == []


def test_imports_no_models_package_as_a_whole():
    packages = {f"{package}.models" for package in PACKAGES}
    found = [
        (path, node)
        for path, node in nodes(modules_outside("migrations"), ast.Import)
        if packages & {name.name for name in node.names}
    ]

    assert places(found) == []


def imported(node):
    """The full names that an import brings in."""
    if isinstance(node, ast.Import):
        return {name.name for name in node.names}
    return {node.module} | {f"{node.module}.{name.name}" for name in node.names}


def test_lets_no_rule_ask_who_acts():
    found = {
        path
        for path, node in nodes(modules(), ast.Import, ast.ImportFrom)
        if "accounts.actor" in imported(node)
    }

    assert found - {"accounts/actor.py"} == KNOW_THE_ACTOR


def test_imports_nothing_inside_a_function():
    found = {
        (path, name): node
        for path, function in nodes(modules(), ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(node)
    }
    allowed = {
        (path, name)
        for path, name in found
        if any(path == place and name.startswith(what) for place, what in LATE_IMPORTS)
    }

    assert set(found) - allowed == set()
    assert {path for path, _ in allowed} == {path for path, _ in LATE_IMPORTS}


def test_computes_no_amount_in_sql():
    """F() on a scaled column adds ten-thousandths, or leaves a float, silently."""
    found = [
        (path, node)
        for path, node in nodes(modules_outside("migrations"), ast.Call)
        if chain(node.func)[-1:] == ["F"]
        and not (
            node.args
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value.rpartition("__")[2] not in AMOUNTS
        )
        and path != "accounts/engines.py"  # ValueAtKey, a JSON column by its name
    ]

    assert places(found) == []


def test_makes_no_decimal_of_a_float_and_rounds_by_one_function():
    found = [
        (path, node)
        for path, node in nodes(modules_below("tracking", "payouts"), ast.Call)
        if chain(node.func) == ["round"]
        or chain(node.func) == ["float"]
        or (
            chain(node.func) == ["Decimal"]
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, float)
        )
    ]

    assert places(found) == []


def test_keeps_rules_out_of_endpoints():
    """An endpoint reads, makes one call, answers."""
    resources = modules_below("affiliate_site/api/resources/")
    found = [
        (path, node)
        for path, node in nodes(resources, ast.Attribute, ast.Name)
        if (node.attr if isinstance(node, ast.Attribute) else node.id)
        in {"objects", "_base_manager", "_default_manager", "atomic", "transaction"}
    ]

    assert places(found) == []


def viewsets():
    for path, node in nodes(modules_below("affiliate_site/api/"), ast.ClassDef):
        if node.name.endswith("ViewSet"):
            yield path, node


@pytest.mark.parametrize(
    ("path", "viewset"), [pytest.param(p, v, id=v.name) for p, v in viewsets()]
)
def test_catches_nothing_in_an_endpoint(path, viewset):
    found = [(path, node) for node in ast.walk(viewset) if isinstance(node, ast.Try)]

    assert places(found) == []


def test_has_no_rest_below_the_roof():
    """No status and no request: nothing about HTTP below the roof."""
    found = [
        (path, node)
        for path, node in nodes(
            modules_below("accounts", "tracking", "payouts"), ast.arg, ast.keyword
        )
        if node.arg in {"request", "status_code"}
        and path != "accounts/tenant_admin.py"  # the admin's own seams hand it over
    ]

    assert places(found) == []


def writes_to(node, names):
    """Is this call a write through one of these related managers?"""
    parts = chain(node.func)
    return parts[-1:] and parts[-1] in WRITES and names & set(parts[:-1])


def test_writes_the_ledger_in_one_place():
    found = [
        (path, node)
        for path, node in nodes(modules_outside("migrations"), ast.Call)
        if path != "payouts/services/ledger.py"
        and (writes_to(node, LEDGER_SETS) or chain(node.func)[-1:] in makers())
    ]

    assert places(found) == []


def makers():
    return [[name] for name in LEDGER_MODELS]


def leaves_the_account(path, node):
    """`conversion.commissions` names the row alone; `account.commissions` does not."""
    owner = chain(node)[-2:-1]
    return owner != ["account"] and (owner != ["self"] or "/models/" in path)


def test_asks_no_reverse_manager_but_the_accounts_own():
    sets = {
        relation.get_accessor_name()
        for model in apps.get_models()
        if issubclass(model, Owned)
        for relation in model._meta.related_objects
        if relation.get_accessor_name()
    }
    found = [
        (path, node)
        for path, node in nodes(
            # These two put plain data into words: they know no rows.
            modules_outside("management", "migrations", "telling.py", "dashboard.py"),
            ast.Attribute,
        )
        if node.attr in sets and leaves_the_account(path, node)
    ]

    assert places(found) == []


def test_says_nothing_by_a_signal():
    found = {
        path
        for path, node in nodes(modules(), ast.Import, ast.ImportFrom)
        if imported(node) & {"django.db.models.signals", "django.dispatch"}
    }

    assert found == set()


def test_reads_the_clock_at_the_edge_only():
    """Services take `at`; only defaults of columns name `timezone.now` below it."""
    found = [
        (path, node)
        for path, node in nodes(
            modules_below("accounts/services", "tracking", "payouts"), ast.Call
        )
        if chain(node.func)[-1:] in (["now"], ["today"], ["utcnow"])
    ]

    assert places(found) == []
