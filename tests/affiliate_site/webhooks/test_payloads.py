"""Webhook payloads (docs/api-contract.md, section 6.1)."""

import json
import re
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.errors import UnknownMacro
from accounts.models.webhooks import WEBHOOK_EVENTS
from accounts.services.outbox import (
    CLICK_MACRO,
    POSTBACK_MACROS,
    build_url,
    validate_macros,
)
from accounts.services.webhooks import create_postback_endpoint, create_webhook
from affiliate_site.webhooks.payloads import get_conversion_macros
from payouts.services.alerts import evaluate_watches
from tests.conftest import NOW
from tests.sample_account import SampleAccount

URL = "https://hooks.example.net/"


@pytest.fixture
def sample_account(account, api):
    create_webhook(account, url=URL, at=NOW)
    return SampleAccount(api, account.slug, "harbor")


def get_body(sample_account, path):
    """Return the body of a GET; `{affiliate}` in the path is that of the account."""
    response = sample_account.api.get(fill(sample_account, path))
    assert response.status_code == 200, (path, response.content)
    return response.content


def fill(sample_account, text):
    return re.sub(r"\{(\w+)\}", lambda match: getattr(sample_account, match[1]), text)


def send(sample_account, method, path, body=None):
    """Send a request that succeeds."""
    body = json.loads(fill(sample_account, json.dumps(body)))
    response = sample_account.api.request(method, fill(sample_account, path), body)
    assert response.status_code in (200, 204), response.content


def list_events(account):
    """Return kind and body of all deliveries, in order."""
    rows = account.deliveries.order_by("id").select_related("event")
    return [(delivery.event.kind, bytes(delivery.body)) for delivery in rows]


AFFILIATE = "/affiliates/{affiliate}/"
PARENT = (
    "PUT",
    "/affiliates/{second_affiliate}/parent/",
    {"affiliate_id": "{affiliate}"},
)
ENROLLMENT = "/programs/{program}/affiliates/{enrolled_affiliate}/"
PROSPECT = "/affiliate-prospects/{prospect_id}/"
CUSTOMER = "/customers/{customer_public_id}/"
CONVERSION = "/conversions/{conversion_id}/"
COMMISSION = "/commissions/{commission_id}/"
PAYMENT = "/payments/{payment_id}/"
APPROVED = f"{ENROLLMENT}approved/"
PROMOTE = ("POST", "/customers/", {"customer_id": "c-1", "referral_code": "{code}"})
RECALCULATE = f"{CONVERSION}?recalculate_commissions=true"

# The object of each event, and the requests that cause it beside its creation.
EVENTS = {
    "affiliate.created": (AFFILIATE,),
    "affiliate.updated": (AFFILIATE, ("PATCH", AFFILIATE, {"firstname": "Ludmila"})),
    "affiliate.deleted": (AFFILIATE, PARENT, ("DELETE", AFFILIATE)),
    "affiliate.added_to_group": (
        AFFILIATE,
        ("PUT", f"{AFFILIATE}group/", {"group_id": "{group_id}"}),
    ),
    "affiliate.added_to_program": (ENROLLMENT,),
    "affiliate.disapproved": (ENROLLMENT, ("DELETE", APPROVED)),
    "affiliate.approved": (ENROLLMENT, ("DELETE", APPROVED), ("PUT", APPROVED)),
    "affiliate_prospect.created": (PROSPECT,),
    "affiliate_prospect.promoted": (PROSPECT, PROMOTE),
    "affiliate_prospect.deleted": (PROSPECT, ("DELETE", PROSPECT)),
    "customer.created": (CUSTOMER,),
    "customer.updated": (CUSTOMER, ("DELETE", f"{CUSTOMER}status/")),
    "customer.deleted": (CUSTOMER, ("DELETE", CUSTOMER)),
    "conversion.created": (CONVERSION,),
    "conversion.updated": (CONVERSION, ("PATCH", RECALCULATE, {"amount": 50})),
    "conversion.deleted": (CONVERSION, ("DELETE", CONVERSION)),
    "commission.created": (COMMISSION,),
    "commission.updated": (COMMISSION, ("PUT", f"{COMMISSION}approved/")),
    "payment.created": (PAYMENT,),
    "payment.canceled": (PAYMENT, ("DELETE", PAYMENT)),
}


