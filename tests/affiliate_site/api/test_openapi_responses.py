"""Real responses match the OpenAPI document."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from payouts.report_columns import COLUMNS
from payouts.services.commissions import approve_commission
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_methods import set_payout_method
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.affiliates import PersonData
from tracking.services.hierarchy import create_group
from tracking.services.notes import create_note
from tracking.services.prospects import ProspectData, create_prospect

DOCUMENT = json.loads((Path(__file__).resolve().parents[3] / "openapi.json").read_text())


@pytest.fixture
def scenario(account):
    """One object of every kind, with whole and fractional amounts."""
    shop = ProgramScenario(account)
    click = shop.create_click()
    shop.create_customer("acct-1", click_id=str(click.public_id))
    conversion = shop.create_conversion("49.90", "200", customer_id="acct-1", external_id="order-1")
    first = account.commissions.filter(conversion=conversion).order_by("id")[0]
    approve_commission(account, commission_id=first.pk, at=CONVERSION_CREATED_AT)
    mina = shop.mina.affiliate
    [payment] = create_payments(
        account,
        orders=[PaymentOrder(mina.slug, Decimal(5), "EUR")],
        at=CONVERSION_CREATED_AT,
    )
    note = create_note(account, affiliate=mina, text="Calls on Mondays", at=CONVERSION_CREATED_AT)
    group = create_group(account, title="Gold", at=CONVERSION_CREATED_AT)
    prospect = create_prospect(
        account,
        data=ProspectData(PersonData("Odette", "Varga")),
        at=CONVERSION_CREATED_AT,
    )
    set_payout_method(
        account,
        affiliate_id=mina.slug,
        kind="paypal",
        details={"paypal_address": "mina@notes.example.org"},
        is_primary=True,
        at=CONVERSION_CREATED_AT,
    )
    shop.create_level(2, "3")
    shop.create_bonus(goal="2", value="50", kind="fixed")
    shop.create_group_rate(group, "12.5")
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


def name_row_id(path):
    """Replace `row_id` of the meta data paths by the name of the resource's id."""
    resource = path.split("/")[1]
    return path.replace("{row_id}", f"{{{resource.removesuffix('s')}_id}}")


READS = [
    path.removeprefix("/1.6")
    for path, methods in DOCUMENT["paths"].items()
    if "get" in methods and "{key}" not in path and path.startswith("/1.6/")
]

QUERIES = {
    "/reports/": f"?rows=affiliate,day&columns={','.join(COLUMNS)}"
    "&date_from=2026-01-01&date_to=2026-12-31&compare=year"
}


def test_responses_match_their_schemas(api, scenario, subtests):
    for path in READS:
        with subtests.test(path=path):
            query = QUERIES.get(path, "")
            response = api.get(name_row_id(path).format(**scenario.ids) + query)

            assert_matches_schema(response, path)


def assert_matches_schema(response, path):
    described = DOCUMENT["paths"][f"/1.6{path}"]["get"]["responses"]["200"]
    schema = described["content"]["application/json"]["schema"]
    validator = Draft202012Validator(schema | {"components": DOCUMENT["components"]})

    assert response.status_code == 200
    assert response.json() or "meta-data" in path
    assert [error.message for error in validator.iter_errors(response.json())] == []
    for name in described.get("headers", {}):
        assert name in response


def test_amounts_are_numbers_and_requests_may_send_text():
    schemas = DOCUMENT["components"]["schemas"]

    answer = schemas["Conversion"]["properties"]["amount"]
    request = schemas["ConversionInput"]["properties"]["amount"]

    assert set(answer) == {"type", "description"}
    assert answer["type"] == "number"
    assert set(request) == {"$ref", "description"}
    assert request["$ref"] == "#/components/schemas/AmountInput"
    assert schemas["AmountInput"]["oneOf"] == [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 10**13},
        {"type": "string", "pattern": r"^[0-9]{1,13}(\.[0-9]+)?$"},
    ]
    assert '"decimal"' not in json.dumps(DOCUMENT)
