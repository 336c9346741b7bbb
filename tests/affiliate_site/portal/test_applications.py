"""Applications of strangers and affiliates; nobody learns who is one."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from accounts.services.accounts import set_logo
from affiliate_site.portal.throttling import TOO_MANY_APPLICATIONS
from affiliate_site.portal_sessions import COOKIE
from affiliate_site.qr_codes import get_link_style
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.factories.tracking import ProgramFactory
from tracking.services import portal_applications
from tracking.services.custom_fields import create_custom_field
from tracking.services.portal_addresses import calculate_address_digest
from tracking.services.portal_settings import update_portal_settings
from tracking.services.portal_terms import publish_terms

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
EMAIL = "nora@weld.example.org"
ENTRIES = {
    "program": "lamps",
    "firstname": "Nora",
    "lastname": "Weld",
    "email": EMAIL,
    "country": "DE",
}
SENT = (
    f"Nearly done We have sent a mail to {EMAIL}. Open the link in it within 24 hours"
    " to finish your application. Look into your spam folder, too."
)


def read(response):
    """The text of the main part of a page."""
    page = response.content.decode()
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


@pytest.fixture
def portal(portal, account, scenario):
    update_portal_settings(account, changes={"is_open": True}, at=timezone.now())
    return portal


@pytest.fixture
def entries(scenario):
    return ENTRIES | {"program": scenario.program.slug}


@pytest.fixture
def send(client, portal, entries):
    """Send the form; returns the page."""

    def send(status=200, **changes):
        response = client.post(f"{portal}apply/", entries | changes)
        assert response.status_code == status
        return response

    return send


def test_the_digest_of_the_address_is_stored(client, portal, entries, account):
    client.post(f"{portal}apply/", entries, REMOTE_ADDR="192.88.99.7")
    digest = calculate_address_digest(account, "192.88.99.7")
    assert account.portal_applications.get().address_digest == digest


def get_path(account):
    """The path of the link in the newest mail."""
    text = account.mails.order_by("-pk").first().text
    return re.search(r"http://[^/]*(/\S+)", text)[1]


def test_a_stranger_becomes_an_affiliate(client, account, portal, scenario, send):
    assert read(send()) == SENT
    assert not account.affiliates.filter(email=EMAIL).exists()
    mail = account.mails.get()
    assert (mail.recipient, mail.affiliate) == (EMAIL, None)
    url = get_path(account)
    text = read(client.get(url))
    assert text == (
        f"Confirm your application You apply with the address {EMAIL} for the program"
        f" {scenario.program.title} of {account.name}. Name Nora Weld Country Germany"
        " Confirm it only if you entered this yourself: anybody can apply with your"
        " address. Apply again In the next step you choose a password. Confirm"
        " application"
    )
    assert not account.affiliates.filter(email=EMAIL).exists()
    response = client.post(url)
    assert response.status_code == 302
    arrived = f"Your application to {account.name} has arrived. Set a password"
    assert arrived in read(client.get(response.url))
    assert client.post(response.url, {"password": PASSWORD}).url == portal
    assert COOKIE in client.cookies
    page = read(client.get(portal))
    assert (
        f"Your application for {scenario.program.title} waits for a decision of {account.name}."
    ) in page
    assert page.endswith("No sale yet.")  # there is no link to share
    affiliate = account.affiliates.get(email=EMAIL)
    assert (affiliate.firstname, affiliate.country) == ("Nora", "DE")
    assert affiliate.language == "en"
    assert account.enrollments.get(affiliate=affiliate).approved is None
    assert "This link works once" in read(client.post(url))


def test_a_name_starts_no_paragraph_in_mails(client, account, portal, entries):
    name = {"firstname": " Nora\r\n\nPay at  evil.example", "company": "Weld\tCo"}
    client.post(f"{portal}apply/", entries | name)
    client.post(get_path(account))
    affiliate = account.affiliates.get(email=EMAIL)
    assert affiliate.firstname == "Nora Pay at evil.example"
    assert affiliate.company_name == "Weld Co"


@pytest.mark.parametrize("has_levels", [True, False])
def test_who_recruited_somebody_becomes_the_parent(
    client, account, portal, scenario, entries, has_levels
):
    account.plan.mlm = has_levels
    account.plan.save()
    recruiter, other = scenario.mina.affiliate, ProgramFactory(account=account)
    link = f"{portal}apply/?by={recruiter.slug}"
    page = client.get(link).content.decode()
    assert f"?program={other.slug}&amp;by={recruiter.slug}" in page
    client.post(link, entries)
    client.post(get_path(account))
    parent = recruiter if has_levels else None
    assert account.affiliates.get(email=EMAIL).parent == parent


def test_each_link_confirms_what_it_shows(client, account, portal, scenario, entries):
    """A stranger applies with her address, his name and his recruiter's code."""
    account.plan.mlm = True
    account.plan.save()
    publish_terms(account, "Be honest.", at=timezone.now())
    other = ProgramFactory(account=account, slug="boats")
    recruiter, urls = scenario.mina.affiliate.slug, []
    for query, changes in (
        (f"?by={recruiter}", {"firstname": "Rob", "company": "Rob & Sons"}),
        ("", {}),
        ("", {"program": other.slug}),
    ):
        form = entries | {"terms": "1"} | changes
        client.post(f"{portal}apply/{query}", form)
        urls.append(get_path(account))
    foreign, own, further = urls
    page = read(client.get(foreign))
    for text in ("Rob Weld", "Rob &amp; Sons", f"Recruited by {recruiter}"):
        assert text in page
        assert text not in read(client.get(own))
    assert "Be honest." in page

    assert client.post(own).status_code == 302

    affiliate = account.affiliates.get(email=EMAIL)
    assert (affiliate.firstname, affiliate.parent) == ("Nora", None)
    assert "This link works once" in read(client.get(foreign))
    assert "This link works once" in read(client.post(foreign))
    assert "Nora Weld" in read(client.get(further))  # of another program
    assert account.affiliates.filter(email=EMAIL).count() == 1


