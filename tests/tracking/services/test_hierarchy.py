"""Groups and parents of affiliates (docs/api-contract.md, sections 2.4.6 and 2.5)."""

from itertools import pairwise

import pytest

from tests.ledger_checks import assert_unchanged, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import (
    AffiliateHierarchyCycle,
)
from tracking.services.affiliates import delete_affiliate
from tracking.services.hierarchy import (
    add_to_group,
    create_group,
    set_group,
    set_parent,
    update_group,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")


def attach_child(account, child, parent):
    return set_parent(account, affiliate_id=child, parent_id=parent, at=CONVERSION_CREATED_AT)


def make_hierarchy(scenario, length):
    """Create `length` affiliates, each the child of the previous one."""
    slugs = [scenario.create_enrolled_affiliate("Link", "x" * (n + 1)).slug for n in range(length)]
    for parent, child in pairwise(slugs):
        attach_child(scenario.account, child, parent)
    return slugs


@pytest.mark.parametrize("distance", [0, 1, 2, 11])
def test_rejects_a_cycle_of_any_length(account, scenario, distance):
    slugs = make_hierarchy(scenario, 12)

    with assert_unchanged(account), pytest.raises(AffiliateHierarchyCycle) as error:
        attach_child(account, slugs[0], slugs[distance])

    assert error.value.path == "affiliate_id"


def test_moves_a_branch_with_its_descendants(account, scenario):
    slugs = make_hierarchy(scenario, 3)
    other = make_hierarchy(scenario, 2)

    attach_child(account, slugs[1], other[1])
    attach_child(account, slugs[0], slugs[2])

    parents = dict(account.affiliates.values_list("slug", "parent__slug"))
    assert parents[slugs[0]] == slugs[2]
    assert parents[slugs[1]] == other[1]


def test_deletion_of_a_parent_allows_a_former_descendant_as_parent(account, scenario):
    top, middle, bottom = make_hierarchy(scenario, 3)
    delete_affiliate(account, affiliate_id=middle, at=CONVERSION_CREATED_AT)

    assert attach_child(account, top, bottom).parent.slug == bottom


def test_prefers_an_id_to_a_code(account, scenario):
    odette, inga = (
        scenario.create_enrolled_affiliate("Odette", "Varga"),
        scenario.create_enrolled_affiliate("Inga", "Berg"),
    )
    account.referral_codes.filter(enrollment=inga.enrollment).update(code="odettevarga")

    assert attach_child(account, "minakessler", "odettevarga").parent == odette.affiliate


def test_puts_several_affiliates_into_a_group(account, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    inga = scenario.create_enrolled_affiliate("Inga", "Holm")
    delete_affiliate(account, affiliate_id=inga.slug, at=CONVERSION_CREATED_AT)
    group = create_group(account, title="Top", at=CONVERSION_CREATED_AT)
    everybody = [scenario.mina.slug, odette.slug, inga.slug, "nobody"]
    entry = {"group_id": group.public_id, "at": CONVERSION_CREATED_AT}

    moved = add_to_group(account, affiliate_ids=everybody, **entry)

    assert moved == [scenario.mina.affiliate, odette.affiliate]
    assert set(account.affiliates.filter(group=group)) == set(moved)
    assert add_to_group(account, affiliate_ids=everybody, **entry) == []


def test_writes_nothing_if_nothing_changes(account, scenario):
    group = create_group(account, title="Gold", at=CONVERSION_CREATED_AT).public_id
    set_group(account, affiliate_id="minakessler", group_id=group, at=CONVERSION_CREATED_AT)
    before = snapshot_account(account)

    set_group(account, affiliate_id="minakessler", group_id=group, at=CONVERSION_CREATED_AT)
    update_group(account, group_id=group, changes={"title": "Gold"}, at=CONVERSION_CREATED_AT)
    update_group(account, group_id=group, changes={}, at=CONVERSION_CREATED_AT)
    attach_child(account, "minakessler", None)

    assert snapshot_account(account) == before
