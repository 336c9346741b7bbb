"""Texts of empty lists: how rows are created, or how to clear the filters."""

import re
from datetime import date
from html import escape

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.webhooks import WebhookEndpoint
from accounts.services.api_keys import create_signing_secret
from accounts.services.invitations import create_invitation
from accounts.services.webhooks import create_webhook
from tests.affiliate_site.backoffice.form_samples import (
    create_alert,
    create_calculated_scenario,
    create_closed_month,
    create_document,
    create_imports,
    create_payout_run,
    create_risk_case,
    create_shop,
)
from tests.affiliate_site.backoffice.rates import create_rates
from tests.payout_scenario import Paid, create_run
from tests.sample_account import SampleAccount
from tracking.models.conversions import Conversion
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.questions import QuestionData, ask_question

pytestmark = pytest.mark.engine_independent  # texts

ADMINS = admin.site._registry
CLEAR = ' href="?">Clear the filters'


def label(model):
    return model._meta.label


def get_changelist(client, model, **query):
    options = model._meta
    name = f"admin:{options.app_label}_{options.model_name}_changelist"
    response = client.get(reverse(name), query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_every_list_has_a_text(model):
    assert len(ADMINS[model].empty_state.split()) > 5


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_names_the_button_of_the_list_and_no_shell_command(model):
    text = ADMINS[model].empty_state
    buttons = re.findall("“(Add [^”]+)”", text)

    assert "manage.py" not in text
    assert set(buttons) <= {f"Add {model._meta.verbose_name}"}


@pytest.mark.engine_independent
@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_shows_the_text_of_an_empty_list(staff_client, monkeypatch, model):
    """The queryset is replaced: lists of staff and of the audit log are never empty."""
    no_rows = model._base_manager.none()
    monkeypatch.setattr(type(ADMINS[model]), "get_queryset", lambda *args: no_rows)

    page = get_changelist(staff_client(), model)

    assert escape(ADMINS[model].empty_state) in page
    assert CLEAR not in page


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_offers_to_clear_filters_without_results(staff_client, model):
    client = staff_client()
    queries = []
    if ADMINS[model].search_fields:
        queries.append({"q": "nobody"})
    if "created_at" in {field.name for field in model._meta.fields}:
        queries.append({"created_at__gte": "2999-01-01T00:00:00Z"})

    for query in queries:
        page = get_changelist(client, model, **query)
        assert CLEAR in page
        assert escape(ADMINS[model].empty_state) not in page


def test_shows_no_text_with_rows(staff_client, account, api, subtests):
    sample = SampleAccount(api, account.slug, "harbor")
    create_webhook(account, url="https://harbor.example/", at=timezone.now())
    create_signing_secret(account, at=timezone.now())
    for name in (
        *("approved_amount", "payment_id", "note_id", "prospect_id"),
        *("payout_method", "group_id", "contested_claim"),
    ):
        assert getattr(sample, name)
    account.field_definitions.create(slug="size", title="Size", type="text")
    create_rates(account, "harbor")
    program = account.programs.get(slug=sample.program)
    account.creatives.create(program=program, title="Lamps", kind="text", text="Lamps")
    create_payout_run(account, "harbor")
    affiliate = account.affiliates.get(slug=sample.affiliate)
    asked = QuestionData("order-1", account.get_day(timezone.now()))
    ask_question(affiliate, data=asked, at=timezone.now())
    account.payout_minimums.create(currency="EUR", amount=50)
    account.exchange_rates.create(
        currency="USD", into_currency="EUR", worth_of_10000=9200, set_on=date(2026, 3, 4)
    )
    record_failed_page_call(account, reason="a", page="", at=timezone.now())
    create_run(account, Paid(slug=sample.affiliate))
    create_document(account, "harbor")
    create_risk_case(account, "harbor")
    create_alert(account, "harbor")
    create_calculated_scenario(account, "harbor")
    create_closed_month(account, "harbor")
    create_shop(account, "harbor")
    create_imports(account, "harbor")
    client = staff_client()
    create_invitation(
        account,
        email="zoe@harbor.example.org",
        role=Role.VIEWER,
        by=account.staff.get(),
        at=timezone.now(),
    )

    for model in ADMINS:
        with subtests.test(model=label(model)):
            page_with_rows = get_changelist(client, model)
            assert 'id="result_list"' in page_with_rows
            for page in (page_with_rows, get_changelist(client, model, p="9")):
                assert escape(ADMINS[model].empty_state) not in page
                assert CLEAR not in page


@pytest.mark.parametrize(("role", "can_add"), [(Role.OWNER, True), (Role.VIEWER, False)])
def test_shows_an_add_button_only_if_permitted(staff_client, role, can_add):
    page = get_changelist(staff_client(role=role), WebhookEndpoint)

    link = f'href="{reverse("admin:accounts_webhookendpoint_add")}">Add webhook'
    assert (link in page) is can_add


def test_says_what_a_search_without_results_looks_for(staff_client):
    url = reverse("admin:tracking_affiliate_changelist")

    page = staff_client().get(url, {"q": "<nobody>"}).content.decode()

    assert "Nothing matches “&lt;nobody&gt;”. Search by name, e-mail, company" in page


@pytest.mark.parametrize(("role", "can_import"), [(Role.OWNER, True), (Role.MANAGER, False)])
def test_leads_owners_to_the_import_of_a_table(staff_client, role, can_import):
    page = get_changelist(staff_client(role=role), Conversion)

    link = f'href="{reverse("admin:tracking_tableimport_add")}?kind=conversions"'
    assert (link in page) is can_import
