"""The page that invites affiliates whom an import made."""

import pytest
from django.urls import reverse

from accounts.models.api_keys import Role
from affiliate_site.backoffice.imports import invite_page
from tests.affiliate_site.backoffice.money_forms import list_messages
from tests.affiliate_site.backoffice.table_import_pages import (
    choose,
    client,
    get_entries,
    people,
    read,
    upload,
    url_of,
)
from tests.affiliate_site.moving.tables.building import store
from tests.conftest import NOW
from tracking.services.portal_settings import update_portal_settings

__all__ = ["choose", "client", "people", "upload"]

OFF = "The portal is off: nobody could set a password."
NO_SERVER = "No mail can be sent until your operator sets EMAIL_URL"


@pytest.fixture
def portal(account):
    update_portal_settings(account, changes={"is_on": True}, at=NOW)


@pytest.fixture
def url(account, people, portal):
    return url_of(account.table_imports.get(), "invite")


def list_choices(page):
    return [text for _, text in page.context["form"].fields["affiliates"].choices]


def test_invites_from_the_import_to_the_mail(client, account, url):
    made = url_of(account.table_imports.get())
    assert f'href="{url}"' in client.get(made).text
    page = client.get(url)
    text = read(page)
    for name in ("English", "Deutsch", "Français", "Español"):
        assert name in text
    assert f"{account.name} has moved its affiliate program here" in text
    assert f"/partners/{account.slug}/password/…/" in text
    assert list_choices(page) == [
        "Mina Kessler (mina), mina@x.example (approved in no program)",
        "Olga Novak (olga), olga@x.example (approved in no program)",
    ]
    entries = get_entries(client, url)
    assert len(entries["affiliates"]) == 2  # all are ticked
    german = entries | {"affiliates": entries["affiliates"][:1], "language": "de"}
    response = client.post(url, german, follow=True)
    assert response.redirect_chain == [(made, 302)]
    assert list_messages(response) == ["Affiliates invited by mail: 1."]
    mail = account.mails.get()
    assert mail.recipient == "mina@x.example"
    assert "von einem anderen System hierher umgezogen" in mail.text
    assert f'href="{url}"' in response.text  # for those who are left
    response = client.post(url, entries, follow=True)
    assert list_messages(response) == [
        "Affiliates invited by mail: 1.",
        "Left out, because they were invited meanwhile: 1.",
    ]
    assert f'href="{url}"' not in response.text
    response = client.post(url, entries, follow=True)
    assert list_messages(response) == [
        "Nobody of this import is left to be invited; nobody was invited again."
    ]
    assert account.mails.count() == 2
    entries = account.audit_log.filter(kind="affiliate.invited").order_by("id")
    actor = f"staff {account.staff.get().log_id}"
    assert list(entries.values_list("subject", "actor")) == [
        (f"affiliate:{it.log_id}", actor) for it in account.affiliates.order_by("slug")
    ]


def test_needs_somebody_who_is_ticked(client, account, url):
    for sent in ([], ["1000000"], ["x"]):
        response = client.post(url, {"language": "en", "affiliates": sent})
        assert list(response.context["form"].errors) == ["affiliates"]
    assert not account.mails.exists()


def test_lists_a_part_of_many(client, account, url, monkeypatch):
    monkeypatch.setattr(invite_page, "MAX_INVITED", 1)
    page = client.get(url)
    assert list_choices(page)[0].startswith("Mina")
    assert len(list_choices(page)) == 1
    assert "?tab=&amp;page=2" in page.text
    page = client.get(f"{url}?page=2")
    (olga,) = page.context["form"]["affiliates"].value()
    sent = {"language": "en", "affiliates": [olga]}
    client.post(f"{url}?page=2", sent, follow=True)
    assert account.mails.get().recipient == "olga@x.example"
    response = client.post(url, sent, follow=True)
    assert list_messages(response) == [
        "Affiliates invited by mail: 0.",
        "Left out, because they were invited meanwhile: 1.",
    ]


def test_says_what_to_do_first(client, account, url, settings):
    update_portal_settings(account, changes={"is_on": False}, at=NOW)
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    page = client.get(url)
    assert OFF in read(page)
    assert NO_SERVER in read(page)
    assert f'href="{reverse("admin:portal_settings")}">Portal settings' in page.text
    assert 'name="_save"' not in page.text
    response = client.post(url, get_entries(client, url))
    assert response.status_code == 200
    assert not account.mails.exists()
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    page = client.get(url)
    assert OFF not in read(page)
    assert NO_SERVER in read(page)


@pytest.mark.parametrize(
    ("role", "status"), [(Role.MANAGER, 200), (Role.FINANCE, 403), (Role.VIEWER, 403)]
)
def test_roles(staff_client, account, url, role, status):
    other = staff_client(role)
    assert other.get(url).status_code == status
    made = url_of(account.table_imports.get())
    assert (f'href="{url}"' in other.get(made).text) == (status == 200)
    if status == 403:
        assert other.post(url, {"affiliates": ["1"]}).status_code == 403


def test_offers_nothing_after_an_undo(client, account, url):
    made = account.table_imports.get()
    client.post(url_of(made, "undo"))
    response = client.get(url, follow=True)
    assert response.redirect_chain == [(url_of(made), 302)]
    assert f'href="{url}"' not in response.text


def test_imports_of_others_do_not_exist(client, other_account, portal):
    rows = "ID,E-mail,Name\nmina,mina@x.example,Mina Kessler\n"
    foreign = store(other_account, "affiliates", rows).table_import
    update_portal_settings(other_account, changes={"is_on": True}, at=NOW)
    pk = other_account.affiliates.get().pk
    url = url_of(foreign, "invite")
    assert client.get(url).status_code == 404
    assert client.post(url, {"affiliates": [str(pk)]}).status_code == 404
    assert not other_account.mails.exists()
