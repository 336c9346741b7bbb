"""Facts of shops: merging them, and what is left of a sale."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from payouts.shop_facts import calculate_target, group_lines, merge_facts

TIMES = st.sampled_from([f"2026-03-04T0{hour}:00:00.000000Z" for hour in range(4)])
AMOUNTS = st.integers(0, 40).map(str)
IDS = st.sets(st.sampled_from(["7", "8", "9"]))


def build_sale(at="2026-03-04T00:00:00.000000Z", is_canceled=False):
    return {
        "at": at,
        "order_id": "1",
        "currency": "EUR",
        "lines": [{"id": "1", "products": [], "amount": "100"}],
        "paid": "100",
        "is_canceled": is_canceled,
    }


@st.composite
def draw_orders(draw):
    """Facts of one body: the sale, and all refunds that there are."""
    at, ids = draw(TIMES), draw(IDS)
    refunds = {
        key: {"at": at, "amount": draw(AMOUNTS), "lines": {}, "is_canceled": False}
        for key in ids
    }
    listed = {"at": at, "ids": ",".join(sorted(ids))}
    facts = {
        "sale": build_sale(at, draw(st.booleans())),
        "refunds": refunds,
        "refund_list": listed,
    }
    return draw(st.sampled_from([facts, {"removal": {"at": at}}]))


def merge_all(facts):
    known = {}
    for each in facts:
        known = merge_facts(known, each)
    return known


def calculate(facts):
    gross = group_lines(facts["sale"]["lines"], {})
    return calculate_target(gross, facts, {})


@given(st.lists(draw_orders(), min_size=1, max_size=5), st.data())
def test_merging_needs_no_order_and_no_single_copy(facts, data):
    shuffled = data.draw(st.permutations(facts + facts[:2]))
    merged = merge_all(facts)
    assert merge_all(shuffled) == merged
    if "sale" in merged:
        target = calculate(merged)
        assert target.total + sum(target.refunded.values()) == 100


def test_a_refund_that_the_newest_list_lacks_is_canceled():
    at, later = "2026-03-04T01:00:00.000000Z", "2026-03-04T02:00:00.000000Z"
    refund = {"at": at, "amount": "30", "lines": {}, "is_canceled": False}
    facts = {
        "sale": build_sale(),
        "refunds": {"7": refund, "8": refund},
        "refund_list": {"at": later, "ids": "8"},
    }
    target = calculate(facts)
    assert target.total == 70
    assert target.refunded["7"] == 0


def test_a_refund_newer_than_the_list_counts():
    at, later = "2026-03-04T01:00:00.000000Z", "2026-03-04T02:00:00.000000Z"
    refund = {"at": later, "amount": "30", "lines": {}, "is_canceled": False}
    listed = {"at": at, "ids": ""}
    facts = {"sale": build_sale(), "refunds": {"7": refund}, "refund_list": listed}
    assert calculate(facts).total == 70


def test_of_two_lists_of_one_time_the_one_with_more_refunds_counts():
    at = "2026-03-04T01:00:00.000000Z"
    lists = [{"refund_list": {"at": at, "ids": ids}} for ids in ("7", "", "7,8")]
    assert merge_all(lists)["refund_list"]["ids"] == "7,8"


def test_a_removed_order_is_refunded_whole_until_a_later_sale():
    at = "2026-03-04T01:00:00.000000Z"
    facts = {"sale": build_sale(), "removal": {"at": at}}
    assert calculate(facts).refunded["1 canceled"] == Decimal(100)
    facts["sale"]["at"] = "2026-03-04T02:00:00.000000Z"
    assert calculate(facts).total == 100
