"""Self-billing by staff with a browser: its settings, tax data, rules and documents."""

from decimal import Decimal

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from affiliate_site import document_files
from affiliate_site.backoffice.payouts import documents as document_admin
from payouts.services.payments import cancel_payment
from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import (
    list_messages,
    page_url,
    submit,
)
from tests.affiliate_site.backoffice.test_exports import export_csv
from tests.document_scenario import AT, set_rule, set_taxes, settle, switch_on
from tests.latin_fonts import use_latin_fonts
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario
from tracking.models.affiliates import Affiliate

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = "admin:payouts_document"
SETTINGS = {
    "documents_from": "2026-01-01",
    "document_prefix": "HAR-",
    "payer_vat_id": "DE 136 695 976",
}


@pytest.fixture
def run(scenario):
    address = {"address": "Ring 1", "postal_code": "1010", "city": "Wien"}
    Affiliate.objects.filter(account=scenario.account).update(country="AT", **address)
    return create_run(scenario.account, Paid("119"))


@pytest.fixture
def document(scenario, run):
    account = scenario.account
    switch_on(account)
    set_rule(account)
    set_taxes(account, scenario.mina.slug)
    settle(run)
    return account.documents.get()


def get_page(client, url, **query):
    response = client.get(url, query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def post(client, url, **entries):
    return client.post(url, get_form(client, url) | entries, follow=True)


def test_finance_bills_a_payment_from_nothing(staff_client, scenario, account, run):
    """Each step leads to the next one: settings, rule, tax data, document."""
    switch_on(account, documents_from=None)
    settle(run)
    client = staff_client("finance")
    issue, settings = reverse(f"{LIST}_add"), reverse("admin:self_billing")
    page = get_page(client, issue)
    assert "Self-billing is off." in page
    assert settings in page
    messages = list_messages(post(client, settings, **SETTINGS))
    assert messages == ["The settings were saved."]

    page = get_page(client, issue)
    affiliate = scenario.mina.affiliate
    assert "No payment can be billed now." in page
    assert "The affiliate has no tax data: <a" in page
    assert page_url(affiliate, "change") in page
    tax_data = {"kind": "business", "country": "AT", "vat_id": "U12345675"}
    form = page_url(affiliate, "tax")
    saved = post(client, form, **tax_data, consented_on="2026-03-01")
    assert list_messages(saved) == [f"The tax data of {affiliate.slug} were saved."]
    page = get_page(client, page_url(affiliate, "change"))
    assert "Business, Austria, ATU12345675, agreed on 2026-03-01" in page

    assert "No tax rule for the country" in get_page(client, issue)
    rule = {"kind": "business", "country": "AT", "rate": "19"}
    saved = post(client, reverse("admin:payouts_taxrule_add"), **rule)
    assert list_messages(saved) == ["The tax rule was saved."]

    assert "1 can be billed now: <a" in get_page(client, issue)
    assert list_messages(post(client, issue)) == ["1 document was issued."]
    document = account.documents.get()
    assert str(document).startswith("HAR-20")
    assert str(document) in get_page(client, reverse(f"{LIST}_changelist"))
    assert "No payment can be billed now." in get_page(client, issue)


@pytest.mark.parametrize(
    ("name", "entered", "message"),
    [
        ("payer_vat_id", "DE 123", "This is not a VAT ID of Germany"),
        ("documents_from", "soon", "Enter a valid date."),
        ("document_prefix", "x" * 17, "at most 16 characters"),
    ],
)
def test_refuses_settings_beside_the_field(staff_client, account, name, entered, message):
    switch_on(account)
    response = post(staff_client(), reverse("admin:self_billing"), **{name: entered})
    assert message in " ".join(response.context["form"].errors[name])
    settings = account.payout_settings.get()
    assert settings.document_prefix == "SB-"


def test_shows_a_document_and_its_correction(staff_client, account, document):
    client = staff_client("viewer")
    page = get_page(client, page_url(document, "change"))
    for text in (
        "Self-billed invoice SB-2026-00001",
        *("119.00 EUR", "100.00 EUR", "19.00 EUR", "VAT 19 %"),
        *(
            "Acme GmbH",
            "VAT ID: DE136695976",
            "VAT ID: ATU12345675",
            "<div>1010 Wien</div>",
        ),
    ):
        assert text in page
    cancel_payment(account, payment_id=document.payment.public_id, at=AT)

    page = get_page(client, page_url(document, "change"))
    correction = account.documents.get(kind="correction")
    assert page_url(correction, "change") in page
    page = get_page(client, page_url(correction, "change"))
    assert f"Correction {correction} of {document}" in page
    assert "-119.00 EUR" in page


def test_the_payment_leads_to_its_documents(staff_client, document):
    page = get_page(staff_client(), page_url(document.payment, "change"))
    assert page_url(document, "change") in page


def test_canceling_says_what_the_bank_and_the_document_say(staff_client, document):
    client, url = staff_client(), page_url(document.payment, "cancel")
    assert "The bank says that this payment arrived on 2026-04-08" in get_page(client, url)
    _, shown = submit(client, url, reason="It came back")
    facts = dict(shown.context["effect_facts"])
    assert facts["Document"] == f"{document} gets a correction"


def test_downloads_the_document(staff_client, document, monkeypatch):
    client = staff_client("viewer")
    url = reverse("admin:document_pdf", args=[document.pk])
    response = client.get(url)
    assert response.content.startswith(b"%PDF-")
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == f'attachment; filename="{document}.pdf"'
    assert url in get_page(client, page_url(document, "change"))
    use_latin_fonts(monkeypatch)
    account = document.account
    account.documents.update(supplier=document.supplier | {"name": "李"})
    response = client.get(url, headers={"Accept": "text/html"})
    assert (response.status_code, "prints 李" in response.text) == (503, True)
    monkeypatch.setattr(document_admin, "find_weasyprint", lambda: None)

    assert client.get(url).status_code == 404
    assert url not in get_page(client, page_url(document, "change"))


def test_the_file_names_both_sides(document, monkeypatch):
    """The page that becomes a PDF."""
    monkeypatch.setattr(document_files, "write_pdf", render_to_string)
    page = document_files.render_document(document)
    assert "{" not in page[page.index("</style>") :]
    for text in (
        "Mina Kessler<br>Ring 1<br>1010 Wien<br>Austria<br>VAT ID: ATU12345675<br>",
        "Acme GmbH<br>Hauptstr. 5<br>10115 Berlin<br>Germany<br>VAT ID: DE136695976",
        "<h1>Self-billed invoice SB-2026-00001</h1>",
        f"Payment {document.payment} of 2026-04-05",
        '<td>VAT 19 %</td><td class="amount">19.00 EUR</td>',
    ):
        assert text in page


@pytest.mark.parametrize(("opening", "shown"), [("7", True), (None, False)])
def test_the_file_says_what_was_an_opening_balance(document, monkeypatch, opening, shown):
    monkeypatch.setattr(document_files, "write_pdf", render_to_string)
    document.opening = opening and Decimal(opening)

    page = document_files.render_document(document)

    line = "<td>Opening balance, included in the total</td>"
    assert (f'{line}<td class="amount">7.00 EUR</td>' in page) == shown


def test_the_file_is_in_the_language_of_the_affiliate(document, monkeypatch):
    monkeypatch.setattr(document_files, "write_pdf", render_to_string)
    document.affiliate.update_row(language="de")
    page = document_files.render_document(document)
    for text in (
        '<html lang="de">',
        "1010 Wien<br>Österreich<br>USt-IdNr.: ATU12345675<br>",
        "<h1>Gutschrift SB-2026-00001</h1>",
        f"Auszahlung {document.payment} vom 5. April 2026",
        '<td>USt. 19 %</td><td class="amount">19,00 EUR</td>',
    ):
        assert text in page


def test_exports_documents(staff_client, document):
    header, *rows = export_csv(staff_client(), "payouts_document")
    assert rows == [
        [
            *("SB-2026-00001", "Self-billing document", "minakessler", "2026-04-08"),
            *("100", "EUR", "19", "EUR", "119", "EUR", "", "19"),
            *(document.payment.public_id, ""),
        ]
    ]
    assert len(header) == len(rows[0])


def test_shows_and_sends_nothing_of_another_account(staff_client, other_account, document):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    Affiliate.objects.filter(account=other_account).update(
        address="Ring 1", city="Wien", country="AT"
    )
    run = create_run(other_account, Paid("7", slug=other.mina.slug))
    switch_on(other_account)
    set_rule(other_account)
    set_taxes(other_account, other.mina.slug)
    settle(run)
    theirs = other_account.documents.get()
    client = staff_client()
    for url in (
        page_url(theirs, "change"),
        reverse("admin:document_pdf", args=[theirs.pk]),
    ):
        assert client.get(url).status_code in {302, 404}
    assert theirs.payment.public_id not in get_page(client, reverse(f"{LIST}_changelist"))