def encode(data):
    return json.dumps(data, separators=(",", ":")).encode()


@pytest.mark.parametrize("event", [it for it in WEBHOOK_EVENTS if it != "alert.opened"])
def test_payload_is_the_api_response(account, sample_account, event):
    path, *requests = EVENTS[event]
    is_last = event.endswith(("deleted", "canceled"))
    expected = get_body(sample_account, path)
    if PROMOTE in requests:
        link = json.loads(expected)["referral_link"]["link"]
        sample_account.code = link.partition("ref=")[2]
    for number, request in enumerate(requests, 1):
        if is_last and number == len(requests):
            expected = get_body(sample_account, path)
        send(sample_account, *request)
    if not is_last:
        expected = get_body(sample_account, path)
    if path == ENROLLMENT:
        program = json.loads(get_body(sample_account, "/programs/{program}/"))
        summary = {name: program[name] for name in ("id", "title", "currency")}
        expected = expected[:-1] + b',"program":' + encode(summary) + b"}"

    bodies = [body for kind, body in list_events(account) if kind == event]
    assert bodies[-1] == expected


def test_sends_what_watches_found(account, sample_account):
    """No resource of the API shows an alert."""
    affiliate = account.affiliates.get(slug=fill(sample_account, "{affiliate}"))
    method = account.payout_methods.create(
        affiliate=affiliate, kind="paypal", details={}, on_hold_reason="It came back"
    )

    assert evaluate_watches(account, at=NOW) == 1

    [body] = [body for kind, body in list_events(account) if kind == "alert.opened"]
    assert json.loads(body) == {
        "id": account.alerts.get(object_id=method.pk).pk,
        "watch": "returned_account",
        "title": "Returned payout account",
        "text": "A payment came back: nothing is paid there until you have looked.",
        "affiliate": {
            "id": affiliate.slug,
            "firstname": affiliate.firstname,
            "lastname": affiliate.lastname,
        },
        "created_at": "2026-03-04T09:15:27+00:00",
    }


@pytest.mark.parametrize("event", ["conversion.updated", "conversion.deleted"])
def test_payload_shows_commissions_and_meta_data(account, sample_account, event):
    """Recalculated ones, and those of a deleted conversion."""
    path, request = EVENTS[event]
    get_body(sample_account, path)
    send(sample_account, *request)

    body = json.loads(dict(list_events(account))[event])
    assert body["meta_data"]
    assert body["commissions"][0]["amount"] == (5 if "updated" in event else 20)


def test_sends_events_of_a_conversion_in_order(account, sample_account):
    sample_account.click_id  # noqa: B018 - creates the click
    before = len(list_events(account))

    data = {
        "customer_id": "c-1",
        "click_id": sample_account.click_id,
        "external_id": "o-1",
    }
    line_items = {"commissions": [{"sub_amount": 100}, {"sub_amount": 50}]}
    conversion = sample_account.post("/conversions/", data | line_items)

    events = list_events(account)[before:]
    assert [kind for kind, _ in events] == [
        "customer.created",
        "conversion.created",
        "commission.created",
        "commission.created",
    ]
    assert json.loads(events[1][1]) == conversion
    commissions = [json.loads(body) for kind, body in events[2:]]
    assert [commission["id"] for commission in commissions] == [
        commission["id"] for commission in conversion["commissions"]
    ]


@pytest.mark.parametrize("path", ["con/c", "con/u"])
def test_payload_shows_the_final_state(account, sample_account, path):
    """A postback changes conversion and status in one operation."""
    if path == "con/u":
        assert sample_account.conversion_id
    before = len(list_events(account))
    data = {"external_id": "harbor-order", "amount": 50, "status": "approved"}

    response = sample_account.api.post(f"/pb/{path}/", data | {"click_id": sample_account.click_id})

    assert response.status_code == 200, response.content
    events = dict(list_events(account)[before:])
    event = "conversion.created" if path == "con/c" else "conversion.updated"
    assert json.loads(events[event]) == response.json()
    assert response.json()["commissions"][0]["approved"] is True


