"""Contract 2.7.2: affiliates join a program, and are approved or not."""

import re

import pytest

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, EnrolmentFactory, ProgramFactory
from tracking.errors import (
    AffiliateNotFound,
    AlreadyEnrolled,
    CouponTaken,
    ProgramIsLocked,
    UnknownAffiliate,
)
from tracking.services import enrolments
from tracking.services.enrolments import Entry, decide_on, enrol
from tracking.services.programs import archive, program_named


@pytest.fixture
def odette(account):
    return AffiliateFactory(
        account=account, slug="odettevarga", email="odette@notes.example.org"
    )


def joined(account, program, **entry):
    entry = {"affiliate_id": "odettevarga"} | entry
    return enrol(account, program=program, entry=Entry(**entry), at=NOW)


def archived(account, program):
    archive(account, slug=program.slug, at=NOW)
    return program_named(account, program.slug)


@pytest.mark.parametrize("approved", [True, False, None])
def test_adds_an_affiliate_to_a_program(account, program, odette, approved):
    enrolment = joined(account, program, approved=approved).again()

    assert enrolment.affiliate == odette
    assert enrolment.program == program
    assert enrolment.approved is approved
    assert enrolment.applied_at == NOW


def test_gives_a_code_of_seven_letters_and_digits(account, program, odette):
    enrolment = joined(account, program)

    code = account.referral_codes.get()
    assert code.enrolment == enrolment
    assert re.fullmatch("[a-z0-9]{7}", code.code)


def test_draws_again_when_a_code_is_taken(account, program, odette, monkeypatch):
    EnrolmentFactory(account=account, code="taken00")
    drawn = iter(["taken00", "taken00", "free000"])
    monkeypatch.setattr(enrolments, "random_text", lambda *how: next(drawn))

    enrolment = joined(account, program)

    assert account.referral_codes.get(enrolment=enrolment).code == "free000"


@pytest.mark.parametrize(
    "email", ["odette@notes.example.org", "ODETTE@Notes.example.ORG"]
)
def test_finds_the_affiliate_by_address_in_any_case(account, program, odette, email):
    enrolment = joined(account, program, affiliate_id=None, email=email)

    assert enrolment.affiliate == odette


@pytest.mark.parametrize(
    "entry",
    [
        {"affiliate_id": "unknown"},
        {"affiliate_id": "OdetteVarga"},
        {"affiliate_id": "foreign"},
        {"affiliate_id": "removed"},
        {"affiliate_id": None, "email": "unknown@notes.example.org"},
        {"affiliate_id": None, "email": "foreign@notes.example.org"},
        {"affiliate_id": None, "email": "removed@notes.example.org"},
        {"affiliate_id": None},
    ],
    ids=[
        "unknown",
        "another-case",
        "foreign",
        "removed",
        "unknown-address",
        "foreign-address",
        "removed-address",
        "nobody",
    ],
)
def test_does_not_add_whom_the_account_does_not_have(
    account, other_account, program, odette, entry
):
    for owner, name, removed_at in (
        (account, "removed", NOW),
        (other_account, "foreign", None),
    ):
        AffiliateFactory(
            account=owner,
            slug=name,
            email=f"{name}@notes.example.org",
            removed_at=removed_at,
        )

    with pytest.raises(UnknownAffiliate):
        joined(account, program, **entry)

    assert account.enrolments.count() == 0


def test_adds_an_affiliate_to_a_program_once(account, program, odette):
    joined(account, program)

    with pytest.raises(AlreadyEnrolled):
        joined(account, program, coupon="ODETTE10")

    assert account.enrolments.count() == account.referral_codes.count() == 1
    assert account.coupons.count() == 0
    assert account.events.count() == 1


def test_adds_an_affiliate_to_several_programs(account, program, odette):
    first = joined(account, program)
    second = joined(account, ProgramFactory(account=account))

    codes = account.referral_codes
    assert codes.get(enrolment=first).code != codes.get(enrolment=second).code


def test_refuses_a_coupon_that_is_taken_in_the_account(account, program, odette):
    joined(account, program, coupon="ODETTE10")

    with pytest.raises(CouponTaken):
        joined(account, ProgramFactory(account=account), coupon="ODETTE10")

    assert account.enrolments.count() == account.referral_codes.count() == 1


