"""Rates of line items and caps (docs/api-contract.md, sections 7.2 and 7.5)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import ErrorList
from payouts.calculation import ApprovalContext, CommissionRate, RateSource, RateSourceKind
from payouts.errors import NoDefaultCommissionType
from payouts.models.commission_types import RateKind
from payouts.services import calculation_input
from payouts.services.calculation_input import (
    build_calculation_input,
    ensure_types_known,
    is_past_cap,
    list_rates,
)
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    ProgramScenario,
    build_line_items,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")

STANDARD = CommissionRate(
    *("standard", "Standard", "percentage", Decimal(10)),
    RateSource(RateSourceKind.COMMISSION_TYPE, "standard"),
)
FLAT = CommissionRate(
    *("flat", "Flat fee", "fixed", Decimal("2.5")),
    RateSource(RateSourceKind.COMMISSION_TYPE, "flat"),
)


@pytest.fixture
def scenario(scenario):
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    yield scenario
    assert_ledger_consistent(scenario.account)


def list_program_rates(scenario):
    return list_rates(
        *(scenario.account, scenario.program),
        group_id=None,
        affiliate=None,
        at=CONVERSION_CREATED_AT,
    )


def find_rate(scenario, name):
    (item,) = build_line_items(("1", name))
    return list_program_rates(scenario).types[item.type_name]


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        pytest.param(None, STANDARD, id="none-named"),
        pytest.param("default", STANDARD, id="default"),
        pytest.param("standard", STANDARD, id="by-its-identifier"),
        pytest.param("flat", FLAT, id="another"),
    ],
)
def test_finds_the_rate_of_a_line_item(scenario, name, rate):
    assert find_rate(scenario, name) == rate


def test_resolves_default_to_the_default_type_only(scenario):
    scenario.account.commission_types.update(is_default=False)
    scenario.account.commission_types.filter(identifier="flat").update(is_default=True)

    assert find_rate(scenario, "default") == find_rate(scenario, None) == FLAT


def test_a_program_may_be_imported_without_a_default_type(scenario):
    types = scenario.account.commission_types
    types.update(is_default=False)
    with pytest.raises(NoDefaultCommissionType, match="has no default commission type"):
        list_program_rates(scenario)
    types.all().delete()
    with pytest.raises(NoDefaultCommissionType):
        scenario.create_conversion("10")


def test_a_type_that_is_added_meanwhile_does_not_count_yet(scenario, monkeypatch):
    account = scenario.account
    group = account.affiliate_groups.create(public_id="ag_1", title="Press")
    find_types = calculation_input.commission_types_of.all

    def find_before_another(**values):
        types = list(find_types(**values))
        added = scenario.create_commission_type("new", 5)
        account.group_rates.create(commission_type=added, group=group, kind="fixed", value=1)
        return types

    monkeypatch.setattr(calculation_input.commission_types_of, "all", find_before_another)
    rates = list_rates(
        *(account, scenario.program),
        group_id=group.pk,
        affiliate=None,
        at=CONVERSION_CREATED_AT,
    )
    assert set(rates.types) == {"standard", "flat", "default"}


def test_reports_every_unknown_commission_type(scenario):
    items = build_line_items(("1", "gold"), ("2", "flat"), ("3", "STANDARD"), ("4", "silver"))

    with pytest.raises(ErrorList) as raised:
        ensure_types_known(items, list_program_rates(scenario))

    assert [(error.text, error.path) for error in raised.value.errors] == [
        ("Unknown commission type", "commissions[0].commission_type"),
        ("Unknown commission type", "commissions[2].commission_type"),
        ("Unknown commission type", "commissions[3].commission_type"),
    ]


def test_reports_the_unknown_type_of_a_single_line_item(scenario):
    with pytest.raises(ErrorList) as raised:
        ensure_types_known(build_line_items(("1", "gold")), list_program_rates(scenario))

    assert [error.path for error in raised.value.errors] == ["commission_type"]


def test_rejects_commission_types_of_other_programs(scenario, account, other_account):
    ProgramScenario(account, "second", email=None).create_commission_type("gold", 50)
    ProgramScenario(other_account, prefix="zz-marker-").create_commission_type("silver", 50)

    for name in ("gold", "silver"):
        with pytest.raises(ErrorList):
            ensure_types_known(build_line_items(("1", name)), list_program_rates(scenario))


def test_builds_the_calculation_input(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    conversion = scenario.create_conversion(
        "200", customer_id="mina@notes.example.org", currency="JPY"
    ).reload()
    items, rates = build_line_items("200"), list_program_rates(scenario)

    calculation_input = build_calculation_input(conversion, line_items=items, rates=rates)

    assert calculation_input.currency == "JPY"
    assert calculation_input.affiliate_id == scenario.mina.affiliate.pk
    assert calculation_input.line_items == items
    assert calculation_input.rates == rates.types
    assert calculation_input.approval_context == ApprovalContext(
        is_auto_approved=True, warnings=("customer_is_affiliate",), is_past_cap=False
    )
    assert calculation_input.ancestors == []


def list_initial_statuses(scenario, *, conversions=3, **conversion):
    """Initial statuses of the commissions of one customer's conversions."""
    made = [
        scenario.create_conversion(
            "200",
            customer_id="acct-1",
            at=CONVERSION_CREATED_AT + timedelta(minutes=number),
            **conversion,
        )
        for number in range(conversions)
    ]
    return [scenario.get_commission(commission).status for commission in made]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ["pending"] * 3, id="for-ever"),
        pytest.param(
            {"recurring": False},
            ["pending", "disapproved", "disapproved"],
            id="the-first-only",
        ),
        pytest.param(
            {"recurring_cap": 1},
            ["pending", "disapproved", "disapproved"],
            id="cap-of-1",
        ),
        pytest.param({"recurring_cap": 2}, ["pending", "pending", "disapproved"], id="cap-of-2"),
        pytest.param(
            {"recurring": False, "recurring_cap": 3},
            ["pending", "disapproved", "disapproved"],
            id="the-first-only-whatever-the-cap",
        ),
    ],
)
def test_applies_the_cap_per_customer(scenario, settings, expected):
    scenario.program.update_row(**settings)

    assert list_initial_statuses(scenario) == expected


