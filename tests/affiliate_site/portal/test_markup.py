"""Texts that people write are shown as texts, on pages, in mails and in files."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.services.staff import create_staff_user
from affiliate_site.webhooks.mail_sending import render_html
from tests.affiliate_site.portal.test_tenant_isolation import (
    PAGES,
    POST_ONLY,
    Visited,
    build_urls,
)
from tracking.attribution import TrackingParameters
from tracking.services.creatives import create_creative
from tracking.services.hierarchy import set_parent
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, answer_question, ask_question

TEXT = "<b>zz</b>\"'><script>"
FORMULA = "=cmd|'/c calc'!A0"


@pytest.fixture
def written(mina, portal, account, scenario):
    """Mina, and the markup in each text that she or the staff can write."""
    at, affiliate = timezone.now(), scenario.mina.affiliate
    settings = {"welcome_text": TEXT, "terms": TEXT, "order_ids": "whole"}
    settings |= {"is_open": True, "shows_comments": True, "shows_recruit_sales": True}
    update_portal_settings(account, changes=settings, at=at)
    account.name, account.uses_webhooks = TEXT, True
    account.save()
    affiliate.account = account
    names = ("firstname", "lastname", "company_name", "address", "city", "state")
    affiliate.update_row(**dict.fromkeys(names, TEXT))
    account.programs.update(title=TEXT)
    for kind in ("select", "multiselect", "text", "textarea", "checkbox", "url"):
        options = [TEXT, "b"] if "select" in kind else None
        account.field_definitions.create(slug=kind, title=TEXT, type=kind, options=options)
    program_id = scenario.program.slug
    create_creative(account, program_id=program_id, title=TEXT, text=TEXT, at=at)
    recruit = scenario.create_enrolled_affiliate("Odo", "Zander")
    set_parent(account, affiliate_id=recruit.slug, parent_id=affiliate.slug, at=at)
    recruit.affiliate.update_row(firstname=TEXT)
    page = f"https://shop.example.net/{TEXT}"
    click = scenario.create_click(scenario.mina, landing_page=page, at=at)
    parameters = TrackingParameters(click_id=str(click.public_id))
    sale = scenario.create_conversion("100", external_id=TEXT, at=at, parameters=parameters)
    refused = scenario.create_conversion("100", external_id=FORMULA, at=at)
    commission = scenario.get_commission(refused)
    commission.update_row(comment=TEXT)
    scenario.disapprove(commission, at=at)
    account.coupons.filter(enrollment=scenario.mina.enrollment).update(code=TEXT)
    data = QuestionData(TEXT, account.get_day(at), text=TEXT, conversion=sale)
    question = ask_question(affiliate, data=data, at=at)
    answer_question(account, question_id=question.public_id, answer=TEXT, at=at)
    details = dict.fromkeys(("account_holder", "account_number", "bank_name"), TEXT)
    account.payout_methods.create(affiliate=affiliate, kind="bank", details=details)
    ids = {"sale": sale.pk, "next_sale": 10**9, "next_payment": 10**9, "document": 1}
    ids |= {"kind": "bank", "postback": "x", "program": program_id}
    return Visited(affiliate, ids | {"next_creative": 10**9, "affiliate": "x"})


def find_markup(client, url) -> bool:
    response = client.get(url)
    content = response.getvalue() if response.streaming else response.content
    is_page = response["Content-Type"].startswith("text/html")
    return is_page and any(it in content for it in (b"<b>zz", b"'><script>"))


def test_pages_and_mails_show_texts(mina, portal, account, written):
    sent = mina.get(f"{portal}missing/", {"order_id": TEXT, "day": "2026-03-04"})
    assert b"&lt;b&gt;zz" in sent.content
    for client in (mina, Client()):
        for page in set(PAGES) - POST_ONLY:
            for url in build_urls(portal, written, page):
                assert not find_markup(client, url), url
    [mail] = account.mails.all()
    mail.account = account
    html = render_html(mail)
    assert "&lt;b&gt;zz" in html
    assert "<b>zz" not in html


def test_files_have_no_formulas(mina, portal, written):
    content = mina.get(f"{portal}sales/?file=1").getvalue().decode()
    assert f'"\'{FORMULA}"' in content
    assert f'"{FORMULA}' not in content


def test_staff_see_texts(account, written):
    owner, _ = create_staff_user(
        account,
        email="owner@harbor.example.org",
        role="owner",
        password=None,
        at=timezone.now(),
    )
    client = Client()
    client.force_login(owner)
    question = account.questions.get()
    rows = [question, account.creatives.get(), written.affiliate]
    for row in rows:
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
        for url in (
            reverse(f"{name}_changelist"),
            reverse(f"{name}_change", args=[row.pk]),
        ):
            assert client.get(url).status_code == 200
            assert not find_markup(client, url), url