def test_the_applications_to_another_account_stay(client, account, other_account, portal, send):
    update_portal_settings(
        other_account, changes={"is_on": True, "is_open": True}, at=timezone.now()
    )
    program = ProgramFactory(account=other_account, slug="zz-boats")
    send()
    client.post(f"/partners/{other_account.slug}/apply/", ENTRIES | {"program": program.slug})
    client.post(get_path(account))
    assert other_account.portal_applications.get().used_at is None


@pytest.mark.parametrize("by", ["nobody", "%00", "x%27"])
def test_an_unknown_recruiter_is_ignored(client, account, portal, entries, by):
    assert read(client.post(f"{portal}apply/?by={by}", entries)) == SENT
    client.post(get_path(account))
    assert account.affiliates.get(email=EMAIL).parent is None


def test_known_and_unknown_addresses_get_the_same_answer(account, portal, scenario, send):
    scenario.mina.affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    known = send()
    assert account.mails.get().affiliate == scenario.mina.affiliate
    scenario.mina.affiliate.update_row(email=None, email_folded=None)
    unknown = send()
    assert account.mails.count() == 2
    secret = r'name="csrfmiddlewaretoken" value="\w+"'
    assert re.sub(secret, "", known.content.decode()) == re.sub(
        secret, "", unknown.content.decode()
    )


@pytest.mark.parametrize(
    ("approved", "text"),
    [
        (None, "Your application has arrived already, and waits for a decision of"),
        (True, "You have an account already: sign in here:"),
    ],
)
def test_says_to_who_has_applied_that_it_arrived(account, portal, scenario, send, approved, text):
    scenario.mina.affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    account.enrollments.update(approved=approved)
    send()
    mail = account.mails.get().text
    assert text in mail
    assert f"{portal}sign-in/" in mail


def test_stores_nothing_of_who_fills_in_the_hidden_field(account, send):
    assert read(send(website="https://spam.example")) == SENT
    assert not account.portal_applications.exists()
    assert not account.mails.exists()


def test_limits_the_applications_of_a_client(account, send, time_machine):
    time_machine.move_to(NOON, tick=False)
    for _ in range(5):
        send()
    assert account.mails.count() == 3
    for number in range(5):
        send(email=f"{number}@weld.example.org")
    assert str(TOO_MANY_APPLICATIONS) in read(send(429, email="x@weld.example.org"))
    time_machine.move_to(NOON + timedelta(hours=1, seconds=1), tick=False)
    assert read(send(email="x@weld.example.org")) == SENT.replace(EMAIL, "x@weld.example.org")


