"""Order IDs are found in any usual case, and by their numbers."""

import pytest

from tests.program_scenario import ProgramScenario
from tracking.services.order_search import list_order_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def orders(scenario, other_account):
    for external_id in ("SHOP-7", "ORDER-1287", "ORDER-1288", "77", None):
        scenario.create_conversion("1", external_id=external_id)
    ProgramScenario(other_account, prefix="o-").create_conversion(
        "1", external_id="FOREIGN-9"
    )


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("order-12", ["order-12", "ORDER-12"]),
        ("Ord", ["Ord", "ORD"]),
        ("ORDER-1", ["ORDER-1"]),
        ("order 12", ["order 12"]),
        ("1288", ["1288", "ORDER-1288", "SHOP-1288"]),
        ("foreign-9", ["foreign-9"]),
    ],
)
def test_lists_the_spellings_of_a_term(account, orders, term, expected):
    assert list_order_terms(account, term) == expected


def test_an_account_without_orders_has_no_prefixes(account):
    assert list_order_terms(account, "1288") == ["1288"]
