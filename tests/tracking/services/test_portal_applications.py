"""Applications by the portal: confirmed by a link, once, and mailed alike to all."""

import re
from datetime import timedelta

import pytest

from accounts.errors import InvalidSetting
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, ProgramFactory
from tracking.errors import (
    AddressTaken,
    AlreadyApplied,
    ApplicationExpired,
    ProgramClosed,
    TermsChanged,
)
from tracking.services.affiliates import update_affiliate
from tracking.services.custom_fields import create_custom_field
from tracking.services.enrollments import set_approval, update_enrollment
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.portal_access import (
    delete_expired_portal_rows,
    set_portal_password,
)
from tracking.services.portal_addresses import calculate_address_digest
from tracking.services.portal_applications import (
    APPLICATION_LIFETIME,
    MAIL_WINDOW,
    MAX_MAILS_PER_WINDOW,
    ApplicationData,
    apply_for_program,
    confirm_application,
    send_application,
)
from tracking.services.portal_profiles import get_portal_state, set_notices
from tracking.services.portal_settings import update_portal_settings
from tracking.services.portal_terms import (
    accept_terms,
    find_unaccepted_terms,
    get_terms,
    list_acceptances,
)
from tracking.services.programs import archive_program

EMAIL = "nora@weld.example.org"
NORA = ApplicationData(email=EMAIL, firstname="Nora", lastname="Weld", country="DE")


@pytest.fixture
def program(account):
    update_portal_settings(account, changes={"is_on": True, "is_open": True}, at=NOW)
    return ProgramFactory(account=account, slug="lamps", title="Harbor Lamps")


def send(
    account, *, data=NORA, at=NOW, terms_version=None, slug="lamps", language="en", address=""
):
    """Apply; returns the token in the mail."""
    send_application(
        account,
        program_slug=slug,
        data=data,
        language=language,
        terms_version=terms_version,
        address=address,
        at=at,
    )
    found = re.search(r"/apply/([^/]+)/", account.mails.order_by("-pk").first().text)
    return found and found[1]


def test_mails_a_link(account, program):
    token = send(account)
    mail = account.mails.get()
    assert (mail.recipient, mail.subject) == (
        EMAIL,
        f"Your application to {account.name}",
    )
    assert mail.text == (
        "Hello,\n\nYou want to take part in the program Harbor Lamps of"
        f" {account.name}. Confirm it within 24 hours at this address:\n"
        f"http://127.0.0.1:8000/partners/{account.slug}/apply/{token}/\n\n"
        "If you did not expect this mail, ignore it.\n"
    )


def test_creates_an_affiliate_once_it_is_confirmed(account, program):
    create_custom_field(account, slug="site", title="Site", type="url", at=NOW)
    data = ApplicationData(
        email=EMAIL,
        firstname="Nora",
        lastname="Weld",
        company="Weld",
        custom_fields={"site": "https://weld.example.org", "gone": "x"},
    )
    token = send(account, data=data)
    assert not account.affiliates.exists()
    at = NOW + timedelta(hours=1)
    password_token = confirm_application(account, token, at=at)
    affiliate = account.affiliates.get()
    assert (affiliate.firstname, affiliate.lastname) == ("Nora", "Weld")
    assert (affiliate.email, affiliate.company_name) == (EMAIL, "Weld")
    assert (affiliate.country, affiliate.language) == (None, "en")
    assert affiliate.custom_fields == {"site": "https://weld.example.org"}
    assert account.enrollments.get().approved is None
    assert set_portal_password(account, password_token, password="lamps-at-sea", at=at)
    kinds = account.audit_log.filter(actor=f"affiliate {affiliate.log_id}")
    assert set(kinds.values_list("kind", flat=True)) == {
        "affiliate.applied",
        "affiliate.added_to_program",
        "affiliate.password_set",
    }
    assert account.mails.get().affiliate == affiliate


