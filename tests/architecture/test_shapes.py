"""style.md, 13: a shape is said twice, as a function and as a declaration, alike."""

import ast
import importlib
import inspect
import textwrap

import pytest
from rest_framework import serializers

from tests.architecture.tree import ROOT

SHAPES = [
    importlib.import_module(f"affiliate_site.api.shapes.{path.stem}")
    for path in sorted((ROOT / "affiliate_site/api/shapes").glob("*.py"))
    if path.stem != "__init__"
]


def camel(name):
    """`click_ref_shape` → `ClickRefShape`."""
    return "".join(word.capitalize() for word in name.split("_"))


FUNCTIONS = {
    name: value
    for module in SHAPES
    for name, value in vars(module).items()
    if name.endswith("_shape")
    and inspect.isfunction(value)
    and value.__module__ == module.__name__
}
DECLARATIONS = {
    name: value
    for module in SHAPES
    for name, value in vars(module).items()
    if inspect.isclass(value)
    and issubclass(value, serializers.Serializer)
    and value.__module__ == module.__name__
}


def keys_of(function):
    """The keys of the dict that a function returns, in order, read off its code."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    answers = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Return)
        and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    ]
    found = {tuple(keys_in(answer, function)) for answer in answers}
    assert len(found) == 1, f"{function.__name__} answers in several forms: {found}"
    return list(found.pop())


def keys_in(node, function):
    if isinstance(node, ast.Dict):
        return [
            key
            for name, value in zip(node.keys, node.values, strict=True)
            for key in ([name.value] if name else keys_in(value, function))
        ]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = keys_in(node.left, function), keys_in(node.right, function)
        return [*left, *(key for key in right if key not in left)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        called = function.__globals__[node.func.id]
        return keys_of(inspect.unwrap(called))
    raise AssertionError(
        f"{function.__name__} answers with {ast.unparse(node)}: say it as a dict"
    )


def test_finds_the_shapes():
    assert {"program_shape"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_declares_every_function(name):
    assert camel(name) in DECLARATIONS


def said_inside(function):
    """The keys of the objects that a function writes inside its own: by their key."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        key.value: [inner.value for inner in value.keys]
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        for value in ([value.body] if isinstance(value, ast.IfExp) else [value])
        if key and isinstance(value, ast.Dict) and value.keys
    }


INSIDE = [
    (name, key, keys)
    for name, function in FUNCTIONS.items()
    for key, keys in said_inside(function).items()
]


def declared_inside(name, key):
    return type(DECLARATIONS[camel(name)]().fields[key]).__name__


@pytest.mark.parametrize(("name", "key", "keys"), INSIDE)
def test_names_the_same_keys_in_an_object_inside(name, key, keys):
    assert list(DECLARATIONS[declared_inside(name, key)]().fields) == keys


# Declared by the contract, and always null so far: there is nothing to say them of.
ALWAYS_NULL = {
    "GeolocationShape": "contract 2.8: no address is looked up in this version",
    "ProgramCategoryShape": "contract 2.7.1: always null in this version",
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_says_every_declaration_by_a_function(name):
    said = {camel(function) for function in FUNCTIONS}
    inside = {declared_inside(it, key) for it, key, _ in INSIDE}

    assert (name in said | inside) is (name not in ALWAYS_NULL)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_names_the_same_keys_in_the_same_order(name):
    declared = list(DECLARATIONS[camel(name)]().fields)

    assert keys_of(FUNCTIONS[name]) == declared


@pytest.mark.parametrize("name", DECLARATIONS)
def test_lists_every_field_by_hand(name):
    assert not issubclass(DECLARATIONS[name], serializers.ModelSerializer)
    assert DECLARATIONS[name].__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_queries_nothing_in_a_shape(name):
    tree = ast.parse(textwrap.dedent(inspect.getsource(FUNCTIONS[name])))
    asked = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {"objects", "all", "filter", "get_queryset", "first", "count"}
    }

    assert asked == set()