def test_sends_the_creation_before_the_update(account, sample_account):
    """A conversion created with a status."""
    data = {"external_id": "o-2", "amount": 50, "status": "approved"}
    click = {"click_id": sample_account.click_id}
    before = len(list_events(account))

    send(sample_account, "POST", "/pb/con/c/", data | click)

    assert [kind for kind, _ in list_events(account)[before:]] == [
        "conversion.created",
        "commission.created",
        "commission.updated",
    ]


def test_rejected_conversion_sends_no_event(account, sample_account):
    sample_account.conversion_id  # noqa: B018 - creates it
    before = list_events(account)

    again = {
        "external_id": sample_account.external_id,
        "click_id": sample_account.click_id,
        "amount": 1,
    }
    assert sample_account.api.post("/conversions/", again).status_code == 400

    assert list_events(account) == before


def test_payment_sends_events_of_paid_commissions(account, sample_account):
    assert sample_account.approved_amount == "20"
    before = len(list_events(account))

    sample_account.post(
        "/payments/",
        {
            "affiliate_id": sample_account.enrolled_affiliate,
            "amount": 20,
            "currency": "EUR",
        },
    )

    kinds = [kind for kind, _ in list_events(account)[before:]]
    assert kinds == ["payment.created", "commission.updated"]
    commission = json.loads(list_events(account)[-1][1])
    assert commission["payout"] == {"id": account.payments.get().public_id}


def test_deleting_a_parent_sends_events_of_children(account, sample_account):
    for request in EVENTS["affiliate.deleted"][1:]:
        send(sample_account, *request)

    bodies = [body for kind, body in list_events(account) if kind == "affiliate.updated"]
    assert bodies[-1] == get_body(sample_account, "/affiliates/{second_affiliate}/")
    assert json.loads(bodies[-1])["parent_id"] is None


def test_number_of_queries_is_independent_of_endpoints(account, sample_account, capture_queries):
    """The number of statements does not grow with the number of webhooks."""
    data = {"click_id": sample_account.click_id, "customer_id": "c-1", "amount": 100}
    sample_account.post("/conversions/", data)
    with capture_queries() as with_one:
        sample_account.post("/conversions/", data)
    for number in range(5):
        create_webhook(account, url=f"{URL}{number}", at=NOW)
    with capture_queries() as with_six:
        sample_account.post("/conversions/", data)

    assert len(with_one) == len(with_six)


# Postbacks of affiliates

MACROS = (
    "s=${click_subid}&a=${commission_amount}&c=${currency}&i=${conversion.id}"
    "&e=${conversion.external_id}&t=${conversion.amount}&u=${customer.id}"
    "&m=${conversion.click.meta_data[subid1]}"
    "&x=${conversion.click.meta_data[unknown]}"
)


def list_postback_urls(account):
    """Return the URLs of the affiliate postbacks."""
    rows = account.deliveries.exclude(endpoint__affiliate="").order_by("id")
    return [build_url(delivery) for delivery in rows.select_related("endpoint")]


def test_sends_postback_to_the_affiliate_of_the_conversion(account, sample_account):
    for affiliate in (sample_account.enrolled_affiliate, sample_account.affiliate):
        create_postback_endpoint(
            account,
            affiliate=affiliate,
            url=f"https://track.example.net/?{MACROS}",
            events=["conversion.created"],
            at=NOW,
        )
    click = {
        "referral_code": sample_account.referral_code,
        "meta_data": {"subid1": "a b&c"},
    }
    data = {
        "click_id": sample_account.post("/clicks/", click)["id"],
        "external_id": "order/1",
        "customer_id": "c-1",
        "commissions": [{"sub_amount": "100.50"}, {"sub_amount": 50}],
    }

    conversion = sample_account.post("/conversions/", data)

    assert list_postback_urls(account) == [
        "https://track.example.net/?s=a%20b%26c&a=15.05&c=EUR"
        f"&i={conversion['id']}&e=order%2F1&t=150.5&u={conversion['customer']['id']}"
        "&m=a%20b%26c&x="
    ]


