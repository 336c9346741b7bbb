"""Rates for some sales of a program: which one wins, and files that replace them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.days import start_of_day
from accounts.errors import ErrorList
from accounts.models.audit_log import AuditLogEntry
from payouts.errors import PastDay
from payouts.services.conversion_updates import update_conversion
from payouts.services.erasure import erase_person
from payouts.services.explanation import explain_conversion
from payouts.services.program_rates import list_program_rates, set_rates
from payouts.services.programs import delete_commission_type, delete_group
from payouts.services.refunds import refund_conversion
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tracking.services.hierarchy import create_group, set_group

BEFORE = AT - timedelta(hours=1)
STANDARD = {"percentage": "10", "type": "standard"}


@pytest.fixture
def replace(scenario):
    """Replace the rates of the program by some, from an hour before the sales."""

    def replace(*rates, at=BEFORE, **options):
        program = scenario.program.slug
        return set_rates(scenario.account, program, {"rates": list(rates)}, at=at, **options)

    return replace


@pytest.fixture
def sell(scenario):
    """Store a sale of 100.00 and return the amount of its commission and the explained one."""

    def sell(*amounts, at=AT, **fields):
        conversion = scenario.create_conversion(*(amounts or ("100",)), at=at, **fields)
        explanation = explain_conversion(scenario.account, conversion_id=conversion.pk)
        assert explanation.differences == []
        return explanation.commissions[0]

    return sell


def get_rates(scenario, at=AT):
    return list_program_rates(scenario.account, scenario.program, at=at)


def test_first_orders_and_renewals_earn_different_rates(replace, sell):
    replace(
        STANDARD,
        {"percentage": "20", "orders": {"from": 1, "to": 1}},
        {"percentage": "5", "type": "standard", "orders": {"from": 2, "to": 3}},
    )

    amounts = [sell(customer_id="c1")["amount"] for _ in range(4)]

    # A rate without type comes after the plain rate of the type.
    assert amounts == [Decimal(10), Decimal(5), Decimal(5), Decimal(10)]


def test_a_rate_without_type_counts_for_types_without_their_own(replace, sell):
    replace({"percentage": "20", "orders": {"from": 1, "to": 1}}, {"percentage": "4"})

    assert [sell(customer_id="c1")["amount"] for _ in range(2)] == [Decimal(20), Decimal(4)]
    assert sell()["amount"] == Decimal(20)  # without a customer each order is the first


def test_explains_which_rates_lost_and_why(replace, sell, scenario):
    replace(
        STANDARD,
        {"percentage": "5", "type": "standard", "orders": {"from": 2}},
        {"percentage": "15", "affiliate": scenario.mina.slug},
        {"percentage": "30", "when": [{"field": "country", "is": "AT"}]},
    )

    rate = sell(meta_data={"country": "de"})["rate"]

    assert rate == {
        "kind": "percentage",
        "value": "15.0000",
        "from": f"affiliate {scenario.mina.slug}",
        "order_number": 1,
        "lost": [
            {"rate": STANDARD, "reason": "precedence"},
            {
                "rate": {"percentage": "5", "type": "standard", "orders": {"from": 2}},
                "reason": "order",
            },
            {
                "rate": {"percentage": "30", "when": [{"field": "country", "is": "AT"}]},
                "reason": "condition",
            },
        ],
    }


def test_the_affiliate_comes_before_the_group_before_all(replace, sell, scenario):
    account, mina = scenario.account, scenario.mina
    group = create_group(account, title="Gold", at=BEFORE)
    set_group(account, affiliate_id=mina.slug, group_id=group.public_id, at=BEFORE)
    gold = {"percentage": "12", "type": "standard", "group": group.public_id}
    replace(STANDARD, gold)
    assert sell()["amount"] == Decimal(12)

    replace(STANDARD, gold, {"percentage": "20", "affiliate": mina.slug})
    assert sell()["amount"] == Decimal(20)

    replace(STANDARD, {"percentage": "13", "group": group.public_id})
    assert sell()["amount"] == Decimal(13)
    assert not account.group_rates.filter(ends_at=None).exists()


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ([{"field": "country", "is": ["DE", "AT"]}], True),
        ([{"field": "country", "is": "FR"}], False),
        ([{"field": "customer_kind", "is": "new"}], True),
        ([{"field": "customer_kind", "is": "returning"}], False),
        ([{"field": "amount", "above": 99}], True),
        ([{"field": "amount", "above": 100}], False),
        ([{"field": "meta_data.channel", "is": "b2b"}], True),
        ([{"field": "meta_data.channel", "is": "B2B"}], False),
        ([{"field": "meta_data.other", "is": "b2b"}], False),
        ([{"field": "country", "is": "DE"}, {"field": "amount", "above": 500}], False),
    ],
)
def test_conditions_must_all_hold(replace, sell, when, holds):
    replace(STANDARD, {"percentage": "20", "type": "standard", "when": when})

    meta_data = {"country": "DE", "channel": "b2b"}
    assert sell(meta_data=meta_data)["amount"] == (Decimal(20) if holds else Decimal(10))


def test_the_caller_says_whether_a_customer_is_new(replace, sell):
    when = [{"field": "customer_kind", "is": "returning"}]
    replace(STANDARD, {"percentage": "3", "type": "standard", "when": when})

    assert sell(customer_id="c1")["amount"] == 10
    assert sell(customer_id="c1")["amount"] == 3
    assert sell(customer_id="c1", meta_data={"customer": "new"})["amount"] == 10
    assert sell(customer_id="c2", meta_data={"customer": "returning"})["amount"] == 3


def test_more_conditions_come_first_then_orders_then_the_last_one(replace, sell):
    channel = {"field": "meta_data.channel", "is": "b2b"}
    amount = {"field": "amount", "above": 1}
    sale = {"meta_data": {"channel": "b2b"}}

    replace({"percentage": "1", "when": [channel, amount]}, {"percentage": "2", "when": [amount]})
    assert sell(**sale)["amount"] == 1
    replace({"percentage": "1", "orders": {"from": 1}}, {"percentage": "2"})
    assert sell(**sale)["amount"] == 1
    change = replace({"percentage": "1"}, {"percentage": "2"})
    assert sell(**sale)["amount"] == 2
    assert change.warnings == [
        "rates[0] never counts: rates[1] is for the same sales (all sales) and comes later"
    ]


def test_the_latest_start_comes_first(replace, sell):
    replace({"percentage": "7", "starts_at": "2026-02-01"}, {"percentage": "6"})

    assert sell()["amount"] == 7


def test_orders_of_the_first_months_of_a_customer(replace, sell):
    replace(STANDARD, {"percentage": "20", "type": "standard", "orders": {"months": 12}})
    first = datetime(2026, 3, 31, 12, tzinfo=UTC)

    times = [first, datetime(2027, 3, 30, 12, tzinfo=UTC), datetime(2027, 3, 31, 12, tzinfo=UTC)]
    assert [sell(customer_id="c1", at=at)["amount"] for at in times] == [20, 20, 10]


def test_both_parts_are_one_commission(replace, sell, scenario):
    account = scenario.account
    replace({"percentage": "10", "fixed": "3"})

    commission = sell()
    assert (commission["amount"], commission["rate"]["fixed"]) == (Decimal(13), "3.0000")

    conversion = account.conversions.get()
    changes = {"amount": Decimal(50)}
    update_conversion(
        account, conversion_id=conversion.pk, changes=changes, should_recalculate=True, at=AT
    )
    row = account.commissions.get()
    assert row.amount == Decimal(8)
    assert explain_conversion(account, conversion_id=conversion.pk).differences == []


def test_a_refund_of_a_line_takes_the_fixed_part_back(replace, scenario):
    account = scenario.account
    replace({"percentage": "10", "fixed": "3"})
    conversion = scenario.create_conversion("100", "50")
    first, second = account.commissions.order_by("id")

    lines = {first.pk: Decimal(100)}
    refund_conversion(
        account, conversion_id=conversion.pk, reason="sent back", line_amounts=lines, at=AT
    )
    assert (first.reload().amount, second.reload().amount) == (0, 8)


def test_a_sale_that_no_rate_matches_earns_nothing(replace, sell):
    replace({"percentage": "10", "type": "standard", "orders": {"from": 2}})

    commission = sell()
    assert (commission["amount"], commission["initial_status"]["reason"]) == (0, "no_rate")
    assert commission["rate"]["from"] == "no rate of the program holds"
    replace()
    assert sell()["initial_status"]["reason"] == "no_rate"


def test_types_that_a_file_names_are_made(replace, sell, scenario):
    replace(STANDARD, {"percentage": "15", "fixed": "3", "type": "lamps"})

    assert sell(("100", "lamps"))["amount"] == 18
    assert get_rates(scenario) == [STANDARD, {"percentage": "15", "fixed": "3", "type": "lamps"}]


def test_what_is_printed_changes_nothing(replace, scenario):
    group = create_group(scenario.account, title="Gold", at=BEFORE).public_id
    rates = [
        STANDARD,
        {"fixed": "2.5", "type": "lamps"},
        {"percentage": "12", "type": "standard", "group": group},
        {"percentage": "20", "affiliate": scenario.mina.slug, "ends_at": "2027-01-01"},
        {"percentage": "5", "orders": {"from": 2, "to": 4}, "starts_at": "2026-01-01"},
        {"percentage": "6", "orders": {"months": 12}, "starts_at": "2026-12-01"},
        {"percentage": "7", "when": [{"field": "amount", "above": "100"}]},
    ]
    replace(*rates)

    printed = get_rates(scenario)
    assert printed == rates
    change = replace(*printed, at=AT)
    assert (change.added, change.ended, change.warnings) == ([], [], [])


def test_counts_from_a_day_and_ends_what_is_left_out(replace, sell, scenario):
    account = scenario.account
    day = date(2026, 4, 1)
    starts_at = start_of_day(day, account.zone)
    replace(STANDARD, {"percentage": "20", "affiliate": scenario.mina.slug})
    replace({"percentage": "8", "type": "standard"}, starts_at=starts_at, at=AT)

    assert get_rates(scenario) == [
        STANDARD | {"ends_at": "2026-04-01"},
        {"percentage": "20", "affiliate": scenario.mina.slug, "ends_at": "2026-04-01"},
        {"percentage": "8", "type": "standard", "starts_at": "2026-04-01"},
    ]
    change = replace(*get_rates(scenario), at=AT)
    assert (change.added, change.ended) == ([], [])
    assert sell(at=starts_at - timedelta(seconds=1))["amount"] == 20
    assert sell(at=starts_at)["amount"] == 8
    assert get_rates(scenario, at=starts_at) == [{"percentage": "8", "type": "standard"}]


def test_a_planned_rate_can_be_taken_back(replace, scenario):
    starts_at = AT + timedelta(days=30)
    replace({"percentage": "8"}, starts_at=starts_at)
    replace(STANDARD, at=AT)

    assert get_rates(scenario) == [STANDARD]
    assert not scenario.account.rates.exists()


def test_a_dry_run_stores_nothing(replace, scenario):
    change = replace({"percentage": "8", "type": "lamps"}, is_dry_run=True)

    assert change.added == [{"percentage": "8", "type": "lamps"}]
    assert change.ended == [STANDARD]
    assert get_rates(scenario) == [STANDARD]
    assert scenario.account.commission_types.count() == 1


def test_a_wrong_file_names_each_fault(replace, scenario):
    with pytest.raises(ErrorList) as caught:
        replace(
            {"percentage": "150", "colour": 1},
            {"fixed": "1.234", "type": "Lamps"},
            {"type": "lamps", "group": "ag_none", "affiliate": "nobody"},
            {"percentage": 10, "orders": {"from": 3, "to": 2}, "ends_at": "soon"},
            {"percentage": 10, "starts_at": "2026-05-02", "ends_at": "2026-05-02"},
            {"percentage": 10, "when": [{"field": "size", "is": "x"}, {"field": "country"}]},
            {"percentage": 10, "when": [{"field": "country", "is": "Germany"}], "event": "trial"},
            {"percentage": 10, "when": [{"field": "meta_data.a", "is": ["x", "\0"]}]},
            7,
            {"percentage": 10, "ends_at": "9999-12-31"},
            {"percentage": 10, "when": [{"field": "meta_data.a", "is": "\ud800"}]},
        )

    places = [error.params["place"] for error in caught.value.errors]
    assert places == [
        *("rates[0].colour", "rates[0].percentage", "rates[1].fixed", "rates[1].type"),
        *("rates[2].group", "rates[2].affiliate", "rates[2]", "rates[2].group"),
        *("rates[3].orders.to", "rates[3].ends_at", "rates[4].ends_at"),
        *("rates[5].when[0].field", "rates[5].when[1]", "rates[6].when[0].is"),
        *("rates[6].event", "rates[7].when[0].is", "rates[8]"),
        *("rates[9].ends_at", "rates[10].when[0].is"),
    ]
    assert get_rates(scenario) == [STANDARD]
    with pytest.raises(PastDay):
        replace(STANDARD, starts_at=BEFORE)


def test_says_in_the_audit_log_what_began_and_ended(replace, scenario):
    replace({"percentage": "20", "affiliate": scenario.mina.slug})
    replace(STANDARD, at=AT)

    entries = (
        AuditLogEntry.objects.of(scenario.account).order_by("id").values_list("kind", flat=True)
    )
    assert list(entries)[-4:] == [
        *("commission_type.updated", "rate.created", "rate.ended", "commission_type.updated"),
    ]


def test_rates_of_a_removed_group_or_type_are_gone(replace, sell, scenario):
    account = scenario.account
    group = create_group(account, title="Gold", at=BEFORE)
    replace(
        STANDARD,
        {"percentage": "12", "group": group.public_id},
        {"percentage": "13", "type": "lamps", "orders": {"from": 1}},
    )
    delete_group(account, group_id=group.public_id, at=AT)
    lamps = account.commission_types.get(identifier="lamps")
    delete_commission_type(account, pk=lamps.pk, at=AT)

    assert get_rates(scenario) == [STANDARD]
    assert sell()["amount"] == 10


def test_erasure_takes_the_affiliate_out_of_stored_rates(replace, scenario):
    """What is stored gives the same result afterwards."""
    account, mina = scenario.account, scenario.mina.affiliate
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    replace(STANDARD, {"percentage": "20", "affiliate": mina.slug})
    conversion = scenario.create_conversion("100", at=AT)
    scenario.create_conversion("100", affiliate=odette, at=AT)

    erase_person(account, identifier=mina.slug, at=AT)

    texts = " ".join(account.commissions.values_list("calculation", flat=True))
    assert "minakessler" not in texts
    assert explain_conversion(account, conversion_id=conversion.pk).differences == []
