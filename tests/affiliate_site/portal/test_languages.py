"""The portal and its mails in each language; staff and the API stay English."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import get_language, override

from affiliate_site.portal.formats import choose_csv_format
from affiliate_site.portal_sessions import COOKIE
from payouts.services.mails import queue_sale_digests
from payouts.services.payout_limits import set_minimum
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.portal_profiles import set_notices

pytestmark = pytest.mark.usefixtures("shared_scenario")

GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9,en;q=0.5"}
TITLES = {
    "de": ("Übersicht", "Links", "Verkäufe", "Auszahlungen", "Anmelden"),
    "fr": ("Aperçu", "Liens", "Ventes", "Paiements", "Se connecter"),
    "es": ("Resumen", "Enlaces", "Ventas", "Pagos", "Iniciar sesión"),
}


def read(response, status=200):
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def get_page_language(page):
    return re.search(r'<html lang="(\w+)">', page)[1]


@pytest.fixture
def sale(account, scenario):
    """An approved sale, below the minimum of payments."""
    set_minimum(account, currency="EUR", amount=Decimal(5000), at=timezone.now())
    sale = scenario.create_conversion("12505", external_id="ORDER-12345")
    scenario.approve(scenario.get_commission(sale))
    return sale


@pytest.mark.parametrize("language", TITLES)
def test_shows_the_pages_in_the_language_of_the_browser(mina, portal, language, sale):
    overview, links, sales, payments, sign_in = TITLES[language]
    accepted = {"HTTP_ACCEPT_LANGUAGE": f"{language};q=0.8, en;q=0.2"}
    for path, title in (
        ("", overview),
        ("links/", links),
        ("sales/", sales),
        ("payments/", payments),
    ):
        page = read(mina.get(portal + path, **accepted))
        assert get_page_language(page) == language
        assert f'aria-current="page">{title}</a>' in page
        assert "Copy<" not in page
    page = read(Client().get(f"{portal}sign-in/", **accepted))
    assert f"<h1>{sign_in}</h1>" in page
    assert get_language() == "en"


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            (
                "<h1>Sale of 4 March 2026</h1>",
                "Harbor Lamp Partners, order …2345",
                "The customer used your coupon {coupon}.",
                "10 % of 12,505.00 EUR are 1,250.50 EUR.",
            ),
        ),
        (
            "de",
            (
                "<h1>Verkauf vom 4. März 2026</h1>",
                "Harbor Lamp Partners, Bestellung …2345",
                "Der Kunde hat Ihren Gutscheincode {coupon} verwendet.",
                "10 % von 12.505,00 EUR sind 1.250,50 EUR.",
            ),
        ),
        (
            "fr",
            (
                "<h1>Vente du 4 mars 2026</h1>",
                "Harbor Lamp Partners, commande …2345",
                "Le client a utilisé votre code promo {coupon}.",
                "10 % de 12 505,00 EUR font 1 250,50 EUR.",
            ),
        ),
        (
            "es",
            (
                "<h1>Venta del 4 de marzo de 2026</h1>",
                "Harbor Lamp Partners, pedido …2345",
                "El cliente usó su cupón {coupon}.",
                "El 10 % de 12.505,00 EUR son 1.250,50 EUR.",
            ),
        ),
    ],
)
def test_writes_days_and_amounts_as_the_language_does(
    mina, portal, scenario, sale, language, texts
):
    scenario.program.update_row(title="Harbor Lamp Partners")
    scenario.mina.affiliate.update_row(language=language)
    page = read(mina.get(f"{portal}sales/{sale.pk}/"))
    for text in texts:
        assert text.format(coupon=scenario.mina.coupon) in page


def test_the_own_choice_wins_over_the_browser(mina, portal, scenario):
    for language in ("fr", "en"):
        scenario.mina.affiliate.update_row(language=language)
        page = read(mina.get(portal, **GERMAN))
        assert get_page_language(page) == language


def test_remembers_the_choice_in_browser_and_affiliate(mina, portal, scenario):
    response = mina.post(
        f"{portal}language/", {"language": "es", "page": f"{portal}sales/?state=due"}
    )
    assert response["Location"] == f"{portal}sales/?state=due"
    assert scenario.mina.affiliate.reload().language == "es"
    cookie = response.cookies["language"]
    assert (cookie.value, cookie["path"]) == ("es", portal)
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")

    stranger = Client()
    stranger.post(f"{portal}language/", {"language": "fr"})
    page = read(stranger.get(f"{portal}sign-in/", **GERMAN))
    assert get_page_language(page) == "fr"
    assert '<button name="language" value="fr" lang="fr" class="plain"' in page
    stranger.post(f"{portal}language/", {"language": "xx"})
    assert get_page_language(read(stranger.get(f"{portal}sign-in/"))) == "fr"


@pytest.mark.parametrize(
    "page",
    [
        "https://evil.example/",
        "//evil.example/",
        "/admin/",
        "{portal}\\..",
        "{portal}\n",
    ],
)
def test_leads_to_no_other_site(mina, portal, page):
    form = {"language": "de", "page": page.format(portal=portal)}
    assert mina.post(f"{portal}language/", form)["Location"] == portal


def test_errors_of_forms_and_services_are_translated(mina, portal, scenario):
    page = read(mina.post(f"{portal}profile/edit/", {"firstname": ""}, **GERMAN))
    assert "Dieses Feld ist zwingend erforderlich." in page
    assert "Österreich" in page
    changes = {"old_password": "wrong-lamps-12", "password": "harbor-lamps-13"}
    page = read(mina.post(f"{portal}profile/", changes, **GERMAN))
    assert "Das ist nicht Ihr Passwort." in page
    scenario.mina.affiliate.update_row(email="mina.kessler@notes.example")
    changes = {"old_password": PASSWORD, "password": "mina.kessler@notes.example"}
    page = read(mina.post(f"{portal}profile/", changes, **GERMAN))
    assert "Das Passwort ist der E-Mail-Adresse zu ähnlich." in page
    query = {"start": "2026-03-02", "end": "2026-03-01"}
    page = read(mina.get(f"{portal}statement/", query, **GERMAN))
    assert "Geben Sie einen ersten und einen letzten Tag in dieser Reihenfolge" in page


def test_error_pages_are_in_the_language_of_the_browser(client, portal):
    accepted = {"HTTP_ACCEPT": "text/html", **GERMAN}
    page = read(client.get(f"{portal}sales/x/", **accepted), 404)
    assert get_page_language(page) == "de"
    assert "<h1>Nicht gefunden</h1>" in page
    assert "Unter dieser Adresse gibt es nichts." in page
    assert "/admin/" not in page
    strict = Client(enforce_csrf_checks=True)
    page = read(strict.post(f"{portal}sign-in/", {}, **accepted), 403)
    assert "<h1>Nicht erlaubt</h1>" in page
    assert "Das Formular ist zu alt, oder Cookies sind blockiert." in page

    page = read(client.get("/nothing/", **accepted), 404)
    assert get_page_language(page) == "en"
    assert "<h1>Not Found</h1>" in page


def test_error_pages_are_in_the_language_of_who_is_signed_in(mina, portal, scenario):
    scenario.mina.affiliate.update_row(language="fr")
    accepted = {"HTTP_ACCEPT": "text/html", **GERMAN}
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = mina.cookies
    for response, status in (
        (mina.get(f"{portal}sales/999/", **accepted), 404),  # of a page
        (mina.get(f"{portal}sales/x/", **accepted), 404),
        (mina.get(f"{portal}sign-out/", **accepted), 405),
        (strict.post(f"{portal}profile/edit/", {}, **accepted), 403),
    ):
        assert get_page_language(read(response, status)) == "fr"
    for path in ("/partners/", "/partners/other-account/x/y/"):
        page = read(mina.get(path, **accepted), 404)
        assert get_page_language(page) == "de"
    mina.cookies[COOKIE] = "expired"
    page = read(mina.get(f"{portal}sales/x/", **accepted), 404)
    assert get_page_language(page) == "de"


def test_files_have_the_titles_of_the_language(mina, portal, sale):
    response = mina.get(f"{portal}sales/?file=sales", **GERMAN)
    first, row = response.getvalue().decode("utf-8-sig").splitlines()
    assert first.replace('"', "") == (
        "Tag;Was;Programm;Bestellung;Status;Betrag des Verkaufs;Sie verdienen;Währung;"
        "Zurückgehalten bis"
    )
    cells = row.split(";")
    assert (cells[1], cells[6]) == ('"Verkauf"', "1250,5")


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", '"a,b",12.5\r\n'),
        *((code, '"a,b";12,5\r\n') for code in ("de", "fr", "es")),
    ],
)
def test_spreadsheets_of_a_language_read_the_numbers(language, line):
    """They take a point for the mark of thousands, or of a day."""
    with override(language):
        assert choose_csv_format()(["a,b", Decimal("12.50")]) == line


def test_mails_are_in_the_language_of_the_affiliate(account, portal, scenario, sale, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    affiliate = scenario.mina.affiliate
    email = "mina@notes.example"
    affiliate.update_row(email=email, email_folded=email, language="de")
    set_notices(affiliate, {"new_sales": True})
    at = CONVERSION_CREATED_AT + timedelta(days=1)
    assert queue_sale_digests(account, url="https://a.example/", at=at) == 1
    mail = account.mails.get()
    assert mail.subject == f"Ihre neuen Verkäufe bei {account.name}"
    assert mail.text == (
        f"Guten Tag Mina,\n\nam 4. März 2026 hatten Sie neue Verkäufe bei"
        f" {account.name}:\n\n1 Verkauf, Ihre Provision: 1.250,50 EUR\n\nHier sehen Sie"
        " sie:\nhttps://a.example/\n\nSie erhalten diese E-Mail, weil Sie darum gebeten"
        " haben. Abschalten können Sie sie unter Profil, E-Mails.\n"
    )
    assert get_language() == "en"


@pytest.mark.parametrize(
    ("chosen", "expected"), [(None, "de"), ("fr", "fr")], ids=["none", "chosen"]
)
def test_keeps_the_language_of_the_first_browser(
    scenario, portal, set_up_password, chosen, expected
):
    affiliate = scenario.mina.affiliate
    affiliate.update_row(language=chosen, email="m@example.org", email_folded="m@example.org")
    set_up_password(affiliate)
    entries = {"email": "m@example.org", "password": PASSWORD}
    browser = Client(headers={"Accept-Language": "de-AT, de;q=0.9"})
    assert browser.post(f"{portal}sign-in/", entries).status_code == 302
    affiliate.refresh_from_db()
    assert affiliate.language == expected


def test_addresses_germans_formally_in_the_messages_of_fields(client, mina, portal):
    """The catalog of REST framework, which has the same texts, says *du*."""
    page = read(client.post(f"{portal}password/", {"email": "mina@"}, **GERMAN))
    assert "Geben Sie eine gültige E-Mail-Adresse ein." in page
    page = read(mina.get(f"{portal}links/?page=https://", **GERMAN))
    assert "Geben Sie eine gültige Internetadresse ein." in page
