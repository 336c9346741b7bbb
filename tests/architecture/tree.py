"""The syntax trees of the house, for tests that read code instead of running it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("accounts", "tracking", "payouts", "affiliate_site")


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the packages: its path in the tree → its syntax tree."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def modules_outside(*parts: str) -> dict[str, ast.Module]:
    """The modules whose path has none of these folders or names."""
    return {
        path: tree
        for path, tree in modules().items()
        if not set(parts) & set(path.split("/"))
    }


def modules_below(*folders: str) -> dict[str, ast.Module]:
    """The modules below these folders."""
    return {path: tree for path, tree in modules().items() if path.startswith(folders)}


def chain(node: ast.AST) -> list[str]:
    """`a.b().c` → ["a", "b", "c"]; what is no name in it is left out."""
    if isinstance(node, ast.Attribute):
        return [*chain(node.value), node.attr]
    if isinstance(node, ast.Call):
        return chain(node.func)
    if isinstance(node, ast.Subscript):
        return chain(node.value)
    return [node.id] if isinstance(node, ast.Name) else []


def places(found) -> list[str]:
    """`path:line` of every node found, for a message that can be followed."""
    return [f"{path}:{node.lineno}" for path, node in found]
