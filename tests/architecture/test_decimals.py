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
