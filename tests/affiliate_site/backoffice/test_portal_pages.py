"""The settings of the portal, and invitations of affiliates to it."""

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from affiliate_site.backoffice.formatters import format_datetime
from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import list_messages
from tests.conftest import NOW
from tests.portal_sessions import find_signed_in
from tests.program_scenario import ProgramScenario
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import (
    get_portal_settings,
    set_portal_host,
    update_portal_settings,
)
from tracking.services.portal_terms import accept_terms, get_terms, publish_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")

EMAIL = "mina@notes.example.org"


@pytest.fixture
def url():
    return reverse("admin:portal_settings")


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_switches_the_portal_on(staff_client, account, url, role):
    client = staff_client(role)
    page = client.get(url)
    assert f"/partners/{account.slug}/" in page.content.decode()
    entries = {"is_on": "on", "welcome_text": "Hello\nyou", "order_ids": "none"}
    response = client.post(url, get_form(client, url) | entries, follow=True)
    assert list_messages(response) == ["The settings were saved."]
    settings = get_portal_settings(account)
    assert (settings.is_on, settings.is_open, settings.order_ids) == (
        True,
        False,
        "none",
    )
    assert settings.welcome_text.splitlines() == ["Hello", "you"]


def test_a_portal_has_an_address_to_write_to(staff_client, account, url):
    client = staff_client()
    for entry, stored in (("us@harbor.example", "us@harbor.example"), ("", None)):
        client.post(url, get_form(client, url) | {"contact_email": entry})
        assert get_portal_settings(account).contact_email == stored
    page = client.post(url, get_form(client, url) | {"contact_email": "us"})
    assert "Enter a valid email address." in page.content.decode()


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_shows_the_own_host_that_only_the_operator_sets(
    staff_client, account, other_account, url, settings, role
):
    client, host = staff_client(role), "partners.harbor.example"
    settings.ALLOWED_HOSTS = ["testserver", host, "b.example"]
    text = "(own host: {}. Your operator sets it: manage.py set_portal_host)."
    assert text.format("none") in client.get(url).content.decode()
    # What the operator has prepared, for whomever, is not taken by a form.
    client.post(url, get_form(client, url) | {"host": host, "is_on": "on"})
    stored = get_portal_settings(account)
    assert (stored.is_on, stored.host) == (True, None)

    set_portal_host(account, host, at=NOW)
    set_portal_host(other_account, "b.example", at=NOW)
    page = client.get(url).content.decode()
    assert text.format(host) in page
    assert "b.example" not in page
    client.post(url, get_form(client, url) | {"host": "b.example", "is_open": "on"})
    stored = get_portal_settings(account)
    assert (stored.is_open, stored.host) == (True, host)
    assert client.get("/", headers={"host": host, "accept": "text/html"}).url == (
        f"/partners/{account.slug}/"
    )
    assert client.get("/", headers={"accept": "text/html"}).url == "/admin/"


def test_staff_write_terms_per_language_and_read_what_was_accepted(
    staff_client, account, other_account, scenario, url
):
    client = staff_client()
    texts = {"terms": "Be fair.", "terms_de": "Seien Sie fair.", "terms_fr": ""}
    client.post(url, get_form(client, url) | texts)
    assert get_form(client, url)["terms_de"] == "Seien Sie fair."
    affiliate = scenario.mina.affiliate
    page = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])
    accept_terms(affiliate, version=1, language="de", at=NOW)
    client.post(url, get_form(client, url) | {"terms_de": ""})
    accept_terms(affiliate, version=2, language="de", at=NOW)

    shown = client.get(reverse("admin:affiliate_terms", args=[affiliate.pk]))

    assert shown["Content-Type"] == "text/plain; charset=utf-8"
    day = format_datetime(NOW)
    assert shown.text == (
        f"Version 2, accepted on {day}\n\nBe fair.\n\n\n"
        f"Version 1 (de), accepted on {day}\n\nSeien Sie fair.\n"
    )
    assert shown.request["PATH_INFO"] in client.get(page).text
    foreign = ProgramScenario(other_account).mina.affiliate
    for pk in (foreign.pk, 10**9):
        missing = client.get(reverse("admin:affiliate_terms", args=[pk]))
        assert missing.status_code == 404


def test_a_change_of_the_terms_is_a_new_version(staff_client, account, scenario, url):
    client = staff_client("manager")
    for terms in ("Be fair.", "Be fair.", "Be kind."):
        client.post(url, get_form(client, url) | {"terms": terms})
    assert get_form(client, url)["terms"] == "Be kind."
    assert get_terms(account).version == 2
    page = reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk])
    assert "Terms of the portal" not in client.get(page).content.decode()
    accept_terms(scenario.mina.affiliate, version=2, at=NOW)
    assert "version 2 accepted on 2026-03-04" in client.get(page).content.decode()


