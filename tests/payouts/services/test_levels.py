"""Group rates and level commissions (docs/api-contract.md, section 7.2)."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import update_conversion
from payouts.services.funding import top_up_payout_balance
from payouts.services.ledger import get_payable_balances_by_slug
from tests.factories.accounts import PlanFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services.affiliates import delete_affiliate
from tracking.services.hierarchy import create_group, set_group, set_parent
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def hierarchy(scenario):
    """Mina's parent is Odette, hers is Pavel; level 2 earns 3 %, level 3 earns 1 %."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.pavel = scenario.create_enrolled_affiliate("Pavel", "Horn")
    attach_child(scenario.mina, scenario.odette)
    attach_child(scenario.odette, scenario.pavel)
    scenario.create_level(2, "3")
    scenario.create_level(3, "1")
    return scenario


def attach_child(child, parent):
    set_parent(
        child.affiliate.account,
        affiliate_id=child.slug,
        parent_id=parent and parent.slug,
        at=CONVERSION_CREATED_AT,
    )


def list_commission_values(conversion):
    """Affiliate, kind, amount and status of a conversion's commissions."""
    rows = conversion.account.commissions.filter(conversion=conversion).order_by("id")
    return [
        (row.affiliate.slug, row.commission_type, row.amount, row.status)
        for row in rows.select_related("affiliate")
    ]


def list_amounts(conversion):
    """Affiliate, kind and amount of a conversion's commissions."""
    return [values[:3] for values in list_commission_values(conversion)]


MINA = ("minakessler", "standard", Decimal(20))
ODETTE = ("odettevarga", "level-2", Decimal(6))
PAVEL = ("pavelhorn", "level-3", Decimal(2))


# Group rates.


@pytest.fixture
def affiliate_group(scenario, account):
    """The group that Mina is in."""
    group = create_group(account, title="Inner circle", at=CONVERSION_CREATED_AT)
    set_group(
        account,
        affiliate_id=scenario.mina.slug,
        group_id=group.public_id,
        at=CONVERSION_CREATED_AT,
    )
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
    assert json.loads(commission.calculation)["rate"]["from"] == (
        f"group {affiliate_group.public_id} for type standard"
    )


def test_pays_the_group_rate_for_its_type_only(scenario, affiliate_group):
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_group_rate(affiliate_group, "50", commission_type="accessories")

    conversion = scenario.create_conversion(
        "200", ("200", "accessories"), ("200", "default")
    )

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
    assert list_amounts(
        scenario.create_conversion("200", affiliate=other_affiliate)
    ) == [("odettevarga", "standard", Decimal(20))]


def test_pays_the_group_rate_at_the_time_of_the_conversion(
    scenario, account, affiliate_group
):
    scenario.create_group_rate(affiliate_group, "50")
    early = scenario.create_conversion("200")

    set_group(account, affiliate_id=scenario.mina.slug, group_id=None, at=LATER)

    late = scenario.create_conversion("200", at=LATER)
    assert [scenario.get_commission(row).amount for row in (early, late)] == [100, 20]


def test_ignores_group_rates_of_other_programs(scenario, account, affiliate_group):
    other = ProgramScenario(
        account, "other-lamps", prefix="o-", email="o-mina@notes.example.org"
    )
    other.create_group_rate(affiliate_group, "99")

    assert list_amounts(scenario.create_conversion("200")) == [MINA]


def test_pays_level_rates_whatever_the_group_rates(hierarchy, account, affiliate_group):
    for affiliate in (hierarchy.odette, hierarchy.pavel):
        set_group(
            account,
            affiliate_id=affiliate.slug,
            group_id=affiliate_group.public_id,
            at=CONVERSION_CREATED_AT,
        )
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
    regular, *levels = account.commissions.filter(conversion=conversion).order_by("id")
    assert [
        (level.kind, level.sub_amount, level.base_commission_id) for level in levels
    ] == [("level", 200, regular.pk), ("level", 200, regular.pk)]
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
    hierarchy.account.levels.filter(level=2).update(
        kind=RateKind.FIXED, value=Decimal(5)
    )

    conversion = hierarchy.create_conversion("150", currency="JPY")

    assert list_amounts(conversion) == [
        ("minakessler", "standard", Decimal(15)),
        ("odettevarga", "level-2", Decimal(5)),
        ("pavelhorn", "level-3", Decimal(2)),  # 1.5, half up
    ]


def test_creates_level_commissions_of_zero(hierarchy):
    assert [
        amount for _, _, amount in list_amounts(hierarchy.create_conversion("0"))
    ] == [0, 0, 0]


@pytest.mark.parametrize(
    ("seller", "paid"),
    [
        pytest.param("mina", ["standard", "level-2", "level-3"], id="whole-hierarchy"),
        pytest.param("odette", ["standard", "level-2"], id="shorter-chain"),
        pytest.param("pavel", ["standard"], id="no-parent"),
    ],
)
def test_counts_levels_from_the_affiliate_of_the_conversion(hierarchy, seller, paid):
    conversion = hierarchy.create_conversion(
        "200", affiliate=getattr(hierarchy, seller)
    )

    assert [kind for _, kind, _ in list_amounts(conversion)] == paid


