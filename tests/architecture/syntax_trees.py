"""Syntax trees of the packages, for tests that inspect the source code."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("accounts", "tracking", "payouts", "affiliate_site")


@cache
def parse_modules() -> dict[str, ast.Module]:
    """Return the syntax tree of each module by its relative path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def parse_modules_outside(*parts: str) -> dict[str, ast.Module]:
    """Return the modules whose path contains none of these folders or names."""
    return {
        path: tree
        for path, tree in parse_modules().items()
        if not set(parts) & set(path.split("/"))
    }


def parse_modules_below(*folders: str) -> dict[str, ast.Module]:
    """Return the modules below these folders."""
    return {path: tree for path, tree in parse_modules().items() if path.startswith(folders)}


def get_attribute_chain(node: ast.AST) -> list[str]:
    """Return the names of an expression: `a.b().c` gives `["a", "b", "c"]`."""
    if isinstance(node, ast.Attribute):
        return [*get_attribute_chain(node.value), node.attr]
    if isinstance(node, ast.Call):
        return get_attribute_chain(node.func)
    if isinstance(node, ast.Subscript):
        return get_attribute_chain(node.value)
    return [node.id] if isinstance(node, ast.Name) else []


def format_locations(found) -> list[str]:
    """Format each node as `path:line`."""
    return [f"{path}:{node.lineno}" for path, node in found]