def test_the_address_of_an_application_is_that_which_opened_the_account(account, program):
    token = send(account, address="192.88.99.7")
    assert not account.portal_addresses.exists()
    confirm_application(account, token, at=NOW + timedelta(hours=1))
    address = account.portal_addresses.get()
    assert (address.affiliate, address.opened_account) == (account.affiliates.get(), True)
    assert address.digest == calculate_address_digest(account, "192.88.99.7")
    assert (address.first_used_at, address.last_used_at) == (NOW, NOW)


def test_approves_at_once_where_the_program_does(account, program):
    program.update_row(auto_approve_affiliates=True)
    confirm_application(account, send(account), at=NOW)
    assert account.enrollments.get().approved is True
    mail = account.mails.get(kind="enrollment")
    assert mail.recipient == EMAIL


def test_a_link_works_once_and_not_for_long(account, program):
    token = send(account)
    with pytest.raises(ApplicationExpired):
        confirm_application(account, token, at=NOW + APPLICATION_LIFETIME)
    confirm_application(account, token, at=NOW)
    for wrong in (token, "x"):
        with pytest.raises(ApplicationExpired):
            confirm_application(account, wrong, at=NOW)


def test_says_that_the_address_was_taken_meanwhile(account, program):
    token = send(account)
    AffiliateFactory(account=account, email=EMAIL.upper(), email_folded=EMAIL)
    for _ in range(2):
        with pytest.raises(AddressTaken):
            confirm_application(account, token, at=NOW)
    assert account.affiliates.count() == 1


def test_mails_an_affiliate_something_else_by_the_same_statements(
    account, program, django_assert_num_queries
):
    affiliate = AffiliateFactory(account=account, email="a@b.example")
    affiliate.update_row(email_folded="a@b.example")
    with django_assert_num_queries(13):
        send(account)
    known = ApplicationData(email="A@b.example", firstname="Nora", lastname="Weld")
    with django_assert_num_queries(13):
        assert send(account, data=known) is None
    mail = account.mails.get(affiliate=affiliate)
    assert mail.recipient == "A@b.example"
    assert f"/partners/{account.slug}/sign-in/" in mail.text


def test_mails_an_address_a_few_times_only(account, program):
    for _ in range(MAX_MAILS_PER_WINDOW + 2):
        send(account)
    assert account.mails.count() == MAX_MAILS_PER_WINDOW
    send(account, at=NOW + MAIL_WINDOW)
    assert account.mails.count() == MAX_MAILS_PER_WINDOW + 1


@pytest.mark.parametrize("reason", ["closed", "archived", "unknown", "invalid"])
def test_closed_programs_take_nobody(account, program, reason):
    slug = {"unknown": "boats", "invalid": "\0"}.get(reason, "lamps")
    affiliate = AffiliateFactory(account=account)
    if reason == "closed":
        update_portal_settings(account, changes={"is_open": False}, at=NOW)
    if reason == "archived":
        token = send(account)
        archive_program(account, slug=program.slug, at=NOW)
        with pytest.raises(ProgramClosed):
            confirm_application(account, token, at=NOW)
    with pytest.raises(ProgramClosed):
        send(account, slug=slug)
    with pytest.raises(ProgramClosed):
        apply_for_program(affiliate, program_slug=slug, terms_version=None, at=NOW)


def test_an_affiliate_applies_once(account, program):
    affiliate = AffiliateFactory(account=account)
    arguments = {"program_slug": "lamps", "terms_version": None, "at": NOW}
    assert apply_for_program(affiliate, **arguments).approved is None
    with pytest.raises(AlreadyApplied):
        apply_for_program(affiliate, **arguments)
    assert account.enrollments.count() == 1


# Terms


def publish(account, text):
    update_portal_settings(account, changes={"terms": text}, at=NOW)


def test_terms_have_versions(account):
    for text in ("", "Be fair.", "Be fair.\r\n", "Be kind.", ""):
        publish(account, text)
    texts = account.portal_terms.order_by("version").values_list("version", "text")
    assert list(texts) == [(1, "Be fair."), (2, "Be kind."), (3, "")]
    assert get_terms(account) is None


