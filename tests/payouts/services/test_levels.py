"""Group rates and level commissions (docs/api-contract.md, section 7.2)."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services.ledger import get_payable_balances_by_slug
from tests.factories.accounts import PlanFactory
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.affiliates import delete_affiliate
from tracking.services.hierarchy import create_group, set_group, set_parent

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def hierarchy(scenario):
    """Mina's parent is Odette, hers is Pavel; level 2 earns 3 %, level 3 earns 1 %."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.pavel = scenario.create_enrolled_affiliate("Pavel", "Horn")
    scenario.add_child(scenario.mina, scenario.odette)
    scenario.add_child(scenario.odette, scenario.pavel)
    scenario.create_level(2, "3")
    scenario.create_level(3, "1")
    return scenario


def list_commissions(conversion):
    return conversion.account.commissions.filter(conversion=conversion).order_by("id")


def list_amounts(conversion):
    """Affiliate, kind and amount of a conversion's commissions."""
    rows = list_commissions(conversion).select_related("affiliate")
    return [(row.affiliate.slug, row.commission_type, row.amount) for row in rows]


def list_plain_amounts(conversion):
    return [row.amount for row in list_commissions(conversion)]


def list_statuses(conversion):
    return [row.status for row in list_commissions(conversion)]


MINA = ("minakessler", "standard", Decimal(20))
ODETTE = ("odettevarga", "level-2", Decimal(6))
PAVEL = ("pavelhorn", "level-3", Decimal(2))


# Group rates.


def join_group(affiliate, group, at=CONVERSION_CREATED_AT):
    set_group(
        affiliate.affiliate.account,
        affiliate_id=affiliate.slug,
        group_id=group and group.public_id,
        at=at,
    )


@pytest.fixture
def affiliate_group(scenario, account):
    """The group that Mina is in."""
    group = create_group(account, title="Inner circle", at=CONVERSION_CREATED_AT)
    join_group(scenario.mina, group)
    return group


@pytest.mark.parametrize(
    ("kind", "value", "amount"),
    [
        pytest.param(RateKind.PERCENTAGE, "12.5", "25", id="a-share"),
        pytest.param(RateKind.PERCENTAGE, "0", "0", id="nothing"),
        pytest.param(RateKind.FIXED, "3.33", "3.33", id="an-amount"),
    ],
)
def test_pays_the_group_rate_in_place_of_the_type_rate(
    scenario, affiliate_group, kind, value, amount
):
    scenario.create_group_rate(affiliate_group, value, kind=kind)

    commission = scenario.get_commission(scenario.create_conversion("200"))

    assert (commission.commission_type, commission.name) == ("standard", "Standard")
    assert (commission.rate_kind, commission.rate) == (kind, Decimal(value))
    assert commission.amount == Decimal(amount)
    assert json.loads(commission.calculation)["rate"]["source"] == {
        "kind": "group",
        "commission_type": "standard",
        "group": affiliate_group.public_id,
    }


def test_pays_the_group_rate_for_its_type_only(scenario, affiliate_group):
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_group_rate(affiliate_group, "50", commission_type="accessories")

    conversion = scenario.create_conversion("200", ("200", "accessories"), ("200", "default"))

    assert list_amounts(conversion) == [
        MINA,
        ("minakessler", "accessories", Decimal(100)),
        MINA,
    ]


def test_ignores_rates_of_other_groups(scenario, account, affiliate_group):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    others = create_group(account, title="Inner circle", at=CONVERSION_CREATED_AT)
    scenario.create_group_rate(others, "99")

    assert list_amounts(scenario.create_conversion("200")) == [MINA]
    assert list_amounts(scenario.create_conversion("200", affiliate=other_affiliate)) == [
        ("odettevarga", "standard", Decimal(20))
    ]


def test_pays_the_group_rate_at_the_time_of_the_conversion(scenario, account, affiliate_group):
    scenario.create_group_rate(affiliate_group, "50")
    early = scenario.create_conversion("200")

    join_group(scenario.mina, None, at=LATER)

    late = scenario.create_conversion("200", at=LATER)
    assert [scenario.get_commission(row).amount for row in (early, late)] == [100, 20]


def test_ignores_group_rates_of_other_programs(scenario, account, affiliate_group):
    other = ProgramScenario(account, "other-lamps", prefix="o-", email="o-mina@notes.example.org")
    other.create_group_rate(affiliate_group, "99")

    assert list_amounts(scenario.create_conversion("200")) == [MINA]


