"""A file of an account is foreign: its values are those that a service stores."""

from base64 import b64decode, b64encode
from io import BytesIO

import pytest
from PIL import Image

from affiliate_site.creative_images import MAX_BYTES
from affiliate_site.moving.account_import import MAIL_MOVED
from tests.affiliate_site.moving.conftest import read
from tests.affiliate_site.moving.test_account_files import (
    assert_refused,
    change,
    find,
)
from tracking.services.mails import claim_mail

pytestmark = pytest.mark.usefixtures("db")

ENCODED = "=?utf-8?q?b=6Fmb?=@x.test"
POSTBACK = "https://partner.example/?a=" + "${conversion.amount}" * 70


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    [
        ("accounts.Account", {"customer_email_keys": [{}]}, "texts expected"),
        ("accounts.Account", {"default_currency": "ZZZ"}, "default_currency: "),
        ("accounts.AuditLogEntry", {"actor": "affiliate x"}, "actor: 'affiliate x'"),
        ("accounts.AuditLogEntry", {"actor": "staff " + "9" * 40}, "actor: 'staff 9"),
        ("accounts.AuditLogEntry", {"details": {"user_id": "x"}}, "details: user_id"),
        ("accounts.AuditLogEntry", {"details": {"user_id": [1]}}, "details: user_id"),
        ("accounts.AuditLogEntry", {"details": {"user_id": 10**40}}, "user_id"),
        ("accounts.AuditLogEntry", {"details": {"until": "x"}}, "details: until"),
        ("accounts.AuditLogEntry", {"details": {"program_id": 7}}, "program_id"),
        ("accounts.AuditLogEntry", {"details": {"group": {}}}, "details: group"),
        ("accounts.AuditLogEntry", {"details": {"fields": 5}}, "details: fields"),
        ("accounts.AuditLogEntry", {"details": {"status": []}}, "details: status"),
        ("accounts.User", {"email": "UPPER@x.test"}, "email: not in the spelling"),
        ("accounts.User", {"email": '"a"@x.test'}, "email: Enter a valid email"),
        ("accounts.WebhookEndpoint", {"events": [1, {}]}, "events: texts expected"),
        ("accounts.WebhookEndpoint", {"events": ["x"]}, "Unknown event"),
        ("accounts.WebhookEndpoint", {"affiliate": "a", "url": POSTBACK}, "too many"),
        ("payouts.PayoutLine", {"debits": ["x"]}, "debits: a JSON object"),
        ("payouts.PayoutLine", {"debits": {"entry": "x"}}, "debits: a JSON array"),
        ("payouts.PayoutLine", {"debits": {"entry": [1]}}, "debits: texts expected"),
        ("payouts.PayoutRun", {"basis": {}}, "basis: programs is missing"),
        ("payouts.PayoutRun", {"payer": {"name": 5}}, "payer: texts expected"),
        ("tracking.Affiliate", {"custom_fields": {"a": {}}}, "custom_fields: texts"),
        ("tracking.Affiliate", {"email": ENCODED}, "email: Enter a valid email"),
        ("tracking.Affiliate", {"language": "../../x"}, "language: '../../x'"),
        ("tracking.Affiliate", {"meta_data": {"a": {"b": 1}}}, "meta_data: texts"),
        ("tracking.Affiliate", {"meta_data": {"a/b": "c"}}, "meta_data: This key"),
        ("tracking.Affiliate", {"notices": {"a": [1]}}, "notices: true or false"),
        ("tracking.Affiliate", {"slug": "a b/../<x>"}, "slug: 'a b/../<x>'"),
        ("tracking.Mail", {"kind": "portal_link"}, "kind: 'portal_link' has a link"),
        ("tracking.Mail", {"kind": "password_request"}, "has a link"),
        ("tracking.PortalSettings", {"contact_email": ENCODED}, "contact_email: "),
        ("tracking.PortalSettings", {"sender_name": "Bank <a@b.c>"}, "The sender"),
        ("tracking.Program", {"currency": "ZZZ"}, "currency: "),
        ("tracking.Program", {"link_parameters": [1]}, "link_parameters: texts"),
        ("tracking.Program", {"slug": "Ä"}, "slug: 'Ä'"),
        ("tracking.ReferralCode", {"code": "a b<x>"}, "code: 'a b<x>'"),
    ],
)
def test_refuses_what_no_service_stores(moved, tmp_path, table, values, reason):
    path = change(moved, tmp_path, lambda lines: find(lines, table).update(values))
    assert_refused(path, reason)


def test_sends_no_mail_of_a_file(moved, tmp_path):
    """Its recipient and text may be anything."""
    due = {"due_at": "2026-03-04T10:00:00.000000+00:00", "sent_at": None, "error": ""}

    def edit(lines):
        find(lines, "tracking.Mail").update(due, recipient="victim@bank.example")

    account = read(change(moved, tmp_path, edit))

    mail = account.mails.get(recipient="victim@bank.example")
    assert (mail.due_at, mail.error) == (None, MAIL_MOVED)
    assert claim_mail(account, due_before=mail.created_at.replace(year=2199)) is None


def test_calculates_the_address_that_is_compared(moved, tmp_path):
    values = {"email": "X@a.test", "email_folded": "victim@b.test"}
    path = change(
        moved, tmp_path, lambda it: find(it, "tracking.Affiliate").update(values)
    )
    affiliate = read(path).affiliates.get(email="X@a.test")
    assert affiliate.email_folded == "x@a.test"


def test_writes_images_within_their_limit(moved, tmp_path, creatives):
    def append(data):
        def edit(lines):
            row = find(lines, "images")
            row["content"] = b64encode(b64decode(row["content"]) + data).decode()

        return change(moved, tmp_path, edit)

    assert_refused(append(b"x" * MAX_BYTES), "The image must be at most 2 MB")
    read(append(b"<script>"))
    (file,) = (creatives / "harbor").iterdir()
    assert b"<script>" not in file.read_bytes()
    assert Image.open(BytesIO(file.read_bytes())).size == (8, 4)
