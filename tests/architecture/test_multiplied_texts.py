"""A foreign text that is filled into another must not be multiplied by it."""

import ast

import pytest

from accounts.services.outbox import fill_macros
from tests.architecture.syntax_trees import ROOT
from tracking.services.mails import fill_placeholders

PACKAGES = ("accounts", "tracking", "payouts", "affiliate_site")
# Functions that fill values into a text that somebody else wrote.
FILLERS = {
    "accounts/services/outbox.py": (fill_macros, "${conversion.amount}"),
    "tracking/services/mails.py": (fill_placeholders, "{name}"),
}
# Other calls of `sub` with a function, and why the text does not multiply a value.
SHORT = {
    "accounts/commands.py": "six characters for one",
    "affiliate_site/api/errors.py": "the text is one of ours",
    "affiliate_site/backoffice/payouts/payout_texts.py": "a label of ours for a name",
    "affiliate_site/backoffice/conversions/calculation_section.py": "of one group",
    "affiliate_site/cells.py": "adds a character to each separator",
    "affiliate_site/moving/account_references.py": "an ID for an ID",
    "affiliate_site/payout_files/sepa.py": "the file has one such element",
    "payouts/services/commissions.py": "a prefix of ours for each line",
}


def find_substitutions():
    """The files with a `sub` whose replacement is calculated."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr == "sub"
                    and node.args
                    and not isinstance(
                        node.args[node.func.value.__dict__.get("id") == "re"],
                        ast.Constant,
                    )
                ):
                    yield str(path.relative_to(ROOT))


def test_knows_all_texts_that_are_filled():
    assert set(find_substitutions()) == set(FILLERS) | set(SHORT)


@pytest.mark.parametrize(("fill", "placeholder"), FILLERS.values())
def test_grows_as_the_sum_of_the_texts(fill, placeholder):
    name = placeholder.strip("${}")
    for count in (10, 100, 10_000):
        for length in (10, 255, 8000, 100_000):
            bound = count * len(placeholder) + 50 * length
            assert len(fill(placeholder * count, {name: "x" * length})) <= bound