def test_records_which_terms_an_applicant_accepted_and_when(account, program):
    publish(account, "Be fair.")
    for version in (None, 2):
        with pytest.raises(TermsChanged):
            send(account, terms_version=version)
    token = send(account, terms_version=1)
    publish(account, "Be kind.")
    confirm_application(account, token, at=NOW + timedelta(hours=2))
    affiliate = account.affiliates.get()
    state = get_portal_state(affiliate)
    assert (state.terms_version, state.terms_accepted_at) == (1, NOW)
    assert find_unaccepted_terms(affiliate).version == 2
    with pytest.raises(TermsChanged):
        accept_terms(affiliate, version=1, at=NOW)
    for _ in range(2):
        accept_terms(affiliate, version=2, at=NOW)
    assert find_unaccepted_terms(affiliate) is None
    assert account.terms_acceptances.count() == 2
    logged = account.audit_log.filter(kind="affiliate.terms_accepted").order_by("id")
    subject, later = f"affiliate:{affiliate.log_id}", NOW + timedelta(hours=2)
    assert list(logged.values_list("subject", "details", "created_at")) == [
        (subject, {"version": 1}, later),
        (subject, {"version": 2}, NOW),
    ]


TEXTS = {"de": "Seien Sie fair.", "fr": "\n"}


def test_terms_have_a_text_per_language(account, program):
    changes = {"terms": "Be fair.", "translations": TEXTS}
    for _ in range(2):  # nothing has changed
        update_portal_settings(account, changes=changes, at=NOW)
    terms = get_terms(account)
    assert (terms.version, terms.translations) == (1, {"de": "Seien Sie fair."})
    assert terms.get_text("fr") == terms.get_text("") == "Be fair."
    publish(account, "Be kind.")
    terms = get_terms(account)
    assert (terms.version, terms.get_text("de")) == (2, "Seien Sie fair.")
    changes = {"terms": "Be kind.", "translations": {}}
    update_portal_settings(account, changes=changes, at=NOW)
    assert get_terms(account).get_text("de") == "Be kind."


def test_terms_in_some_languages_only_are_refused(account):
    changes = {"terms": "", "translations": TEXTS}
    with pytest.raises(InvalidSetting, match="written for all other languages"):
        update_portal_settings(account, changes=changes, at=NOW)
    assert get_terms(account) is None


@pytest.mark.parametrize(
    ("language", "kept", "text"),
    [("de", "de", "Seien Sie fair."), ("es", "", "Be fair.")],
)
def test_records_the_language_that_was_accepted(account, program, language, kept, text):
    """Later versions and texts change nothing about it."""
    changes = {"terms": "Be fair.", "translations": TEXTS}
    update_portal_settings(account, changes=changes, at=NOW)
    token = send(account, terms_version=1, language=language)
    confirm_application(account, token, at=NOW)
    affiliate = account.affiliates.get()
    publish(account, "Be kind.")
    accept_terms(affiliate, version=2, language="xx", at=NOW)

    newer, first = list_acceptances(affiliate)

    assert (first.terms.version, first.language, first.text) == (1, kept, text)
    assert first.label == (f"1 ({kept})" if kept else "1")
    assert (newer.language, newer.text) == ("", "Be kind.")
    assert get_portal_state(affiliate).terms_language == ""


def test_an_affiliate_accepts_the_terms_when_applying(account, program):
    publish(account, "Be fair.")
    affiliate = AffiliateFactory(account=account)
    with pytest.raises(TermsChanged):
        apply_for_program(affiliate, program_slug="lamps", terms_version=None, at=NOW)
    apply_for_program(affiliate, program_slug="lamps", terms_version=1, at=NOW)
    assert get_portal_state(affiliate).terms_version == 1


# Mail about decisions


