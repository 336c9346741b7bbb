"""One function says which e-mail addresses are equal."""

import ast

from tests.architecture.syntax_trees import parse_modules_outside

# An identifier of any provider: the rules of payouts do not import Django.
EXEMPT = "payouts/payout_details.py"


def test_folds_addresses_in_one_module_only():
    found = [
        f"{path}:{node.lineno}"
        for path, tree in parse_modules_outside("migrations").items()
        if path not in ("accounts/email_addresses.py", EXEMPT)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("casefold", "lower")
        and any(it in ast.unparse(node.value) for it in ("email", "recipient"))
    ]
    assert found == []
