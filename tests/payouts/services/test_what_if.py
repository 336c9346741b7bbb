"""Sales of a period by other rules; tests/properties/test_what_if.py compares with sales
that were stored by these rules."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.days import A_DAY
from accounts.errors import DomainError
from payouts.services.commissions import disapprove_commission
from payouts.services.conversion_updates import add_commissions, update_commission
from payouts.services.what_if import MAX_DAYS, MAX_EXPLAINED, calculate_what_if
from payouts.statistics import Period
from payouts.what_if import Unknown
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import build_line_items
from tracking.attribution import TrackingParameters
from tracking.services.hierarchy import create_group

pytestmark = pytest.mark.usefixtures("shared_scenario")

PERIOD = Period(AT.date(), AT.date() + A_DAY * 30)
RATE_12 = {"standard": {"kind": "percentage", "value": 12}}


@pytest.fixture
def what_if(scenario):
    """Calculate changes of the program, or of all: `what_if(hold_days=3)`."""

    def calculate(*, period=PERIOD, everything=None, **changes):
        program = {"programs": {scenario.program.slug: changes}}
        changed = program if everything is None else everything
        with assert_unchanged(scenario.account):
            return calculate_what_if(scenario.account, period=period, changes=changed)

    return calculate


def read(sums):
    return {key[0]: (each.before, each.after) for key, each in sums.items()}


def get_total(result):
    [sums] = result.totals.values()
    return sums.before, sums.after


def test_calculates_another_rate(scenario, what_if):
    for at in (AT, AT + A_DAY * 30, AT + A_DAY * 31):
        scenario.create_conversion("33.33", at=at)

    result = what_if(rates=RATE_12)

    assert (result.sales, result.changed, result.moved, result.refused) == (2, 2, 0, 0)
    assert get_total(result) == (Decimal("6.66"), Decimal("8.00"))
    assert read(result.months) == {
        "2026-03": (Decimal("3.33"), Decimal(4)),
        "2026-04": (Decimal("3.33"), Decimal(4)),
    }
    assert result.changed_affiliates == 1
    assert result.unknown == {}
    pk, currency, outcome = result.explained[0]
    assert (pk, currency) == (scenario.account.conversions.earliest("id").pk, "EUR")
    assert outcome.earned_before[0].rate.value == 10
    assert outcome.earned_after[0].rate.value == 12


def test_keeps_what_was_overridden_added_or_disapproved(scenario, what_if):
    account = scenario.account
    overridden, disapproved, plain = (scenario.create_conversion("100") for _ in range(3))
    pk = scenario.get_commission(overridden).pk
    update_commission(account, commission_id=pk, changes={"amount": Decimal(50)}, at=AT)
    pk = scenario.get_commission(disapproved).pk
    disapprove_commission(account, commission_id=pk, at=AT)
    items = build_line_items("10")
    add_commissions(account, conversion_id=plain.pk, line_items=items, at=AT)

    assert get_total(what_if(rates=RATE_12)) == (Decimal(61), Decimal(63))


def test_counts_a_removed_sale_never(scenario, what_if):
    scenario.delete(scenario.create_conversion("100"))

    assert what_if(rates=RATE_12).sales == 0


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({"recurring": False}, 10),
        ({"recurring_cap": 2}, 20),
        ({"recurring_cap": 5}, 30),
        ({"recurring_period_days": 1}, 20),
    ],
)
def test_repeats_caps(scenario, what_if, changes, after):
    for days in range(3):
        at = AT + A_DAY * days
        scenario.create_conversion("100", customer_id="c-1", at=at)

    assert get_total(what_if(**changes)) == (30, after)


def test_lets_later_sales_take_the_place_of_one_past_the_cap(scenario, what_if):
    """A sale that is refused counts toward no cap, so that the next one earns."""
    scenario.program.update_row(recurring_cap=1)
    click = scenario.create_click(at=AT - A_DAY * 20)
    parameters = TrackingParameters(click_id=str(click.public_id), customer_id="c-1")
    scenario.create_conversion("100", parameters=parameters)
    parameters = TrackingParameters(coupon=scenario.mina.coupon, customer_id="c-1")
    for amount in ("50", "70"):
        scenario.create_conversion(amount, parameters=parameters)

    result = what_if(cookie_time=10)

    assert (result.sales, result.refused, result.moved) == (3, 1, 0)
    assert get_total(result) == (10, 5)


def test_says_that_a_cap_cannot_be_repeated(scenario, what_if):
    scenario.program.update_row(recurring_cap=1)
    first = scenario.create_conversion("100", customer_id="c-1")
    scenario.create_conversion("100", customer_id="c-1")
    pk = scenario.get_commission(first).pk
    disapprove_commission(scenario.account, commission_id=pk, at=AT)

    same, other = what_if(recurring_cap=1), what_if(recurring_cap=2)

    assert get_total_or_nothing(same) == (0, 0)
    assert same.unknown == other.unknown == {Unknown.CAPS: 1}


def get_total_or_nothing(result):
    return get_total(result) if result.totals else (0, 0)


def test_moves_sales_by_another_order(scenario, what_if):
    second = scenario.create_enrolled_affiliate("Odette", "Varga")
    click = scenario.create_click(second, at=AT)
    both = {"coupon": scenario.mina.coupon, "click_id": str(click.public_id)}
    parameters = TrackingParameters(**both, customer_id="c-1")
    scenario.create_conversion("100", parameters=parameters)
    scenario.create_conversion("50", parameters=TrackingParameters(customer_id="c-1"))
    scenario.create_conversion("10")

    result = what_if(everything={"order": ["click_id"]})

    assert (result.moved, result.refused) == (2, 0)
    assert read(result.affiliates) == {"minakessler": (16, 1), "odettevarga": (0, 15)}
    assert result.unknown == {Unknown.GROUPS: 2, Unknown.CLICKS: 2}
    outcome = result.explained[0][2]
    assert (outcome.before.parameter, outcome.after.parameter) == ("coupon", "click")


def test_leaves_an_overridden_commission_and_its_levels_with_a_sale_that_moves(scenario, what_if):
    second, parent = (
        scenario.create_enrolled_affiliate(name, "Varga") for name in ("Odette", "Ida")
    )
    scenario.add_child(scenario.mina, parent)
    scenario.create_level(2, "5")
    click = scenario.create_click(second, at=AT)
    both = {"coupon": scenario.mina.coupon, "click_id": str(click.public_id)}
    sale = scenario.create_conversion("100", parameters=TrackingParameters(**both))
    pk = scenario.account.commissions.get(conversion=sale, kind="regular").pk
    changes = {"amount": Decimal(50)}
    update_commission(scenario.account, commission_id=pk, changes=changes, at=AT)

    result = what_if(everything={"order": ["click_id"]})

    assert result.moved == 1
    assert read(result.affiliates) == {"minakessler": (50, 50), "idavarga": (5, 5)}


def test_counts_the_days_of_a_customer_from_the_sale_that_would_create_it(scenario, what_if):
    scenario.program.update_row(recurring_period_days=1)
    joined_at = AT - A_DAY * 10
    click = scenario.create_click(at=joined_at - A_DAY * 20)
    scenario.create_customer("c-1", at=joined_at, click_id=str(click.public_id))
    parameters = TrackingParameters(coupon=scenario.mina.coupon, customer_id="c-1")
    scenario.create_conversion("100", parameters=parameters)
    period = Period(joined_at.date(), AT.date())

    result = what_if(period=period, cookie_time=10)

    assert (result.moved, result.refused, get_total(result)) == (0, 0, (0, 10))
    assert result.explained[0][2].after.parameter == "coupon"


def test_refuses_sales_by_a_shorter_cookie_time(scenario, what_if):
    click = scenario.create_click(at=AT - A_DAY * 20)
    scenario.create_conversion("100", parameters=TrackingParameters(click_id=str(click.public_id)))
    old = scenario.create_click(at=AT - A_DAY * 60)
    with pytest.raises(DomainError, match="Cookie expired"):
        scenario.create_conversion(
            parameters=TrackingParameters(click_id=str(old.public_id)), external_id="order-1"
        )
    scenario.account.conversion_attempts.create(
        origin="api", external_id="order-1", failed_at=AT, reason="cookie_expired"
    )

    shorter, longer = what_if(cookie_time=19), what_if(cookie_time=90)

    assert (shorter.refused, get_total(shorter)) == (1, (10, 0))
    assert shorter.explained[0][2].after.refusal == "cookie_expired"
    assert (longer.refused, get_total(longer)) == (0, (10, 10))
    assert longer.unknown == {Unknown.CLICKS: 1, Unknown.REFUSED_SALES: 1}


def test_moves_affiliates_to_groups(scenario, what_if):
    account = scenario.account
    group = create_group(account, title="Gold", at=AT)
    scenario.create_group_rate(group, "20")
    group.update_row(hold_days=40)
    scenario.create_conversion("100")

    result = what_if(everything={"groups": {"minakessler": group.public_id}})

    assert get_total(result) == (10, 20)
    assert read(result.due_months) == {"2026-03": (10, 0), "2026-04": (0, 20)}
    scenario.mina.affiliate.update_row(group=group)
    scenario.create_conversion("100")
    result = what_if(everything={"groups": {"minakessler": None}})
    assert get_total(result) == (30, 20)
    assert result.unknown == {Unknown.RATES: 1}


def test_gives_a_group_a_rate_that_had_none(scenario, what_if):
    group = create_group(scenario.account, title="Gold", at=AT)
    scenario.mina.affiliate.update_row(group=group)
    scenario.create_conversion("100")
    rate = {"kind": "percentage", "value": 20}

    result = what_if(rates={"standard": {"groups": {group.public_id: rate}}})

    assert (get_total(result), result.unknown) == ((10, 20), {Unknown.GROUPS: 1})


def test_adds_changes_and_removes_levels(scenario, what_if):
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, parent)
    scenario.create_conversion("100")
    level = {"kind": "percentage", "value": "3.5"}

    added = what_if(levels={"2": level})
    assert read(added.affiliates) == {
        "minakessler": (10, 10),
        "odettevarga": (0, Decimal("3.5")),
    }
    assert added.unknown == {Unknown.PARENTS: 1}
    scenario.create_level(2, "5")
    scenario.create_conversion("100")
    assert get_total(what_if(levels={"2": level})) == (25, 27)
    assert get_total(what_if(levels={"2": None})) == (25, 20)


def test_holds_sales_until_another_month(scenario, what_if):
    scenario.create_conversion("100")

    result = what_if(hold_days=30)

    assert read(result.due_months) == {"2026-03": (10, 0), "2026-04": (0, 10)}
    assert get_total(result) == (10, 10)
    assert result.changed == 1


def test_explains_the_sales_that_change_most(scenario, what_if, monkeypatch):
    monkeypatch.setattr("payouts.services.what_if.MAX_EXPLAINED", 2)
    _, large, larger = map(scenario.create_conversion, ("10", "100", "200"))
    scenario.create_conversion("20")

    result = what_if(rates=RATE_12)

    assert MAX_EXPLAINED == 100
    assert result.changed == 4
    assert [pk for pk, *_ in result.explained] == [larger.pk, large.pk]


def test_explains_a_sale_that_moves_although_it_costs_the_same(scenario, what_if, monkeypatch):
    monkeypatch.setattr("payouts.services.what_if.MAX_EXPLAINED", 1)
    second = scenario.create_enrolled_affiliate("Odette", "Varga")
    click = scenario.create_click(second, at=AT)
    both = {"coupon": scenario.mina.coupon, "click_id": str(click.public_id)}
    moved = scenario.create_conversion("100", parameters=TrackingParameters(**both))
    scenario.create_conversion("10")

    program = {"programs": {scenario.program.slug: {"rates": RATE_12}}}
    result = what_if(everything={"order": ["click_id"], **program})

    assert [pk for pk, *_ in result.explained] == [moved.pk]


@pytest.mark.parametrize("calculation", ["", "[]", "{}", '{"rate": {"source": {"odd": 1}}}'])
def test_leaves_a_sale_that_cannot_be_read_as_it_is(scenario, what_if, calculation):
    unreadable, _ = (scenario.create_conversion("100") for _ in range(2))
    scenario.get_commission(unreadable).update_row(calculation=calculation)

    result = what_if(rates=RATE_12)

    assert get_total(result) == (20, 22)
    assert result.unknown == {Unknown.UNREADABLE: 1}


def test_takes_the_same_statements_for_more_sales(scenario, what_if, capture_queries):
    counts = []
    for _ in range(2):
        for number in range(4):
            scenario.create_conversion("100", customer_id=f"c-{number}")
        with capture_queries() as queries:
            changes = {"programs": {scenario.program.slug: {"cookie_time": 3}}, "order": []}
            calculate_what_if(scenario.account, period=PERIOD, changes=changes)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_leaves_other_accounts_out(scenario, other_account, what_if):
    scenario.create_conversion("100")

    result = calculate_what_if(other_account, period=PERIOD, changes={})

    assert result.sales == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([], "changes: must be an object"),
        (
            {"program": {}},
            "changes.program: does not exist here; possible: programs, groups, order",
        ),
        ({"programs": {"tea": {}}}, "programs.tea: does not exist here; possible: PROGRAM"),
        ({"programs": {"PROGRAM": 3}}, "programs.PROGRAM: must be an object"),
        (
            {"programs": {"PROGRAM": {"products": {}}}},
            "programs.PROGRAM.products: programs have no such rules: leave it out",
        ),
        (
            {"programs": {"PROGRAM": {"budget": 1}}},
            "programs.PROGRAM.budget: programs have no such rules: leave it out",
        ),
        (
            {"programs": {"PROGRAM": {"rates": {"vip": {}}}}},
            "programs.PROGRAM.rates.vip: does not exist here; possible: standard",
        ),
        (
            {"programs": {"PROGRAM": {"rates": {"standard": {}}}}},
            'programs.PROGRAM.rates.standard: needs "kind", percentage or fixed, and "value"',
        ),
        (
            {"programs": {"PROGRAM": {"rates": {"standard": {"kind": "fixed", "value": "x"}}}}},
            "programs.PROGRAM.rates.standard.value: ",
        ),
        (
            {
                "programs": {
                    "PROGRAM": {"rates": {"standard": {"kind": "percentage", "value": 101}}}
                }
            },
            "programs.PROGRAM.rates.standard.value: The commission must be 100 % at most",
        ),
        (
            {"programs": {"PROGRAM": {"rates": {"standard": {"groups": {"ag_1": None}}}}}},
            "programs.PROGRAM.rates.standard.groups.ag_1: does not exist here",
        ),
        (
            {"programs": {"PROGRAM": {"levels": {"1": None}}}},
            "programs.PROGRAM.levels.1: does not exist here; possible: 2, 3",
        ),
        (
            {"programs": {"PROGRAM": {"cookie_time": 366}}},
            "programs.PROGRAM.cookie_time: must be a whole number from 1 to 365",
        ),
        (
            {"programs": {"PROGRAM": {"hold_days": True}}},
            "programs.PROGRAM.hold_days: must be a whole number from 0 to 180",
        ),
        (
            {"programs": {"PROGRAM": {"recurring": 1}}},
            "programs.PROGRAM.recurring: must be true or false",
        ),
        (
            {"programs": {"PROGRAM": {"recurring_cap": 0}}},
            "programs.PROGRAM.recurring_cap: must be a whole number from 1 to 100000",
        ),
        ({"groups": 1}, "groups: must be an object"),
        ({"groups": {"nobody": None}}, "groups.nobody: is no affiliate of the account"),
        (
            {"groups": {"minakessler": "ag_1"}},
            "groups.minakessler: must be the ID of an affiliate group, or null",
        ),
        ({"order": ["coupon", "coupon"]}, "order: must be a list of some of these, each once: "),
        ({"order": "coupon"}, "order: must be a list"),
        ({"order": [{}]}, "order: must be a list"),
    ],
)
def test_refuses_wrong_changes(scenario, what_if, changes, message):
    program = scenario.program.slug
    if isinstance(changes, dict) and "PROGRAM" in changes.get("programs", {}):
        changes = {"programs": {program: changes["programs"]["PROGRAM"]}}

    with pytest.raises(DomainError) as error:
        what_if(everything=changes)

    assert error.value.text.startswith(message.replace("PROGRAM", program))


def test_refuses_a_period_that_is_too_long(what_if):
    with pytest.raises(DomainError, match=f"of at most {MAX_DAYS} days"):
        what_if(period=Period(AT.date(), AT.date() - A_DAY))
    with pytest.raises(DomainError):
        what_if(period=Period(AT.date(), AT.date() + A_DAY * MAX_DAYS))


def test_reads_days_in_the_zone_of_the_account(scenario, what_if):
    scenario.account.time_zone = "Asia/Tokyo"
    scenario.account.save()
    midnight = AT.replace(hour=15, minute=0, second=0)
    for at in (midnight - timedelta(seconds=1), midnight):
        scenario.create_conversion("100", at=at)

    assert what_if(period=Period(AT.date(), AT.date())).sales == 1
