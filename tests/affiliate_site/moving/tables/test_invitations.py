"""Affiliates whom an import made are invited to the portal once; the mail says why."""

import re

import pytest

from affiliate_site.moving.tables.invitations import (
    NoMailServer,
    PortalOff,
    invite_imported_affiliates,
    list_not_invited,
    list_obstacles,
)
from affiliate_site.moving.tables.undo import (
    TableImportBuiltUpon,
    TableImportNotFound,
    TableImportUndone,
    undo_table_import,
)
from tests.affiliate_site.moving.tables.building import NOW, store
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.django_db

PEOPLE = """ID,E-mail,Name
odette,odette@notes.example.org,Odette Varga
nils,nils@notes.example.org,Nils Berg
silent,,Silent Stone
"""
ENGLISH = """Hello Odette,

{account} has moved its affiliate program here from its former system, and your account\
 with it: it is yours already, you need not apply again. Old links go on working if the\
 portal shows their code.

Set your password within 7 days at this address:
x/{token}/

It works once. If you did not expect this mail, ignore it.
"""
WORDS = {
    "de": "ist mit dem Partnerprogramm von einem anderen System hierher umgezogen",
    "fr": "depuis son ancien système, et votre compte avec lui",
    "es": "ha trasladado aquí su programa de afiliados desde su sistema anterior",
}


@pytest.fixture
def account(account):
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    return account


@pytest.fixture
def made(account):
    return store(account, "affiliates", PEOPLE).table_import


def invite(table_import, affiliates, **options):
    return invite_imported_affiliates(
        table_import.account,
        public_id=table_import.public_id,
        affiliate_pks=[it.pk for it in affiliates],
        mail_url="x/{}/".format,
        at=NOW,
        **options,
    )


def list_slugs(table_import):
    return [it.slug for it in list_not_invited(table_import)]


def list_kinds(account):
    entries = account.audit_log.filter(kind__startswith="affiliate.inv")
    return list(entries.order_by("id").values_list("kind", "subject"))


def test_invites_some_and_says_why(account, made):
    odette = account.affiliates.get(slug="odette")
    assert list_slugs(made) == ["odette", "nils"]
    assert invite(made, [odette]) == 1
    mail = account.mails.get()
    token = re.search("x/(.*)/", mail.text)[1]
    assert (mail.recipient, mail.kind) == (odette.email, "portal_link")
    assert mail.subject == f"Set your password for {account.name}"
    assert mail.text == ENGLISH.format(account=account.name, token=token)
    assert odette.reload().invited_at == NOW
    assert list_kinds(account) == [("affiliate.invited", f"affiliate:{odette.log_id}")]
    assert list_slugs(made) == ["nils"]
    assert set_portal_password(account, token, password="lamps-at-the-harbor", at=NOW)


def test_invites_nobody_twice(account, made):
    everybody = list(account.affiliates.all())
    assert [invite(made, everybody) for _ in range(2)] == [2, 0]
    assert account.mails.count() == account.portal_links.count() == 2
    assert len(list_kinds(account)) == 2


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_writes_in_the_language_of_the_affiliate(account, made, language):
    people = account.affiliates.order_by("pk")
    people.filter(slug="nils").update(language=language)
    assert invite(made, people, language="de") == 2
    texts = dict(account.mails.values_list("affiliate__slug", "text"))
    assert WORDS[language] in texts["nils"]
    assert WORDS["de"] in texts["odette"]


def test_leaves_out_whom_it_must_not_write_to(account, made):
    known = invite_affiliate(account, affiliate_id="odette", at=NOW)
    set_portal_password(account, known.token, password="lamps-at-the-harbor", at=NOW)
    nils = account.affiliates.get(slug="nils")
    assert list_slugs(made) == ["nils"]
    nils.update_row(bounced_email=nils.email_folded)
    assert list_slugs(made) == []
    nils.update_row(bounced_email="nils@old.example.org")
    assert list_slugs(made) == ["nils"]
    delete_affiliate(account, affiliate_id="nils", at=NOW)
    assert invite(made, account.affiliates.all()) == 0
    assert not account.mails.exists()


def test_leaves_out_whom_the_import_did_not_make(account, other_account, made):
    rows = "ID,E-mail,Name\nodette,odette@notes.example.org,Odette Varga\na,a@x.org,A B\n"
    later = store(account, "affiliates", rows).table_import
    update_portal_settings(other_account, changes={"is_on": True}, at=NOW)
    foreign = store(other_account, "affiliates", PEOPLE).table_import
    assert list_slugs(later) == ["a"]
    assert invite(later, account.affiliates.all()) == 1
    assert invite(made, other_account.affiliates.all()) == 0
    assert account.mails.get().recipient == "a@x.org"
    assert not other_account.mails.exists()
    with pytest.raises(TableImportNotFound):
        invite_imported_affiliates(
            account,
            public_id=foreign.public_id,
            affiliate_pks=[],
            mail_url=str,
            at=NOW,
        )


def test_refuses_what_was_undone_and_keeps_what_was_invited(account, made):
    undo_table_import(account, public_id=made.public_id, at=NOW)
    made.refresh_from_db()
    assert list_slugs(made) == []
    with pytest.raises(TableImportUndone):
        invite(made, [])
    again = store(account, "affiliates", PEOPLE).table_import
    assert invite(again, account.affiliates.all()) == 2
    with pytest.raises(TableImportBuiltUpon):
        undo_table_import(account, public_id=again.public_id, at=NOW)


def test_needs_the_portal_and_a_mail_server(account, made, settings):
    assert list_obstacles(account) == []
    update_portal_settings(account, changes={"is_on": False}, at=NOW)
    with pytest.raises(PortalOff):
        invite(made, account.affiliates.all())
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    with pytest.raises(NoMailServer):
        invite(made, account.affiliates.all())
    assert not account.mails.exists()
    assert not account.affiliates.exclude(invited_at=None).exists()
