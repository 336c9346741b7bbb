"""Contract 2.4.6 and 2.5: groups, and an affiliate's place in one and below another."""

from itertools import pairwise

import pytest

from tests.proof import everything
from tests.shop import SOLD, Shop
from tracking.errors import (
    AffiliateNotFound,
    GroupNotFound,
    OwnAncestor,
    UnknownAffiliate,
    UnknownGroup,
)
from tracking.services.affiliates import remove_affiliate
from tracking.services.placement import (
    make_group,
    put_below,
    put_into_group,
    rename_group,
)


def below(account, child, parent):
    return put_below(account, affiliate_id=child, parent=parent, at=SOLD)


def chain(shop, length):
    """So many affiliates, each below the one before it."""
    slugs = [shop.join("Link", "x" * (n + 1)).slug for n in range(length)]
    for above, under in pairwise(slugs):
        below(shop.account, under, above)
    return slugs


@pytest.mark.parametrize("distance", [0, 1, 2, 11])
def test_closes_no_circle_however_long(account, shop, distance):
    slugs = chain(shop, 12)
    before = everything(account)

    with pytest.raises(OwnAncestor) as refusal:
        below(account, slugs[0], slugs[distance])

    assert refusal.value.path == "affiliate_id"
    assert everything(account) == before


def test_moves_a_whole_branch(account, shop):
    slugs = chain(shop, 3)
    other = chain(shop, 2)

    below(account, slugs[1], other[1])
    below(account, slugs[0], slugs[2])

    parents = dict(account.affiliates.values_list("slug", "parent__slug"))
    assert parents[slugs[0]] == slugs[2]
    assert parents[slugs[1]] == other[1]


def test_may_stand_above_who_was_freed_by_a_removal(account, shop):
    top, middle, bottom = chain(shop, 3)
    remove_affiliate(account, affiliate_id=middle, at=SOLD)

    assert below(account, top, bottom).parent.slug == bottom


def test_takes_an_id_before_a_code(account, shop):
    odette, inga = shop.join("Odette", "Varga"), shop.join("Inga", "Berg")
    account.referral_codes.filter(enrolment=inga.enrolment).update(code="odettevarga")

    assert below(account, "minakessler", "odettevarga").parent == odette.affiliate


@pytest.mark.parametrize("named", ["nobody", "slug", "code"])
def test_knows_no_parent_of_another_account(account, other_account, shop, named):
    other = Shop(other_account, mark="zz-marker-")
    parent = getattr(other.mina, named, named)

    with pytest.raises(UnknownAffiliate):
        below(account, "minakessler", parent)
    with pytest.raises(AffiliateNotFound):
        below(account, other.mina.slug, "minakessler")


def test_knows_no_group_of_another_account(account, other_account, shop):
    foreign = make_group(other_account, title="zz-marker", at=SOLD).public_id

    with pytest.raises(UnknownGroup):
        put_into_group(account, affiliate_id="minakessler", group_id=foreign, at=SOLD)
    with pytest.raises(GroupNotFound):
        rename_group(account, group_id=foreign, title="Mine", at=SOLD)

    assert shop.mina.affiliate.again().group is None
    assert other_account.affiliate_groups.get().title == "zz-marker"


def test_writes_nothing_when_nothing_changes(account, shop):
    group = make_group(account, title="Gold", at=SOLD).public_id
    put_into_group(account, affiliate_id="minakessler", group_id=group, at=SOLD)
    before = everything(account)

    put_into_group(account, affiliate_id="minakessler", group_id=group, at=SOLD)
    rename_group(account, group_id=group, title="Gold", at=SOLD)
    rename_group(account, group_id=group, title=None, at=SOLD)
    below(account, "minakessler", None)

    assert everything(account) == before