def test_stops_where_the_levels_end(hierarchy):
    attach_child(hierarchy.pavel, hierarchy.create_enrolled_affiliate("Rosa", "Lind"))

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA, ODETTE, PAVEL]


def test_ignores_levels_of_other_programs(scenario, account):
    attach_child(scenario.mina, scenario.create_enrolled_affiliate("Odette", "Varga"))
    ProgramScenario(
        account, "other", prefix="o-", email="o@notes.example.org"
    ).create_level(2, "50")

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
    other = ProgramScenario(
        account, "other-lamps", prefix="o-", email="o@notes.example.org"
    )
    parent = other.create_enrolled_affiliate("Rosa", "Lind")
    attach_child(parent, hierarchy.pavel)
    attach_child(hierarchy.mina, parent)

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA, PAVEL]


def test_pays_no_levels_after_the_parent_was_removed(hierarchy, account):
    delete_affiliate(
        account, affiliate_id=hierarchy.odette.slug, at=CONVERSION_CREATED_AT
    )

    assert list_amounts(hierarchy.create_conversion("200")) == [MINA]


def test_pays_the_hierarchy_at_the_time_of_the_conversion(hierarchy, account):
    conversion = hierarchy.create_conversion("200")

    attach_child(hierarchy.mina, None)
    update_conversion(
        account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(400)},
        should_recalculate=True,
        at=LATER,
    )

    assert [amount for _, _, amount in list_amounts(conversion)] == [40, 12, 4]
    assert list_amounts(hierarchy.create_conversion("200", at=LATER)) == [MINA]


# Initial statuses of levels.


@pytest.mark.parametrize("approves", [True, False])
def test_creates_levels_with_the_status_of_their_base_commission(
    hierarchy, account, approves
):
    hierarchy.program.update_row(auto_approve_commissions=approves)

    conversion = hierarchy.create_conversion("200")

    status = "approved" if approves else "pending"
    assert list_commission_values(conversion) == [
        (*row, status) for row in (MINA, ODETTE, PAVEL)
    ]
    payables = {
        "minakessler": {"EUR": Decimal(20)},
        "odettevarga": {"EUR": Decimal(6)},
        "pavelhorn": {"EUR": Decimal(2)},
    }
    assert get_payable_balances_by_slug(account) == (payables if approves else {})


def test_disapproves_levels_past_the_cap(hierarchy):
    hierarchy.program.update_row(auto_approve_commissions=True, recurring=False)

    first, second = (
        hierarchy.create_conversion("200", customer_id="acct-1") for _ in range(2)
    )

    assert list_commission_values(first) == [
        (*row, "approved") for row in (MINA, ODETTE, PAVEL)
    ]
    assert list_commission_values(second) == [
        (*row, "disapproved") for row in (MINA, ODETTE, PAVEL)
    ]


def test_keeps_levels_of_a_conversion_with_warnings_pending(hierarchy):
    hierarchy.program.update_row(auto_approve_commissions=True)

    conversion = hierarchy.create_conversion(
        "200", customer_id="MINA@notes.example.org"
    )

    assert list_commission_values(conversion) == [
        (*row, "pending") for row in (MINA, ODETTE, PAVEL)
    ]


def test_changes_the_status_of_a_level_independently(hierarchy, account):
    conversion = hierarchy.create_conversion("200")
    regular = account.commissions.get(conversion=conversion, kind="regular")

    approve_commission(account, commission_id=regular.pk, at=LATER)

    assert [status for *_, status in list_commission_values(conversion)] == [
        "approved",
        "pending",
        "pending",
    ]
    assert get_payable_balances_by_slug(account) == {
        "minakessler": {"EUR": Decimal(20)}
    }


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
    account.uses_payouts = True
    account.save()
    top_up_payout_balance(
        account, amount=Decimal(funds), currency="EUR", at=CONVERSION_CREATED_AT
    )

    conversion = hierarchy.create_conversion("200")

    assert [
        status for *_, status in list_commission_values(conversion)
    ] == states.split()
    made = account.commissions.filter(conversion=conversion).order_by("id")
    assert [
        commission.finalized_at == CONVERSION_CREATED_AT for commission in made
    ] == [state == "approved" for state in states.split()]


def test_pays_levels_of_a_conversion_before_archiving(hierarchy, account):
    conversion = hierarchy.create_conversion("200")
    archive_program(account, slug=hierarchy.program.slug, at=LATER)

    update_conversion(
        account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(100)},
        should_recalculate=True,
        at=LATER,
    )

    assert [amount for _, _, amount in list_amounts(conversion)] == [10, 3, 1]
