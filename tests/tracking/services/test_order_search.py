"""Order IDs are found by their parts in any case, and by their numbers."""

import pytest

from tests.program_scenario import ProgramScenario
from tracking.services import search
from tracking.services.search import find_orders, list_exact_orders, list_order_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def orders(scenario, other_account):
    for external_id in ("SHOP-7", "ORDER-1287", "ORDER-1288", "77", None):
        scenario.create_conversion("1", external_id=external_id)
    ProgramScenario(other_account, prefix="o-").create_conversion("1", external_id="FOREIGN-9")


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("order-12", ["order-12", "ORDER-12", "SHOP-order-12"]),
        ("Ord", ["Ord", "ORD"]),
        ("ORDER-1", ["ORDER-1", "SHOP-ORDER-1"]),
        ("1288", ["1288", "ORDER-1288", "SHOP-1288"]),
        ("gift-1", ["gift-1", "ORDER-gift-1", "SHOP-gift-1"]),
        ("foreign-9", ["foreign-9", "ORDER-foreign-9", "SHOP-foreign-9"]),
        ("no", ["no"]),
    ],
)
def test_lists_the_spellings_of_a_term(account, orders, term, expected):
    assert list_order_terms(account, term) == expected


@pytest.mark.parametrize(
    "term",
    ["order 1288", "#1288", "Order #1288", "order no. 1288", "ID: 1288", "# 1288"],
)
def test_leaves_out_the_words_before_an_id(account, orders, term):
    assert list_order_terms(account, term) == ["1288", "ORDER-1288", "SHOP-1288"]


def test_keeps_a_word_that_an_id_begins_with(scenario, account, orders):
    scenario.create_conversion("1", external_id="order 1288")

    assert list_order_terms(account, "order 12")[0] == "order 12"


def test_finds_conversions_by_their_whole_order_id(account, orders):
    for term, number in (("#1288", 1), ("order-1288", 1), ("128", 0), ("FOREIGN-9", 0)):
        rows = account.conversions.filter(pk__in=list_exact_orders(account, term))
        assert [row.external_id for row in rows] == ["ORDER-1288"] * number


def test_an_account_without_orders_has_no_prefixes(account):
    assert list_order_terms(account, "1288") == ["1288"]


def find_external_ids(account, term):
    pks = find_orders(account, term).pks
    rows = account.conversions.in_bulk(pks)
    return [rows[pk].external_id for pk in pks]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("der-12", ["ORDER-1288", "ORDER-1287"]),
        ("288", ["ORDER-1288"]),
        ("order 1288", ["ORDER-1288"]),
        ("#7", ["77", "ORDER-7", "SHOP-7"]),
        ("77", ["77"]),
        ("foreign", []),
        ("REIGN-9", []),
        ("%-1", []),
        ("ER_12", []),
        ('er" OR "hop', []),
    ],
)
def test_finds_orders_by_a_part(scenario, account, orders, term, expected):
    scenario.create_conversion("1", external_id="ORDER-7")

    assert sorted(find_external_ids(account, term)) == sorted(expected)


def test_finds_orders_of_which_an_affix_is_a_word(scenario, account):
    scenario.create_conversion("1", external_id="order-contested")
    scenario.create_conversion("1", external_id="Büro-Ä12")

    assert find_external_ids(account, "CONTEST") == ["order-contested"]
    assert find_external_ids(account, "büro-ä") == ["Büro-Ä12"]


def test_finds_an_order_by_its_new_id_only(scenario, account):
    conversion = scenario.create_conversion("1", external_id="ORDER-4711")
    conversion.update_row(external_id="INVOICE-4712")

    assert find_external_ids(account, "VOICE") == ["INVOICE-4712"]
    assert find_external_ids(account, "4711") == []
    conversion.update_row(external_id=None)
    assert find_external_ids(account, "VOICE") == []


def test_finds_an_order_id_with_an_address_by_its_beginning(scenario, account):
    conversion = scenario.create_conversion("1", external_id="hana@example.org/1")

    assert find_external_ids(account, "hana@example.org") == ["hana@example.org/1"]
    conversion.update_row(external_id="a-hana-1")
    assert find_external_ids(account, "hana-1") == ["a-hana-1"]


def test_finds_the_newest_of_many(scenario, account, orders, monkeypatch):
    monkeypatch.setattr(search, "MAX_FOUND_ORDERS", 1)

    found = find_orders(account, "order-12")

    assert found.has_more
    assert account.conversions.get(pk__in=found.pks).external_id == "ORDER-1288"
