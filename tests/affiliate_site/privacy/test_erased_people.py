"""Who came in by every door, and was erased, is in no table any more.

All that others choose (API clients, pages, shops, files, affiliates) has the mark.
"""

import hashlib
import hmac
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.services.saved_views import create_saved_view
from accounts.services.staff import create_staff_user
from affiliate_site.portal_sessions import COOKIE
from affiliate_site.shops.processing import process_event
from payouts.services.erasure import erase_person
from tests.affiliate_site.moving.tables.building import build
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.document_scenario import switch_on
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import ProgramScenario
from tests.stored_texts import find_marked_columns
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.custom_fields import create_custom_field
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.portal_settings import update_portal_settings
from tracking.services.table_uploads import create_table_upload

pytestmark = pytest.mark.django_db

MARK = "Zzyzxä"
FOLDED = "zzyzxa"
EMAIL = f"{FOLDED}@notes.example.org"
BUYER = f"{FOLDED}.buyer@notes.example.org"
PAGE = f"https://shop.example.net/lamps?mail={FOLDED}%40x.test#{MARK}"
REFERRER = f"https://{FOLDED}.example/{MARK}?q={MARK}"
MAP = {f"{MARK}-key": MARK, "subid1": MARK}
SECRET = "a-secret-of-the-shop"

# What still has the mark, and why.
KEPT = {
    ("tracking_tableupload", "content"): "a file of one day; nobody is searched in it",
    ("accounts_ratewindow", "subject"): "gone within an hour",
}


def send(api, method, path, body=None):
    response = api.request(method, path, body)
    assert response.status_code in (200, 204), (path, response.content)
    return response.json() if response.content else None


