"""Payments of an affiliate: pages, statements as files, and documents."""

import csv
from io import StringIO

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from accounts.services.rate_limits import RateLimit
from affiliate_site import statement_files
from affiliate_site.portal import payment_pages, throttling
from affiliate_site.portal_sessions import COOKIE
from payouts.services.payments import cancel_payment
from tests.document_scenario import set_rule, set_taxes, settle, switch_on
from tests.latin_fonts import use_latin_fonts
from tests.payout_scenario import CONFIRMED_AT, Paid, create_run
from tests.program_scenario import ProgramScenario
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAYS = "start=2026-03-01&end=2026-04-30"
ADDRESS = {"address": "Ring 1", "postal_code": "1010", "city": "Wien", "country": "AT"}


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def pay(account, *slugs):
    """Settle a payment of each affiliate, with its document."""
    account.affiliates.update(**ADDRESS)
    run = create_run(account, *(Paid("119", slug=slug) for slug in slugs))
    switch_on(account)
    set_rule(account)
    set_taxes(account, *slugs)
    settle(run)
    return {each.affiliate.slug: each for each in account.documents.all()}


def test_gives_the_documents_and_statements_of_own_payments(mina, account, portal, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Lind")
    documents = pay(account, scenario.mina.slug, odette.slug)
    own, foreign = documents[scenario.mina.slug], documents[odette.slug]

    page = read(mina.get(f"{portal}payments/"))

    url = f"{portal}documents/{own.pk}/"
    assert f'<a href="{url}">Invoice {own}</a>' in page
    assert str(foreign) not in page
    day = account.get_day(CONFIRMED_AT)
    payment = own.payment.public_id
    query = f"start=2026-03-01&amp;end={day}&amp;payment={payment}"
    assert f'<a href="{portal}statement/?{query}">Statement' in page
    assert f'<td class="id">{payment}</td>' in page
    response = mina.get(url)
    assert response.content.startswith(b"%PDF-")
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == f'attachment; filename="{own}.pdf"'
    for pk in (foreign.pk, 10**30):
        assert mina.get(f"{portal}documents/{pk}/").status_code == 404


def test_a_number_may_have_any_characters(mina, account, portal, scenario):
    [document] = pay(account, scenario.mina.slug).values()
    document.update_row(label='"Gü\r\nX: 1')

    response = mina.get(f"{portal}documents/{document.pk}/")

    name = "attachment; filename*=utf-8''%22G%C3%BCX%3A%201.pdf"
    assert response["Content-Disposition"] == name


def test_gives_no_document_of_another_account(mina, portal, other_account):
    other = ProgramScenario(other_account, prefix="zz")
    (document,) = pay(other_account, other.mina.slug).values()
    assert mina.get(f"{portal}documents/{document.pk}/").status_code == 404


def test_hides_what_needs_a_missing_package(mina, account, portal, scenario, monkeypatch):
    (document,) = pay(account, scenario.mina.slug).values()
    for module in (payment_pages, statement_files):
        monkeypatch.setattr(module, "find_weasyprint", lambda: None)
    assert str(document) not in read(mina.get(f"{portal}payments/"))
    assert mina.get(f"{portal}documents/{document.pk}/").status_code == 404
    page = read(mina.get(f"{portal}statement/?start=2026-03-01&end=2026-05-01"))
    assert ">CSV</a>" in page
    assert ">PDF</a>" not in page


def test_downloads_a_statement_with_hidden_order_ids(mina, account, portal, scenario):
    sale = scenario.create_conversion("200", external_id="ORDER-12345")
    scenario.approve(scenario.get_commission(sale))
    create_run(account, Paid("12.50"))
    days = "start=2026-03-01&end=2026-04-30"

    page = read(mina.get(f"{portal}statement/?{days}"))
    assert f'<a href="?{days.replace("&", "&amp;")}&amp;format=csv">CSV</a>' in page

    response = mina.get(f"{portal}statement/?{days}&format=csv")
    name = "statement-2026-03-01-to-2026-04-30.csv"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    payment = account.payments.get().public_id
    assert response.content.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(StringIO(response.content.decode("utf-8-sig")))) == [
        ["Date", "What", "Order or payment", "Amount", "Currency"],
        ["2026-03-01", "Balance before", "", "0", "EUR"],
        ["2026-03-04", "Commission", "…2345", "20", "EUR"],
        ["2026-04-05", "Payment", payment, "-12.5", "EUR"],
        ["2026-04-30", "Balance", "", "7.5", "EUR"],
    ]
    update_portal_settings(account, changes={"order_ids": "none"}, at=timezone.now())
    response = mina.get(f"{portal}statement/?{days}&format=csv")
    assert "2345" not in response.content.decode()


def test_says_nothing_about_a_period_that_it_refuses(mina, portal):
    page = read(mina.get(f"{portal}statement/?start=2026-03-02&end=2026-03-01"))
    assert "Enter a first and a last day in this order" in page
    assert "Nothing happened in this period." not in page


