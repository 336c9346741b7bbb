"""Every class, function and method is used, or called by a framework."""

import ast
import importlib
import re
from collections import Counter
from types import ModuleType

from tests.architecture.syntax_trees import ROOT, parse_modules_outside

FOLDERS = ("accounts", "tracking", "payouts", "affiliate_site", "templates", "deploy")
SUFFIXES = (".py", ".html", ".txt")
# Called by Django's forms, by its admin and by its SQL compiler.
CALLED_BY_PATTERN = re.compile(r"clean_\w+|has_\w+_permission|as_(sqlite|postgresql)")
CALLED_BY_NAME = {
    "ApiKeyScheme": "drf-spectacular finds the subclasses of its extensions",
    "ApiFieldExtension": "the same",
    "InputSerializerExtension": "the same",
    "reload": "the tests call it",
    "AddCheckConcurrently": "migrations of later releases call it",
    "run_command_line": "manage.py calls it",
    "is_staff": "Django's admin reads it",
    "has_module_perms": "the same",
    "short_description": "the same, of functions in `list_display`",
    "admin_order_field": "the same",
    "create_superuser": "the command createsuperuser",
    "process_exception": "Django calls it on middleware",
    "from_db_value": "Django calls it on model fields",
    "db_for_read": "Django calls it on database routers",
    "db_for_write": "the same",
    "allow_relation": "the same",
    "allow_migrate": "the same",
    "dispatch": "Django calls it on views; a mixin overrides it",
}


def words() -> Counter[str]:
    """Count the words of all source files and templates."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*")]
    return Counter(
        word
        for file in [*files, ROOT / "manage.py"]
        if file.suffix in SUFFIXES
        for word in re.findall(r"\w+", file.read_text())
    )


def definitions(tree: ast.Module):
    """Yield each class, function and method without a decorator, and its class."""
    owners = {
        child: node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for child in node.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node, owners.get(node)


def overrides(module: ModuleType, owner: ast.ClassDef | None, name: str) -> bool:
    """Return whether a base class has this attribute."""
    found = getattr(module, owner.name, None) if owner else None
    return found is not None and any(name in vars(base) for base in found.__mro__[1:])


def is_called_by_framework(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return bool(dunder or name in CALLED_BY_NAME or CALLED_BY_PATTERN.fullmatch(name))


def is_registered(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Return whether a decorator like `@admin.register` registers the object."""
    return any("register" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_every_definition_is_used():
    used, unused = words(), []

    for path, tree in parse_modules_outside("migrations").items():
        for node, owner in definitions(tree):
            if used[node.name] > 1 or is_called_by_framework(node.name):
                continue
            module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
            if not is_registered(node) and not overrides(module, owner, node.name):
                unused.append(f"{path}: {node.name}")

    assert unused == []


def test_exempts_only_existing_definitions():
    used = words()

    assert [name for name in CALLED_BY_NAME if not used[name]] == []