class Doors:
    """The ways by which somebody comes in."""

    def __init__(self, account, api, settings):
        settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
        self.account, self.api = account, api
        account.customer_email_keys = ["mail"]
        account.uses_webhooks = True
        account.save()
        create_custom_field(account, slug="hobby", title="Hobby", type="text", at=timezone.now())
        self.scenario = ProgramScenario(account)
        switch_on(account)
        self.portal = f"/partners/{account.slug}/"
        changes = {"is_on": True, "is_open": True}
        update_portal_settings(account, changes=changes, at=timezone.now())

    def post(self, client, path, entered, status=302):
        response = client.post(f"{self.portal}{path}", entered)
        assert response.status_code == status, (path, response.content.decode())

    def apply(self):
        """Let the affiliate apply; return the ID."""
        person = {"firstname": MARK, "lastname": f"{MARK}-Weld", "email": EMAIL}
        address = {"address": MARK, "postal_code": MARK, "city": MARK, "country": "DE"}
        program = {"program": self.scenario.program.slug, "company": MARK}
        client = Client(headers={"User-Agent": MARK.encode().decode("latin-1")})
        self.post(client, "apply/", person | address | program, status=200)
        mail = self.account.mails.get(recipient=EMAIL)
        path = re.search(r"http://[^/]*(/\S+)", mail.text)[1]
        response = client.post(path)
        client.post(response.url, {"password": PASSWORD})
        assert COOKIE in client.cookies
        self.mine = client
        return self.account.affiliates.get(email=EMAIL).slug

    def use_portal(self):
        """Fill the forms of the portal."""
        confirmed = {"old_password": PASSWORD}
        self.post(
            self.mine,
            "profile/edit/",
            {"firstname": MARK, "lastname": MARK, "company_name": MARK},
        )
        taxes = {"kind": "business", "country": "US", "vat_id": MARK}
        self.post(self.mine, "profile/taxes/", taxes | confirmed)
        paypal = {"email": EMAIL, "account": EMAIL} | confirmed
        self.post(self.mine, "payout-methods/paypal/", paypal)
        postback = f"https://{FOLDED}.example/?c=${{click_subid}}"
        events = ["conversion.created"]
        self.post(self.mine, "profile/postbacks/", {"url": postback, "events": events})
        asked = {"order_id": f"{BUYER}-lost", "day": "2026-03-04", "text": MARK}
        self.post(self.mine, "questions/ask/", asked)
        new = {"email": f"new.{EMAIL}"} | confirmed
        self.post(self.mine, "profile/email/", new)
        again = {"firstname": MARK, "lastname": MARK, "email": f"new.{EMAIL}"}
        again |= {"country": "DE", "program": self.scenario.program.slug}
        self.post(Client(), "apply/", again, status=200)

    def use_api(self, slug):
        """Let the company's systems say what they know of both."""
        path = f"/affiliates/{slug}/"
        program = f"/programs/{self.scenario.program.slug}/affiliates/{slug}/"
        send(self.api, "PUT", f"{program}approved/")
        codes = {"coupon": f"{FOLDED}10", "referral_code": f"{FOLDED}-ref"}
        send(self.api, "PATCH", program, codes)
        send(self.api, "PUT", f"{path}meta-data/", MAP)
        send(self.api, "PATCH", path, {"custom_fields": {"hobby": MARK}})
        send(self.api, "POST", f"{path}notes/", {"note": MARK})
        body = {"customer_id": BUYER, "coupon": f"{FOLDED}10", "meta_data": MAP}
        customer = send(self.api, "POST", "/customers/", body)["id"]
        sale = {"customer_id": BUYER, "amount": 100, "meta_data": MAP | {"mail": BUYER}}
        sale |= {"external_id": f"{BUYER}-1", "user_agent": MARK}
        sale = send(self.api, "POST", "/conversions/", sale)
        commission = sale["commissions"][0]["id"]
        send(self.api, "PATCH", f"/commissions/{commission}/", {"comment": MARK})
        assert self.api.post("/conversions/", {"external_id": BUYER}).status_code == 400
        return customer

    def call_page(self):
        """Let both visit the shop, and one buy there."""

        def call(name, **data):
            response = Client().post(
                f"/track/{name}/",
                {"account": self.account.slug} | data,
                content_type="application/json",
                headers={
                    "User-Agent": f"Mozilla/5.0 {FOLDED}",
                    "Origin": "https://shop.example.net",
                    "Referer": PAGE.replace("ä", "a"),
                },
            )
            assert response.status_code in (200, 204), response.content
            return response.json() if response.content else None

        page = {"landing_page": PAGE, "referrer": REFERRER, "meta_data": MAP}
        vid = call("click", referral_code=f"{FOLDED}-ref", **page)["vid"]
        call("customer", vid=vid, customer_id=BUYER)
        sale = {"external_id": f"{BUYER}-2", "amount": 30, "customer_id": BUYER}
        call("conversion", vid=vid, **sale, meta_data=MAP)
        other = call("click", referral_code=f"{FOLDED}-ref", **page)["vid"]
        call("conversion", vid=other, external_id=f"{BUYER}-2", amount=30)
        self.mine.get(f"/r/{FOLDED}-ref/", headers={"Referer": REFERRER})

    def report_by_shop(self):
        """Let the shop send a sale of the customer, and one without a referral."""
        customer = {"id": BUYER, "email": BUYER, "name": MARK}
        for key, code in ((f"{BUYER}-3", f"{FOLDED}10"), (f"{BUYER}-4", f"{FOLDED}-")):
            self.report_order(key, customer, coupon=code, ref=MARK)
        self.process_events()

    def report_order(self, key, customer, *, coupon, ref):
        """Let the shop send one sale."""
        connection = self.account.connections.first() or create_connection(
            self.account,
            kind="other",
            program=self.scenario.program,
            secret=SECRET,
            mode=ConnectionMode.LIVE,
            settings={"other": MAPPING},
            at=timezone.now() - timedelta(hours=1),
        )
        data = {
            "id": key,
            "coupons": [{"code": coupon}],
            "ref": ref,
            "net": 10000,
            "gross": 11900,
            "currency": "eur",
            "customer": customer,
            "items": [{"sku": "LAMP", "net": 10000}],
        }
        now = timezone.now().isoformat()
        event = {"id": f"event-{key}", "type": "sale", "live": True, "created": now}
        raw = json.dumps(event | {"data": data}).encode()
        digest = hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()
        response = Client().post(
            f"/in/{connection.public_id}/",
            raw,
            content_type="application/json",
            headers={"X-Signature": f"sha256={digest}"},
        )
        assert response.status_code == 200, response.content

    def process_events(self):
        """Process what the shop sent, as the worker does."""
        for event in self.account.shop_events.filter(state="received"):
            process_event(event, at=timezone.now())

    def import_tables(self):
        """Import both, by files that have the names."""
        program = self.scenario.program.slug
        affiliates = (
            "ID,E-mail,First name,Last name,Program,Referral code,"
            "Further referral codes\n"
            f"{MARK}-17,t.{EMAIL},{MARK},{MARK},{program},{FOLDED}-table,{FOLDED}-old\n"
        )
        customers = f"Customer ID,Affiliate\n{BUYER},{EMAIL}\nb.{BUYER},t.{EMAIL}\n"
        tables = {"affiliates": affiliates, "customers": customers}
        for kind, text in tables.items():
            name = f"{MARK} {kind}.csv"
            defaults = {"program": program}
            at = timezone.now()
            importer = build(self.account, kind, text, at=at, defaults=defaults, only_good=True)
            importer.file_name = name
            report = importer.store()
            assert report.counts["created"] == 1, report.problems
            create_table_upload(
                self.account,
                kind=kind,
                system="",
                file_name=name,
                data=text.encode(),
                settings={},
                at=at,
            )

    def search(self):
        """Let staff keep searches for the person."""
        staff, _ = create_staff_user(
            self.account,
            email="zoe@example.org",
            role="owner",
            password=None,
            at=timezone.now(),
        )
        queries = (f"q={EMAIL}", f"q={MARK}", f"q={FOLDED}", f"q={FOLDED}%27s")
        for number, query in enumerate(queries):
            create_saved_view(
                self.account,
                user=staff,
                list_label="tracking.affiliate",
                name=f"{MARK}'s {number}" if number else "One",
                query=query,
                at=timezone.now(),
            )