def test_pays_level_rates_whatever_the_group_rates(hierarchy, account, affiliate_group):
    for affiliate in (hierarchy.odette, hierarchy.pavel):
        join_group(affiliate, affiliate_group)
    hierarchy.create_group_rate(affiliate_group, "50")

    conversion = hierarchy.create_conversion("200")

    assert list_amounts(conversion) == [
        ("minakessler", "standard", Decimal(100)),
        ODETTE,
        PAVEL,
    ]


# Levels.


def test_pays_each_level_by_the_same_sub_amount(hierarchy, account):
    conversion = hierarchy.create_conversion("200")

    assert list_amounts(conversion) == [MINA, ODETTE, PAVEL]
    regular, *levels = list_commissions(conversion)
    assert [(level.kind, level.sub_amount, level.base_commission_id) for level in levels] == [
        ("level", 200, regular.pk),
        ("level", 200, regular.pk),
    ]
    assert (regular.kind, regular.base_commission_id) == ("regular", None)


def test_pays_each_level_for_every_line_item(hierarchy, account):
    hierarchy.create_commission_type("accessories", "7.5")

    conversion = hierarchy.create_conversion("200", ("49.90", "accessories"))

    rows = account.commissions.filter(conversion=conversion)
    family_tree = {
        (
            row.base_commission.commission_type if row.base_commission else None,
            row.affiliate.slug,
            row.commission_type,
            row.amount,
        )
        for row in rows.select_related("affiliate", "base_commission")
    }
    assert rows.count() == 6
    assert family_tree == {
        (None, "minakessler", "standard", Decimal(20)),
        ("standard", "odettevarga", "level-2", Decimal(6)),
        ("standard", "pavelhorn", "level-3", Decimal(2)),
        (None, "minakessler", "accessories", Decimal("3.74")),
        ("accessories", "odettevarga", "level-2", Decimal("1.50")),
        ("accessories", "pavelhorn", "level-3", Decimal("0.50")),
    }


def test_pays_no_levels_for_a_type_without_mlm(hierarchy):
    hierarchy.create_commission_type("accessories", "7.5").update_row(mlm=False)

    conversion = hierarchy.create_conversion("200", ("200", "accessories"))

    assert list_amounts(conversion) == [
        MINA,
        ("minakessler", "accessories", Decimal(15)),
        ODETTE,
        PAVEL,
    ]


def test_pays_a_fixed_level_in_any_currency(hierarchy):
    hierarchy.account.levels.filter(level=2).update(kind=RateKind.FIXED, value=Decimal(5))

    conversion = hierarchy.create_conversion("150", currency="JPY")

    assert list_amounts(conversion) == [
        ("minakessler", "standard", Decimal(15)),
        ("odettevarga", "level-2", Decimal(5)),
        ("pavelhorn", "level-3", Decimal(2)),  # 1.5, half up
    ]


def test_creates_level_commissions_of_zero(hierarchy):
    assert list_plain_amounts(hierarchy.create_conversion("0")) == [0, 0, 0]


@pytest.mark.parametrize(
    ("seller", "paid"),
    [
        pytest.param("mina", ["standard", "level-2", "level-3"], id="whole-hierarchy"),
        pytest.param("odette", ["standard", "level-2"], id="shorter-chain"),
        pytest.param("pavel", ["standard"], id="no-parent"),
    ],
)
def test_counts_levels_from_the_affiliate_of_the_conversion(hierarchy, seller, paid):
    affiliate = getattr(hierarchy, seller)

    conversion = hierarchy.create_conversion("200", affiliate=affiliate)

    assert [row.commission_type for row in list_commissions(conversion)] == paid


def test_stops_where_the_levels_end(hierarchy):
    hierarchy.add_child(hierarchy.pavel, hierarchy.create_enrolled_affiliate("Rosa", "Lind"))

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA, ODETTE, PAVEL]


def test_ignores_levels_of_other_programs(scenario, account):
    scenario.add_child(scenario.mina, scenario.create_enrolled_affiliate("Odette", "Varga"))
    ProgramScenario(account, "other", prefix="o-", email="o@notes.example.org").create_level(
        2, "50"
    )

    assert list_amounts(scenario.create_conversion("200")) == [MINA]


