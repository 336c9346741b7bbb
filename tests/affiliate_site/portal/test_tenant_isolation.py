"""An affiliate sees nothing of another one, of the same account or of another account.

Each page is opened with the ids of another affiliate, all of whose texts have a marker.
A page without a case fails the tests.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.services.api_keys import calculate_digest
from accounts.services.webhooks import create_postback_endpoint
from affiliate_site.portal import urls
from affiliate_site.portal_sessions import COOKIE
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.document_scenario import set_rule, set_taxes, settle, switch_on
from tests.ledger_checks import snapshot_account
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario
from tracking.models.affiliates import Affiliate
from tracking.models.portal import LinkPurpose
from tracking.services.creatives import create_creative
from tracking.services.hierarchy import set_parent
from tracking.services.portal_links import create_link
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, ask_question

MARKER = "zz-"
ORDER_ID, OPEN_ORDER_ID = "4711-1", "4711-2"  # pages show what was entered
# Pages that strangers open, too.
PUBLIC = {
    *("sign_in", "use_link", "enter_code", "sign_out", "ask_for_link", "set_password"),
    *("view_as", "set_language", "confirm_email", "apply", "confirm_application"),
    *("home", "terms", "theme", "logo", "program", "deleted"),
}
# By name, what a page of another affiliate's object has in its address.
OBJECTS = {
    "sale": "sale",
    "document": "document",
    "primary_method": "kind",
    "remove_method": "kind",
    "remove_postback": "postback",
    "program": "program",
    "choose_code": "program",
}
TOKENS = {
    "use_link": LinkPurpose.SIGN_IN,
    "enter_code": LinkPurpose.SECOND_FACTOR,
    "set_password": LinkPurpose.SET_PASSWORD,
    "view_as": LinkPurpose.VIEW,
    "confirm_email": LinkPurpose.ENTER_EMAIL,
    "confirm_application": "application",
    "deleted": "deleted",
}
# The rest: lists, and forms about the affiliate who is signed in.
OWN_PAGES = {
    *("home", "sign_in", "second_factor", "sign_out", "ask_for_link", "links"),
    *("qr_code", "creatives", "sales", "figures", "payments", "set_method"),
    *("statement", "recruits", "missing", "questions", "ask", "set_language"),
    *("profile", "edit_profile", "change_email", "tax_data", "notices", "own_data"),
    *("delete", "postbacks", "apply", "terms", "theme", "logo"),
}
PAGES = sorted({pattern.name for pattern in urls.urlpatterns})
POST_ONLY = {"sign_out", "set_language"}
# Queries that show more, or lead to an object of the other affiliate.
QUERIES = {
    "sales": ("file=1", "before={next_sale}", "period=12_months"),
    "figures": (
        "by=coupon",
        "by=page&file=page",
        "by=sub_id",
        "by=program",
        "period=12_months",
    ),
    "statement": ("start=2026-03-01&end=2026-12-31&format=csv",),
    "payments": ("before={next_payment}", "file=payments"),
    "ask": ("sale={sale}", "order_id=4711-1&day=2026-03-04"),
    "qr_code": ("program={program}&kind=link",),
    "links": ("page=https://shop.example.net/", "file=links"),
    "creatives": ("before={next_creative}", "file=creatives"),
    "recruits": ("file=recruits",),
    "apply": ("program={program}", "by={affiliate}"),
}


@dataclass(frozen=True)
class Visited:
    """An affiliate with a row of everything that the portal shows."""

    affiliate: Affiliate
    ids: dict[str, object]

    def get_arguments(self, page) -> dict[str, object]:
        """What the address of a page has."""
        if page in TOKENS:
            return {"token": f"token-{TOKENS[page]}"}
        if page == "set_method":
            return {"kind": "bank"}
        return {OBJECTS[page]: self.ids[OBJECTS[page]]} if page in OBJECTS else {}


def create_rows(scenario) -> Visited:
    """Create Nils, his rows, and links with known tokens."""
    account, at = scenario.account, timezone.now()
    email = f"{MARKER}nils@notes.example.org"
    nils = scenario.create_enrolled_affiliate(f"{MARKER}Nils", "Zander", email=email)
    recruit = scenario.create_enrolled_affiliate(f"{MARKER}Odo", "Zander")
    set_parent(account, affiliate_id=recruit.slug, parent_id=nils.slug, at=at)
    affiliate = nils.affiliate
    affiliate.account = account
    address = {"address": f"{MARKER}Quay", "city": f"{MARKER}Wien", "country": "AT"}
    affiliate.update_row(postal_code="1010", company_name=f"{MARKER}Company", **address)
    click = scenario.create_click(nils, landing_page=f"https://{MARKER}shop.example/")
    assert click
    sale = scenario.create_conversion("200", affiliate=nils, external_id=ORDER_ID, at=at)
    scenario.create_conversion("100", affiliate=nils, external_id=OPEN_ORDER_ID, at=at)
    details = {"email": f"{MARKER}wise@notes.example.org"}
    account.payout_methods.create(
        affiliate=affiliate, kind="wise", details=details, is_primary=True
    )
    run = create_run(account, Paid("119", slug=nils.slug))
    switch_on(account, document_prefix=MARKER)
    set_rule(account)
    set_taxes(account, nils.slug)
    settle(run)
    [document] = account.documents.filter(affiliate=affiliate)
    data = QuestionData(ORDER_ID, account.get_day(at), text=f"{MARKER}question")
    ask_question(affiliate, data=data, at=at)
    url = f"https://{MARKER}track.example/"
    postback = create_postback_endpoint(account, affiliate=nils.slug, url=url, at=at)
    for purpose in LinkPurpose:
        link, _token = create_link(affiliate, purpose, new_email=email, at=at)
        link.update_row(token_hash=calculate_digest(f"token-{purpose}"))
    account.portal_applications.create(
        program=scenario.program,
        email=email,
        email_folded=email,
        data={},
        token_hash=calculate_digest("token-application"),
        expires_at=at + timedelta(hours=1),
    )
    ids = {
        "affiliate": nils.slug,
        "sale": sale.pk,
        "next_sale": account.commissions.filter(conversion=sale).get().pk + 1,
        "document": document.pk,
        "next_payment": document.payment_id + 1,
        "kind": "wise",
        "postback": postback.public_id,
        "program": f"{MARKER}harbor-lamp-partners",  # of the other account
        "next_creative": 10**9,
    }
    return Visited(affiliate, ids)


@pytest.fixture
def visitor(mina, account):
    """Mina, at an account that takes applications and has all pages."""
    changes = {"is_open": True, "terms": "Be kind.", "order_ids": "whole"}
    update_portal_settings(account, changes=changes, at=timezone.now())
    account.uses_webhooks = True
    account.save()
    return mina


@pytest.fixture
def nils(visitor, scenario):
    """Another affiliate of Mina's program. Anybody may use his links."""
    found = create_rows(scenario)
    scenario.account.portal_links.filter(affiliate=found.affiliate).delete()
    scenario.account.portal_applications.all().delete()
    return found


