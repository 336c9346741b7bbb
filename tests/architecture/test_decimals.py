"""Texts from outside become numbers in one place, which bounds them first."""

import ast
from pathlib import Path

from tests.command_line import ROOT

PACKAGES = ("accounts", "tracking", "payouts", "affiliate_site")
READER = Path("accounts/decimals.py")


def list_trees():
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT)
            if name != READER and not {"migrations", "demo"} & set(name.parts):
                yield name, ast.parse(path.read_text())


def test_only_the_reader_parses_numbers_of_any_size():
    """`Decimal(str(…))` and a caught `InvalidOperation` are signs of foreign text."""
    found = []
    for name, tree in list_trees():
        for node in ast.walk(tree):
            match node:
                case (
                    ast.Call(
                        func=ast.Name(id="Decimal"),
                        args=[ast.Call(func=ast.Name(id="str" | "repr"))],
                    )
                    | ast.Name(id="InvalidOperation")
                ):
                    found.append((str(name), node.lineno))
                case ast.keyword(arg="parse_float", value=ast.Name(id=parser)):
                    if parser != "parse_decimal":
                        found.append((str(name), node.value.lineno))
    assert found == []


# Where a `Decimal` of a name is one of our own numbers, not a text from outside.
OWN_NUMBERS = {
    "affiliate_site/backoffice/dashboard/charts.py",  # points of a chart
    "affiliate_site/backoffice/lists/xlsx_exports.py",  # cells of our own lists
    "affiliate_site/portal/svg_charts.py",
    "payouts/services/payout_runs.py",  # minimums that a run has stored
    "payouts/shop_amounts.py",  # facts that `shops/` has read
    "payouts/shop_facts.py",
    "tracking/amounts.py",  # digits that the reader has read
    "tracking/meta_data.py",  # integers and decimals
    "tracking/money.py",  # integers, and digits of an amount, without an exponent
}


def is_own_number(node):
    """A literal, a constant, an integer, or an entry of what is stored."""
    match node:
        case ast.Name(id=name):
            return name.isupper()
        case ast.Call(func=ast.Name(id="int" | "max")):
            return True
    return isinstance(node, ast.Constant | ast.Subscript)


def test_other_modules_make_decimals_of_their_own_numbers_only():
    found = {
        f"{path}:{node.lineno}"
        for path, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and path.as_posix() not in OWN_NUMBERS
        if (ast.unparse(node.func) == "Decimal" and not is_own_number(node.args[0]))
        or (ast.unparse(node.func) == "map" and ast.unparse(node.args[0]) == "Decimal")
    }
    assert found == set()


def test_exempt_modules_still_make_decimals():
    assert all("Decimal(" in (ROOT / path).read_text() for path in OWN_NUMBERS)


def test_only_bounded_functions_normalize():
    """The time of `unicodedata.normalize` grows with the square of the accents."""
    callers = {
        (path.as_posix(), function.name)
        for path, tree in list_trees()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        if "unicodedata.normalize" in ast.unparse(function)
    }
    importers = {
        path.as_posix()
        for path, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if "unicodedata" in ast.unparse(node)
    }
    assert callers == {
        ("accounts/email_addresses.py", "fold_email"),
        ("affiliate_site/throttling.py", "normalize_name"),
        ("tracking/search.py", "fold_text"),
    }  # `test_text_growth.py` runs them
    assert importers == {path for path, _ in callers}


def test_only_one_module_splits_addresses_of_any_length():
    """The time of `urlsplit` grows with the square of the accents in a host."""
    allowed = {"accounts/url_safety.py", "affiliate_site/env.py"}
    allowed.add("affiliate_site/operations/doctor.py")  # addresses of the operator
    found = {
        str(name)
        for name, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in ("urlsplit", "urlparse")
    }
    assert found <= allowed
