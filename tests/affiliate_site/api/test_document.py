"""The OpenAPI document tells the truth: real answers fit it, to the type."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from payouts.services.commissions import approve
from payouts.services.payments import Order, pay
from payouts.services.payout_methods import set_payout_method
from tests.shop import SOLD, Shop
from tracking.services.affiliates import Application
from tracking.services.notes import write_note
from tracking.services.placement import make_group
from tracking.services.prospects import Invitation, invite

DOCUMENT = json.loads(
    (Path(__file__).resolve().parents[3] / "openapi.json").read_text()
)


@pytest.fixture
def shop(account):
    """One of everything, with cents and without."""
    shop = Shop(account)
    click = shop.click()
    shop.customer("acct-1", click_id=str(click.public_id))
    conversion = shop.sell("49.90", "200", customer_id="acct-1", external_id="order-1")
    first = account.commissions.filter(conversion=conversion).order_by("id")[0]
    approve(account, commission_id=first.pk, at=SOLD)
    mina = shop.mina.affiliate
    [payment] = pay(account, orders=[Order(mina.slug, Decimal(5), "EUR")], at=SOLD)
    note = write_note(account, affiliate=mina, text="Calls on Mondays", at=SOLD)
    group = make_group(account, title="Gold", at=SOLD)
    prospect = invite(
        account, invitation=Invitation(Application("Odette", "Varga")), at=SOLD
    )
    set_payout_method(
        account,
        affiliate_id=mina.slug,
        kind="paypal",
        details={"paypal_address": "mina@notes.example.org"},
        primary=True,
        at=SOLD,
    )
    shop.level(2, "3")
    shop.bonus(goal="2", value="50", kind="fixed")
    shop.group_rate(group, "12.5")
    account.field_definitions.create(
        slug="website", title="Website", type="url", options=["one", "two"]
    )
    shop.ids = {
        "affiliate_id": mina.slug,
        "program_id": shop.program.slug,
        "click_id": str(click.public_id),
        "customer_id": account.customers.get().public_id,
        "conversion_id": str(conversion.pk),
        "commission_id": str(first.pk),
        "payment_id": payment.public_id,
        "note_id": note.public_id,
        "group_id": group.public_id,
        "prospect_id": prospect.public_id,
        "method": "paypal",
    }
    return shop


def row_of(path):
    """Whose meta data: the same place in the path, another kind of id."""
    things = path.split("/")[1]
    return path.replace("{row_id}", f"{{{things.removesuffix('s')}_id}}")


READS = [
    path.removeprefix("/1.6")
    for path, methods in DOCUMENT["paths"].items()
    if "get" in methods and "{key}" not in path and path.startswith("/1.6/")
]


@pytest.mark.parametrize("path", READS)
def test_describes_every_answer_as_it_is(api, shop, path):
    answer = DOCUMENT["paths"][f"/1.6{path}"]["get"]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]
    validator = Draft202012Validator(schema | {"components": DOCUMENT["components"]})

    response = api.get(row_of(path).format(**shop.ids))

    assert response.status_code == 200
    assert response.json() or "meta-data" in path
    assert [error.message for error in validator.iter_errors(response.json())] == []
    for name in answer.get("headers", {}):
        assert name in response


def test_gives_amounts_as_numbers_and_takes_their_digits_too():
    schemas = DOCUMENT["components"]["schemas"]

    assert schemas["ConversionShape"]["properties"]["amount"] == {"type": "number"}
    assert schemas["SaleInput"]["properties"]["amount"] == {
        "oneOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 10**13},
            {"type": "string", "pattern": r"^[0-9]{1,13}(\.[0-9]+)?$"},
        ]
    }
    assert '"decimal"' not in json.dumps(DOCUMENT)