def test_a_sale_of_many_lines_is_published_in_small_rows(account, sample_account):
    """A list that is too long becomes empty; comments of pages are never sent."""
    url = "https://t.example/?l=${conversion.commissions}&a=${commission_amount}"
    create_postback_endpoint(account, affiliate=sample_account.enrolled_affiliate, url=url, at=NOW)
    # One that was created before the limits.
    account.webhook_endpoints.update(url=url + "&l=${conversion.commissions}" * 60)
    comment = "abc" * 333
    for number, count in enumerate((2, 100)):
        sale = {
            "referral_code": sample_account.referral_code,
            "external_id": f"many-{number}",
            "commissions": [{"sub_amount": 10, "comment": comment}] * count,
        }
        sample_account.post("/conversions/", sale)
        newest = account.deliveries.filter(event__kind="conversion.created").last()
        called = build_url(newest)
        if count == 2:
            assert "sub_amount" in called
        else:
            assert called.startswith("https://t.example/?l=&a=100&l=&l=")
        assert comment not in called
        assert len(called) < 18_000
        assert (newest.url, len(newest.body) < 8_100) == ("", True)


def test_accepts_exactly_the_macros_that_events_fill_in(account, sample_account):
    macros = [*POSTBACK_MACROS, CLICK_MACRO.format(key="subid1")]
    for macro in macros:
        validate_macros(f"https://t.example/?x=${{{macro}}}")
    for macro in ("amount", "", "conversion_id", "conversion.click.meta_data[]"):
        with pytest.raises(UnknownMacro) as error:
            validate_macros(f"https://t.example/?x=${{{macro}}}")
        assert str(error.value).startswith(f"Unknown macro '${{{macro}}}'; available")
    conversion = sample_account.api.get(f"/conversions/{sample_account.conversion_id}/").json()
    conversion["affiliate_meta_data"] = {"subid1": "a"}
    conversion["amount"] = Decimal(1)

    assert set(get_conversion_macros(conversion, [])) == set(macros)


def test_postback_contains_only_own_commissions(account, sample_account):
    """The commission of the parent is not shown to the child."""
    entry = {"affiliate": {"id": sample_account.affiliate}, "approved": True}
    sample_account.post(f"/programs/{sample_account.program}/affiliates/", entry)
    parent = {"affiliate_id": sample_account.affiliate}
    send(sample_account, "PUT", "/affiliates/{enrolled_affiliate}/parent/", parent)
    account.levels.create(program=account.programs.get(), level=2, kind="percentage", value=5)
    account.commission_types.update(mlm=True)
    url = "https://t.example/?l=${conversion.commissions}&a=${commission_amount}"
    create_postback_endpoint(account, affiliate=sample_account.enrolled_affiliate, url=url, at=NOW)

    conversion = sample_account.post(
        "/conversions/", {"click_id": sample_account.click_id, "amount": 200}
    )

    own, level = conversion["commissions"]
    assert level["affiliate"]["id"] == sample_account.affiliate
    (address,) = list_postback_urls(account)
    query = parse_qs(urlsplit(address).query)
    assert json.loads(query["l"][0]) == [own]
    assert query["l"][0] == encode([own]).decode()
    assert query["a"] == ["20"]


def test_sends_postback_for_a_customer(account, sample_account):
    create_postback_endpoint(
        account,
        affiliate=sample_account.enrolled_affiliate,
        url="https://t.example/?u=${customer.id}&s=${click_subid}&e=${conversion.id}",
        at=NOW,
    )

    assert sample_account.customer_public_id
    send(sample_account, "DELETE", f"{CUSTOMER}status/")

    address = f"https://t.example/?u={sample_account.customer_public_id}&s=harbor&e="
    assert list_postback_urls(account) == [address, address]