@pytest.fixture
def nora(account, program):
    confirm_application(account, send(account), at=NOW)
    affiliate = account.affiliates.get()
    affiliate.update_row(language="en")
    return affiliate


def decide(account, program, affiliate, approved, *, hours=1):
    return set_approval(
        account,
        program=program,
        affiliate_id=affiliate.slug,
        approved=approved,
        at=NOW + timedelta(hours=hours),
    )


def list_texts(account):
    mails = account.mails.filter(kind="enrollment").order_by("pk")
    return list(mails.values_list("recipient", "subject", "text"))


def test_mails_each_decision_once(account, program, nora):
    program.update_row(landing_page="https://harbor.example.org/?a=1")
    for hours, approved in enumerate((True, True, False, True)):
        decide(account, program, nora, approved, hours=hours)
    name, code = account.name, account.referral_codes.get(enrollment__affiliate=nora).code
    approval = (
        EMAIL,
        "You take part in Harbor Lamps",
        f"Hello Nora,\n\n{name} has approved you for the program Harbor Lamps. Your"
        " link is here:\n"
        f"https://harbor.example.org/?a=1&ref={code}\n\n"
        f"All your links are at http://127.0.0.1:8000/partners/{account.slug}/links/\n",
    )
    refusal = (
        EMAIL,
        "About your application for Harbor Lamps",
        "Hello Nora,\n\nYou do not take part in the program Harbor Lamps.\nIf you have"
        f" questions, write to {name}.\n",
    )
    assert list_texts(account) == [approval, refusal, approval]


def test_mails_no_return_to_pending(account, program, nora):
    decide(account, program, nora, approved=True)
    update_enrollment(
        account,
        program=program,
        affiliate_id=nora.slug,
        changes={"approved": None},
        at=NOW,
    )
    assert len(list_texts(account)) == 1


@pytest.mark.parametrize("reason", ["off", "unwanted", "no mail server", "no address"])
def test_mails_no_decision_where_nobody_reads_it(account, program, nora, settings, reason):
    if reason == "off":
        update_portal_settings(account, changes={"is_on": False}, at=NOW)
    elif reason == "unwanted":
        set_notices(nora, {"approved": False})
    elif reason == "no address":
        nora.update_row(email=None, email_folded=None)
    else:
        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert decide(account, program, nora, approved=True).approved is True
    assert list_texts(account) == []


# Retention


def test_keeps_no_link_in_a_mail_that_was_sent(account, program):
    send(account)
    mail = claim_mail(account, due_before=NOW)
    record_mail_result(mail, MailResult(), at=NOW)
    assert account.mails.get().text == ""


def test_forgets_who_did_not_confirm(account, program):
    send(account)
    at = NOW + APPLICATION_LIFETIME
    for is_dry, count in ((True, 2), (False, 2), (False, 0)):
        assert delete_expired_portal_rows(account, at=at, dry_run=is_dry) == count
    assert not account.mails.exists()


def test_keeps_the_mail_of_who_confirmed(account, program):
    confirm_application(account, send(account), at=NOW)
    at = NOW + APPLICATION_LIFETIME
    assert delete_expired_portal_rows(account, at=at, dry_run=False) == 1
    assert account.mails.count() == 1


def test_another_address_ends_applications_under_the_former_one(account, other_account, program):
    """An erasure of the affiliate would not find them."""
    affiliate = confirm_application(account, send(account), at=NOW)
    for owner in (account, other_account):
        if owner is other_account:
            changes = {"is_on": True, "is_open": True}
            update_portal_settings(owner, changes=changes, at=NOW)
            ProgramFactory(account=owner, slug="lamps", title="Harbor Lamps")
            send(owner)
        assert owner.portal_applications.filter(email=EMAIL).exists()

    changes = {"email": "n@new.example.org"}
    slug = account.affiliates.get().slug
    update_affiliate(account, affiliate_id=slug, changes=changes, at=NOW)

    assert affiliate is not None
    assert not account.portal_applications.exists()
    assert other_account.portal_applications.exists()
