"""The page of a mapping: paths beside a sample, and what would happen."""

import json
from decimal import Decimal

import pytest

from affiliate_site.backoffice.connections.event_body import list_paths
from affiliate_site.backoffice.connections.mapping_form import (
    build_mapping,
    format_mapping,
)
from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.test_shop_pages import read, url_of
from tests.affiliate_site.shops.test_other import (
    build_body,
    build_refund,
    build_sale,
    deliver,
)
from tests.ledger_checks import snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import list_sales
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")

SIGNATURE = {"signature": MAPPING["signature"]}
ENTRIES = format_mapping(MAPPING)
PREVIEW = {"_preview": ""}


@pytest.fixture
def client(staff_client):
    return staff_client()


@pytest.fixture
def connect(scenario):
    def create(mapping=None, account=scenario.account, **values):
        return create_connection(
            account,
            kind="other",
            program=scenario.program if account == scenario.account else None,
            settings={"other": mapping, "stores_email": True} if mapping else {},
            at=CONVERSION_CREATED_AT,
            **values,
        )

    return create


@pytest.fixture
def shop(connect):
    return connect(SIGNATURE)


@pytest.fixture
def sale(scenario):
    return build_sale(ref=scenario.mina.code)


def send(client, shop, **entries):
    """Send the form as a browser would; return the page that answers."""
    url = url_of(shop, "mapping")
    event = client.get(url).context["form"]["event"].value()
    return client.post(url, get_form(client, url) | {"event": event} | entries)


def preview(client, shop, **entries):
    """What would happen: notes, facts, and errors beside the fields."""
    response = send(client, shop, **entries, **PREVIEW)
    assert response.status_code == 200
    sections = response.context["page"].list_sections()
    notes = [note for section in sections for note in section.notes]
    facts = {
        name: str(value) for section in sections for name, value in section.facts if name != "State"
    }
    return notes, facts, response.context["form"].errors


def test_a_signature_is_enough_to_receive_a_sample(client, connect, sale):
    shop = connect()
    assert "Enter under “Mapping” how the shop signs" in read(client.get(url_of(shop)))
    response = send(
        client,
        shop,
        signature__kind="hmac",
        signature__header="X-Signature",
        signature__prefix="sha256=",
    )
    assert response.status_code == 302
    signature = {"kind": "hmac", "header": "X-Signature", "prefix": "sha256="}
    assert shop.reload().settings == {"other": {"signature": signature}}
    assert "Enter under “Mapping” where a sale is" in read(client.get(url_of(shop)))
    assert deliver(shop.reload(), sale).state == "ignored"


def test_shows_the_newest_event_with_its_paths(client, shop, sale):
    assert "No event has arrived yet." in read(client.get(url_of(shop, "mapping")))
    deliver(shop, sale)
    html = client.get(url_of(shop, "mapping")).content.decode()
    assert "<code>data.items.1.sku</code></td><td>BULB</td>" in html
    assert '<option value="data.items.1.sku">' in html
    shown, _, folded = html.partition("<summary>Show it with personal data</summary>")
    personal = "<code>data.customer.email</code></td><td>{}</td>"
    assert personal.format("…") in shown
    assert "jo@buyers.example.org" not in shown
    assert personal.format("jo@buyers.example.org") in folded


def test_shows_the_event_that_was_chosen(client, shop, sale):
    first = deliver(shop, sale)
    deliver(shop, build_refund("re_1", 500))
    response = send(client, shop, event=first.pk, **PREVIEW)
    assert "data.items.0.sku" in [it.path for it in response.context["paths"]]
    pasted = send(client, shop, event=first.pk, body='{"a": 1}', **PREVIEW)
    assert [it.path for it in pasted.context["paths"]] == ["a"]


def test_saves_the_mapping_and_keeps_the_other_settings(client, shop):
    assert send(client, shop, **ENTRIES).status_code == 302
    settings = shop.reload().settings
    assert settings["stores_email"] is True
    live = {"path": "live", "equals": "true"}
    conditions = [MAPPING["sale"]["when"][0], live]
    signature = {k: v for k, v in MAPPING["signature"].items() if k != "encoding"}
    assert settings["other"] == MAPPING | {
        "signature": signature,
        "sale": MAPPING["sale"] | {"when": conditions},
    }


def test_shows_the_mapping_as_it_is(client, connect):
    form = get_form(client, url_of(connect(MAPPING), "mapping"))
    assert form["sale__when"] == "type = sale\nlive = true"
    assert form["sale__coupons"] == "data.coupons.*.code"
    assert form["sale__unit"] == "minor"
    assert form["refund__is_canceled"] == "data.status = failed"