@pytest.fixture
def stranger(visitor, other_account):
    """An affiliate of another account, with a portal, a creative and links."""
    changes = {"is_on": True, "is_open": True, "terms": MARKER, "welcome_text": MARKER}
    update_portal_settings(other_account, changes=changes, at=timezone.now())
    scenario = ProgramScenario(other_account, prefix=MARKER)
    create_creative(
        other_account,
        program_id=scenario.program.slug,
        title=MARKER,
        text=MARKER,
        at=timezone.now(),
    )
    return create_rows(scenario)


@pytest.fixture(params=["nils", "stranger"])
def visited(request):
    return request.getfixturevalue(request.param)


def build_urls(portal, visited, page) -> list[str]:
    """The addresses of a page with the ids of somebody else."""
    account = portal.split("/")[2]
    arguments = {"account": account} | visited.get_arguments(page)
    url = reverse(f"portal:{page}", kwargs=arguments)
    queries = [query.format(**visited.ids) for query in QUERIES.get(page, ())]
    return [url, *(f"{url}?{query}" for query in queries)]


def read(response, visited) -> str:
    """Body and headers without what the request named."""
    content = response.getvalue() if response.streaming else response.content
    headers = "".join(map(str, response.headers.values()))
    text = content.decode("utf-8", "replace") + headers
    return text.replace(str(visited.ids["program"]), "")


