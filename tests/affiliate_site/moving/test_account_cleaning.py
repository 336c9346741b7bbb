"""A file of an account is foreign: its values are those that a service stores."""

from base64 import b64decode, b64encode
from io import BytesIO

import pytest
from django.apps import apps
from django.db.models import JSONField
from django.utils import timezone
from PIL import Image

from accounts.email_addresses import fold_email
from affiliate_site.creative_images import MAX_BYTES
from affiliate_site.moving.account_import import CALCULATED, MAIL_MOVED
from affiliate_site.moving.account_tables import list_tables
from affiliate_site.moving.json_shapes import SHAPES, check_shape
from tests.affiliate_site.moving.conftest import read
from tests.affiliate_site.moving.test_account_files import (
    assert_refused,
    change,
    find,
)
from tracking.services.mails import claim_mail
from tracking.services.search import update_suffixes

pytestmark = pytest.mark.usefixtures("db")

ENCODED = "=?utf-8?q?b=6Fmb?=@x.test"
POSTBACK = "https://partner.example/?a=" + "${conversion.amount}" * 70
MANY = {f"name {n}": "x" for n in range(21)}
HUGE_ID = {"commission": 2**63, "amount": "1"}
PAID_NOTHING, PAID_NEVER, PAID_SOMEWHERE = (
    {"payments": {"p": {"at": at, "amount": amount, "currency": "EUR"}}}
    for at, amount in (
        *(("2026-03-04T10:00:00.000000Z", "NaN"), ("never", "1")),
        ("2026-03-04T10:00:00", "1"),  # of which time zone
    )
)


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    [
        ("accounts.Account", {"customer_email_keys": [{}]}, "texts expected"),
        ("accounts.Account", {"default_currency": "ZZZ"}, "default_currency: "),
        ("accounts.AuditLogEntry", {"subject": "conversion:x"}, "subject: 'conversion:x'"),
        ("accounts.AuditLogEntry", {"subject": "commission:" + "9" * 40}, "names no row"),
        ("accounts.AuditLogEntry", {"details": {"user_id": [1]}}, "details: user_id"),
        ("accounts.AuditLogEntry", {"details": {"user_id": 10**40}}, "user_id"),
        ("accounts.AuditLogEntry", {"details": {"until": "x"}}, "details: until"),
        ("accounts.AuditLogEntry", {"details": {"program": 7}}, "details: program"),
        ("accounts.AuditLogEntry", {"details": {"group": {}}}, "details: group"),
        ("accounts.AuditLogEntry", {"details": {"fields": 5}}, "details: fields"),
        ("accounts.AuditLogEntry", {"details": {"status": []}}, "details: status"),
        ("accounts.Delivery", {"body": "WzFd"}, "body: not a JSON object"),
        ("accounts.Delivery", {"body": "eA=="}, "accounts.Delivery: "),
        ("accounts.User", {"email": "UPPER@x.test"}, "email: not in the spelling"),
        ("accounts.User", {"email": '"a"@x.test'}, "email: Enter a valid email"),
        ("accounts.WebhookEndpoint", {"events": [1, {}]}, "events: 0: texts"),
        ("accounts.WebhookEndpoint", {"events": ["x"]}, "Unknown event"),
        ("accounts.WebhookEndpoint", {"affiliate": "a", "url": POSTBACK}, "too many"),
        ("payouts.PayoutMethod", {"details": {"iban": ["x"]}}, "details: iban: texts"),
        ("payouts.PayoutMethod", {"details": {"iban": "x" * 256}}, "iban: at most 255"),
        ("payouts.PayoutMethod", {"details": {"i" * 65: "x"}}, "at most 64"),
        ("payouts.PayoutMethod", {"details": MANY}, "details: at most 20"),
        ("payouts.Refund", {"lines": [{"commission": 2**63}]}, "lines: 0: amount is"),
        ("payouts.Refund", {"lines": [HUGE_ID]}, "commission: no ID"),
        ("payouts.PayoutLine", {"debits": ["x"]}, "debits: a JSON object"),
        ("payouts.PayoutLine", {"debits": {"entry": "x"}}, "debits: entry: a JSON"),
        ("payouts.PayoutLine", {"debits": {"entry": [1]}}, "entry: 0: texts"),
        ("payouts.PayoutRun", {"basis": {}}, "basis: currencies is missing"),
        ("payouts.PayoutRun", {"payer": {"name": 5}}, "payer: name: texts"),
        ("tracking.Affiliate", {"custom_fields": {"a": {}}}, "custom_fields: a: "),
        ("tracking.Affiliate", {"email": ENCODED}, "email: Enter a valid email"),
        ("tracking.Affiliate", {"language": "../../x"}, "language: '../../x'"),
        ("tracking.Affiliate", {"meta_data": {"a": {"b": 1}}}, "meta_data: a: texts"),
        ("tracking.Affiliate", {"meta_data": {"a/b": "c"}}, "meta_data: This key"),
        ("tracking.Affiliate", {"notices": {"a": [1]}}, "notices: a: true or false"),
        ("tracking.Affiliate", {"slug": "a b/../<x>"}, "slug: 'a b/../<x>'"),
        ("tracking.Connection", {"settings": {"id_prefix": 5}}, "id_prefix: texts"),
        ("tracking.Connection", {"settings": {"id_prefix": "x" * 33}}, "at most 32"),
        ("tracking.Connection", {"settings": {"coupons": {"a": 1}}}, "coupons: a: tex"),
        ("tracking.Connection", {"settings": {"programs": [{}]}}, "field is missing"),
        ("tracking.Connection", {"settings": {"other": 5}}, "tracking.Connection: "),
        ("tracking.Connection", {"settings": {"x": 5}}, "x: nothing has this name"),
        ("tracking.ShopOrder", {"facts": {"sale": {}}}, "facts: sale: at is missing"),
        ("tracking.ShopOrder", {"facts": PAID_NOTHING}, "payments: p: amount: 'NaN'"),
        ("tracking.ShopOrder", {"facts": PAID_NEVER}, "payments: p: at: "),
        ("tracking.ShopOrder", {"facts": PAID_SOMEWHERE}, "payments: p: at: "),
        ("tracking.ShopOrder", {"suspended": [True]}, "suspended: 0: whole numbers"),
        ("tracking.ShopOrder", {"settings": {"includes_tax": "x"}}, "true or false"),
        ("tracking.Mail", {"kind": "portal_link"}, "kind: 'portal_link' has a link"),
        ("tracking.Mail", {"kind": "password_request"}, "has a link"),
        ("tracking.PortalSettings", {"contact_email": ENCODED}, "contact_email: "),
        ("tracking.PortalSettings", {"sender_name": "Bank <a@b.c>"}, "The sender"),
        ("tracking.Program", {"currency": "ZZZ"}, "currency: "),
        ("tracking.Program", {"link_parameters": [1]}, "link_parameters: 0: texts"),
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
    path = change(moved, tmp_path, lambda it: find(it, "tracking.Affiliate").update(values))
    affiliate = read(path).affiliates.get(email="X@a.test")
    assert affiliate.email_folded == "x@a.test"


def test_calculates_what_follows_from_other_columns(moved, tmp_path):
    """What a customer and an affiliate are found by is not what a file says."""

    def edit(lines):
        find(lines, "accounts.Account")["customer_email_keys"] = ["email"]
        find(lines, "tracking.Customer").update(
            meta_data={"email": "=?utf-8?q?b=6Fmb?=@B.test"}, email_folded="a@b.test"
        )
        find(lines, "tracking.SearchSuffix")["suffix"] = "victim"

    account = read(change(moved, tmp_path, edit))

    (customer,) = account.customers.exclude(meta_data={}).exclude(email_folded=None)
    assert customer.email_folded == fold_email(customer.meta_data["email"])
    assert not account.search_suffixes.filter(suffix="victim").exists()
    kept = set(account.search_suffixes.values_list("affiliate", "suffix"))
    account.search_suffixes.all().delete()
    for affiliate in account.affiliates.all():
        update_suffixes(account, affiliate_id=affiliate.pk)
    assert kept == set(account.search_suffixes.values_list("affiliate", "suffix"))


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("accounts.Account", "clicks_pruned_until"),
        ("accounts.Delivery", "due_at"),
        ("accounts.WebhookEndpoint", "backoff_until"),
        ("tracking.Connection", "caught_up_until"),
        ("tracking.ShopEvent", "due_at"),
    ],
)
def test_waits_for_no_time_of_a_file(moved, tmp_path, table, name):
    """Far in the future, it would keep this installation from working for ever."""
    late = {name: "2190-01-01T00:00:00.000000+00:00"}
    account = read(change(moved, tmp_path, lambda it: find(it, table).update(late)))
    rows = [account] if table == "accounts.Account" else list_rows(account, table)
    assert all((getattr(row, name) or timezone.now()) <= timezone.now() for row in rows)


def list_rows(account, table):
    return list(apps.get_model(table).objects.filter(account=account))


def test_every_json_column_has_a_shape():
    """A new one needs a type, else a file may put anything there."""
    columns = {
        f"{label}.{name}"
        for label, table in list_tables().items()
        for name, column in table.columns.items()
        if isinstance(column.field, JSONField)
    }
    assert columns == SHAPES.keys()


@pytest.mark.parametrize("value", [5, "x", [[]], {"a": {"b": {"c": [None, 2**70]}}}])
def test_refuses_other_json_in_every_column(moved, tmp_path, value):
    accepted = []
    for column, shape in SHAPES.items():
        try:
            check_shape(value, shape)
        except ValueError:
            continue
        accepted.append(column)
    assert set(accepted) <= {"accounts.AuditLogEntry.details"}


def test_every_folded_column_is_calculated():
    """Of columns that are derived of others, a file says nothing."""
    folded = {
        label
        for label, table in list_tables().items()
        if any(name.endswith("_folded") for name in table.columns)
    }
    assert folded <= CALCULATED.keys()


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