def test_a_form_without_changes_is_the_same_mapping():
    saved = build_mapping(ENTRIES)
    assert build_mapping(format_mapping(saved)) == saved


def test_conditions_may_be_alternatives_or_negated():
    text = "type = sale or type = renewal\ntest != true"
    mapping = build_mapping(ENTRIES | {"sale__when": text})
    assert mapping["sale"]["when"] == [
        {
            "any": [
                {"path": "type", "equals": "sale"},
                {"path": "type", "equals": "renewal"},
            ]
        },
        {"path": "test", "differs": "true"},
    ]
    assert format_mapping(mapping)["sale__when"] == text


def test_a_form_can_be_pasted(client, scenario, shop):
    entries = ENTRIES | {
        "sale__when": "",
        "sale__order_id": "sale_id",
        "sale__amount": "price - tax",
        "sale__paid": "",
        "sale__currency": '"EUR"',
        "sale__referral": "url_params[ref]",
        "sale__lines__items": "",
        "sale__lines__amount": "",
        "sale__lines__product": "",
    }
    body = f"sale_id=abc&price=1190&tax=190&url_params%5Bref%5D={scenario.mina.code}"
    notes, facts, errors = preview(client, shop, body=body, **entries)
    assert (notes, errors) == (["A sale of 10 EUR was created."], {})
    assert (facts["Order ID"], facts["Amount"]) == ("abc", "10.00 EUR")
    assert facts["Referral"] == scenario.mina.code


@pytest.mark.parametrize("kind", ["standard_webhooks", "header", "basic", "address"])
def test_leaves_out_what_a_kind_of_signature_does_not_use(kind):
    entries = {"signature__kind": kind, "signature__header": "X", "sale__unit": "major"}
    used = {"kind": kind} | ({"header": "X"} if kind == "header" else {})
    values = entries | {"signature__encoding": "base64"}
    assert build_mapping(values) == {"signature": used}


def test_shows_the_sale_that_would_result_before_it_is_saved(client, scenario, shop, sale):
    deliver(shop, sale)
    before = snapshot_account(scenario.account)
    notes, facts, errors = preview(client, shop, **ENTRIES)
    assert (notes, errors) == (["A sale of 100 EUR was created."], {})
    assert facts == {
        "Event ID": sale["id"],
        "Kind": "sale",
        "Time": f"{CONVERSION_CREATED_AT:%Y-%m-%d %H:%M:%S} UTC",
        "Order ID": "1001",
        "Amount": "100.00 EUR",
        "Paid": "119.00 EUR",
        "Customer": "c-7",
        "Referral": scenario.mina.code,
        "Coupons": "none",
        "Lines": "LAMP 80.00 EUR\nBULB 20.00 EUR",
    }
    assert snapshot_account(scenario.account) == before
    assert shop.reload().settings["other"] == SIGNATURE
    assert list_sales(scenario.account) == []


def test_shows_what_is_used_where_a_mapping_has_no_paths(client, shop, sale):
    body = json.dumps({"id": "1", "net": 5, "currency": "EUR"})
    entries = {
        "sale__order_id": "id",
        "sale__amount": "net",
        "sale__currency": "currency",
    }
    _, facts, errors = preview(client, shop, body=body, **entries)
    assert errors == {}
    assert facts["Event ID"] == "none: equal bodies are one event"
    assert (facts["Kind"], facts["Time"]) == ("event", "when it arrives")
    assert (facts["Amount"], facts["Paid"]) == ("5.00 EUR", "5.00 EUR")
    _, facts, _ = preview(client, shop, body=body, signature__kind="standard_webhooks", **entries)
    assert facts["Event ID"] == "the header webhook-id or svix-id"


def test_shows_the_refund_that_would_result(client, shop, sale):
    body = json.dumps(build_refund("re_1", 2500))
    notes, facts, errors = preview(client, shop, body=body, **ENTRIES)
    assert errors == {}
    assert "The sale is not known yet" in notes[0]
    shown = ("Order ID", "Refund ID", "Amount", "Canceled")
    assert [facts[name] for name in shown] == ["1001", "re_1", "25.00", "no"]


def test_says_when_neither_is_meant(client, shop):
    body = json.dumps(build_body("invoice", id="1"))
    notes, _, errors = preview(client, shop, body=body, **ENTRIES)
    assert errors == {}
    assert notes == ["The conditions of neither a sale nor a refund are met."]


