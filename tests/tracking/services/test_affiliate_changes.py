"""Contract 2.4.4 and 2.4.5: affiliates changed and removed."""

from datetime import timedelta

import pytest

from tests.proof import Broken, everything, failing_at
from tests.shop import SOLD, Shop
from tracking.errors import AffiliateNotFound, EmailTaken
from tracking.services.affiliates import change_affiliate, remove_affiliate


def changed(account, slug="minakessler", **changes):
    return change_affiliate(account, affiliate_id=slug, changes=changes, at=SOLD)


def removed(account, slug="minakessler", at=SOLD):
    remove_affiliate(account, affiliate_id=slug, at=at)


def attempts(account, act):
    """Fail at each statement in turn; nothing is ever half-stored."""
    before, number = everything(account), 0
    while True:
        with failing_at(number) as asked:
            try:
                act()
            except Broken:
                assert everything(account) == before, asked[-1]
            else:
                return number
        number += 1


def test_follows_an_address_in_any_case(account, shop):
    affiliate = changed(account, email="MINA@Öre.example")

    assert affiliate.again().email == "MINA@Öre.example"
    assert account.affiliates.with_email("mina@öre.EXAMPLE").get() == affiliate
    assert not account.affiliates.with_email("mina@notes.example.org").exists()


def test_writes_nothing_when_nothing_changes(account, shop):
    before = everything(account)

    changed(account, firstname="Mina", email="mina@notes.example.org", custom_fields={})

    assert everything(account) == before


def test_refuses_an_address_and_keeps_everything(account, shop):
    shop.join("Odette", "Varga", email="odette@x.example")
    before = everything(account)

    with pytest.raises(EmailTaken) as refusal:
        changed(account, firstname="New", email="ODETTE@X.example")

    assert refusal.value.path == "email"
    assert everything(account) == before


@pytest.mark.parametrize("act", [changed, removed], ids=["change", "removal"])
def test_acts_wholly_or_not_at_all(account, shop, act):
    child = shop.join("Inga", "Berg").affiliate
    child.change(parent=shop.mina.affiliate)
    how = {"firstname": "New", "meta_data": {"a": "b"}} if act is changed else {}

    assert attempts(account, lambda: act(account, **how)) > 2

    assert account.events.filter(subject="affiliate:minakessler").count() == 3


def test_removes_an_affiliate_once(account, shop):
    removed(account)

    with pytest.raises(AffiliateNotFound):
        removed(account, at=SOLD + timedelta(days=1))

    assert shop.mina.affiliate.again().removed_at == SOLD
    assert account.events.filter(kind="affiliate.deleted").count() == 1


def test_frees_the_children_of_one_affiliate_alone(account, other_account, shop):
    other = Shop(other_account, mark="zz-marker-")
    theirs = other.join("Inga", "Berg").affiliate
    theirs.change(parent=other.mina.affiliate)
    odette, inga, pia = (
        shop.join(name, "X").affiliate for name in ("Odette", "Inga", "Pia")
    )
    odette.change(parent=shop.mina.affiliate)
    shop.mina.affiliate.change(parent=pia)
    inga.change(parent=odette)

    removed(account)

    assert odette.again().parent is None
    assert inga.again().parent == odette
    assert theirs.again().parent == other.mina.affiliate


@pytest.mark.parametrize("slug", ["nobody", "zzmarkerminakessler", "MinaKessler"])
def test_knows_the_affiliates_of_its_account_alone(account, other_account, shop, slug):
    Shop(other_account, mark="zz-marker-")
    before = everything(other_account)

    for act in (changed, removed):
        with pytest.raises(AffiliateNotFound):
            act(account, slug)

    assert everything(other_account) == before
