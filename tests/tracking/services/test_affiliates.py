"""Creation of affiliates (docs/api-contract.md, sections 1.3 and 2.4.3)."""

import re

import pytest
from django.contrib.auth.hashers import check_password

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.program_scenario import SECRET
from tracking.errors import AffiliateNotFound, DuplicateEmail
from tracking.services import affiliates
from tracking.services.affiliates import (
    PersonData,
    create_affiliate,
    create_password,
    create_slug_base,
    get_affiliate,
)


def make_affiliate(account, firstname="Odette", lastname="Varga", **fields):
    person = PersonData(firstname=firstname, lastname=lastname, **fields)
    return create_affiliate(account, data=person, password=SECRET, at=NOW)


def mark_deleted(affiliate):
    affiliate.update_row(deleted_at=NOW)


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
    ("Zoë", "Łuczak", "zoeluczak"),
    ("Straße", "Ærø", "strasseaero"),
    ("Đorđe", "Þór", "dordethor"),
]


@pytest.mark.parametrize(("firstname", "lastname", "slug"), SLUGS, ids=ascii)
def test_derives_the_id_from_the_name(account, firstname, lastname, slug):
    assert create_slug_base(firstname, lastname) == slug
    assert make_affiliate(account, firstname, lastname).slug == slug


def test_numbers_affiliates_with_the_same_name_from_2(account):
    slugs = [make_affiliate(account).slug for _ in range(4)]

    assert slugs == ["odettevarga", "odettevarga2", "odettevarga3", "odettevarga4"]


def test_numbers_names_without_latin_letters(account):
    slugs = [make_affiliate(account, "日本", name).slug for name in ("太郎", "花子")]

    assert slugs == ["affiliate", "affiliate2"]


def test_numbers_a_truncated_name(account):
    slugs = [make_affiliate(account, "a" * 40, name).slug for name in ("Varga", "Kessler")]

    assert slugs == ["a" * 32, "a" * 32 + "2"]


def test_skips_a_number_that_is_part_of_a_name(account):
    make_affiliate(account, "Odette", "Varga2")
    make_affiliate(account, "Odette", "Varga")

    assert make_affiliate(account, "Odette", "Varga").slug == "odettevarga3"


def test_ignores_longer_names(account):
    make_affiliate(account, "Odette", "Vargasson")
    make_affiliate(account, "Odette", "Varga")

    assert make_affiliate(account, "Odette", "Varga").slug == "odettevarga2"


@pytest.mark.parametrize("index", [0, 1], ids=["bare-name", "numbered"])
def test_reserves_the_id_of_a_deleted_affiliate(account, index):
    mark_deleted([make_affiliate(account), make_affiliate(account)][index])

    assert make_affiliate(account).slug == "odettevarga3"


def test_tries_the_next_number_if_one_is_taken_concurrently(account, monkeypatch):
    make_affiliate(account)
    numbers = iter([2, 3, 4, 5, 6])
    for number in (2, 3, 4):
        AffiliateFactory(account=account, slug=f"odettevarga{number}")
    monkeypatch.setattr(affiliates, "_get_next_slug_number", lambda *args: next(numbers))

    assert make_affiliate(account).slug == "odettevarga5"


def test_appends_four_letters_after_five_taken_numbers(account, monkeypatch):
    make_affiliate(account)
    numbers = iter([2, 3, 4, 5, 6])
    for number in range(2, 7):
        AffiliateFactory(account=account, slug=f"odettevarga{number}")
    monkeypatch.setattr(affiliates, "_get_next_slug_number", lambda *args: next(numbers))

    assert re.fullmatch("odettevarga[a-z]{4}", make_affiliate(account).slug)


def test_ids_are_unique_per_account(account, other_account):
    assert make_affiliate(account).slug == make_affiliate(other_account).slug == "odettevarga"


# E-mail addresses

EQUAL_EMAILS = [
    ("odette@notes.example.org", "odette@notes.example.org"),
    ("odette@notes.example.org", "ODETTE@Notes.Example.Org"),
    ("Odette@Notes.example.org", "odette@notes.example.org"),
    ("odette@Öre.example", "odette@öre.example"),
]


@pytest.mark.parametrize(
    ("first", "second"), EQUAL_EMAILS, ids=["same", "upper", "mixed", "non-ascii"]
)
def test_rejects_a_duplicate_address_case_insensitively(account, first, second):
    make_affiliate(account, email=first)

    with pytest.raises(DuplicateEmail) as error:
        make_affiliate(account, email=second)

    assert str(error.value) == "Email address is already in use"
    assert account.affiliates.count() == 1
    assert account.sources.count() == 1
    assert account.audit_log.count() == 1


def test_allows_several_affiliates_without_address(account):
    make_affiliate(account)
    make_affiliate(account)

    assert list(account.affiliates.values_list("email", flat=True)) == [None, None]


# Passwords


def test_generates_a_password_of_16_letters_and_digits(account):
    person = PersonData(firstname="Odette", lastname="Varga")
    password, other = create_password(), create_password()

    affiliate = create_affiliate(account, data=person, password=password, at=NOW)

    assert re.fullmatch("[A-Za-z0-9]{16}", password.generated)
    assert password.generated != other.generated
    assert check_password(password.generated, affiliate.reload().password)


def test_repr_does_not_contain_the_password():
    password = create_password()

    assert password.generated not in repr(password)


# Other fields


def test_creates_a_source_and_no_enrollment(account):
    affiliate = make_affiliate(account)

    source = account.sources.get()
    assert source.affiliate == affiliate
    assert re.fullmatch("[1-9][0-9]*-[0-9a-f]{6}", str(source))
    assert account.enrollments.count() == 0


def test_logs_the_creation_without_personal_data(account):
    odette = make_affiliate(account, email="odette@notes.example.org")

    event = account.audit_log.get()
    assert event.kind == "affiliate.created"
    assert event.subject == f"affiliate:{odette.log_id}"
    assert event.details == {}
    assert event.created_at == NOW


def test_finds_only_present_affiliates_of_the_account(account, other_account):
    present = AffiliateFactory(account=account, slug="present")
    AffiliateFactory(account=account, slug="deleted", deleted_at=NOW)
    AffiliateFactory(account=other_account, slug="foreign")

    assert get_affiliate(account, "present") == present
    for slug in ("deleted", "foreign", "PRESENT", ""):
        with pytest.raises(AffiliateNotFound):
            get_affiliate(account, slug)


def test_two_spellings_of_a_domain_are_one_address(account, other_account):
    typed, encoded = "a@MÜNCHEN.example", "a@xn--mnchen-3ya.example"
    affiliate = make_affiliate(account, email=typed)
    assert affiliate.email == typed
    with pytest.raises(DuplicateEmail):
        make_affiliate(account, email=encoded)
    for spelling in (typed, encoded):
        assert account.affiliates.with_email(spelling).get() == affiliate
        assert not other_account.affiliates.with_email(spelling).exists()
    make_affiliate(other_account, email=encoded)
