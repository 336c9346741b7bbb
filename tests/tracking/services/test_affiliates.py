"""Contract 1.3 and 2.4.3: affiliates signed up, their ids, addresses, passwords."""

import re

import pytest
from django.contrib.auth.hashers import check_password

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.shop import SECRET
from tracking.errors import AffiliateNotFound, EmailTaken
from tracking.services import affiliates
from tracking.services.affiliates import (
    Application,
    affiliate_named,
    new_secret,
    sign_up,
    slug_base,
)


def joined(account, firstname="Odette", lastname="Varga", **more):
    """Sign up."""
    application = Application(firstname=firstname, lastname=lastname, **more)
    return sign_up(account, application=application, secret=SECRET, at=NOW)


def removed(affiliate):
    affiliate.change(removed_at=NOW)


SLUGS = [
    ("Odette", "Varga", "odettevarga"),
    ("ODETTE", "VARGA", "odettevarga"),
    (" Odette ", " de  Varga\t", "odettedevarga"),
    ("Zoë-Anne", "O'Brien Jr.", "zoeanneobrienjr"),
    ("Jiří", "Čapek", "jiricapek"),
    ("José", "Nun\u0303ez", "josenunez"),
    ("R2", "D2", "r2d2"),
    ("日本", "太郎", "affiliate"),
    ("🛶", "!!!", "affiliate"),
    ("日本", "Tarō", "taro"),
    ("a" * 20, "b" * 20, "a" * 20 + "b" * 12),
    ("a" * 32, "b", "a" * 32),
    ("-" * 40 + "a", "b", "ab"),
]


@pytest.mark.parametrize(("firstname", "lastname", "slug"), SLUGS, ids=ascii)
def test_folds_a_name_into_an_id(account, firstname, lastname, slug):
    assert slug_base(firstname, lastname) == slug
    assert joined(account, firstname, lastname).slug == slug


def test_numbers_affiliates_of_one_name_from_2(account):
    slugs = [joined(account).slug for _ in range(4)]

    assert slugs == ["odettevarga", "odettevarga2", "odettevarga3", "odettevarga4"]


def test_numbers_a_name_of_which_nothing_is_left(account):
    slugs = [joined(account, "日本", name).slug for name in ("太郎", "花子")]

    assert slugs == ["affiliate", "affiliate2"]


def test_numbers_a_name_that_was_cut(account):
    slugs = [joined(account, "a" * 40, name).slug for name in ("Varga", "Kessler")]

    assert slugs == ["a" * 32, "a" * 32 + "2"]


def test_passes_over_a_number_that_is_somebodys_name(account):
    joined(account, "Odette", "Varga2")
    joined(account, "Odette", "Varga")

    assert joined(account, "Odette", "Varga").slug == "odettevarga3"


def test_does_not_count_longer_names(account):
    joined(account, "Odette", "Vargasson")
    joined(account, "Odette", "Varga")

    assert joined(account, "Odette", "Varga").slug == "odettevarga2"


@pytest.mark.parametrize("which", [0, 1], ids=["the-bare-name", "a-number"])
def test_never_uses_the_id_of_a_removed_affiliate_again(account, which):
    removed([joined(account), joined(account)][which])

    assert joined(account).slug == "odettevarga3"


def test_takes_the_next_number_when_others_take_it_meanwhile(account, monkeypatch):
    joined(account)
    numbers = iter([2, 3, 4, 5, 6])
    for number in (2, 3, 4):
        AffiliateFactory(account=account, slug=f"odettevarga{number}")
    monkeypatch.setattr(affiliates, "_next_number", lambda *about: next(numbers))

    assert joined(account).slug == "odettevarga5"


def test_takes_four_letters_when_five_numbers_were_taken(account, monkeypatch):
    joined(account)
    numbers = iter([2, 3, 4, 5, 6])
    for number in range(2, 7):
        AffiliateFactory(account=account, slug=f"odettevarga{number}")
    monkeypatch.setattr(affiliates, "_next_number", lambda *about: next(numbers))

    assert re.fullmatch("odettevarga[a-z]{4}", joined(account).slug)


def test_gives_each_account_ids_of_its_own(account, other_account):
    assert joined(account).slug == joined(other_account).slug == "odettevarga"


# E-mail addresses

