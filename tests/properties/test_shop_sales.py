"""A sale of a shop, split in any way, leaves what a plain model computes.

The model has fractions and no order: what each line earns, what its refunds take of it,
and the part of the rest that was paid back.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affiliate_site.shops.base import build_referral, build_sale
from affiliate_site.shops.lines import build_lines
from affiliate_site.shops.other import OtherShop
from payouts.calculation import DEFAULT_COMMISSION_TYPE
from payouts.shop_amounts import calculate_target, group_lines
from payouts.shop_facts import EventFacts, format_time, mark_received, merge_facts
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver
from tracking.models.shops import ConnectionMode
from tracking.money import round_amount
from tracking.services.connections import create_connection

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 4, tzinfo=UTC)
TYPES = {"half": "half", "addon": "addon"}
RATES = {"half": 50, "addon": 20, DEFAULT_COMMISSION_TYPE: 10}  # per cent
CENT = Decimal("0.01")

cents = st.integers(min_value=0, max_value=20000).map(lambda n: Decimal(n) * CENT)
products = st.sampled_from([*TYPES, "basic"])


@st.composite
def draw_orders(draw):
    """The lines of an order, credits among them, what it is worth and what was paid."""
    goods = draw(st.lists(st.tuples(products, cents), min_size=1, max_size=6))
    credit = st.tuples(products, cents.map(lambda amount: -amount / 4))
    credits = draw(st.lists(credit, max_size=2))
    rounded = [(name, round(amount, 2)) for name, amount in credits]
    listed = draw(st.permutations([*goods, *rounded]))
    total = max(sum(amount for _, amount in listed), Decimal(0))
    # A credit balance paid a part, or tax and shipping earn.
    share = draw(st.sampled_from([Decimal(1), Decimal("0.4"), Decimal("1.19")]))
    worth = round_amount(total * share, "EUR")
    tax = draw(st.sampled_from([Decimal(0), Decimal("0.19")]))
    return listed, worth, round_amount(worth * (1 + tax), "EUR")


@st.composite
def draw_sales(draw):
    """An order, its refunds by line and by amount, and the events in some order."""
    listed, worth, paid = draw(draw_orders())
    named = {
        str(number): round(amount * Decimal(draw(st.integers(0, 4))) / 4, 2)
        for number, (_, amount) in enumerate(listed)
        if amount > 0
    }
    named = draw(st.sampled_from([{}, named]))
    parts = draw(st.lists(st.integers(0, 120), max_size=3))
    refunds = [round_amount(paid * Decimal(part) / 100, "EUR") for part in parts]
    count = 1 + len(named) + len(refunds)
    order = draw(st.permutations(range(count)))
    repeated = draw(st.lists(st.integers(0, count - 1), max_size=4))
    return listed, worth, paid, named, refunds, [*order, *repeated]


def build_events(listed, worth, paid, named, refunds, *, referral=None):
    """The facts of each event, as every kind of shop is read: the sale, each refund."""
    at = format_time(START)
    lines = [
        {"id": str(number), "products": [name], "amount": str(amount)}
        for number, (name, amount) in enumerate(listed)
    ]
    sale = build_sale(
        at,
        "o1",
        label="order o1",
        currency="EUR",
        lines=build_lines(lines, worth, "EUR"),
        paid=paid,
        referral=referral,
    )
    events = [{"sale": sale}]
    for number, (amount, lines_of_refund) in enumerate(
        [(0, {line: str(it)}) for line, it in named.items()] + [(it, {}) for it in refunds]
    ):
        fact = {
            "at": format_time(START + timedelta(hours=number % 2)),
            "amount": str(amount),
            "lines": lines_of_refund,
            "is_canceled": False,
        }
        events.append({"refunds": {f"r{number}": fact}})
    return events


def compute_model(listed, worth, paid, named, refunds):
    """What is left by commission type, as fractions."""
    goods = sum(Fraction(amount) for _, amount in listed if amount > 0)
    left = {}
    for number, (name, amount) in enumerate(listed):
        if amount <= 0:
            continue
        earning = Fraction(amount) * Fraction(worth) / goods
        taken = Fraction(named.get(str(number), 0)) / Fraction(amount)
        kind = TYPES.get(name, DEFAULT_COMMISSION_TYPE)
        left[kind] = left.get(kind, 0) + earning * (1 - taken)
    rest = sum(left.values())
    if paid and rest:
        share = Fraction(sum(refunds, Decimal(0))) / Fraction(paid)
        kept = 0 if share >= 1 else max(1 - Fraction(worth) * share / rest, 0)
        left = {kind: amount * kept for kind, amount in left.items()}
    return left


@settings(max_examples=300, deadline=None)
@given(draw_sales())
def test_any_split_in_any_order_leaves_what_the_model_computes(sale):
    *case, order = sale
    listed, worth, paid, named, refunds = case
    events = build_events(*case)
    facts = {}
    for position, number in enumerate(order):
        facts = merge_facts(facts, mark_received(events[number], f"{position:03}"))
    gross = group_lines(facts["sale"]["lines"], TYPES)
    assert sum(gross.values()) == worth
    target = calculate_target(gross, facts, TYPES)
    model = compute_model(*case)
    difference = abs(Fraction(target.total) - sum(model.values()))
    assert difference <= Fraction(CENT) * (1 + len(named))
    for kind, amount in model.items():
        difference = abs(Fraction(target.left.get(kind, 0)) - amount)
        assert difference <= Fraction(CENT) * (len(listed) + len(named))
    if refunds and sum(refunds) >= paid:
        assert target.total == 0


@pytest.fixture
def connection(scenario, monkeypatch):
    """A shop whose events are facts, as the reader of every kind returns them."""
    scenario.create_commission_type("half", RATES["half"])
    scenario.create_commission_type("addon", RATES["addon"])
    monkeypatch.setattr(
        OtherShop,
        "read",
        lambda self, kind, body, connection, **_: EventFacts(["o1"], body["facts"]),
    )
    return create_connection(
        scenario.account,
        kind="other",
        program=scenario.program,
        mode=ConnectionMode.LIVE,
        settings={"commission_types": TYPES},
        at=CONVERSION_CREATED_AT,
    )


@pytest.mark.another_transaction
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(draw_sales())
def test_the_commissions_are_those_of_the_model(scenario, connection, sale):
    *case, order = sale
    listed, *_, named, refunds = case
    with transaction.atomic():
        click = str(scenario.create_click().public_id)
        referral = build_referral(format_time(START), [click])
        events = build_events(*case, referral=referral)
        for position, number in enumerate(order):
            deliver(connection, {"facts": events[number]}, key=f"{position}", kind="x")
        rows = scenario.account.commissions.not_deleted()
        found = rows.filter(conversion__deleted_at=None)
        total = sum(found.values_list("amount", flat=True), Decimal(0))
        assert_ledger_consistent(scenario.account)
        transaction.set_rollback(True)
    model = compute_model(*case)
    expected = sum(RATES[kind] * amount / 100 for kind, amount in model.items())
    lines = len(listed) + len(named) + len(refunds)
    assert abs(Fraction(total) - expected) <= Fraction(CENT) * (3 + lines)