def test_a_later_event_of_an_erased_order_is_no_second_sale(account, api, settings):
    doors = Doors(account, api, settings)
    customer = doors.use_api(doors.apply())
    doors.report_by_shop()
    orders, sales = account.shop_orders.count(), account.conversions.count()
    erase_person(account, identifier=customer, at=timezone.now())

    doors.report_by_shop()

    assert (account.shop_orders.count(), account.conversions.count()) == (orders, sales)
    assert_ledger_consistent(account)


def erase(account, person):
    """Erase somebody, and send the mail that says so: its address goes then."""
    erase_person(account, identifier=person, at=timezone.now())
    while mail := claim_mail(account, due_before=timezone.now()):
        record_mail_result(mail, MailResult(), at=timezone.now())


@pytest.mark.parametrize("leaves_first", [False, True])
def test_who_came_by_every_door_is_in_no_table(account, api, settings, leaves_first):
    doors = Doors(account, api, settings)
    slug = doors.apply()
    doors.use_portal()
    customer = doors.use_api(slug)
    doors.call_page()
    doors.report_by_shop()
    doors.import_tables()
    doors.search()
    marked = find_marked_columns(FOLDED)
    assert len(marked) > 50, sorted(marked)

    if leaves_first:  # with open money it is asked for
        confirmed = {"old_password": PASSWORD}
        doors.post(doors.mine, "profile/delete/", confirmed, status=200)
        assert account.affiliates.get(slug=slug).deletion_asked_at
        send(api, "DELETE", f"/affiliates/{slug}/")
    for person in (slug, customer, f"t.{EMAIL}", f"b.{BUYER}"):
        erase(account, person)

    assert sorted(find_marked_columns(FOLDED) - set(KEPT)) == []
    assert_ledger_consistent(account)


def test_an_affiliate_alone_is_in_no_row_of_others(account, api, settings):
    """Not in what the shop sent about orders that other people placed."""
    doors = Doors(account, api, settings)
    slug = doors.apply()
    program = f"/programs/{doors.scenario.program.slug}/affiliates/{slug}/"
    send(api, "PUT", f"{program}approved/")
    codes = {"coupon": f"{FOLDED}10", "referral_code": f"{FOLDED}-ref"}
    send(api, "PATCH", program, codes)
    other = {"id": "c-1", "email": "other@x.test", "name": "Other"}
    doors.report_order("o-1", other, coupon=f"{FOLDED.upper()}10", ref="a-campaign")
    doors.report_order("o-2", other, coupon=f"{FOLDED}10", ref="")
    doors.report_order("o-3", other | {"id": "c-2"}, coupon="", ref=f"{FOLDED}-ref")
    doors.process_events()
    sales = account.conversions.filter(affiliate__slug=slug)
    assert sales.count() == 3
    assert {("tracking_shoporder", "facts"), ("tracking_shopevent", "body")} <= (
        find_marked_columns(FOLDED)
    )

    erase(account, slug)

    assert sorted(find_marked_columns(FOLDED) - set(KEPT)) == []
    facts = [order.facts["sale"] for order in account.shop_orders.order_by("pk")]
    assert {sale["customer"] for sale in facts} == {"c-1", "c-2"}
    values = sorted(sale["referral"]["values"] for sale in facts)
    assert values == [[], [], ["a-campaign"]]
    assert not account.shop_events.exclude(body="").exists()


def test_a_namesake_keeps_their_application(account, api, settings):
    doors = Doors(account, api, settings)
    slug = doors.apply()
    person = {"firstname": MARK, "lastname": f"{MARK}-Weld", "country": "DE"}
    person |= {"program": doors.scenario.program.slug}
    new = {"email": f"new.{EMAIL}", "old_password": PASSWORD}
    doors.post(doors.mine, "profile/email/", new)
    for email in (f"new.{EMAIL}", "namesake@x.test"):
        doors.post(Client(), "apply/", person | {"email": email}, status=200)

    erase_person(account, identifier=slug, at=timezone.now())

    assert account.portal_applications.get().email == "namesake@x.test"
    assert account.mails.get(kind="application").recipient == "namesake@x.test"