def test_tells_coupons_of_another_case_apart(account, program, odette):
    joined(account, program, coupon="ODETTE10")
    joined(account, ProgramFactory(account=account), coupon="odette10")

    assert account.coupons.count() == 2


def test_does_not_mind_a_coupon_of_another_account(
    account, other_account, program, odette
):
    foreign = ProgramFactory(account=other_account)
    AffiliateFactory(account=other_account, slug="odettevarga")
    joined(other_account, foreign, coupon="ODETTE10")

    joined(account, program, coupon="ODETTE10")

    assert account.coupons.get().code == "ODETTE10"


def test_adds_nobody_to_an_archived_program(account, program, odette):
    with pytest.raises(ProgramIsLocked):
        joined(account, archived(account, program))

    assert account.enrolments.count() == 0


def test_refuses_the_request_before_the_state_of_the_program(account, program, odette):
    joined(account, program, coupon="ODETTE10")
    AffiliateFactory(account=account, slug="rival")
    locked = archived(account, program)

    with pytest.raises(UnknownAffiliate):
        joined(account, locked, affiliate_id="unknown")
    with pytest.raises(AlreadyEnrolled):
        joined(account, locked)
    with pytest.raises(CouponTaken):
        joined(account, locked, affiliate_id="rival", coupon="ODETTE10")
    with pytest.raises(ProgramIsLocked):
        joined(account, locked, affiliate_id="rival")


def test_writes_into_the_diary_who_was_added(account, program, odette):
    joined(account, program, approved=None, coupon="ODETTE10")

    event = account.events.get()
    assert event.kind == "affiliate.added_to_program"
    assert event.subject == "affiliate:odettevarga"
    assert event.facts == {"program": "harbor-lamp-partners", "approved": None}


# Approval


def decided(account, program, approved, affiliate_id="odettevarga"):
    return decide_on(
        account, program=program, affiliate_id=affiliate_id, approved=approved, at=NOW
    )


@pytest.mark.parametrize("before", [True, False, None])
@pytest.mark.parametrize("approved", [True, False])
def test_moves_from_any_approval_to_the_one_asked(
    account, program, odette, before, approved
):
    enrolment = joined(account, program, approved=before)

    returned = decided(account, program, approved)

    assert returned.approved is enrolment.again().approved is approved


@pytest.mark.parametrize(
    ("approved", "kind"),
    [(True, "affiliate.approved"), (False, "affiliate.disapproved")],
)
def test_writes_one_line_however_often_it_is_asked(
    account, program, odette, approved, kind
):
    joined(account, program, approved=None)

    for _ in range(3):
        decided(account, program, approved)

    event = account.events.exclude(kind="affiliate.added_to_program").get()
    assert event.kind == kind
    assert event.subject == "affiliate:odettevarga"
    assert event.facts == {"program": "harbor-lamp-partners", "was": None}


def test_leaves_other_programs_of_the_affiliate_alone(account, program, odette):
    elsewhere = joined(account, ProgramFactory(account=account), approved=None)
    joined(account, program, approved=None)

    decided(account, program, True)

    assert elsewhere.again().approved is None


@pytest.mark.parametrize("before", [True, None])
def test_decides_on_nobody_in_an_archived_program(account, program, odette, before):
    enrolment = joined(account, program, approved=before)
    locked = archived(account, program)

    with pytest.raises(ProgramIsLocked):
        decided(account, locked, True)

    assert enrolment.again().approved is before


@pytest.mark.parametrize("affiliate_id", ["unknown", "removed", "elsewhere"])
def test_decides_on_members_alone(account, program, affiliate_id):
    removed = AffiliateFactory(account=account, slug="removed", removed_at=NOW)
    EnrolmentFactory(account=account, program=program, affiliate=removed)
    elsewhere = AffiliateFactory(account=account, slug="elsewhere")
    EnrolmentFactory(account=account, affiliate=elsewhere)

    with pytest.raises(AffiliateNotFound):
        decided(account, program, True, affiliate_id)