def test_counts_each_customer_separately(scenario):
    scenario.program.update_row(recurring=False)
    scenario.create_conversion("200", customer_id="acct-1")

    conversion = scenario.create_conversion("200", customer_id="acct-2")

    assert scenario.get_commission(conversion).status == "pending"


def test_applies_no_cap_without_a_customer(scenario):
    scenario.program.update_row(recurring=False, recurring_cap=1, recurring_period_days=1)

    conversions = [scenario.create_conversion("200") for _ in range(3)]

    assert [scenario.get_commission(conversion).status for conversion in conversions] == [
        "pending"
    ] * 3
    assert not is_past_cap(conversions[2])


def test_does_not_count_deleted_conversions(scenario):
    first = scenario.create_conversion("0", customer_id="acct-1")
    scenario.program.update_row(recurring=False)
    scenario.delete(first, at=NOW)

    conversion = scenario.create_conversion("200", customer_id="acct-1")

    assert scenario.get_commission(conversion).status == "pending"


@pytest.mark.parametrize("cap", [1, 2])
def test_counts_only_conversions_with_commissions(scenario, cap):
    """The cap limits conversions that earn, not all conversions."""
    scenario.program.update_row(recurring_cap=cap)
    first, *_ = [scenario.create_conversion("200", customer_id="acct-1") for _ in range(cap + 1)]
    scenario.delete(first, at=NOW)

    statuses = [
        scenario.get_commission(scenario.create_conversion("200", customer_id="acct-1")).status
        for _ in range(2)
    ]

    assert statuses == ["pending", "disapproved"]


def test_counts_conversions_with_commissions_of_zero(scenario):
    scenario.program.update_row(recurring_cap=1)
    scenario.create_conversion("0", customer_id="acct-1")

    conversion = scenario.create_conversion("200", customer_id="acct-1")

    assert scenario.get_commission(conversion).status == "disapproved"


@pytest.mark.parametrize(
    ("later", "status"),
    [
        pytest.param(timedelta(days=30, microseconds=-1), "pending", id="just-before"),
        pytest.param(timedelta(days=30), "pending", id="exact-end"),
        pytest.param(timedelta(days=30, microseconds=1), "disapproved", id="just-after"),
    ],
)
def test_applies_the_recurring_period_from_customer_creation(scenario, later, status):
    scenario.program.update_row(recurring_period_days=30)
    customer = scenario.create_customer("acct-1", status="lead")

    conversion = scenario.create_conversion(
        "200", customer_id="acct-1", at=customer.created_at + later
    )

    assert scenario.get_commission(conversion).status == status


def test_applies_cap_and_days_together(scenario):
    scenario.program.update_row(recurring_period_days=30, recurring_cap=1)
    customer = scenario.create_customer("acct-1")
    inside = customer.created_at + timedelta(days=1)

    conversions = [
        scenario.create_conversion("200", customer_id="acct-1", at=inside) for _ in range(2)
    ]

    assert [scenario.get_commission(conversion).status for conversion in conversions] == [
        "pending",
        "disapproved",
    ]


def test_disapproves_all_commissions_past_the_cap(scenario):
    scenario.program.update_row(recurring=False, auto_approve_commissions=True)
    scenario.create_conversion("200", customer_id="acct-1")

    conversion = scenario.create_conversion("200", ("49.90", "flat"), customer_id="acct-1")

    commissions = scenario.account.commissions.filter(conversion=conversion).order_by("id")
    assert [(commission.status, commission.amount) for commission in commissions] == [
        ("disapproved", Decimal(20)),
        ("disapproved", Decimal("2.5")),
    ]


def test_sets_the_customer_to_paying_past_the_cap(scenario):
    """The cap does not affect the customer's status."""
    scenario.program.update_row(recurring_cap=1)
    scenario.create_conversion("200", customer_id="acct-1")

    conversion = scenario.create_conversion("200", customer_id="acct-1")

    assert conversion.customer.reload().status == "paying"
