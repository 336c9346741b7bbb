"""The OpenAPI document tells the truth: real answers fit it, to the type."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from payouts.services.commissions import approve
from tests.shop import SOLD, Shop

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
    shop.ids = {
        "affiliate_id": "minakessler",
        "program_id": shop.program.slug,
        "click_id": str(click.public_id),
        "customer_id": account.customers.get().public_id,
        "row_id": account.customers.get().public_id,
        "conversion_id": str(conversion.pk),
    }
    return shop


READS = [
    path.removeprefix("/1.6")
    for path, methods in DOCUMENT["paths"].items()
    if "get" in methods and "{key}" not in path
]


@pytest.mark.parametrize("path", READS)
def test_describes_every_answer_as_it_is(api, shop, path):
    answer = DOCUMENT["paths"][f"/1.6{path}"]["get"]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]
    validator = Draft202012Validator(schema | {"components": DOCUMENT["components"]})

    response = api.get(path.format(**shop.ids))

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
            {"type": "number"},
            {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
        ]
    }
    assert '"decimal"' not in json.dumps(DOCUMENT)
