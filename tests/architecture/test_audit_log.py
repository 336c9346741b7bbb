"""Each kind of entry that the code can write is declared."""

import ast
import re

from accounts.events import EVENT_SENTENCES
from accounts.models.webhooks import TEST_EVENT
from tests.architecture.syntax_trees import parse_modules


def test_the_logged_kinds_are_the_declared_ones():
    """So also what a branch logs that no test runs."""
    subjects = {kind.partition(".")[0] for kind in EVENT_SENTENCES}
    kind = re.compile(rf"({'|'.join(subjects)})\.(?!id$)[a-z_]+")
    logged = {
        node.value
        for tree in parse_modules().values()
        if imports(tree, "accounts.services.changes", "accounts.services.staff")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and kind.fullmatch(str(node.value))
    }

    assert logged | {TEST_EVENT} == EVENT_SENTENCES.keys()


def imports(tree, *modules) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module in modules for node in tree.body)
