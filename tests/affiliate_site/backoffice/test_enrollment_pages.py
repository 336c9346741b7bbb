"""Forms of affiliates in programs."""

import pytest
from django.urls import reverse

from accounts.services.webhooks import create_webhook
from tests.affiliate_site.backoffice.form_values import get_form_values, get_version
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import (
    AffiliateFactory,
    CouponFactory,
    EnrollmentFactory,
    ProgramFactory,
)
from tracking.services.affiliates import PersonData, delete_affiliate
from tracking.services.programs import archive_program
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

ADD_URL = "/admin/tracking/enrollment/add/"
NAMES = ("approve", "disapprove", "reset", "codes")


def page_url(name, enrollment):
    return reverse(f"admin:tracking_enrollment_{name}", args=[enrollment.pk])


def program_url(affiliate):
    return reverse("admin:tracking_affiliate_program", args=[affiliate.pk])


@pytest.fixture
def hana(account):
    return AffiliateFactory(account=account, slug="hanakim")


@pytest.fixture
def enrollment(account, program, hana):
    return EnrollmentFactory(
        account=account, program=program, affiliate=hana, approved=None, code="hana-1"
    )


@pytest.mark.parametrize(
    ("approval", "is_auto_approved", "expected"),
    [
        ("", True, True),
        ("", False, None),
        ("approved", False, True),
        ("pending", True, None),
    ],
)
def test_adds_an_affiliate_to_a_program(
    account, staff_client, program, hana, approval, is_auto_approved, expected
):
    create_webhook(account, url="https://shop.example.net/hook", at=NOW)
    program.update_row(auto_approve_affiliates=is_auto_approved)
    sent = {"program": program.pk, "approval": approval, "coupon": "HANA10"}

    response = staff_client("manager").post(program_url(hana), sent, follow=True)

    enrollment = account.enrollments.get()
    assert (enrollment.affiliate, enrollment.approved) == (hana, expected)
    assert account.coupons.get().code == "HANA10"
    assert account.deliveries.get().event.kind == "affiliate.added_to_program"
    assert "Added to Harbor Lamp Partners" in response.content.decode()


def test_adds_a_searched_affiliate_to_a_program(account, staff_client, program, hana):
    sent = {"affiliate": hana.pk, "program": program.pk}
    client = staff_client("manager")

    assert client.post(ADD_URL, sent).status_code == 302
    assert account.enrollments.get().affiliate == hana
    again = client.post(ADD_URL, sent)

    assert "already in this program" in str(again.context["form"].errors["affiliate"])


def test_offers_programs_that_the_affiliate_can_enter(account, staff_client, program, enrollment):
    archived = ProgramFactory(account=account, slug="archived")
    archive_program(account, slug="archived", at=NOW)
    free = ProgramFactory(account=account)
    client, url = staff_client(), program_url(enrollment.affiliate)

    choices = client.get(url).context["form"].fields["program"].queryset

    assert list(choices) == [free]
    for refused in (program, archived):
        response = client.post(url, {"program": refused.pk})
        assert "valid choice" in str(response.context["form"].errors["program"])


def test_adds_and_removes_further_codes(account, staff_client, enrollment):
    client, url = staff_client("manager"), page_url("codes", enrollment)
    sent = get_form_values(client, url)

    client.post(url, sent | {"aliases": "old-hana\r\n\r\nhana.2019\r\nold-hana"})

    sent = get_form_values(client, url)
    assert sent["aliases"].split() == ["hana.2019", "old-hana"]
    page = client.get(
        reverse("admin:tracking_affiliate_change", args=[enrollment.affiliate_id]),
        {"tab": "programs"},
    ).content.decode()
    assert "Further codes</dt><dd><code>hana.2019</code>, <code>old-hana</code>" in page
    client.post(url, sent | {"aliases": ""})
    assert not account.referral_code_aliases.exists()
    assert account.referral_codes.get().code == "hana-1"


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"coupon": "x" * 65}, "coupon", "64 characters at most"),
        ({"coupon": "TAKEN"}, "coupon", "is already in use: {owner} has it"),
        ({"coupon": "taken"}, "coupon", "TAKEN is a coupon of {owner}; pages find"),
        ({"approval": "forged"}, "approval", "valid choice"),
        ({"program": ""}, "program", "required"),
        ({"program": "x"}, "program", "valid choice"),
    ],
)
def test_shows_a_refusal_beside_its_field(
    account, staff_client, program, hana, changed, field, text
):
    coupon = CouponFactory(account=account, code="TAKEN")
    owner = f"{coupon.enrollment.affiliate} in {coupon.enrollment.program.title}"
    before = account.enrollments.count()

    response = staff_client().post(
        program_url(hana), {"program": program.pk, "coupon": "NEW"} | changed
    )

    text = text.format(owner=owner)
    assert text in str(response.context["form"].errors[field])
    assert account.enrollments.count() == before
    assert account.coupons.count() == 1