def test_spellings_of_a_domain_share_the_limit_of_mails(account, send):
    for domain in ("münchen", "MÜNCHEN", "münchen", "xn--mnchen-3ya"):
        send(email=f"nora@{domain}.example.org")
    assert account.mails.count() == 3
    page = read(send(email="=?utf-8?q?nora?=@weld.example.org"))
    assert "Enter a valid email address." in page


def apply_from(client, portal, entries, number, **extra):
    return client.post(
        f"{portal}apply/",
        entries | {"email": f"{number}@weld.example.org"} | extra,
        REMOTE_ADDR=f"192.0.2.{number}",
    )


def test_only_what_is_stored_counts_for_the_account(client, portal, entries, monkeypatch, settings):
    monkeypatch.setattr(portal_applications, "MAX_STORED_PER_HOUR", 3)
    settings.PORTAL_CHALLENGE = f"{__name__}.{refuse_robots.__name__}"
    for number in range(1, 6):
        apply_from(client, portal, entries, number, firstname="R2")
        apply_from(client, portal, entries, number, website="https://spam.example")
    for number in range(1, 4):
        assert read(apply_from(client, portal, entries, number))
    page = read(apply_from(client, portal, entries, 4))
    assert str(TOO_MANY_APPLICATIONS) in page


def test_who_fails_the_check_of_the_deployment_counts_for_nobody(
    account, client, portal, entries, settings
):
    settings.PORTAL_CHALLENGE = f"{__name__}.{refuse_robots.__name__}"
    for _ in range(12):
        apply_from(client, portal, entries, 1, firstname="R2")
    assert apply_from(client, portal, entries, 1).status_code == 200
    assert account.portal_applications.count() == 1


def refuse_robots(request):
    return "You look like a robot." if request.POST["firstname"] == "R2" else ""


def test_asks_a_check_of_the_deployment(account, send, settings):
    settings.PORTAL_CHALLENGE = f"{__name__}.{refuse_robots.__name__}"
    assert "You look like a robot." in read(send(firstname="R2"))
    assert not account.mails.exists()
    assert read(send()) == SENT


@pytest.mark.parametrize("method", ["get", "post"])
def test_says_honestly_that_no_mail_can_be_sent(client, account, portal, entries, settings, method):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    response = getattr(client, method)(f"{portal}apply/", entries)
    assert read(response).endswith("Applications are not open now.")
    assert not account.portal_applications.exists()


def test_public_pages_say_that_applications_are_not_open(
    client, mina, account, portal, scenario, settings
):
    ProgramFactory(account=account, slug="boats", title="Boats")
    pages = ("", f"{scenario.program.slug}/", "apply/")
    for page in pages:
        assert "apply/?program=" in client.get(f"{portal}{page}").content.decode()
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    address = "partners+help@harbor.example"
    link = f'<a href="mailto:partners%2Bhelp@harbor.example">{address}</a>'
    for email in (None, address):
        changes = {"contact_email": email}
        update_portal_settings(account, changes=changes, at=NOON)
        for page in pages:
            response = client.get(f"{portal}{page}")
            text = read(response)
            assert "Applications are not open now." in text
            assert "decides about each application" not in text
            assert "apply/?program=" not in response.content.decode()
            assert (address in text) == bool(email)
            # In the text and in the footer.
            assert response.content.decode().count(link) == (2 if email else 0)
    assert "apply/?program=boats" in mina.get(f"{portal}links/").content.decode()


def test_asks_the_questions_of_the_account(client, account, portal, send):
    options = {"options": ["Blog", "Video"]}
    for slug, title, field_type, further in (
        ("site", "Your site", "url", {"required": True}),
        ("about", "About you", "textarea", {}),
        ("kind", "Kind", "select", options),
        ("kinds", "Kinds", "multiselect", options),
        ("adult", "I am an adult", "checkbox", {"required": True}),
        ("motto", "Motto", "text", {}),
    ):
        create_custom_field(account, slug=slug, title=title, type=field_type, at=NOON, **further)
    page = read(client.get(f"{portal}apply/"))
    for text in ("Your site", "About you (optional)", "Kinds (optional) Blog Video"):
        assert text in page
    assert "This field is required." in read(send())
    wrong = {"field-site": "x y", "field-adult": "on", "field-kind": "Radio"}
    text = read(send(**wrong))
    assert "Enter a valid URL." in text
    assert "Radio is not one of the available choices." in text
    send(
        **{
            "field-site": "weld.example.org",
            "field-adult": "on",
            "field-kinds": ["Blog", "Video"],
            "field-motto": "Light!",
        }
    )
    client.post(get_path(account))
    assert account.affiliates.get(email=EMAIL).custom_fields == {
        "site": "https://weld.example.org",
        "kinds": ["Blog", "Video"],
        "adult": "true",
        "motto": "Light!",
    }


