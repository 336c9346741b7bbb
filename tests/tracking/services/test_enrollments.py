"""Enrollments and their approval (docs/api-contract.md, section 2.7.2)."""

import re

import pytest

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, EnrollmentFactory, ProgramFactory
from tracking.errors import AffiliateNotFound
from tracking.services import referral_codes
from tracking.services.enrollments import (
    EnrollmentData,
    create_enrollment,
    set_approval,
)


@pytest.fixture
def odette(account):
    return AffiliateFactory(account=account, slug="odettevarga", email="odette@notes.example.org")


def make_enrollment(account, program, **fields):
    fields = {"affiliate_id": "odettevarga"} | fields
    return create_enrollment(account, program=program, data=EnrollmentData(**fields), at=NOW)


@pytest.mark.parametrize("approved", [True, False, None])
def test_adds_an_affiliate_to_a_program(account, program, odette, approved):
    enrollment = make_enrollment(account, program, approved=approved).reload()

    assert enrollment.affiliate == odette
    assert enrollment.program == program
    assert enrollment.approved is approved
    assert enrollment.applied_at == NOW


def test_creates_a_code_of_seven_letters_and_digits(account, program, odette):
    enrollment = make_enrollment(account, program)

    code = account.referral_codes.get()
    assert code.enrollment == enrollment
    assert re.fullmatch("[a-z0-9]{7}", code.code)


def test_generates_another_code_if_one_is_taken(account, program, odette, monkeypatch):
    EnrollmentFactory(account=account, code="taken00")
    codes = iter(["taken00", "taken00", "free000"])
    monkeypatch.setattr(referral_codes, "generate_random_text", lambda *args: next(codes))

    enrollment = make_enrollment(account, program)

    assert account.referral_codes.get(enrollment=enrollment).code == "free000"


def test_adds_an_affiliate_to_several_programs(account, program, odette):
    first = make_enrollment(account, program)
    second = make_enrollment(account, ProgramFactory(account=account))

    codes = account.referral_codes
    assert codes.get(enrollment=first).code != codes.get(enrollment=second).code


def test_coupons_are_case_sensitive(account, program, odette):
    make_enrollment(account, program, coupon="ODETTE10")
    make_enrollment(account, ProgramFactory(account=account), coupon="odette10")

    assert account.coupons.count() == 2


def test_allows_a_coupon_of_another_account(account, other_account, program, odette):
    foreign = ProgramFactory(account=other_account)
    AffiliateFactory(account=other_account, slug="odettevarga")
    make_enrollment(other_account, foreign, coupon="ODETTE10")

    make_enrollment(account, program, coupon="ODETTE10")

    assert account.coupons.get().code == "ODETTE10"


def test_logs_the_enrollment(account, program, odette):
    make_enrollment(account, program, approved=None, coupon="ODETTE10")

    event = account.audit_log.get()
    assert event.kind == "affiliate.added_to_program"
    assert event.subject == f"affiliate:{odette.log_id}"
    assert event.details == {"program": "harbor-lamp-partners", "approved": None}


# Approval


def apply_approval(account, program, approved, affiliate_id="odettevarga"):
    return set_approval(
        account, program=program, affiliate_id=affiliate_id, approved=approved, at=NOW
    )


@pytest.mark.parametrize(
    ("approved", "kind"),
    [(True, "affiliate.approved"), (False, "affiliate.disapproved")],
)
def test_logs_repeated_approvals_once(account, program, odette, approved, kind):
    make_enrollment(account, program, approved=None)

    for _ in range(3):
        apply_approval(account, program, approved)

    event = account.audit_log.exclude(kind="affiliate.added_to_program").get()
    assert event.kind == kind
    assert event.subject == f"affiliate:{odette.log_id}"
    assert event.details == {
        "program": "harbor-lamp-partners",
        "previous_approved": None,
    }


def test_approval_does_not_change_other_enrollments(account, program, odette):
    elsewhere = make_enrollment(account, ProgramFactory(account=account), approved=None)
    make_enrollment(account, program, approved=None)

    apply_approval(account, program, True)

    assert elsewhere.reload().approved is None


@pytest.mark.parametrize("affiliate_id", ["unknown", "deleted", "elsewhere"])
def test_rejects_an_approval_without_enrollment(account, program, affiliate_id):
    deleted = AffiliateFactory(account=account, slug="deleted", deleted_at=NOW)
    EnrollmentFactory(account=account, program=program, affiliate=deleted)
    elsewhere = AffiliateFactory(account=account, slug="elsewhere")
    EnrollmentFactory(account=account, affiliate=elsewhere)

    with pytest.raises(AffiliateNotFound):
        apply_approval(account, program, True, affiliate_id)
