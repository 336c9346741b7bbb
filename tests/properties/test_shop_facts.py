"""Facts of shops in any order, and what any of them leave of a sale."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payouts.calculation import DEFAULT_COMMISSION_TYPE
from payouts.shop_amounts import calculate_target, group_lines, list_unclear
from payouts.shop_facts import format_time, merge_facts

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 4, tzinfo=UTC)
TYPES = {f"p{number}": f"type {number}" for number in range(1, 7)}
many = settings(max_examples=300, deadline=None)

# Few times, so that facts of the same time are common; IDs that are names of keys, too.
times = st.integers(min_value=0, max_value=2).map(
    lambda hours: format_time(START + timedelta(hours=hours))
)
ids = st.sampled_from(["r1", "r2", "at", "referral", "sale"])
# Small amounts, of which roundings are a large part.
cents = st.one_of(
    st.integers(min_value=0, max_value=9), st.integers(min_value=0, max_value=500)
).map(lambda number: Decimal(number).scaleb(-2))
amounts = cents.map(str)
line_ids = st.sampled_from(["l0", "l1", "l2", "l9"])


def in_any_order(fact):
    """Facts with their keys in either order, as a database may return them."""
    return st.booleans().map(lambda turned: dict(reversed(fact.items())) if turned else fact)


lines = st.fixed_dictionaries(
    {
        "id": line_ids,
        "products": st.lists(st.sampled_from(["p0", *TYPES]), max_size=2),
        "amount": amounts,
    },
    optional={"listed": amounts},
).flatmap(in_any_order)
received = st.sampled_from(["1", "2"])
referrals = st.fixed_dictionaries(
    {
        "at": times,
        "values": st.lists(st.sampled_from("ab"), max_size=2),
        "coupons": st.lists(st.sampled_from("cd"), max_size=1),
    }
)
sales = st.fixed_dictionaries(
    {
        "at": times,
        "order_id": st.just("o1"),
        "currency": st.just("EUR"),
        "lines": st.lists(lines, max_size=8),
        "paid": amounts,
        "referral": referrals,
        "is_canceled": st.booleans(),
    },
    optional={"rank": st.integers(min_value=0, max_value=2), "received": received},
).flatmap(in_any_order)
other_currency = {
    "currency": st.sampled_from(["EUR", "USD"]),
    "is_full": st.booleans(),
}
refunds = st.fixed_dictionaries(
    {
        "at": times,
        "amount": amounts,
        "lines": st.dictionaries(line_ids, amounts, max_size=2),
        "is_canceled": st.booleans(),
    },
    optional={
        "charge": st.sampled_from(["c1", "c2", "p1"]),
        "payment": st.just("p1"),
        **other_currency,
    },
)
totals = st.fixed_dictionaries(
    {"at": times, "amount": amounts},
    optional={"payment": st.just("p1"), "received": received} | other_currency,
)
payments = st.fixed_dictionaries(
    {"at": times, "amount": amounts, "currency": st.sampled_from(["EUR", "USD"])}
)
disputes = st.fixed_dictionaries(
    {
        "at": times,
        "amount": amounts,
        "state": st.sampled_from(["inquiry", "open", "won", "lost"]),
    },
    optional=other_currency,
)
parts = {
    "refunds": st.dictionaries(ids, refunds, max_size=3),
    "refund_totals": st.dictionaries(st.sampled_from(["c1", "c2"]), totals),
    "disputes": st.dictionaries(st.sampled_from(["d1", "d2"]), disputes),
    "payments": st.dictionaries(st.sampled_from(["p1", "p2"]), payments),
}
order_facts = st.fixed_dictionaries({}, optional={"sale": sales, **parts})
customer_facts = st.fixed_dictionaries(
    {},
    optional={
        "referral": referrals,
        "subscriptions": st.dictionaries(
            ids,
            st.fixed_dictionaries({"at": times, "state": st.sampled_from(["trial", "canceled"])}),
        ),
        "removal": st.fixed_dictionaries({"at": times}),
    },
)
groups = st.one_of(
    st.lists(order_facts, min_size=3, max_size=3),
    st.lists(customer_facts, min_size=3, max_size=3),
)


@many
@given(groups)
def test_facts_are_merged_in_any_order_and_any_number_of_times(group):
    first, second, third = group
    both = merge_facts(first, second)
    assert both == merge_facts(second, first)
    assert merge_facts(both, third) == merge_facts(first, merge_facts(second, third))
    assert merge_facts(first, first) == first
    assert merge_facts(both, first) == merge_facts(both, second) == both


@many
@given(st.fixed_dictionaries({"sale": sales, **parts}))
def test_what_is_left_of_a_sale_is_never_more_than_it_or_below_zero(facts):
    gross = group_lines(facts["sale"]["lines"], TYPES)
    target = calculate_target(gross, facts, TYPES)
    assert target.left.keys() == gross.keys()
    for name, amount in target.left.items():
        assert 0 <= amount <= gross[name]
    assert all(amount >= 0 for amount in target.refunded.values())
    assert sum(target.refunded.values()) == sum(gross.values()) - target.total


@many
@given(st.fixed_dictionaries({"sale": sales, **parts}))
def test_unclear_amounts_take_nothing(facts):
    gross = group_lines(facts["sale"]["lines"], TYPES)
    target = calculate_target(gross, facts, TYPES)
    own = [
        fact for name in ("refunds", "refund_totals", "disputes") for fact in facts[name].values()
    ]
    # A refund that was canceled makes a part of a total that was all.
    is_partly_foreign = any(
        fact.get("currency") == "USD" and not fact.get("is_full") for fact in own
    ) or any(refund["is_canceled"] for refund in facts["refunds"].values())
    assert not list_unclear(facts) or is_partly_foreign
    if all(it.get("currency") == "USD" and not it.get("is_full") for it in own):
        is_whole = facts["sale"]["is_canceled"]
        assert target.total == (0 if is_whole else sum(gross.values()))


@many
@given(
    st.fixed_dictionaries({"sale": sales, **parts}),
    st.lists(st.integers(min_value=0, max_value=3), max_size=6),
)
def test_further_events_are_taken_off_what_is_left(facts, deductions):
    """More refunds of amounts never leave more."""
    gross = group_lines(facts["sale"]["lines"], TYPES)
    before = calculate_target(gross, facts, TYPES)
    at = format_time(START + timedelta(hours=9))
    new = {
        f"x{number}": {
            "at": at,
            "amount": str(amount),
            "lines": {},
            "is_canceled": False,
        }
        for number, amount in enumerate(deductions)
    }
    merged = reduce(merge_facts, [{"refunds": {key: it}} for key, it in new.items()], facts)
    after = calculate_target(gross, merged, TYPES)
    assert after.total <= before.total


def build_sale(paid, *, is_canceled=False):
    return {
        "at": format_time(START),
        "order_id": "o1",
        "currency": "EUR",
        "lines": [],
        "paid": paid,
        "is_canceled": is_canceled,
    }


def test_a_canceled_sale_leaves_nothing():
    sale = build_sale("5", is_canceled=True)
    gross = {DEFAULT_COMMISSION_TYPE: Decimal(5)}
    assert calculate_target(gross, {"sale": sale}, TYPES).total == 0


def test_what_rounding_leaves_over_fits_the_lines():
    gross = dict.fromkeys([*TYPES.values(), "more"], Decimal("0.03"))
    refund = {"at": "", "amount": "0.11", "lines": {}, "is_canceled": False}
    facts = {"sale": build_sale("0.21"), "refunds": {"r1": refund}}
    target = calculate_target(gross, facts, TYPES)
    assert target.total == Decimal("0.10")
    assert max(target.left.values()) == Decimal("0.03")