def test_asks_to_accept_the_terms(client, account, portal, send):
    update_portal_settings(account, changes={"terms": "Be <b>fair</b>."}, at=NOON)
    page = client.get(f"{portal}apply/").content.decode()
    assert f'<a href="{portal}terms/" target="_blank">terms</a>' in page
    assert read(client.get(f"{portal}terms/")) == (
        f"Terms of {account.name} Be &lt;b&gt;fair&lt;/b&gt;. Version 1 of 4 March 2026"
    )
    assert "This field is required." in read(send())
    assert "The terms have changed. Read and accept them." in read(send(terms="2"))
    assert read(send(terms="1")) == SENT
    client.post(get_path(account))
    accepted = account.terms_acceptances.get()
    assert accepted.affiliate == account.affiliates.get(email=EMAIL)


def test_asks_affiliates_to_accept_new_terms(mina, account, portal, client):
    notice = f"There are terms of {account.name} that you have not accepted yet."
    assert notice not in read(mina.get(portal))
    update_portal_settings(account, changes={"terms": "Be fair."}, at=NOON)
    assert notice in read(mina.get(portal))
    url = f"{portal}terms/"
    assert "I accept these terms" in read(mina.get(url))
    for version in ("2", "", "x", "²"):
        assert "The terms have changed." in read(mina.post(url, {"version": version}))
    assert mina.post(url, {"version": "1"}).url == portal
    assert notice not in read(mina.get(portal))
    assert "I accept these terms" not in read(mina.get(url))
    assert "I accept these terms" not in read(client.post(url, {"version": "1"}))
    assert account.terms_acceptances.count() == 1


def test_affiliates_accept_what_they_read_and_can_read_it_again(mina, account, portal):
    changes = {"terms": "Be fair.", "translations": {"de": "Seien <b>Sie</b> fair."}}
    update_portal_settings(account, changes=changes, at=NOON)
    url, german = f"{portal}terms/", {"HTTP_ACCEPT_LANGUAGE": "de"}
    account.affiliates.update(language=None)
    page = " ".join(mina.get(url, **german).text.split())
    text = '<div class="text" lang="de"><p>Seien &lt;b&gt;Sie&lt;/b&gt; fair.</p></div>'
    assert text in page
    assert '<input type="hidden" name="language" value="de">' in page
    mina.post(url, {"version": "1", "language": "de"}, **german)
    update_portal_settings(account, changes={"terms": "", "translations": {}}, at=NOON)

    page = " ".join(mina.get(url).text.split())

    day = account.get_day(account.terms_acceptances.get().accepted_at)
    assert f"Version 1 (de), accepted on {day:%-d %B %Y}</summary>{text}" in page
    assert "I accept these terms" not in page


def test_there_is_no_page_without_terms(client, portal):
    assert client.get(f"{portal}terms/").status_code == 404


# Programs


def test_shows_a_program_to_everybody(client, account, portal, scenario):
    scenario.program.update_row(hold_days=30, cookie_time=1)
    page = read(client.get(f"{portal}{scenario.program.slug}/"))
    assert page == (
        f"{scenario.program.title} You earn 10 % of each sale. A sale is yours if the"
        " customer followed your link at most 1 day before. Commissions are due 30 days"
        f" after the sale at the earliest. {account.name} decides about each"
        " application. Apply"
    )
    scenario.program.update_row(auto_approve_affiliates=True)
    assert "approved automatically" in read(client.get(f"{portal}apply/"))


def test_hides_programs_of_a_closed_portal(client, account, portal, scenario):
    update_portal_settings(account, changes={"is_open": False}, at=timezone.now())
    for path in ("apply/", f"{scenario.program.slug}/"):
        assert client.get(f"{portal}{path}").status_code == 404


