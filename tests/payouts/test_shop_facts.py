"""Facts of shops: merging them, and what is left of a sale."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payouts.shop_amounts import calculate_target, group_lines
from payouts.shop_facts import mark_received, merge_facts

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
        key: {"at": at, "amount": draw(AMOUNTS), "lines": {}, "is_canceled": False} for key in ids
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


AT = "2026-03-04T01:00:00.000000Z"


def stamp(fact, received):
    return mark_received({"refund_totals": {"x": fact}}, received)["refund_totals"]["x"]


def choose_both_ways(first, second):
    """The fact that counts, which does not depend on which is processed first."""
    first, second = stamp(first | {"at": AT}, "1"), stamp(second | {"at": AT}, "2")
    chosen = merge_facts(first, second)
    assert merge_facts(second, first) == chosen
    return 1 if chosen == first else 2


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # States go forward.
        ({"state": "trial"}, {"state": "active"}, 2),
        ({"state": "active"}, {"state": "trial"}, 1),
        ({"state": "canceled"}, {"state": "active"}, 1),
        ({"state": "inquiry"}, {"state": "open"}, 2),
        ({"state": "open"}, {"state": "inquiry"}, 1),
        ({"state": "lost"}, {"state": "open"}, 1),
        ({"state": "won"}, {"state": "lost"}, 2),
        ({"state": "lost"}, {"state": "won"}, 2),
        # What was refunded in all grows, as a number.
        ({"amount": "9.50"}, {"amount": "10.00"}, 2),
        ({"amount": "10.00"}, {"amount": "9.50"}, 1),
        ({"ids": "99"}, {"ids": "99,100"}, 2),
        ({"ids": "99,100"}, {"ids": "99"}, 1),
        ({"ids": ""}, {"ids": "9"}, 2),
        # A refund that was canceled stays so.
        (
            {"amount": "5", "is_canceled": True},
            {"amount": "5", "is_canceled": False},
            1,
        ),
        # A payment that failed is tried again.
        ({"order_id": "1", "rank": 1}, {"order_id": "1", "rank": 2}, 2),
        ({"order_id": "1", "rank": 2}, {"order_id": "1", "rank": 1}, 1),
        # Only the arrival orders these.
        ({"order_id": "1", "paid": "110"}, {"order_id": "1", "paid": "100"}, 2),
        ({"order_id": "1", "paid": "100"}, {"order_id": "1", "paid": "110"}, 2),
        ({"email": "z@x.example"}, {"email": "a@x.example"}, 2),
        # The first referral counts.
        ({"coupons": ["b"]}, {"coupons": ["a"]}, 1),
    ],
)
def test_of_two_facts_of_one_time_the_later_one_by_meaning_counts(first, second, expected):
    assert choose_both_ways(first, second) == expected


def test_a_fact_says_when_it_was_received():
    facts = {"sale": {"at": AT}, "refunds": {"at": {"at": AT}, "sale": {"at": AT}}}
    received = {"at": AT, "received": "7"}
    assert mark_received(facts, "7") == {
        "sale": received,
        "refunds": {"at": received, "sale": received},
    }


def test_a_refund_of_a_line_takes_the_same_part_of_what_the_line_earns():
    lines = [
        {"id": "1", "products": ["LAMP"], "amount": "25", "listed": "30"},
        {"id": "2", "products": [], "amount": "0", "listed": "-5"},
    ]
    refund = {"at": AT, "amount": "0", "lines": {"1": "15"}, "is_canceled": False}
    facts = {
        "sale": build_sale() | {"lines": lines, "paid": "25"},
        "refunds": {"r": refund},
    }
    gross = group_lines(lines, {"LAMP": "half"})
    assert gross == {"half": 25}
    target = calculate_target(gross, facts, {"LAMP": "half"})
    assert target.left == {"half": Decimal("12.5")}


def test_paying_back_what_was_paid_twice_takes_nothing():
    def calculate_left(refunded):
        payment = {"at": AT, "amount": "100", "currency": "EUR"}
        foreign = payment | {"currency": "USD"}
        total = {"at": AT, "amount": refunded}
        facts = {
            "sale": build_sale(),
            "payments": {"1": payment, "2": payment, "3": foreign},
            "refund_totals": {"ch_2": total},
        }
        return calculate(facts).total

    assert [calculate_left(each) for each in ("100", "130", "200")] == [100, 70, 0]
