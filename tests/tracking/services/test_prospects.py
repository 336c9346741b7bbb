"""Contract 7.8: prospects promoted, whatever happens at that very moment."""

import json

import pytest

from accounts.errors import Several
from payouts.services import recording
from tests.conftest import NOW
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import JOINED, SOLD, Shop
from tracking.attribution import Clues
from tracking.errors import (
    ProgramIsLocked,
    ProspectNotFound,
    UnknownGroup,
    UnknownProgram,
    UnknownReferralCode,
)
from tracking.services import pointers, prospects
from tracking.services.affiliates import Application
from tracking.services.attribution import verify
from tracking.services.programs import archive
from tracking.services.prospects import Invitation, invite, remove_prospect


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


def invited(account, *, firstname="Pia", lastname="Lang", **more):
    where = {
        name: more.pop(name) for name in ("program_id", "group_id") if name in more
    }
    person = Application(firstname=firstname, lastname=lastname, **more)
    invitation = Invitation(person, **where)
    return invite(account, invitation=invitation, at=JOINED)


def clues_of(shop, prospect):
    """What points at a prospect: its code, and its pair."""
    source = shop.account.sources.get(prospect=prospect)
    return {
        "code": Clues(
            referral_code=shop.account.referral_codes.get(prospect=prospect).code
        ),
        "pair": Clues(asset_id=shop.mina.asset_id, source_id=str(source)),
    }


def by_code(shop, prospect):
    return clues_of(shop, prospect)["code"]


@pytest.fixture
def pia(shop):
    return invited(shop.account, email="pia@notes.example.org")


def test_numbers_the_ids_of_namesakes(account, shop):
    slugs = []
    for _ in range(3):
        clues = by_code(shop, invited(account))
        slugs.append(shop.sell("1", clues=clues).affiliate.slug)

    assert slugs == ["pialang", "pialang2", "pialang3"]


def test_gives_an_affiliate_nobody_can_sign_in_as(account, shop, pia):
    affiliate = shop.sell("1", clues=by_code(shop, pia)).affiliate

    assert affiliate.again().password.startswith("!")
    assert account.sources.filter(affiliate=affiliate).count() == 1
    assert pia.again().affiliate == affiliate


@pytest.mark.parametrize("settings", [{}, {"auto_approve_affiliates": False}])
def test_approves_whatever_the_program_does_with_others(account, shop, pia, settings):
    shop.program.change(**settings or {"auto_approve_affiliates": True})

    affiliate = shop.sell("1", clues=by_code(shop, pia)).affiliate

    assert account.enrolments.get(affiliate=affiliate).approved is True


def test_keeps_a_decision_that_can_be_proved_later(account, shop, pia):
    sale = shop.sell("1", clues=by_code(shop, pia), customer_id=None)
    customer = shop.customer("acct-1", referral_code=by_code(shop, pia).referral_code)

    first = account.decisions.get(conversion=sale)
    second = account.decisions.get(customer=customer)
    assert verify(first)
    assert verify(second)
    assert json.loads(first.outcome)["affiliate"] == pia.public_id
    assert json.loads(second.outcome)["affiliate"] == "pialang"


@pytest.mark.parametrize("doing", ["customer", "conversion"])
def test_promotes_wholly_or_not_at_all(account, shop, pia, doing):
    clues = by_code(shop, pia)
    shop.click(shop.mina)

    def do():
        if doing == "customer":
            return shop.customer("acct-1", referral_code=clues.referral_code)
        return shop.sell("200", clues=clues)

    before, number = everything(account), 0
    while True:
        with failing_at(number) as asked:
            try:
                do()
            except Broken:
                assert everything(account) == before, asked[-1]
            else:
                break
        number += 1

    assert number > 10
    assert pia.again().promotion_method == doing


# Meanwhile


@pytest.mark.parametrize("clue", ["code", "pair"])
def test_finds_the_affiliate_that_a_prospect_became_while_it_looked(
    account, shop, pia, monkeypatch, clue
):
    """Between the look for an enrolment and the look for a prospect."""
    clues, look = clues_of(shop, pia), pointers._through_prospect

    def overtaken(*about, **named):
        monkeypatch.setattr(pointers, "_through_prospect", look)
        shop.sell("1", clues=clues["code"])
        return look(*about, **named)

    monkeypatch.setattr(pointers, "_through_prospect", overtaken)

    sale = shop.sell("1", clues=clues[clue])

    # What the other has done was undone with the first look: one connection.
    assert sale.affiliate == pia.again().affiliate
    assert account.conversions.count() == 1


