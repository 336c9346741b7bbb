"""Pages of webhooks: secrets in URLs are shown to owners only."""

import io
import zipfile
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook

from accounts.models.api_keys import Role
from accounts.models.audit_log import CommandRun
from accounts.services.command_runs import WORKER_NAME, record_command_run
from accounts.services.deliveries import (
    list_deliveries,
    resend_delivery,
    send_test_event,
)
from accounts.services.webhooks import (
    create_postback_endpoint,
    create_webhook,
    disable_webhook,
)
from affiliate_site.backoffice.account.webhooks import mask_url
from affiliate_site.webhooks.sending import build_headers
from tests.affiliate_site.backoffice.forms import get_form
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

WEBHOOK_URL = "https://hooks.example.net/orders/lamp?token=zz-secret#zz-secret"
POSTBACK_URL = "https://mina.example.net/pixel?key=zz-secret&sale=${conversion.id}"


@pytest.fixture
def webhook(account):
    webhook = create_webhook(account, url="https://hooks.example.net/orders/", events=[], at=NOW)
    # User info and fragments are refused today; rows may be older than that rule.
    webhook.update_row(url=WEBHOOK_URL.replace("://", "://zz-secret:zz-secret@"))
    return webhook


@pytest.fixture
def postback(account, webhook):
    """A postback with one delivery."""
    scenario = ProgramScenario(account)
    postback = create_postback_endpoint(
        account, url=POSTBACK_URL, affiliate=scenario.mina.affiliate.slug, at=NOW
    )
    scenario.create_conversion("200")
    return postback


def read_pages(client, account, postback):
    """The texts of all pages and exports that could show a URL."""
    delivery = account.deliveries.get(endpoint=postback)
    webhook = account.webhook_endpoints.get(affiliate="")
    paths = [
        reverse(f"admin:accounts_{model}_{page}")
        for model in ("webhookendpoint", "delivery")
        for page in ("changelist", "export", "export_xlsx")
    ]
    paths += [
        reverse(f"admin:accounts_{row._meta.model_name}_{page}", args=[row.pk])
        for row in (webhook, postback, delivery)
        for page in ("change", "history")
    ]
    paths += [
        f"{reverse('admin:accounts_webhookendpoint_changelist')}?q={webhook}",
        f"{reverse('admin:search')}?s={webhook}&extended=1",
        reverse("admin:accounts_auditlogentry_changelist"),
        reverse("admin:index"),
    ]
    return {path: read_text(client.get(path, follow=True)) for path in paths}


def read_text(response):
    """The text of a page, a CSV file or the parts of an XLSX file."""
    assert response.status_code == 200
    content = response.getvalue()
    if not content.startswith(b"PK"):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return "".join(file.read(name).decode() for name in file.namelist())


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_hides_queries_and_user_info_from_those_who_manage_no_webhooks(
    staff_client, account, postback, role
):
    pages = read_pages(staff_client(role=role), account, postback)

    assert [path for path, text in pages.items() if "zz-secret" in text] == []
    webhooks = pages[reverse("admin:accounts_webhookendpoint_changelist")]
    assert "https://hooks.example.net/orders/lamp?…" in webhooks
    assert "https://mina.example.net/pixel?…" in webhooks


def test_shows_owners_whole_urls(staff_client, account, postback):
    pages = read_pages(staff_client(), account, postback)

    shown = {path for path, text in pages.items() if "zz-secret" in text}
    name = "admin:accounts_webhookendpoint"
    delivery = account.deliveries.get(endpoint=postback)
    assert shown >= {
        reverse(f"{name}_changelist"),
        reverse(f"{name}_export"),
        reverse(f"{name}_change", args=[postback.pk]),
        reverse("admin:accounts_delivery_change", args=[delivery.pk]),
    }
    sale = account.conversions.get()
    page = pages[reverse("admin:accounts_delivery_change", args=[delivery.pk])]
    assert f"pixel?key=zz-secret&amp;sale={sale.pk}" in page


def test_lists_leave_what_was_sent_in_the_database(
    staff_client, account, postback, capture_queries
):
    """Addresses and bodies can have some kilobytes each."""
    client, name = staff_client(), "admin:accounts_delivery"
    lists = [f"{name}_{page}" for page in ("changelist", "export", "export_xlsx")]
    (delivery,) = account.deliveries.filter(endpoint=postback)
    with capture_queries() as captured:
        texts = [read_text(client.get(reverse(each))) for each in lists]
        list_deliveries(account, webhook=postback.public_id, only_failed=False)
        resend = {"action": "resend_selected", "_selected_action": [delivery.pk]}
        client.post(reverse(lists[0]), resend)
        resend_delivery(account, delivery_id=delivery.pk, at=NOW)

    queries = " ".join(query["sql"] for query in captured.captured_queries)
    assert '"accounts_delivery"."message_id"' in queries
    for column in ("url", "body"):
        assert f'"accounts_delivery"."{column}"' not in queries
    for text in texts:
        assert delivery.message_id in text
        assert "conversion.created" in text


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://hooks.example.net/a/b", "https://hooks.example.net/a/b"),
        ("https://hooks.example.net", "https://hooks.example.net"),
        ("https://hooks.example.net?a=1", "https://hooks.example.net?…"),
        ("https://hooks.example.net/a#b", "https://hooks.example.net/a?…"),
        ("https://hooks.example.net:443/a?b=/c@d", "https://hooks.example.net:443/a?…"),
        ("https://u:p@hooks.example.net/a@b", "https://hooks.example.net/a@b"),
        ("https://u@p@hooks.example.net/", "https://hooks.example.net/"),
        ("", ""),
    ],
)
def test_masks_a_url(url, masked):
    assert mask_url(url) == masked