@contextmanager
def rolled_back():
    """What a form changes is not there for the next one."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def snapshot_others(account, visited):
    """All rows of another account, or the rows of another affiliate of the account."""
    owner = visited.affiliate.account
    if owner != account:
        return snapshot_account(owner)
    own = {"affiliate": visited.affiliate}
    return [
        list(rows.order_by("pk").values())
        for rows in (
            account.affiliates.filter(pk=visited.affiliate.pk),
            account.commissions.filter(**own),
            account.payout_methods.filter(**own),
            account.tax_data.filter(**own),
            account.questions.filter(**own),
            account.enrollments.filter(**own),
            account.webhook_endpoints.filter(affiliate=visited.affiliate.slug),
            account.mails.filter(**own),
        )
    ]


def test_every_page_has_a_case():
    assert {*OBJECTS, *TOKENS, *OWN_PAGES} == set(PAGES)
    assert PUBLIC | QUERIES.keys() <= set(PAGES)


def test_pages_show_nothing_of_others(visitor, visited, portal, account):
    leaks, statuses = [], {}
    for page in set(PAGES) - POST_ONLY:
        for url in build_urls(portal, visited, page):
            response = visitor.get(url)
            statuses.setdefault(page, set()).add(response.status_code)
            if MARKER in read(response, visited):
                leaks.append(url)

    assert leaks == []
    assert {page: statuses[page] for page in OBJECTS} == {key: {404} for key in OBJECTS}
    assert {code for codes in statuses.values() for code in codes} <= {200, 404, 410}


def test_forms_change_and_show_nothing_of_others(visitor, visited, portal, account):
    values = {
        "order_id": ORDER_ID,
        "day": "2026-03-04",
        "text": "Where is it?",
        "program": visited.ids["program"],
        "password": PASSWORD,
        "old_password": PASSWORD,
        "code": "123456",
        "email": "mina@letters.example.org",
        "is_primary": "on",
        "language": "en",
    }
    before, leaks, statuses = snapshot_others(account, visited), [], {}
    session = visitor.cookies[COOKIE].value
    for page in PAGES:
        for url in build_urls(portal, visited, page):
            for extra in ({}, {"sale": str(visited.ids["sale"])}):
                visitor.cookies[COOKIE] = session
                with rolled_back():
                    response = visitor.post(url, values | extra)
                    statuses.setdefault(page, set()).add(response.status_code)
                    if MARKER in read(response, visited):
                        leaks.append(url)
                    if snapshot_others(account, visited) != before:
                        leaks.append(f"changed by {url}")

    assert leaks == []
    no_forms = {"sale", "document", "program"}
    expected = {page: {405} if page in no_forms else {404} for page in OBJECTS}
    assert {page: statuses[page] for page in OBJECTS} == expected
    assert {code for codes in statuses.values() for code in codes} <= {*(200, 302, 404, 405, 429)}


def test_links_open_nothing_at_another_account(visitor, stranger, portal, account):
    """Nor does a link for one purpose open a page for another."""
    for page, purpose in TOKENS.items():
        for other in (*LinkPurpose, "application"):
            arguments = {"account": account.slug, "token": f"token-{other}"}
            url = reverse(f"portal:{page}", kwargs=arguments)
            with rolled_back():
                client = Client()
                values = {"password": PASSWORD, "code": "123456"}
                assert COOKIE not in client.post(url, values).cookies, url
                assert COOKIE not in client.get(url).cookies, url
                for response in (client.post(url, values), client.get(url)):
                    assert response.status_code != 302, url
            is_email = page == "confirm_email" and other == LinkPurpose.LEAVE_EMAIL
            if other == purpose or is_email:
                continue
            arguments["account"] = stranger.affiliate.account.slug
            url = reverse(f"portal:{page}", kwargs=arguments)
            with rolled_back():
                response = Client().post(url, {"password": PASSWORD, "code": "123456"})
                assert response.status_code != 302, url
                assert COOKIE not in Client().get(url).cookies, url


@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_are_led_to_the_sign_in(stranger, portal, set_up_password, method):
    """Those with a session of another account, too."""
    client, guest = Client(), Client()
    client.cookies[COOKIE] = set_up_password(stranger.affiliate)
    for page in set(PAGES) - PUBLIC:
        for visitor in (client, guest):
            for url in build_urls(portal, stranger, page):
                response = getattr(visitor, method)(url)
                if response.status_code == 405:
                    assert method == "post"
                    continue
                assert response.status_code == 302, url
                assert response["Location"] == f"{portal}sign-in/"
                assert MARKER not in read(response, stranger)
