"""Pages of shops: connect one, set its secret, switch it, and say what counts."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from affiliate_site.backoffice.connections.admin import count_events
from affiliate_site.backoffice.connections.connection_pages import AddConnectionForm
from affiliate_site.backoffice.connections.snippets import render_connection_snippet
from affiliate_site.backoffice.conversions.admin import find_outcomes
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.ready_made import READY_MADE
from tests.affiliate_site.backoffice.forms import get_form
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver
from tests.stripe_events import (
    SECRET,
    build_charge,
    build_checkout,
    build_refund,
    sign_event,
)
from tracking.models.shops import ConnectionKind, ConnectionMode, RefusalReason
from tracking.services.connections import (
    count_refusal,
    create_connection,
    set_connection_secret,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = "admin:tracking_connection_changelist"
ADD = "admin:tracking_connection_add"
OTHER_SECRET = "whsec_0aXk2pWq7sLm9dTc"


@pytest.fixture
def shop(scenario):
    return create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def url_of(row, name="change"):
    return reverse(f"admin:tracking_{row._meta.model_name}_{name}", args=[row.pk])


def read(response):
    assert response.status_code == 200
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return " ".join(text.split())


def save(client, shop, page, **entries):
    url = url_of(shop, page)
    response = client.post(url, get_form(client, url) | entries)
    assert response.status_code == 302, response.context["form"].errors
    return shop.reload()


def get_facts(client, shop, title="State"):
    details = client.get(url_of(shop)).context["details"]
    sections = {section.title: section for section in details.sections}
    return {name: str(value) for name, value in sections[title].facts if value}


@pytest.mark.parametrize("name", READY_MADE)
def test_a_shop_begins_with_a_ready_made_mapping(name, staff_client, account):
    client = staff_client()
    entries = {"kind": f"other:{name}", "mode": "listen"}
    response = client.post(reverse(ADD), entries, follow=True)
    shop = account.connections.get()
    ready_made = READY_MADE[name]
    assert (shop.kind, shop.name) == ("other", ready_made.title)
    assert shop.settings == {"other": ready_made.mapping, "ready_made": name}
    page = unescape(read(response))
    assert f"begun with that for {ready_made.title}, {ready_made.proof}" in page
    assert ready_made.steps[0] in page
    assert ("?secret=YOUR-SECRET" in page) is (name == "gumroad")


def test_connects_a_shop_and_shows_its_address_and_steps(staff_client, account):
    client = staff_client()
    response = client.post(reverse(ADD), {"kind": "stripe", "mode": "listen"}, follow=True)
    shop = account.connections.get()
    assert (shop.name, shop.mode, shop.program, shop.secrets) == (
        *("Stripe", "listen", None),
        [],
    )
    page = read(response)
    assert f"{settings.PUBLIC_URL}/in/{shop.public_id}/" in page
    assert 'data-copy-target="connection-url"' in response.content.decode()
    assert "Enter the signing secret" in page
    assert "choose “Add destination”" in page
    for kind in SHOPS["stripe"].readers:
        assert kind in page


def test_offers_only_kinds_that_work_here(account):
    form = AddConnectionForm(account=account)
    mappings = {f"other:{name}" for name in READY_MADE}
    assert {kind for kind, _ in form.fields["kind"].choices} == set(SHOPS) | mappings


@pytest.mark.parametrize("kind", ConnectionKind.values)
def test_shows_shops_of_every_kind(staff_client, account, monkeypatch, kind):
    """Also of one that was connected elsewhere and is not available here."""
    client = staff_client()
    shop = create_connection(account, kind=kind, at=CONVERSION_CREATED_AT)
    assert "Set signing secret" in read(client.get(url_of(shop)))
    page = client.get(url_of(shop)).content.decode()
    assert render_connection_snippet(shop) in unescape(page)
    assert 'data-copy-target="connection-snippet"' in page
    monkeypatch.delitem(SHOPS, kind, raising=False)
    assert "not available here" in read(client.get(url_of(shop)))
    assert client.get(url_of(shop, "settings")).status_code == 200
    assert client.get(url_of(shop, "try")).status_code == 302


def test_lists_shops_with_their_events(staff_client, shop, click):
    now = timezone.now()
    deliver(shop, build_checkout(client_reference_id=click), at=now)
    deliver(shop, build_checkout(1, amount_total="-5"), at=now)
    row = staff_client().get(reverse(LIST)).context["cl"].result_list[0]
    counts = row.loaded[count_events]
    assert (counts.today, counts.failed) == (2, 1)
    assert f"{counts.last_at:%Y-%m-%d %H:%M}" == f"{now:%Y-%m-%d %H:%M}"


def test_an_empty_list_offers_to_connect_a_shop(staff_client):
    page = staff_client().get(reverse(LIST)).content.decode()
    assert "A connected shop reports its sales" in page
    link = re.search(rf'href="{reverse(ADD)}"[^>]*>Connect a shop', page)
    assert link


def test_the_palette_finds_the_list_and_the_form(staff_client):
    response = staff_client().get(reverse("admin:search"), {"s": "shop", "extended": "1"})
    found = {result.title: result.link for result in response.context["results"]}
    assert found["Shops"] == reverse(LIST)
    assert found["Connect a shop"] == reverse(ADD)


def test_shows_a_secret_neither_again_nor_in_the_audit_log(staff_client, account, shop):
    client = staff_client()
    shop = save(client, shop, "secret", secret=f" {OTHER_SECRET} ")
    assert shop.secrets == [OTHER_SECRET, SECRET]
    pages = [
        client.get(url_of(shop, name)).content.decode()
        for name in ("change", "secret", "settings", "history")
        if name != "history"
    ]
    pages += [
        client.get(reverse(name)).content.decode()
        for name in (LIST, "admin:accounts_auditlogentry_changelist")
    ]
    response = client.post(url_of(shop, "secret"), {"secret": "tiny"})
    assert "of 8 to 255 characters" in read(response)
    pages.append(response.content.decode())
    for secret in (SECRET, OTHER_SECRET, "tiny"):
        assert not any(secret in page for page in pages)
    logged = list(account.audit_log.values_list("details", flat=True))
    assert "whsec" not in json.dumps(logged)


def test_the_earlier_secret_is_valid_until_it_is_forgotten(staff_client, shop):
    client = staff_client()
    assert client.get(url_of(shop, "forget")).status_code == 302
    set_connection_secret(
        shop.account,
        connection_id=shop.public_id,
        secret=OTHER_SECRET,
        at=CONVERSION_CREATED_AT,
    )
    assert "the earlier one is valid" in get_facts(client, shop)["Signing secret"]
    assert save(client, shop, "forget").secrets == [OTHER_SECRET]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 request was refused since"),
        (7, "7 requests were refused since"),
        (100, "100 or more requests were refused since"),
    ],
)
def test_says_how_many_requests_were_refused(staff_client, shop, count, text):
    shop.update_row(refused_count=count, refused_since=CONVERSION_CREATED_AT)
    page = read(staff_client().get(url_of(shop)))
    assert text in page
    assert "Compare the signing secret with the one that the shop shows." in page


def test_shows_what_was_refused_by_day_and_reason(staff_client, shop, other_account):
    now = timezone.now()
    other = create_connection(other_account, kind="stripe", at=now)
    for connection, reason, days in [
        (shop, RefusalReason.SIGNATURE, 0),
        (shop, RefusalReason.SIGNATURE, 0),
        (shop, RefusalReason.TIME, 8),
        (other, RefusalReason.SIGNATURE, 0),
    ]:
        count_refusal(connection, reason, at=now - timedelta(days=days))
    client = staff_client()
    details = client.get(url_of(shop)).context["details"]
    [section] = [it for it in details.sections if it.title == "Refused requests"]
    assert [row[1:3] for row in section.values] == [
        ("The signature did not match the secret", "2"),
        ("The signature was more than five minutes old, or had no time", "1"),
    ]
    cards = client.get("/admin/").context["attention_cards"]
    [card] = [card for card in cards if card.title == "Refused shop requests"]
    assert card.value == "2"  # of the last 7 days
    assert client.get(card.url).status_code == 200


def test_a_shop_without_refused_requests_has_no_list_of_them(staff_client, shop):
    page = read(staff_client().get(url_of(shop)))
    assert "Refused requests" not in page


@pytest.mark.parametrize(
    ("kind", "secret", "error"),
    [
        (
            "stripe",
            "pk_live_51AbCdEf",
            "The signing secret of a webhook of Stripe begins with whsec_. Keys for its"
            " API are none: copy the secret from the page of the webhook.",
        ),
        (
            "paddle",
            "pdl_live_apikey_01gtgztp8f4kek3yd4g1wrksa3",
            "The signing secret of a webhook of Paddle begins with pdl_ntfset_. Keys"
            " for its API are none: copy the secret from the page of the webhook.",
        ),
        (
            "shopify",
            "shpat_4f1c0a7be2d9",
            "What begins with shpat_ is a key for the API of Shopify. Enter the secret"
            " of the webhook.",
        ),
        (
            "woocommerce",
            "cs_4f1c0a7be2d9",
            "What begins with cs_ is a key for the API of WooCommerce. Enter the secret"
            " of the webhook.",
        ),
    ],
)
def test_a_key_for_the_api_is_no_signing_secret(staff_client, account, kind, secret, error):
    client = staff_client()
    values = {"kind": kind, "mode": "listen"}
    response = client.post(reverse(ADD), values | {"secret": secret})
    assert response.context["form"].errors == {"secret": [error]}
    assert not account.connections.exists()
    shop = create_connection(account, kind=kind, at=CONVERSION_CREATED_AT)
    url = url_of(shop, "secret")
    response = client.post(url, get_form(client, url) | {"secret": secret})
    assert response.context["form"].errors == {"secret": [error]}
    assert shop.reload().secrets == []


def test_switches_after_a_page_that_says_what_it_does(staff_client, shop):
    client = staff_client()
    for name in ("listen", "live", "off"):
        page = read(client.get(url_of(shop, name)))
        expected = {
            "listen": "They change nothing",
            "live": "change commissions, also those that were paid",
            "off": "is refused and not stored",
        }[name]
        assert expected in page
        assert shop.reload().mode != name
        assert save(client, shop, name).mode == name
    assert get_facts(client, shop)["Mode"].startswith("Off.")


def test_says_before_it_goes_live_that_the_secret_is_missing(staff_client, account):
    shop = create_connection(account, kind="stripe", at=CONVERSION_CREATED_AT)
    page = read(staff_client().get(url_of(shop, "live")))
    assert "Enter the signing secret" in page


def test_saves_what_counts(staff_client, scenario, shop):
    scenario.create_commission_type("addon", "50")
    shop.update_row(settings={"other": {"signature": {"kind": "standard_webhooks"}}})
    shop = save(
        staff_client(),
        shop,
        "settings",
        name="Harbor shop",
        program="",
        programs=f"currency = EUR: {scenario.program.slug}",
        includes_tax="on",
        takes_tests="on",
        id_prefix="de-",
        commission_types="prod_1: addon",
        referral_fields="partner\n\n partner \ntap",
        coupons=f"SUMMER: {scenario.mina.coupon}",
    )
    assert (shop.name, shop.program) == ("Harbor shop", None)
    rule = {"field": "currency", "value": "EUR", "program": scenario.program.slug}
    assert shop.settings == {
        "other": {"signature": {"kind": "standard_webhooks"}},
        "programs": [rule],
        "id_prefix": "de-",
        "includes_tax": True,
        "includes_shipping": False,
        "stores_email": False,
        "takes_tests": True,
        "reference_may_be_code": True,
        "commission_types": {"prod_1": "addon"},
        "referral_fields": ["partner", "tap"],
        "coupons": {"SUMMER": scenario.mina.coupon},
    }


@pytest.mark.parametrize(
    ("name", "entry", "error"),
    [
        ("programs", "currency = EUR: nowhere", "There is no program nowhere."),
        ("programs", "currency: nowhere", "as field = value: program."),
        ("commission_types", "prod_1: none", "There is no commission type none."),
        ("coupons", "SUMMER: none", "There is no coupon none."),
    ],
)
def test_names_what_settings_lead_to_nothing(staff_client, shop, name, entry, error):
    client, url = staff_client(), url_of(shop, "settings")
    form = client.post(url, get_form(client, url) | {name: entry}).context["form"]
    assert error in form.errors[name][0]
    assert shop.reload().settings == {"reference_may_be_code": False}


@pytest.mark.parametrize("role", [Role.MANAGER, Role.VIEWER])
def test_all_staff_see_shops_and_events(staff_client, shop, click, role):
    event = deliver(shop, build_checkout(client_reference_id=click))
    client = staff_client(role=role)
    assert client.get(url_of(shop)).status_code == 200
    assert client.get(url_of(event)).status_code == 200


def test_counts_events_and_sales_of_30_days(staff_client, shop, click):
    now = timezone.now()
    deliver(shop, build_checkout(client_reference_id=click), at=now)
    deliver(shop, build_charge(2380, hours=1), at=now)
    guest = {"id": "cs_2", "payment_intent": "pi_2", "customer": "cus_2"}
    deliver(shop, build_checkout(2, **guest), at=now)
    deliver(shop, build_checkout(3, amount_total="-5"), at=now)
    shop.account.shop_orders.update(created_at=now)
    numbers = {
        name: re.sub("<[^>]*>", "", value)
        for name, value in get_facts(staff_client(), shop, "Last 30 days").items()
    }
    assert numbers == {"Events": "4", "Sales": "1", "No referral": "1", "Failed": "1"}


def test_a_signed_event_at_the_shown_address_is_listed(staff_client, client, shop, click):
    raw = json.dumps(build_checkout(client_reference_id=click))
    address = client.post(
        f"/in/{shop.public_id}/",
        raw,
        content_type="application/json",
        headers={"Stripe-Signature": sign_event(raw, timezone.now())},
    )
    assert address.status_code == 200
    event = shop.account.shop_events.get()
    page = read(staff_client().get(url_of(shop)))
    assert f"{event.kind}" in page


def test_a_conversion_says_where_it_came_from(staff_client, shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    conversion, order = shop.account.conversions.get(), shop.account.shop_orders.get()
    client = staff_client()
    html = client.get(url_of(conversion)).content.decode()
    events = reverse("admin:tracking_shopevent_changelist")
    link = f'href="{events}?order_id={order.pk}">Stripe, checkout cs_live_a1</a>'
    assert link in html
    assert f'href="{url_of(shop)}">Stripe</a>' in html  # who reported it
    rows = client.get(f"{events}?order_id={order.pk}").context["cl"].result_list
    assert [row.kind for row in rows] == ["checkout.session.completed"]


def test_a_canceled_refund_is_called_so(staff_client, shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    deliver(shop, build_charge(2380, hours=1))
    client, conversion = staff_client(), shop.account.conversions.get()
    assert "Partly refunded" in read(client.get(url_of(conversion)))
    deliver(shop, build_refund("re_1", 2380, hours=2, status="failed"))
    response = client.get(url_of(conversion))
    page = read(response)
    assert "The shop canceled it" in page
    assert "Partly refunded" not in page
    assert "Before refunds" not in page
    sections = {it.title: it for it in response.context["details"].sections}
    assert "Canceled" in sections["Refunds"].values[0][1]
    rows = client.get(reverse("admin:tracking_conversion_changelist"))
    assert rows.context["cl"].result_list[0].loaded[find_outcomes].statuses == {"pending"}
    timeline = read(client.get(url_of(conversion.customer)))
    assert "which was canceled" in timeline


def test_the_dashboard_counts_failed_events(staff_client, shop, other_account):
    foreign = create_connection(other_account, kind="stripe", at=CONVERSION_CREATED_AT)
    for each in (shop, foreign):
        deliver(each, build_checkout(amount_total="-5"))
    cards = staff_client().get(reverse("admin:index")).context["attention_cards"]
    (card,) = [card for card in cards if card.title == "Failed shop events"]
    url = reverse("admin:tracking_shopevent_changelist")
    assert (card.value, card.url) == ("1", f"{url}?state__exact=failed")


def test_the_audit_log_names_the_shop(staff_client, shop, click):
    shop.update_row(name="<b>Lamps@Harbor</b>")
    deliver(shop, build_checkout(client_reference_id=click))
    client, log = staff_client(), "admin:accounts_auditlogentry"
    html = client.get(reverse(f"{log}_changelist")).content.decode()
    link = f'<a href="{url_of(shop)}">&lt;b&gt;Lamps@Harbor&lt;/b&gt;</a>'
    assert f"{link} created" in html
    assert "<b>Lamps" not in html
    csv = client.get(reverse(f"{log}_export")).getvalue().decode()
    assert f"connection {shop.public_id}" in csv
    assert "<a href" not in csv
    entry = shop.account.audit_log.filter(kind="conversion.created").get()
    page = client.get(reverse(f"{log}_change", args=[entry.pk])).content.decode()
    assert "&lt;a" not in page


@pytest.mark.parametrize("kind", ConnectionKind.values)
def test_says_to_listen_before_a_test(staff_client, account, kind):
    """A live connection of Stripe or Shopify does nothing with a test event."""
    shop = create_connection(account, kind=kind, at=CONVERSION_CREATED_AT)
    page = read(staff_client().get(url_of(shop)))
    assert "While this connection is set to “Listen only”, " in page
    ignores = "From then on test events do nothing." in page
    assert ignores == (kind in ("stripe", "shopify"))