# Changing and testing


def build_page_url(webhook, page):
    return reverse(f"admin:accounts_webhookendpoint_{page}", args=[webhook.pk])


@pytest.fixture
def plain_webhook(account):
    return create_webhook(account, url="https://hooks.example.net/a", at=NOW)


def test_edits_url_and_events(staff_client, account, plain_webhook):
    client, url = staff_client(), build_page_url(plain_webhook, "edit")
    changes = {"url": "https://hooks.example.net/b", "events": ["payment.created"]}

    response = client.post(url, get_form(client, url) | changes, follow=True)

    stored = account.webhook_endpoints.get()
    assert (stored.url, stored.events) == (changes["url"], changes["events"])
    assert stored.secret == plain_webhook.secret
    page = response.content.decode()
    assert "The webhook was saved." in page
    assert stored.secret not in page


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"url": ""}, "url", "required"),
        ({"url": "https://127.0.0.1/"}, "url", "Invalid URL"),
        ({"url": "javascript:alert(1)"}, "url", "Invalid URL"),
        ({"url": f"https://a.example/?{'x' * 2000}"}, "url", "2000 characters"),
        ({"events": ["customer.born"]}, "events", "not one of the available"),
        ({"url": "https://hooks.example.net/other"}, "url", "already has this URL"),
    ],
    ids=str,
)
def test_refuses_an_edit_beside_the_field(
    staff_client, account, plain_webhook, changed, field, text
):
    create_webhook(account, url="https://hooks.example.net/other", at=NOW)
    client, url = staff_client(), build_page_url(plain_webhook, "edit")

    response = client.post(url, get_form(client, url) | changed)

    assert text in str(response.context["form"].errors[field])
    stored = plain_webhook.reload()
    assert (stored.url, stored.events) == (plain_webhook.url, [])


def test_sends_a_signed_test_event_and_shows_its_delivery(staff_client, account, plain_webhook):
    url = build_page_url(plain_webhook, "test")

    response = staff_client().post(url, follow=True)

    delivery = account.deliveries.select_related("endpoint", "event").get()
    assert delivery.message_id in response.content.decode()
    headers = dict(build_headers(delivery, at=NOW))
    assert headers["webhook-event"] == "webhook.test"
    signature = Webhook(plain_webhook.secret).sign(
        delivery.message_id, NOW, bytes(delivery.body).decode()
    )
    assert headers["webhook-signature"] == signature


def read_all_pages(client, webhook, delivery):
    """The lists and pages of a webhook and of its delivery."""
    names = ("webhookendpoint", webhook), ("delivery", delivery)
    urls = [reverse(f"admin:accounts_{name}_changelist") for name, _ in names]
    urls += [reverse(f"admin:accounts_{name}_change", args=[row.pk]) for name, row in names]
    return [client.get(url).content.decode() for url in urls]


@pytest.mark.parametrize(
    ("alive_minutes_ago", "text"),
    [(None, "the sender has not run yet"), (6, "the sender has not run since 20")],
)
def test_says_that_nothing_is_sent_while_no_worker_runs(
    staff_client, account, plain_webhook, alive_minutes_ago, text
):
    CommandRun.objects.all().delete()  # of tests that commit
    if alive_minutes_ago:
        at = timezone.now() - timedelta(minutes=alive_minutes_ago)
        record_command_run(WORKER_NAME, at=at)
    client = staff_client()

    response = client.post(build_page_url(plain_webhook, "test"), follow=True)

    page = response.content.decode()
    assert "The test event was stored. It was not sent yet." in page
    pages = read_all_pages(client, plain_webhook, account.deliveries.get())
    assert [text in page for page in pages] == [True] * 4


def test_says_nothing_of_a_worker_that_runs(staff_client, account, plain_webhook):
    record_command_run(WORKER_NAME, at=timezone.now())
    client = staff_client()

    response = client.post(build_page_url(plain_webhook, "test"), follow=True)

    assert "The test event is on its way." in response.content.decode()
    pages = read_all_pages(client, plain_webhook, account.deliveries.get())
    assert [page for page in pages if "has not run" in page] == []


def test_says_nothing_of_the_worker_beside_what_needs_none(staff_client, account, plain_webhook):
    send_test_event(account, webhook=plain_webhook.public_id, at=NOW)
    delivery = account.deliveries.get()
    delivery.update_row(due_at=None, delivered_at=NOW)
    url = reverse("admin:accounts_delivery_change", args=[delivery.pk])

    assert "has not run" not in staff_client().get(url).content.decode()


def test_offers_no_edit_of_postbacks_and_no_test_of_disabled_webhooks(
    staff_client, account, postback, plain_webhook
):
    client = staff_client()
    disable_webhook(plain_webhook, at=NOW)
    before = account.deliveries.count()

    for row, pages in ((postback, ("edit", "test")), (plain_webhook, ("test",))):
        shown = client.get(build_page_url(row, "change")).content.decode()
        for page in pages:
            url = build_page_url(row, page)
            assert url not in shown
            response = client.post(url, {"url": "https://a.example/"}, follow=True)
            assert "not possible in this state" in response.content.decode()
    assert account.deliveries.count() == before
