"""Form pages hand over what was entered, not what disabled fields began with."""

import ast

from tests.architecture.syntax_trees import format_locations, parse_modules_below

HANDOVERS = ("save", "perform", "get_values")


def test_services_get_no_values_of_disabled_fields():
    """`form.values` has none; single values of `form.cleaned_data` are fine."""
    found = []
    for path, tree in parse_modules_below("affiliate_site/backoffice").items():
        methods = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name in HANDOVERS
        ]
        for method in methods:
            single = {
                id(node.value)
                for node in ast.walk(method)
                if isinstance(node, ast.Subscript | ast.Attribute)
            }
            found += [
                (path, node)
                for node in ast.walk(method)
                if isinstance(node, ast.Attribute)
                and node.attr == "cleaned_data"
                and id(node) not in single
            ]
    assert format_locations(found) == []
