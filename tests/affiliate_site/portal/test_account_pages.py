"""The data of an affiliate as a file, and the end of the affiliate, in the portal."""

import json

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.services.notifications import NO_MAIL_BACKEND
from affiliate_site.portal_sessions import COOKIE
from payouts.services.payout_methods import set_payout_method
from tests.affiliate_site.portal.conftest import PASSWORD
from tracking.services.portal_settings import update_portal_settings
from tracking.services.portal_terms import accept_terms, publish_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")

CONFIRMED = {"old_password": PASSWORD}


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def test_downloads_own_data_without_what_staff_wrote(mina, account, portal, scenario):
    affiliate = scenario.mina.affiliate
    account.notes.create(affiliate=affiliate, note="zz-note")
    affiliate.update_row(meta_data={"tier": "zz-tier"})
    sale = scenario.create_conversion("200", external_id="zz-order")
    account.questions.create(
        affiliate=affiliate,
        public_id="qu_1",
        day=timezone.now().date(),
        text="Where is it?",
        answer="On its way.",
    )
    publish_terms(account, "Be kind.", at=timezone.now())
    accept_terms(affiliate, version=1, at=timezone.now())
    account.commissions.update(comment="zz-comment")
    set_payout_method(
        account,
        affiliate_id=affiliate.slug,
        kind="bank",
        details={"iban": "SI56191000000123438"},
        is_primary=True,
        at=timezone.now(),
    )
    url = f"{portal}profile/data/"
    assert f"The file has what {account.name} keeps about you" in read(mina.get(url))

    response = mina.post(url, CONFIRMED)

    name = f"my-data-{affiliate.slug}.json"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    data = json.loads(response.content)
    assert "zz-" not in response.content.decode()
    assert list(data) == [
        *("account", "exported_at", "id", "firstname", "lastname", "email", "company"),
        *("address", "created_at", "promotion_method", "language", "notices"),
        *("bounced_email", "invited_at", "signed_in_at", "deletion_asked_at"),
        *("custom_fields", "programs", "payout_methods"),
        *("postbacks", "tax_data", "opening_balances", "documents", "mails"),
        *("portal_sessions", "portal_links", "portal_addresses"),
        *("questions", "accepted_terms"),
        *("portal_applications", "commissions", "payments"),
    ]
    [question], [terms] = data["questions"], data["accepted_terms"]
    assert (question["text"], question["answer"]) == ("Where is it?", "On its way.")
    assert terms["text"] == "Be kind."
    assert data["payout_methods"][0]["details"] == {"iban": "SI56191000000123438"}
    [commission] = data["commissions"]
    row = scenario.get_commission(sale)
    assert commission["id"] == row.pk
    assert (commission["amount"], commission["status"]) == (20, "pending")


def test_the_file_needs_the_password(mina, portal):
    response = mina.post(f"{portal}profile/data/", {"old_password": "wrong"})
    assert "This is not your password." in read(response)


@pytest.mark.parametrize("confirmation", [" A mail confirms it to you.", ""])
def test_deletes_the_affiliate_and_signs_out(
    mina, account, portal, scenario, settings, confirmation
):
    if not confirmation:
        settings.EMAIL_BACKEND = NO_MAIL_BACKEND
    url = f"{portal}profile/delete/"
    page = read(mina.get(url))
    assert "Your links and coupons stop working, and you cannot sign in" in page
    assert "<button>Delete my account</button>" in page
    response = mina.post(url, {"old_password": "wrong"})
    assert "This is not your password." in read(response)

    response = mina.post(url, CONFIRMED)

    deleted = scenario.mina.affiliate.reload()
    assert deleted.deleted_at
    assert mina.get(f"{portal}profile/")["Location"] == f"{portal}sign-in/"
    day = account.get_day(deleted.deleted_at)
    for client in (mina, mina, Client()):  # it can be reloaded, without a sign-in
        page = read(client.get(response["Location"]))
        assert (
            f"Your affiliate account at {account.name} was deleted on {day:%-d %B %Y}."
            f"{confirmation}</p>"
        ) in page
        assert "keeps your data, your sales and your payments as long as" in page
    assert account.mails.filter(kind="deletion").exists() == bool(confirmation)


def test_the_end_is_in_the_language_of_the_affiliate(mina, portal, scenario):
    scenario.mina.affiliate.update_row(language="de")
    response = mina.post(f"{portal}profile/delete/", CONFIRMED, follow=True)
    assert "<h1>Ihr Konto ist gelöscht</h1>" in read(response)


def test_shows_no_end_of_what_goes_on(mina, other_account, portal, scenario):
    changes = {"is_on": True}
    update_portal_settings(other_account, changes=changes, at=timezone.now())
    session = mina.cookies[COOKIE].value
    with transaction.atomic():
        url = mina.post(f"{portal}profile/delete/", CONFIRMED)["Location"]
        transaction.set_rollback(True)
    mina.cookies[COOKIE] = session
    assert mina.get(url)["Location"] == portal
    for wrong in (f"{url[:-2]}/", url.replace("/harbor/", f"/{other_account.slug}/")):
        assert mina.get(wrong).status_code == 404


@pytest.mark.parametrize(
    ("page", "entries", "kind"),
    [
        (
            "questions/ask/",
            {"order_id": "1", "day": "2026-03-04", "text": "Why not?"},
            "question.asked",
        ),
        ("profile/delete/", CONFIRMED, "affiliate.deleted"),
        ("profile/edit/", {"firstname": "Ina", "lastname": "K"}, "affiliate.updated"),
    ],
)
def test_the_affiliate_is_the_actor(mina, account, portal, scenario, page, entries, kind):
    mina.post(f"{portal}{page}", entries)
    event = account.audit_log.get(kind=kind)
    assert event.actor == f"affiliate {scenario.mina.affiliate.log_id}"


def test_asks_the_company_while_money_is_open(mina, account, portal, scenario):
    scenario.create_conversion("200", at=timezone.now())
    url = f"{portal}profile/delete/"
    page = read(mina.get(url))
    assert "Money is still open: 20.00 EUR." in page
    assert "<button>Ask to delete my account</button>" in page

    answer = read(mina.post(url, CONFIRMED))

    asked_at = scenario.mina.affiliate.reload().deletion_asked_at
    for page in (answer, read(mina.get(url))):
        assert (
            f"On {account.get_day(asked_at):%-d %B %Y} you asked {account.name} to"
            " delete your account. They settle what is open first: 20.00 EUR."
        ) in page
        assert "delete my account</button>" not in page
        assert 'name="old_password"' not in page
    assert scenario.mina.affiliate.reload().deleted_at is None
    scenario.disapprove(account.commissions.get(), at=timezone.now())
    page = read(mina.get(url))
    assert "Nothing is open any more: you can delete it now." in page
    assert "<button>Delete my account</button>" in page
