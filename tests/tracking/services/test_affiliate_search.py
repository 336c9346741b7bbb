"""Affiliates are found by any part of their texts."""

import pytest

from tests.conftest import NOW
from tests.program_scenario import SECRET, ProgramScenario
from tracking.services import search
from tracking.services.affiliates import (
    PersonData,
    create_affiliate,
    delete_affiliate,
    update_affiliate,
)
from tracking.services.enrollments import update_enrollment
from tracking.services.prospects import ProspectData, create_prospect, promote_prospect
from tracking.services.search import (
    find_affiliates,
    list_hidden_matches,
    list_search_codes,
)


@pytest.fixture
def hana(account):
    data = PersonData(
        "Háná",
        "Svobodová",
        email="Hana.S@mail.example.org",
        company={"company_name": "Studio Červená"},
    )
    return create_affiliate(account, data=data, password=SECRET, at=NOW)


@pytest.fixture
def find(account):
    """A function that returns the slugs of the affiliates found."""

    def find_slugs(term):
        found = find_affiliates(account, term)
        assert not found.has_more
        rows = account.affiliates.filter(pk__in=found.pks)
        return sorted(rows.values_list("slug", flat=True))

    return find_slugs


@pytest.mark.parametrize(
    "term",
    [
        *("hana", "Háná", "ANA", "svobodova", "bodo", "svobodova hana"),
        *("hana.s@mail.example.org", "ail.exam", "hanasvob", "cervena"),
        *("Studio hana", "a"),
    ],
)
def test_finds_an_affiliate(hana, find, term):
    create_affiliate(hana.account, data=PersonData("Bo", "Ek"), password=SECRET, at=NOW)

    assert find(term) == ["hanasvobodova"]


@pytest.mark.parametrize("term", ["", " ", "hanna", "hana novak", "%", "h_na", "\x00"])
def test_finds_nothing(hana, find, term):
    assert find(term) == []


def test_follows_changes(hana, account, find):
    changes = {"lastname": "Nováková", "email": "h@n.example.org"}
    update_affiliate(account, affiliate_id=hana.slug, changes=changes, at=NOW)

    assert find("novakova") == [hana.slug]
    assert find("h@n") == [hana.slug]
    assert find("mail") == []
    assert find("svobodova") == [hana.slug]  # the ID stays


def test_finds_deleted_affiliates(hana, account, find):
    delete_affiliate(account, affiliate_id=hana.slug, at=NOW)

    assert find("hana") == [hana.slug]


def test_finds_codes_and_coupons(account, scenario, find):
    mina = scenario.mina

    assert find(mina.code) == [mina.slug]
    assert find(mina.coupon.lower()[2:]) == [mina.slug]

    changes = {"coupon": "SUMMER", "referral_code": "lamplight"}
    update_enrollment(
        account,
        program=scenario.program,
        affiliate_id=mina.slug,
        changes=changes,
        at=NOW,
    )

    assert find("umm") == find("plight") == [mina.slug]
    assert find(mina.code) == []


def test_finds_the_code_of_a_promoted_prospect(account, scenario, find):
    data = ProspectData(PersonData("Odette", "Varga"))
    prospect = create_prospect(account, data=data, at=NOW)
    code = account.referral_codes.get(prospect=prospect).code
    assert find("odette") == find(code) == []

    promote_prospect(account, prospect=prospect, method="manual", at=NOW)

    assert find("odette") == find(code) == ["odettevarga"]


def test_finds_nothing_of_another_account(hana, other_account, find):
    foreign = ProgramScenario(other_account, prefix="zz-marker-")
    find_foreign = find_affiliates(other_account, "hana")

    assert find("mina") == find("zz-marker") == find(foreign.mina.code) == []
    assert find_foreign.pks == []


def test_says_that_there_are_more(account, monkeypatch):
    monkeypatch.setattr(search, "MAX_FOUND_AFFILIATES", 2)
    for name in ("Johana", "Hana", "Suhana"):
        create_affiliate(account, data=PersonData(name, "Q"), password=SECRET, at=NOW)

    found = find_affiliates(account, "hana")

    assert len(found.pks) == 2
    assert found.has_more
    assert not find_affiliates(account, "suhana").has_more


def test_says_what_a_list_does_not_show(hana, account, scenario):
    mina = scenario.mina.affiliate
    enrollments = list_search_codes(account, [hana, mina])

    assert list_hidden_matches([hana, mina], enrollments, "cerv") == {
        hana.pk: ["company Studio Červená"],
        mina.pk: [],
    }
    assert list_hidden_matches([mina], enrollments, scenario.mina.coupon) == {
        mina.pk: [f"coupon {scenario.mina.coupon}"]
    }
    assert list_hidden_matches([mina], enrollments, "mina kess") == {
        mina.pk: [f"coupon {scenario.mina.coupon}"]
    }