@pytest.mark.parametrize(
    ("name", "before", "after", "kind"),
    [
        ("approve", None, True, "affiliate.approved"),
        ("approve", False, True, "affiliate.approved"),
        ("disapprove", True, False, "affiliate.disapproved"),
        ("reset", True, None, "enrollment.reset_to_pending"),
    ],
)
def test_decides_about_an_affiliate(account, staff_client, enrollment, name, before, after, kind):
    enrollment.update_row(approved=before)
    client, url = staff_client("manager"), page_url(name, enrollment)
    assert client.get(url).status_code == 200

    response = client.post(url)

    enrollment.refresh_from_db()
    assert enrollment.approved is after
    assert account.audit_log.filter(kind=kind).count() == 1
    page = reverse("admin:tracking_affiliate_change", args=[enrollment.affiliate.pk])
    assert response["Location"] == f"{page}?tab=programs"
    assert "not possible" in client.post(url, follow=True).content.decode()


def test_says_that_disapproving_is_the_way_out(staff_client, enrollment):
    page = staff_client().get(page_url("disapprove", enrollment)).content.decode()

    assert "This is the way out of a program" in page
    assert "Disapprove: hanakim in Harbor Lamp Partners" in page


def test_changes_coupon_and_referral_code(account, staff_client, enrollment):
    client, url = staff_client("manager"), page_url("codes", enrollment)
    sent = get_form_values(client, url)
    assert sent["referral_code"] == "hana-1"

    client.post(url, sent | {"coupon": "HANA10"})
    assert account.coupons.get().code == "HANA10"
    sent = get_form_values(client, url)
    response = client.post(url, sent | {"coupon": "", "referral_code": "hana_2"})

    assert response.status_code == 302
    assert not account.coupons.exists()
    assert account.referral_codes.get().code == "hana_2"
    entries = account.audit_log.filter(kind="enrollment.updated").order_by("id")
    assert [entry.details for entry in entries] == [
        {"fields": ["coupon"]},
        {"fields": ["coupon", "referral_code"]},
    ]


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"coupon": "x" * 65}, "coupon", "64 characters at most"),
        ({"coupon": "TAKEN"}, "coupon", "is already in use: {owner} has it"),
        ({"coupon": "taken"}, "coupon", "TAKEN is a coupon of {owner}; pages find"),
        ({"aliases": "fine\na b"}, "aliases", "a b is not valid: a code has 1 to 64"),
        ({"aliases": "fine\ntaken"}, "aliases", "code taken is already in use"),
        ({"aliases": "pia"}, "aliases", "code pia is already in use"),
        ({"referral_code": "taken"}, "referral_code", "in use: {owner} has it"),
        ({"referral_code": "pia"}, "referral_code", "the prospect Pia Lang has it"),
        ({"referral_code": "a b c"}, "referral_code", "not valid"),
        ({"referral_code": "ab"}, "referral_code", "3 characters at least"),
        ({"referral_code": ""}, "referral_code", "required"),
    ],
)
def test_refuses_codes_and_keeps_the_present_ones(
    account, staff_client, enrollment, changed, field, text
):
    other = EnrollmentFactory(account=account, code="taken")
    CouponFactory(account=account, enrollment=other, code="TAKEN")
    data = ProspectData(PersonData("Pia", "Lang"), program_id=other.program.slug)
    prospect = create_prospect(account, data=data, at=NOW)
    account.referral_codes.filter(prospect=prospect).update(code="pia")
    owner = f"{other.affiliate} in {other.program.title}"
    sent = {"coupon": "NEW", "referral_code": "hana-1"} | changed

    client, url = staff_client(), page_url("codes", enrollment)
    response = client.post(url, sent | get_version(client, url))

    text = text.format(owner=owner)
    assert text in str(response.context["form"].errors[field])
    assert not account.coupons.filter(enrollment=enrollment).exists()
    assert account.referral_codes.get(enrollment=enrollment).code == "hana-1"


def test_a_coupon_can_change_its_case_or_be_that_of_another_account(
    account, staff_client, enrollment
):
    CouponFactory(account=account, enrollment=enrollment, code="HANA10")
    CouponFactory(account=AccountFactory(), code="HANA11")
    client, url = staff_client(), page_url("codes", enrollment)
    for coupon in ("hana10", "hana11"):
        sent = {"coupon": coupon, "referral_code": "hana-1"}
        client.post(url, sent | get_version(client, url))

        assert account.coupons.get().code == coupon


def test_archived_programs_and_removed_affiliates_change_nothing(
    account, staff_client, program, enrollment, subtests
):
    client = staff_client()
    for prepare in (
        lambda: archive_program(account, slug=program.slug, at=NOW),
        lambda: delete_affiliate(account, affiliate_id="hanakim", at=NOW),
    ):
        prepare()
        for name in NAMES:
            with subtests.test(name=name):
                response = client.post(page_url(name, enrollment), follow=True)
                assert "not possible in this state" in response.content.decode()
        program.update_row(archived_at=None)
    enrollment.refresh_from_db()
    assert enrollment.approved is None