def test_filters_affiliates_by_the_version_that_they_accepted(
    staff_client, account, other_account, scenario
):
    at = {"at": NOW}
    mina = scenario.mina.affiliate
    late = scenario.create_enrolled_affiliate("Late", "Berg").affiliate
    none = scenario.create_enrolled_affiliate("None", "Berg").affiliate
    for each in (account, account, other_account, other_account, other_account):
        version = each.portal_terms.count() + 1
        publish_terms(each, f"Be fair: {version}.", **at)
        if each == account:
            for affiliate in (mina, late)[: 3 - version]:
                accept_terms(affiliate, version=version, **at)
    client, url = staff_client(), reverse("admin:tracking_affiliate_changelist")
    for value, found in (("current", mina), ("older", late), ("none", none)):
        rows = client.get(url, {"accepted_terms": value}).context["cl"].result_list
        assert list(rows) == [found], value
    for affiliate, version in ((mina, 2), (late, 1)):
        page = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])
        text = client.get(page, {"tab": "activity"}).content.decode()
        assert f"accepted version {version} of the terms of the portal as" in text


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_other_roles_have_no_settings(staff_client, url, role):
    client = staff_client(role)
    assert client.get(url).status_code == 403
    assert url not in client.get(reverse("admin:index")).content.decode()


# Invitations


@pytest.fixture
def invite_url(scenario):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    return reverse("admin:tracking_affiliate_invite", args=[affiliate.pk])


def invite(client, url, **entries):
    return client.post(url, get_form(client, url) | entries)


def read_token(response):
    base = f"http://127.0.0.1:8000/partners/{response.context['user'].account.slug}/"
    return response.context["secret"].removeprefix(f"{base}password/").rstrip("/")


@pytest.fixture
def no_mail(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"


def list_kinds(account):
    entries = account.audit_log.filter(kind__startswith="affiliate.inv")
    return list(entries.order_by("id").values_list("kind", "actor"))


def test_owners_see_a_link_once_where_no_mail_is_set_up(
    staff_client, account, scenario, invite_url, no_mail
):
    client = staff_client()
    assert "the audit log keeps that you saw it" in client.get(invite_url).text
    response = invite(client, invite_url)
    assert "no-store" in response["Cache-Control"]
    actor = f"staff {account.staff.get().log_id}"
    assert list_kinds(account) == [
        ("affiliate.invited", actor),
        ("affiliate.invitation_shown", actor),
    ]
    token = set_portal_password(
        account, read_token(response), password="lamps-at-the-harbor", at=timezone.now()
    )
    assert find_signed_in(account, token, at=timezone.now()) == scenario.mina.affiliate
    assert not account.mails.exists()


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_mails_the_link_and_shows_it_to_nobody(staff_client, account, invite_url, role):
    client = staff_client(role)
    assert f"{EMAIL} gets it by mail." in client.get(invite_url).text
    response = client.post(invite_url, get_form(client, invite_url), follow=True)
    assert list_messages(response) == [f"The link is mailed to {EMAIL}."]
    mail = account.mails.get()
    assert mail.recipient == EMAIL
    token = re.search(r"/password/([^/]+)/", mail.text)[1]
    assert token not in response.text
    assert [kind for kind, _ in list_kinds(account)] == ["affiliate.invited"]


@pytest.mark.parametrize("reason", ["no address", "no mail server"])
def test_managers_see_no_link(
    staff_client, account, other_account, scenario, invite_url, request, reason
):
    if reason == "no address":
        scenario.mina.affiliate.update_row(email=None, email_folded=None)
    else:
        request.getfixturevalue("no_mail")
    client, note = staff_client("manager"), "Only owners see the link instead"
    assert note in client.get(invite_url).text
    response = invite(client, invite_url, send_mail="on")
    assert note in response.text
    assert "/password/" not in response.text
    for each in (account, other_account):
        assert not each.portal_links.exists()
        assert not each.mails.exists()
        assert list_kinds(each) == []
    assert staff_client().get(invite_url).text.count(note) == 0


def test_says_that_the_portal_is_off(staff_client, account, invite_url):
    client, note = staff_client(), "The portal is off"
    assert note in client.get(invite_url).content.decode()
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    assert note not in client.get(invite_url).content.decode()


def test_shows_the_access_and_removes_the_second_factor(
    staff_client, account, scenario, invite_url, no_mail
):
    affiliate = scenario.mina.affiliate
    page = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])
    remove = f"{page.removesuffix('change/')}remove_second_factor/"
    client, viewer = staff_client(), staff_client("viewer")

    def read():
        text = " ".join(client.get(page).content.decode().split())
        return text[text.index("<dt>Portal</dt>") :].partition("</dd>")[0]

    facts = ("<dt>Portal</dt> <dd>Language: not chosen yet", "Invited: never")
    assert read() == "<br>".join((*facts, "Last sign-in: never", "Second factor: off"))
    token = read_token(invite(client, invite_url))
    set_portal_password(account, token, password="lamps-at-the-harbor", at=NOW)
    account.portal_second_factors.create(affiliate=affiliate, secret="A" * 32, confirmed_at=NOW)
    text = read()
    assert "never" not in text
    assert "Last sign-in: 2026-03-04 " in text
    assert 'Second factor: on <a class="underline text-primary-600' in text
    assert f'href="{remove}"' in text
    assert "A code of the second factor" in client.get(invite_url).content.decode()
    assert remove not in viewer.get(page).content.decode()
    assert viewer.post(remove).status_code == 403
    response = client.post(remove, get_form(client, remove), follow=True)
    assert list_messages(response) == ["The second factor was removed."]
    assert read().endswith("Second factor: off")
    assert account.audit_log.filter(kind="affiliate.second_factor_removed").count() == 1
    assert "The second factor is off." in client.get(remove).content.decode()