SPELLINGS = [
    ("odette@notes.example.org", "odette@notes.example.org"),
    ("odette@notes.example.org", "ODETTE@Notes.Example.Org"),
    ("Odette@Notes.example.org", "odette@notes.example.org"),
    ("odette@Öre.example", "odette@öre.example"),
]


@pytest.mark.parametrize(
    ("first", "second"), SPELLINGS, ids=["same", "upper", "mixed", "beyond-ascii"]
)
def test_refuses_an_address_that_is_taken_in_any_case(account, first, second):
    joined(account, email=first)

    with pytest.raises(EmailTaken) as refusal:
        joined(account, email=second)

    assert str(refusal.value) == "Email address is already in use"
    assert account.affiliates.count() == 1
    assert account.sources.count() == 1
    assert account.events.count() == 1


def test_frees_the_address_of_a_removed_affiliate(account):
    removed(joined(account, email="odette@notes.example.org"))

    later = joined(account, email="Odette@notes.example.org")

    assert later.email == "Odette@notes.example.org"


def test_lets_any_number_have_no_address(account):
    joined(account)
    joined(account)

    assert list(account.affiliates.values_list("email", flat=True)) == [None, None]


def test_does_not_mind_an_address_of_another_account(account, other_account):
    joined(other_account, email="odette@notes.example.org")

    assert joined(account, email="odette@notes.example.org").pk


# Passwords


def test_makes_a_password_of_16_letters_and_digits(account):
    application = Application(firstname="Odette", lastname="Varga")
    secret, another = new_secret(), new_secret()

    affiliate = sign_up(account, application=application, secret=secret, at=NOW)

    assert re.fullmatch("[A-Za-z0-9]{16}", secret.made)
    assert secret.made != another.made
    assert check_password(secret.made, affiliate.again().password)


def test_hashes_a_password_that_was_sent(account):
    secret = new_secret(" Pass word š")

    person = Application("Odette", "Varga")
    affiliate = sign_up(account, application=person, secret=secret, at=NOW)

    stored = affiliate.again().password
    assert secret.made is None
    assert "Pass word" not in stored
    assert check_password(" Pass word š", stored)


def test_keeps_a_password_out_of_what_it_prints():
    secret = new_secret()

    assert secret.made not in repr(secret)


# Everything else


def test_is_born_with_a_source_and_in_no_program(account):
    affiliate = joined(account)

    source = account.sources.get()
    assert source.affiliate == affiliate
    assert re.fullmatch("[1-9][0-9]*-[0-9a-f]{6}", str(source))
    assert account.enrolments.count() == 0


def test_keeps_what_was_given_as_it_was_given(account):
    affiliate = joined(
        account,
        " Odette",
        "Va\u0301rga🛶 ",
        email="Odette@notes.example.org",
        company={"company_name": " ", "company_description": ""},
        meta_data={"tier": " silver"},
    ).again()

    assert (affiliate.firstname, affiliate.lastname) == (" Odette", "Va\u0301rga🛶 ")
    assert affiliate.email == "Odette@notes.example.org"
    assert (affiliate.company_name, affiliate.company_description) == (" ", "")
    assert affiliate.meta_data == {"tier": " silver"}
    assert affiliate.created_at == NOW


def test_writes_the_diary_without_a_personal_value(account):
    joined(account, email="odette@notes.example.org")

    event = account.events.get()
    assert event.kind == "affiliate.created"
    assert event.subject == "affiliate:odettevarga"
    assert event.facts == {}
    assert event.created_at == NOW


def test_finds_present_affiliates_of_the_account_alone(account, other_account):
    present = AffiliateFactory(account=account, slug="present")
    AffiliateFactory(account=account, slug="removed", removed_at=NOW)
    AffiliateFactory(account=other_account, slug="foreign")

    assert affiliate_named(account, "present") == present
    for slug in ("removed", "foreign", "PRESENT", ""):
        with pytest.raises(AffiliateNotFound):
            affiliate_named(account, slug)


@pytest.mark.parametrize(
    ("firstname", "lastname", "slug"),
    [
        ("Zoë", "Łuczak", "zoeluczak"),
        ("Straße", "Ærø", "strasseaero"),
        ("Đorđe", "Þór", "dordethor"),
    ],
)
def test_folds_letters_that_unicode_does_not_take_apart(firstname, lastname, slug):
    assert slug_base(firstname, lastname) == slug
