"""Every `represent_x` function has an `XSerializer` with the same keys in order.

The function renders the response; the serializer describes it in the OpenAPI document.
"""

import ast
import importlib
import inspect
import textwrap

import pytest
from rest_framework import serializers

from tests.architecture.syntax_trees import ROOT

REPRESENTATIONS = [
    importlib.import_module(f"affiliate_site.api.representations.{path.stem}")
    for path in sorted((ROOT / "affiliate_site/api/representations").glob("*.py"))
    if path.stem != "__init__"
]


LIST_FUNCTIONS = {"represent_conversions"}  # call another function for every row


def to_class_name(name):
    """`represent_click_summary` → `ClickSummarySerializer`."""
    words = name.removeprefix("represent_").split("_")
    return "".join(word.capitalize() for word in words) + "Serializer"


FUNCTIONS = {
    name: value
    for module in REPRESENTATIONS
    for name, value in vars(module).items()
    if name.startswith("represent_")
    and name not in LIST_FUNCTIONS
    and inspect.isfunction(value)
    and value.__module__ == module.__name__
}
SERIALIZERS = {
    name: value
    for module in REPRESENTATIONS
    for name, value in vars(module).items()
    if inspect.isclass(value)
    and issubclass(value, serializers.Serializer)
    and value.__module__ == module.__name__
}


def get_returned_keys(function):
    """Return the keys of the dict that a function returns, in order, from its code."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    values = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Return)
        and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    ]
    keys = {tuple(get_dict_keys(value, function)) for value in values}
    assert len(keys) == 1, f"{function.__name__} returns different keys: {keys}"
    return list(keys.pop())


def get_dict_keys(node, function):
    if isinstance(node, ast.Dict):
        return [
            key
            for name, value in zip(node.keys, node.values, strict=True)
            for key in ([name.value] if name else get_dict_keys(value, function))
        ]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = (
            get_dict_keys(node.left, function),
            get_dict_keys(node.right, function),
        )
        return [*left, *(key for key in right if key not in left)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        called = function.__globals__[node.func.id]
        return get_returned_keys(inspect.unwrap(called))
    raise AssertionError(
        f"{function.__name__} returns {ast.unparse(node)}: write it as a dict"
    )


def test_finds_the_functions():
    assert {"represent_program"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_a_serializer(name):
    assert to_class_name(name) in SERIALIZERS


def get_nested_returned_keys(function):
    """Return the keys of the objects nested in the returned dict, by their key."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        key.value: [inner.value for inner in value.keys]
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        for value in ([value.body] if isinstance(value, ast.IfExp) else [value])
        if key and isinstance(value, ast.Dict) and value.keys
    }


NESTED_OBJECTS = [
    (name, key, keys)
    for name, function in FUNCTIONS.items()
    for key, keys in get_nested_returned_keys(function).items()
]


def get_nested_serializer_name(name, key):
    return type(SERIALIZERS[to_class_name(name)]().fields[key]).__name__


@pytest.mark.parametrize(("name", "key", "keys"), NESTED_OBJECTS)
def test_nested_objects_have_the_same_keys(name, key, keys):
    assert list(SERIALIZERS[get_nested_serializer_name(name, key)]().fields) == keys


# Always null in this version, so no function represents them.
ALWAYS_NULL = {
    "GeolocationSerializer": "docs/api-contract.md, section 2.8",
    "ProgramCategorySerializer": "docs/api-contract.md, section 2.7.1",
}


@pytest.mark.parametrize("name", SERIALIZERS)
def test_every_serializer_has_a_function(name):
    represented = {to_class_name(function) for function in FUNCTIONS}
    nested = {
        get_nested_serializer_name(function, key) for function, key, _ in NESTED_OBJECTS
    }

    assert (name in represented | nested) is (name not in ALWAYS_NULL)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keys_are_the_same_in_the_same_order(name):
    declared = list(SERIALIZERS[to_class_name(name)]().fields)

    assert get_returned_keys(FUNCTIONS[name]) == declared


@pytest.mark.parametrize("name", SERIALIZERS)
def test_serializers_list_every_field_and_have_a_docstring(name):
    assert not issubclass(SERIALIZERS[name], serializers.ModelSerializer)
    assert SERIALIZERS[name].__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_execute_no_queries(name):
    tree = ast.parse(textwrap.dedent(inspect.getsource(FUNCTIONS[name])))
    query_attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {"objects", "all", "filter", "get_queryset", "first", "count"}
    }

    assert query_attributes == set()