def test_pays_no_levels_without_the_feature(hierarchy, account):
    account.plan = PlanFactory(name="pro")
    account.save()

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            lambda parent: mark_deleted(parent.affiliate),
            "affiliate_deleted",
            id="deleted",
        ),
        pytest.param(
            lambda parent: parent.enrollment.update_row(approved=False),
            "not_approved",
            id="disapproved",
        ),
        pytest.param(
            lambda parent: parent.enrollment.update_row(approved=None),
            "not_approved",
            id="undecided",
        ),
    ],
)
def test_skips_a_parent_without_moving_others_up(hierarchy, account, change, reason):
    change(hierarchy.odette)

    conversion = hierarchy.create_conversion("200")

    assert list_amounts(conversion) == [MINA, PAVEL]
    regular = account.commissions.get(conversion=conversion, kind="regular")
    assert json.loads(regular.calculation)["skipped"] == [
        {"level": 2, "affiliate": "odettevarga", "reason": reason}
    ]


def test_skips_a_parent_approved_in_another_program_only(hierarchy, account):
    other = ProgramScenario(account, "other-lamps", prefix="o-", email="o@notes.example.org")
    parent = other.create_enrolled_affiliate("Rosa", "Lind")
    hierarchy.add_child(parent, hierarchy.pavel)
    hierarchy.add_child(hierarchy.mina, parent)

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA, PAVEL]


def test_pays_no_levels_after_the_parent_was_removed(hierarchy, account):
    delete_affiliate(account, affiliate_id=hierarchy.odette.slug, at=CONVERSION_CREATED_AT)

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA]


def test_pays_the_hierarchy_at_the_time_of_the_conversion(hierarchy, account):
    conversion = hierarchy.create_conversion("200")

    set_parent(
        account,
        affiliate_id=hierarchy.mina.slug,
        parent_id=None,
        at=CONVERSION_CREATED_AT,
    )
    hierarchy.change_amount(conversion, 400, at=LATER)

    assert list_plain_amounts(conversion) == [40, 12, 4]
    assert list_amounts(hierarchy.create_conversion("200", at=LATER)) == [MINA]


# Initial statuses of levels.


@pytest.mark.parametrize("approves", [True, False])
def test_creates_levels_with_the_status_of_their_base_commission(hierarchy, account, approves):
    hierarchy.program.update_row(auto_approve_commissions=approves)

    conversion = hierarchy.create_conversion("200")

    status = "approved" if approves else "pending"
    assert list_statuses(conversion) == [status] * 3
    payables = {slug: {"EUR": amount} for slug, _, amount in (MINA, ODETTE, PAVEL)}
    assert get_payable_balances_by_slug(account) == (payables if approves else {})


def test_changes_the_status_of_a_level_independently(hierarchy, account):
    conversion = hierarchy.create_conversion("200")

    hierarchy.approve(list_commissions(conversion)[0], at=LATER)

    assert list_statuses(conversion) == ["approved", "pending", "pending"]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": 20}}


@pytest.mark.parametrize(
    ("customer_id", "statuses"),
    [
        pytest.param("acct-1", ["approved", "disapproved"], id="past-the-cap"),
        pytest.param("MINA@notes.example.org", ["pending"], id="with-a-warning"),
    ],
)
def test_approves_no_level_if_it_approves_no_commission(hierarchy, customer_id, statuses):
    hierarchy.program.update_row(auto_approve_commissions=True, recurring=False)

    for status in statuses:
        conversion = hierarchy.create_conversion("200", customer_id=customer_id)

        assert list_statuses(conversion) == [status] * 3


@pytest.mark.parametrize(
    ("funds", "states"),
    [
        pytest.param("19.99", "pending pending pending", id="not-even-the-first"),
        pytest.param("20", "approved pending pending", id="the-first-alone"),
        pytest.param("22", "approved pending approved", id="amount-that-still-fits"),
        pytest.param("26", "approved approved pending", id="all-but-the-last"),
        pytest.param("28", "approved approved approved", id="all"),
    ],
)
def test_keeps_an_unfunded_level_pending(hierarchy, account, funds, states):
    hierarchy.program.update_row(auto_approve_commissions=True)
    hierarchy.enable_payouts(funds)

    conversion = hierarchy.create_conversion("200")

    assert [(row.status, row.finalized_at) for row in list_commissions(conversion)] == [
        (state, CONVERSION_CREATED_AT if state == "approved" else None) for state in states.split()
    ]


def test_pays_levels_of_a_conversion_before_archiving(hierarchy, account):
    conversion = hierarchy.create_conversion("200")
    hierarchy.archive(at=LATER)

    hierarchy.change_amount(conversion, 100, at=LATER)

    assert list_plain_amounts(conversion) == [10, 3, 1]