def test_a_program_hides_no_page(client, account, portal):
    program = ProgramFactory(account=account, slug="links", title="Link Lamps")
    home = client.get(portal).content.decode()
    assert f'href="{portal}apply/?program={program.slug}"' in home
    assert "Link Lamps" in read(client.get(f"{portal}apply/?program=links"))
    assert client.get(f"{portal}links/").url == f"{portal}sign-in/"


def test_lets_choose_among_programs(client, account, portal, scenario):
    ProgramFactory(account=account, slug="boats", title="Boats")
    for query in ("", "?program=unknown", "?program=%00"):
        page = client.get(f"{portal}apply/{query}").content.decode()
        assert f'href="{portal}apply/?program=boats"' in page
    assert "Apply for Boats" in read(client.get(f"{portal}apply/?program=boats"))


def test_shows_logo_and_color(client, account, portal, scenario):
    url = f"{portal}{scenario.program.slug}/"
    assert "theme.css" not in client.get(url).content.decode()
    assert client.get(f"{portal}logo/").status_code == 404
    set_logo(account, image=b"\x89PNG\r\n\x1a\nx", at=NOON)
    type(account).objects.filter(pk=account.pk).update(link_color="#ffee00")
    page = client.get(url).content.decode()
    [address] = re.findall(r'<img class="logo" src="(\S+)" alt="', page)
    assert client.get(address).content == b"\x89PNG\r\n\x1a\nx"
    set_logo(account, image=b"\x89PNG\r\n\x1a\ny", at=NOON)
    assert address not in client.get(url).content.decode(), "browsers keep the old one"
    assert f'<link rel="stylesheet" href="{portal}theme.css">' in page
    logo = client.get(f"{portal}logo/")
    assert (logo["Content-Type"], logo.content) == (
        "image/png",
        b"\x89PNG\r\n\x1a\ny",
    )
    theme = client.get(f"{portal}theme.css")
    assert theme["Content-Type"] == "text/css"
    assert theme["Cache-Control"] == "public, max-age=300"
    assert theme.content.decode() == (
        ":root{--button:#ffee00;--on-button:#111827}\n"
        "@media (prefers-color-scheme:dark){:root{--link:#ffee00}}\n"
    )


# Signed in


def test_an_affiliate_applies_for_a_further_program(mina, account, portal):
    program = ProgramFactory(account=account, slug="boats", title="Boats")
    url = f"{portal}links/"
    page = mina.get(url).content.decode()
    assert f'href="{portal}apply/?program=boats"' in page
    form = read(mina.get(f"{portal}apply/?program=boats"))
    assert form.startswith("Apply for Boats")
    assert "First name" not in form
    assert mina.post(f"{portal}apply/?program=boats").url == url
    text = read(mina.get(url))
    assert "Boats Your application waits for a decision." in text
    assert "More programs" not in text
    enrollment = account.enrollments.get(program=program)
    assert enrollment.approved is None
    assert read(mina.get(f"{portal}apply/?program=boats")) == (
        "Apply You take part in all programs, or have applied for them."
    )


def test_a_new_affiliate_reads_the_language_of_the_page(client, account, portal, send):
    client.post(f"{portal}language/", {"language": "de"})
    send()
    client.post(get_path(account))
    assert account.affiliates.get(email=EMAIL).language == "de"


def test_pages_are_small_and_take_few_statements(
    client, mina, account, portal, scenario, django_assert_max_num_queries
):
    update_portal_settings(account, changes={"terms": "Be fair."}, at=NOON)
    ProgramFactory(account=account, slug="boats", title="Boats")
    for path in ("", f"{scenario.program.slug}/", "apply/?program=boats", "links/"):
        for browser in (client, mina):
            with django_assert_max_num_queries(12):
                response = browser.get(f"{portal}{path}")
            assert len(response.content) < 60_000


@pytest.mark.parametrize("media_type", ["text/html", "text/javascript", "image/svg+xml"])
def test_serves_no_other_type_than_images(client, account, portal, media_type):
    account.logos.create(media_type=media_type, image=b"<script>")
    assert client.get(f"{portal}logo/").status_code == 404
    assert get_link_style(account).logo == ""


def test_browsers_run_nothing_that_is_in_a_logo(client, account, portal):
    set_logo(account, image=b"\x89PNG\r\n\x1a\nx", at=NOON)
    logo = client.get(f"{portal}logo/")
    assert logo["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert logo["X-Content-Type-Options"] == "nosniff"