def test_a_statement_names_its_payment_and_leads_to_sales(mina, portal, scenario):
    sale = scenario.create_conversion("200")
    scenario.approve(scenario.get_commission(sale))
    odette = scenario.create_enrolled_affiliate("Odette", "Lind")
    run = create_run(scenario.account, Paid("12.50"), Paid("7", slug=odette.slug))
    own, foreign = run.account.payments.order_by("id")
    url = f"{portal}statement/?start=2026-03-01&end=2026-04-30"

    page = read(mina.get(f"{url}&payment={own.public_id}"))

    named = f"<p>Payment {own.public_id} of 5 April 2026: 12.50 EUR</p>"
    assert named in page
    assert f'<a href="{portal}sales/{sale.pk}/">Commission</a>' in page
    assert f'<td>Payment</td><td class="id">{own.public_id}</td>' in page
    assert f'<p><a href="{portal}payments/">All payments</a></p>' in page
    cancel_payment(scenario.account, payment_id=own.public_id, at=own.created_at)
    page = read(mina.get(f"{url}&payment={own.public_id}"))
    canceled = "12.50 EUR. It was canceled on 5 April 2026: the amount is owed to you again."
    assert canceled in page
    for other in (foreign.public_id, "", "x%00"):
        page = read(mina.get(f"{url}&payment={other}"))
        assert "<p>Payment" not in page


def test_the_pdf_has_days_as_the_language_writes_them(mina, portal, scenario, monkeypatch):
    scenario.approve(scenario.get_commission(scenario.create_conversion("200")))
    scenario.mina.affiliate.update_row(language="fr")
    monkeypatch.setattr(
        statement_files,
        "write_pdf",
        lambda *arguments: render_to_string(*arguments).encode(),
    )
    url = f"{portal}statement/?start=2026-03-01&end=2026-12-01&format=pdf"
    page = mina.get(url).content.decode()
    assert "<title>Relevé du 1er mars 2026 au 1er décembre 2026</title>" in page
    assert "Du 1er mars 2026 au 1er décembre 2026 (jours de" in page
    assert "<td>4 mars 2026</td>" in page


def test_the_pdf_hides_order_ids_too(mina, account, portal, scenario, monkeypatch):
    sale = scenario.create_conversion("200", external_id="ORDER-12345")
    scenario.approve(scenario.get_commission(sale))
    rendered = []
    monkeypatch.setattr(
        statement_files,
        "write_pdf",
        lambda template, context: rendered.append(context["sections"]) or b"%PDF-",
    )
    url = f"{portal}statement/?start=2026-03-01&end=2026-04-30&format=pdf"
    assert mina.get(url)["Content-Type"] == "application/pdf"
    [[section]] = rendered
    assert [value for _, value in section.cells[1]] == [
        "4 Mar 2026",
        "Commission",
        "…2345",
        "20.00 EUR",
    ]
    monkeypatch.undo()
    assert mina.get(url).content.startswith(b"%PDF-")


def test_refuses_a_pdf_with_boxes_for_letters(mina, account, portal, scenario, monkeypatch):
    [document] = pay(account, scenario.mina.slug).values()
    use_latin_fonts(monkeypatch)
    scenario.mina.affiliate.update_row(lastname="李")
    document.supplier["name"] = "李"
    account.documents.update(supplier=document.supplier)
    for url in (f"statement/?{DAYS}&format=pdf", f"documents/{document.pk}/"):
        page = read(mina.get(portal + url, headers={"Accept": "text/html"}), 503)
        assert f"no font of the server has 李. Write to {account.name}" in page
    assert mina.get(f"{portal}statement/?{DAYS}&format=csv").status_code == 200


def test_limits_the_pdf_files_of_an_affiliate(
    mina, account, portal, scenario, set_up_password, monkeypatch
):
    [document] = pay(account, scenario.mina.slug).values()
    monkeypatch.setattr(statement_files, "write_pdf", lambda *args: b"%PDF-")
    monkeypatch.setattr(throttling, "PDF_FILES", RateLimit(2, minutes=60))
    statement = f"{portal}statement/?start=2026-03-01&end=2026-04-30&format="
    urls = (f"{statement}pdf", f"{portal}documents/{document.pk}/")
    for url in urls:
        assert mina.get(url).status_code == 200
    for url in urls:
        page = read(mina.get(url, headers={"Accept": "text/html"}), 429)
        assert "You opened many PDF files. Try again in an hour." in page
    assert mina.get(f"{statement}csv").status_code == 200
    odette = Client()
    other = scenario.create_enrolled_affiliate("Odette", "Lind")
    odette.cookies[COOKIE] = set_up_password(other.affiliate)
    assert odette.get(urls[0]).status_code == 200


def test_has_pages_beyond_fifty(mina, account, portal, scenario, monkeypatch):
    monkeypatch.setattr(payment_pages, "PAGE_SIZE", 2)
    create_run(account, *[Paid("1")])
    for number in range(2, 6):
        scenario.pay(number)
    page = read(mina.get(f"{portal}payments/"))
    amounts = []
    for _ in range(3):
        amounts.append([it for it in range(1, 6) if f">{it}.00 EUR</td>" in page])
        if (start := page.find('href="?before=')) == -1:
            break
        query = page[start + len('href="') :].partition('"')[0]
        page = read(mina.get(f"{portal}payments/{query}"))
    assert amounts == [[4, 5], [2, 3], [1]]
    page = read(mina.get(f"{portal}payments/?before=0"))
    assert "There are no older payments." in page


def test_asks_few_queries(mina, account, portal, scenario, django_assert_max_num_queries):
    pay(account, scenario.mina.slug)
    with django_assert_max_num_queries(12):
        assert len(mina.get(f"{portal}payments/").content) < 60_000