@pytest.fixture
def create_link(account, scenario):
    """Let staff create a link to see the portal as Mina: `create_link(client)`."""
    update_portal_settings(account, changes={"is_on": True}, at=NOW)

    def create(client):
        pk = scenario.mina.affiliate.pk
        url = reverse("admin:tracking_affiliate_view_portal", args=[pk])
        return urlsplit(client.post(url, get_form(client, url)).url).path

    return create


@pytest.fixture
def view_portal(create_link):
    """Look at the portal as Mina does: `view_portal(client)`, the page."""
    return lambda client: client.get(create_link(client), follow=True)


def test_staff_see_what_an_affiliate_sees(staff_client, account, scenario, view_portal):
    client = staff_client("manager")
    page = view_portal(client).content.decode()
    affiliate = scenario.mina.affiliate
    name = f"{affiliate.firstname} {affiliate.lastname}"
    assert f"You see what {name} sees. You cannot change anything here." in page
    entry = account.audit_log.get(kind="affiliate.viewed")
    assert entry.actor.startswith("staff ")
    session = account.portal_sessions.get()
    assert session.expires_at - session.created_at == timedelta(minutes=30)


@pytest.mark.parametrize("path", ["profile/", "language/"])
def test_staff_change_nothing_there(staff_client, account, view_portal, path):
    client = staff_client("manager")
    view_portal(client)
    url = f"/partners/{account.slug}/{path}"
    response = client.post(url, {"language": "de", "password": "x" * 12})
    assert response.status_code == 403
    assert "Only the affiliate can do this." in response.content.decode()


def test_staff_who_look_have_no_live_forms(staff_client, account, view_portal):
    type(account).objects.filter(pk=account.pk).update(uses_webhooks=True)
    client = staff_client("manager")
    view_portal(client)
    for path in (
        *("", "links/", "payments/", "missing/", "questions/", "payout-methods/bank/"),
        *("profile/", "profile/edit/", "profile/email/", "profile/mails/"),
        *("profile/data/", "profile/delete/", "profile/postbacks/", "second-factor/"),
    ):
        response = client.get(f"/partners/{account.slug}/{path}")
        assert response.status_code == 200, path
        page = response.content.decode()
        forms = re.findall(r'<form method="post"[^>]*>', page)
        stop = f'<form method="post" action="/partners/{account.slug}/sign-out/">'
        assert [it for it in forms if not it.endswith(" inert>")] == [stop], path
        assert page.count(">Stop</button>") == 1
        assert ">Sign out</button>" not in page


def test_staff_stop_to_look(staff_client, account, scenario, view_portal):
    own, at = scenario.mina.affiliate, timezone.now()
    token = invite_affiliate(account, affiliate_id=own.slug, at=at).token
    password = "lamps-at-the-harbor"
    set_portal_password(account, token, password=password, at=at)
    client = staff_client("manager")
    view_portal(client)
    client.post(f"/partners/{account.slug}/sign-out/", {"everywhere": "1"})
    assert account.portal_sessions.get().viewed_by is None


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "viewer"}])
def test_a_view_ends_with_the_access_of_staff(staff_client, account, view_portal, change):
    client = staff_client("manager")
    view_portal(client)
    account.staff.update(**change)
    response = client.get(f"/partners/{account.slug}/links/")
    assert response.url == f"/partners/{account.slug}/sign-in/"


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "viewer"}])
def test_an_unused_link_ends_with_the_access_of_staff(staff_client, account, create_link, change):
    link = create_link(staff_client("manager"))
    account.staff.update(**change)
    assert Client().get(link).status_code == 410
    assert not account.portal_sessions.exists()


def test_a_link_to_look_works_once(staff_client, create_link):
    link = create_link(staff_client("manager"))
    assert Client().get(link).status_code == 302
    response = Client().get(link)
    assert response.status_code == 410
    assert "This link does not work any more" in response.content.decode()