@pytest.mark.parametrize(
    ("entries", "name", "error"),
    [
        ({"signature__kind": ""}, "signature__kind", "This field is required."),
        ({"signature__header": ""}, "signature__header", "Enter signature.header."),
        ({"signature__header": "X Y"}, "signature__header", "the name of a header"),
        ({"event__id": "a..b"}, "event__id", "Make event.id a path such as"),
        ({"sale__amount": "a -"}, "sale__amount", "Make sale.amount a path such as"),
        ({"sale__when": "a = 1 or 2"}, "sale__when", "Write 2 as path = value"),
        ({"sale__amount": ""}, "sale__amount", "Enter sale.amount."),
        ({"sale__when": "type: sale"}, "sale__when", "as path = value"),
        ({"sale__when": "a..b = 1"}, "sale__when", "Make sale.when.0.path a path"),
        ({"sale__referral": "a\nb."}, "sale__referral", "Make sale.referral.1 a path"),
        ({"sale__lines__product": ""}, "sale__lines__product", "Enter sale.lines"),
        ({"refund__when": ""}, "refund__when", "Enter refund.when."),
        ({"refund__is_canceled": "x"}, "refund__is_canceled", "as path = value"),
    ],
)
@pytest.mark.parametrize("button", [{}, PREVIEW])
def test_says_beside_the_field_what_cannot_be_saved(
    client, shop, sale, entries, name, error, button
):
    deliver(shop, sale)
    response = send(client, shop, **(ENTRIES | entries | button))
    errors = response.context["form"].errors
    assert list(errors) == [name]
    assert error in errors[name][0]
    assert shop.reload().settings["other"] == SIGNATURE


def test_names_all_fields_that_are_missing(client, shop):
    errors = send(client, shop, sale__paid="paid").context["form"].errors
    assert set(errors) == {"sale__order_id", "sale__amount", "sale__currency"}


@pytest.mark.parametrize(
    ("entries", "name", "error"),
    [
        (
            {"sale__order_id": "data.no"},
            "sale__order_id",
            "no sale.order_id at",
        ),
        ({"sale__amount": "data.items"}, "sale__amount", "sale.amount: "),
        ({"sale__paid": "data.currency"}, "sale__paid", "sale.paid: "),
        ({"sale__currency": "type"}, "sale__currency", "currency"),
        ({"sale__customer": "data"}, "sale__customer", "sale.customer is no text"),
        ({"sale__lines__amount": "sku"}, "sale__lines__amount", "sale.lines.amount.0"),
    ],
)
def test_says_beside_the_field_what_a_path_does_not_lead_to(
    client, shop, sale, entries, name, error
):
    deliver(shop, sale)
    notes, _, errors = preview(client, shop, **(ENTRIES | entries))
    assert (notes, list(errors)) == ([], [name])
    assert error in errors[name][0]


@pytest.mark.parametrize("body", ["", "[1]", "{'id': 1}", "[" * 100_000])
def test_a_preview_needs_a_sample(client, shop, body):
    _, _, errors = preview(client, shop, body=body, **ENTRIES)
    assert list(errors) == ["body"]
    assert "Paste the JSON object" in errors["body"][0]


def test_offers_events_of_this_shop_only(client, connect, other_account, sale):
    shop, other = connect(SIGNATURE), connect(SIGNATURE)
    foreign = connect(SIGNATURE, other_account)
    events = [deliver(each, sale) for each in (other, foreign)]
    for event in events:
        _, _, errors = preview(client, shop, event=event.pk, **ENTRIES)
        assert "event" in errors
    assert client.get(url_of(foreign, "mapping")).status_code == 404


def test_only_shops_of_the_kind_other_have_a_mapping(client, account):
    shop = create_connection(account, kind="stripe", at=CONVERSION_CREATED_AT)
    assert "Mapping" not in read(client.get(url_of(shop)))
    assert client.get(url_of(shop, "mapping")).status_code == 302


def test_lists_the_paths_of_values():
    body = {
        "a": {"b": [1, {"c": None}], "d.e": 1, " f": 2},
        "empty": [],
        "customer_email": "jo@buyers.example.org",
        "billing": {"zip": "1000"},
        "paid": True,
        "net": Decimal("4.90"),
        "text": "x" * 101,
    }
    assert [(it.path, it.shown_text) for it in list_paths(body)] == [
        ("a.b.0", "1"),
        ("a.b.1.c", ""),
        ("empty", ""),
        ("customer_email", "…"),
        ("billing.zip", "…"),
        ("paid", "true"),
        ("net", "4.9"),
        ("text", "x" * 100 + "…"),
    ]
