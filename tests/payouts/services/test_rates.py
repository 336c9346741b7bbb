"""Commission types, levels and group rates of a program."""

from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting, InvalidSlug
from payouts.errors import (
    CommissionTypeNotFound,
    DefaultCommissionType,
    DuplicateCommissionType,
    InnerLevel,
    LevelNotFound,
)
from payouts.models.commission_types import RateKind
from payouts.services.programs import (
    create_commission_type,
    create_level,
    delete_commission_type,
    delete_group_rate,
    delete_level,
    set_group_rate,
    update_commission_type,
    update_level,
)
from tests.conftest import NOW

pytestmark = pytest.mark.usefixtures("shared_scenario")

TEN_PERCENT = {"kind": RateKind.PERCENTAGE, "value": Decimal(10)}


def add_type(scenario, identifier="accessories", **values):
    values = TEN_PERCENT | {"title": "Accessories"} | values
    return create_commission_type(
        scenario.account,
        program=scenario.program,
        identifier=identifier,
        at=NOW,
        **values,
    )


def standard_type(scenario):
    return scenario.account.commission_types.get(identifier="standard")


def test_a_new_type_earns_from_the_next_sale_on(scenario):
    before = scenario.get_commission(scenario.create_conversion("200"))
    add_type(scenario, value=Decimal("7.5"))

    after = scenario.get_commission(scenario.create_conversion(("200", "accessories")))

    assert (before.amount, after.amount) == (Decimal(20), Decimal(15))
    entry = scenario.account.audit_log.get(kind="commission_type.created")
    assert entry.details == {"rate_kind": "percentage", "rate": "7.5"}


def test_a_changed_rate_leaves_existing_commissions(scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))

    update_commission_type(
        scenario.account,
        pk=standard_type(scenario).pk,
        changes={"value": Decimal(5)},
        at=NOW,
    )

    assert scenario.get_commission(scenario.create_conversion("200")).amount == 10
    assert scenario.account.commissions.get(pk=commission.pk).amount == 20
    entry = scenario.account.audit_log.get(kind="commission_type.updated")
    assert entry.details == {"value": ["10.0000", "5"]}


def test_exactly_one_type_is_the_default(scenario):
    accessories = add_type(scenario, value=Decimal(5), is_default=True)

    assert scenario.get_commission(scenario.create_conversion("200")).amount == 10
    defaults = scenario.account.commission_types.filter(is_default=True)
    assert list(defaults) == [accessories]

    with pytest.raises(DefaultCommissionType):
        update_commission_type(
            scenario.account, pk=accessories.pk, changes={"is_default": False}, at=NOW
        )
    with pytest.raises(DefaultCommissionType):
        delete_commission_type(scenario.account, pk=accessories.pk, at=NOW)


def test_deletes_a_type_with_its_group_rates(scenario, account):
    accessories = add_type(scenario)
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold")
    set_group_rate(account, commission_type=accessories, group=group, at=NOW, **TEN_PERCENT)
    conversion = scenario.create_conversion(("200", "accessories"))

    delete_commission_type(account, pk=accessories.pk, at=NOW)

    assert not account.group_rates.exists()
    assert scenario.get_commission(conversion).commission_type == "accessories"
    with pytest.raises(CommissionTypeNotFound):
        delete_commission_type(account, pk=accessories.pk, at=NOW)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"identifier": "Not A Slug"}, InvalidSlug),
        ({"identifier": "default"}, InvalidSlug),
        ({"identifier": "standard"}, DuplicateCommissionType),
        ({"title": " "}, InvalidSetting),
        ({"title": "x" * 256}, InvalidSetting),
        ({"value": Decimal(-1)}, InvalidSetting),
        ({"value": Decimal("100.01")}, InvalidSetting),
        ({"value": Decimal("0.00001")}, InvalidSetting),
        ({"kind": RateKind.FIXED, "value": Decimal("0.001")}, InvalidSetting),
    ],
)
def test_refuses_an_invalid_type(scenario, values, error):
    with pytest.raises(error):
        add_type(scenario, **values)

    assert scenario.account.commission_types.count() == 1


def test_levels_are_numbered_without_gaps(scenario, account):
    def add(value):
        return create_level(
            account,
            program=scenario.program,
            title="Parent",
            kind=RateKind.PERCENTAGE,
            value=Decimal(value),
            at=NOW,
        )

    second, third = add(3), add(1)
    update_level(account, pk=second.pk, changes={"value": Decimal(4)}, at=NOW)

    assert list(account.levels.order_by("level").values_list("level", "value")) == [
        (2, Decimal(4)),
        (3, Decimal(1)),
    ]
    with pytest.raises(InnerLevel):
        delete_level(account, pk=second.pk, at=NOW)
    delete_level(account, pk=third.pk, at=NOW)
    delete_level(account, pk=second.pk, at=NOW)
    with pytest.raises(LevelNotFound):
        delete_level(account, pk=second.pk, at=NOW)


def test_a_group_rate_replaces_the_rate_of_the_type(scenario, account):
    group = account.affiliate_groups.create(public_id="ag_1", title="Gold")
    scenario.mina.affiliate.update_row(group=group)
    values = {"commission_type": standard_type(scenario), "group": group, "at": NOW}

    rate = set_group_rate(account, kind=RateKind.PERCENTAGE, value=Decimal(15), **values)
    assert scenario.get_commission(scenario.create_conversion("200")).amount == 30

    set_group_rate(account, kind=RateKind.FIXED, value=Decimal(12), **values)
    assert scenario.get_commission(scenario.create_conversion("200")).amount == 12

    delete_group_rate(account, pk=rate.pk, at=NOW)
    assert scenario.get_commission(scenario.create_conversion("200")).amount == 20
    kinds = [entry.kind for entry in account.audit_log.order_by("pk")]
    assert [kind for kind in kinds if kind.startswith("group_rate")] == [
        "group_rate.created",
        "group_rate.updated",
        "group_rate.deleted",
    ]