def test_looks_again_when_somebody_else_has_promoted(account, shop, pia, monkeypatch):
    clues, promote = by_code(shop, pia), recording.promoted

    def overtaken(*about, **named):
        monkeypatch.setattr(recording, "promoted", promote)
        shop.customer("acct-1", referral_code=clues.referral_code)
        return promote(*about, **named)

    monkeypatch.setattr(recording, "promoted", overtaken)

    sale = shop.sell("1", clues=clues)

    # What the other has done was undone with the first look: one connection.
    assert sale.affiliate == pia.again().affiliate
    assert account.affiliates.count() == 2


def test_does_not_promote_who_was_removed_meanwhile(account, shop, pia, monkeypatch):
    clues, promote = by_code(shop, pia), recording.promoted

    def overtaken(*about, **named):
        account.prospects.filter(pk=pia.pk).update(removed_at=SOLD)
        return promote(*about, **named)

    monkeypatch.setattr(recording, "promoted", overtaken)
    with pytest.raises(prospects.LookAgain):
        shop.sell("1", clues=clues)

    assert account.affiliates.count() == 1
    assert pia.again().promoted_at is None


# Custom fields


def test_keeps_a_custom_field_under_its_id_when_anothers_title_is_the_same(
    account, shop
):
    for slug, title in (("site", "Blog"), ("blog", "site")):
        account.field_definitions.create(slug=slug, title=title, type="text")
    prospect = invited(account, custom_fields={"site": "s.example"})

    affiliate = shop.sell("1", clues=by_code(shop, prospect)).affiliate

    assert affiliate.again().custom_fields == {"site": "s.example"}


def test_sells_though_a_custom_field_takes_one_value_by_now(account, shop):
    field = account.field_definitions.create(
        slug="shoes", title="Shoes", type="multiselect"
    )
    prospect = invited(account, custom_fields={"shoes": ["38", "39"]})
    field.change(type="text")

    affiliate = shop.sell("1", clues=by_code(shop, prospect)).affiliate

    assert affiliate.again().promoted_at == SOLD


def test_hands_no_empty_custom_field_on(account, shop):
    account.field_definitions.create(slug="site", title="Site", type="text")
    prospect = invited(account, custom_fields={"site": None, "unknown": "x"})

    affiliate = shop.sell("1", clues=by_code(shop, prospect)).affiliate

    assert affiliate.again().custom_fields == {}


# Invited, removed


def test_invites_in_one_piece(account, shop):
    before, number = everything(account), 0
    while True:
        with failing_at(number) as asked:
            try:
                prospect = invited(account)
            except Broken:
                assert everything(account) == before, asked[-1]
            else:
                break
        number += 1

    assert number > 4
    line = account.events.get(kind="affiliate_prospect.created")
    assert (line.subject, line.facts) == (f"prospect:{prospect.public_id}", {})


@pytest.mark.parametrize(
    ("where", "refusal"),
    [
        ({"program_id": "zz-marker-harbor-lamp-partners"}, UnknownProgram),
        ({"group_id": "ag_zz"}, UnknownGroup),
        ({"program_id": "late"}, ProgramIsLocked),
        ({"program_id": "late", "group_id": "ag_zz"}, UnknownGroup),
        ({"program_id": "late", "custom_fields": {"site": ["a"]}}, Several),
    ],
    ids=["foreign program", "foreign group", "archived", "field first", "answer first"],
)
def test_invites_nobody_into_what_is_not_open(
    account, other_account, shop, where, refusal
):
    Shop(other_account, mark="zz-marker-")
    other_account.affiliate_groups.create(public_id="ag_zz", title="zz-marker")
    account.field_definitions.create(slug="site", title="Site", type="text")
    Shop(account, "late", email=None)
    archive(account, slug="late", at=NOW)
    before = everything(account)

    with pytest.raises(refusal):
        invited(account, **where)

    assert everything(account) == before


def test_removes_a_prospect_once(account, shop, pia):
    clues = by_code(shop, pia)
    remove_prospect(account, public_id=pia.public_id, at=SOLD)

    with pytest.raises(ProspectNotFound):
        remove_prospect(account, public_id=pia.public_id, at=SOLD)
    with pytest.raises(UnknownReferralCode):
        shop.sell("1", clues=clues)

    assert account.events.filter(kind="affiliate_prospect.deleted").count() == 1
    assert account.referral_codes.filter(prospect=pia).count() == 1
