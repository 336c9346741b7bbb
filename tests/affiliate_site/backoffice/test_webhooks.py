"""Pages of webhooks: secrets in URLs are shown to owners only."""

import io
import zipfile

import pytest
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.services.webhooks import create_postback_endpoint, create_webhook
from affiliate_site.backoffice.webhooks import mask_url
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario

WEBHOOK_URL = "https://hooks.example.net/orders/lamp?token=zz-secret#zz-secret"
POSTBACK_URL = "https://mina.example.net/pixel?key=zz-secret&sale=${conversion_id}"


@pytest.fixture
def webhook(account):
    webhook = create_webhook(
        account, url="https://hooks.example.net/orders/", events=[], at=NOW
    )
    # User info and fragments are refused today; rows may be older than that rule.
    webhook.update_row(url=WEBHOOK_URL.replace("://", "://zz-secret:zz-secret@"))
    return webhook


@pytest.fixture
def postback(account, webhook):
    """A postback with one delivery, whose URL is stored with its macros filled in."""
    scenario = ProgramScenario(account)
    postback = create_postback_endpoint(
        account, url=POSTBACK_URL, affiliate=scenario.mina.affiliate.slug, at=NOW
    )
    scenario.create_conversion("200")
    return postback


def read_pages(client, account, postback):
    """The texts of all pages and exports that could show a URL."""
    delivery = account.deliveries.exclude(url="").get()
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
    return {path: read_text(client.get(path)) for path in paths}


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
    name, delivery = (
        "admin:accounts_webhookendpoint",
        account.deliveries.exclude(url=""),
    )
    assert shown >= {
        reverse(f"{name}_changelist"),
        reverse(f"{name}_export"),
        reverse(f"{name}_change", args=[postback.pk]),
        reverse("admin:accounts_delivery_change", args=[delivery.get().pk]),
    }


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
