"""Deletion of affiliate groups."""

import pytest

from payouts.services.programs import delete_group
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.ledger_checks import (
    InjectedDatabaseError,
    assert_ledger_consistent,
    fail_at_statement,
    snapshot_account,
)
from tracking.errors import GroupNotFound
from tracking.services.affiliates import PersonData
from tracking.services.hierarchy import create_group, set_group
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def group(account, scenario):
    """A group with a rate of 20 %, with Mina, a deleted affiliate and a prospect."""
    group = create_group(account, title="Top", at=NOW)
    scenario.create_group_rate(group, "20")
    slug = scenario.mina.slug
    set_group(account, affiliate_id=slug, group_id=group.public_id, at=NOW)
    AffiliateFactory(account=account, group=group, deleted_at=NOW)
    data = ProspectData(PersonData("Pia", "Lang"), group_id=group.public_id)
    create_prospect(account, data=data, at=NOW)
    return group


def test_its_people_leave_it_and_later_sales_earn_the_standard_rate(account, scenario, group):
    earlier = scenario.get_commission(scenario.create_conversion("200"))

    delete_group(account, group_id=group.public_id, at=NOW)

    later = scenario.get_commission(scenario.create_conversion("200"))
    earlier.refresh_from_db()
    assert (earlier.amount, later.amount) == (40, 20)
    assert not account.affiliate_groups.exists()
    assert not account.group_rates.exists()
    assert not account.affiliates.exclude(group=None).exists()
    assert not account.prospects.exclude(group=None).exists()
    assert_ledger_consistent(account)


def test_records_the_group_and_its_present_affiliates(account, scenario, group):
    delete_group(account, group_id=group.public_id, at=NOW)

    entries = account.audit_log.order_by("-id")[:2]
    assert [(entry.kind, entry.subject, entry.details) for entry in entries] == [
        ("affiliate_group.deleted", f"affiliategroup:{group}", {}),
        (
            "affiliate.updated",
            f"affiliate:{scenario.mina.affiliate.log_id}",
            {"group": None},
        ),
    ]


def test_groups_of_other_accounts_are_unknown(account, other_account, group):
    with pytest.raises(GroupNotFound):
        delete_group(other_account, group_id=group.public_id, at=NOW)

    assert account.affiliate_groups.exists()


@pytest.mark.parametrize("number", range(2, 9))
def test_deletes_nothing_if_it_fails(account, group, number):
    before = snapshot_account(account)

    with pytest.raises(InjectedDatabaseError), fail_at_statement(number):
        delete_group(account, group_id=group.public_id, at=NOW)

    assert snapshot_account(account) == before
