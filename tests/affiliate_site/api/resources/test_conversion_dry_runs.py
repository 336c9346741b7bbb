"""`POST /conversions/?dry_run=true`: the answer of the real call, and nothing stored."""

from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from accounts.services.accounts import lock_account
from accounts.services.webhooks import create_webhook
from payouts.calculation import LineItem
from payouts.models.commission_types import RateKind
from payouts.services.conversion_creation import ConversionData, create_conversion
from tests.affiliate_site.responses import get_error_message, get_json, list_field_errors
from tests.command_line import run_json_command
from tests.conftest import ApiClient
from tests.ledger_checks import rows_of
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import TrackingParameters
from tracking.claims import Trust

PATH = "/conversions/"
DRY_PATH = "/conversions/?dry_run=true"
TIMES = ("created_at", "due_at", "finalized_at")


def snapshot_tables():
    """Return the rows of every table, but for the usage of keys."""
    names = {model._meta.db_table for model in apps.get_models() if not model._meta.proxy}
    quote = connection.ops.quote_name
    return {
        name: sorted(map(repr, rows_of(f"SELECT * FROM {quote(name)}")))  # noqa: S608
        for name in names - {"accounts_apikey"}
    }


@contextmanager
def assert_nothing_stored():
    before = snapshot_tables()
    yield
    assert snapshot_tables() == before


@pytest.fixture
def scenario(scenario):
    """A shop that pays one sale of a customer, at three levels, and has a webhook."""
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED)
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_level(2, "3")
    scenario.add_child(scenario.mina, parent)
    scenario.program.update_row(recurring=True, recurring_cap=1)
    url = "https://hooks.example.net/"
    create_webhook(scenario.account, url=url, events=[], at=CONVERSION_CREATED_AT)
    scenario.account.refresh_from_db()
    return scenario


def by_coupon(scenario, api):
    return {"coupon": scenario.mina.coupon, "external_id": "order-1", "amount": 200}


def by_click(scenario, api):
    click = scenario.create_click(at=timezone.now(), meta_data={"subid1": "may"})
    return {"click_id": str(click.public_id), "customer_id": "acct-1", "amount": "49.905"}


def by_known_customer(scenario, api):
    scenario.create_customer("acct-1")
    return {"customer_id": "acct-1", "amount": 10, "meta_data": {"b": "1", "a": "2"}}


def past_the_cap(scenario, api):
    scenario.create_conversion("200", customer_id="acct-1")
    return {"customer_id": "acct-1", "amount": 10}


def in_another_currency(scenario, api):
    return {"coupon": scenario.mina.coupon, "amount": 1234, "currency": "jpy"}


def of_line_items(scenario, api):
    items = [{"sub_amount": 20, "comment": "tea"}, {"sub_amount": 5, "commission_type": "flat"}]
    return {"referral_code": scenario.mina.code, "commissions": items}


def of_the_affiliate_itself(scenario, api):
    return {"coupon": scenario.mina.coupon, "customer_id": "mina@notes.example.org", "amount": 10}


def of_a_prospect(scenario, api):
    prospect = api.post("/affiliate-prospects/", {"firstname": "Ines", "lastname": "Falk"}).json()
    code = prospect["referral_link"]["link"].partition("ref=")[2]
    return {"referral_code": code, "amount": 10}


def create_claim(scenario, external_id):
    data = ConversionData(
        TrackingParameters(coupon=scenario.mina.coupon),
        [LineItem(Decimal(7))],
        external_id=external_id,
        trust=Trust.CLAIM,
    )
    return create_conversion(scenario.account, data=data, at=CONVERSION_CREATED_AT)


def of_a_claim(scenario, api):
    create_claim(scenario, "order-1")
    return by_coupon(scenario, api)


SALES = [
    by_coupon,
    by_click,
    by_known_customer,
    past_the_cap,
    in_another_currency,
    of_line_items,
    of_the_affiliate_itself,
    of_a_prospect,
    of_a_claim,
]


def strip_times(value):
    """Return JSON data without the moments that two calls cannot share."""
    if isinstance(value, list):
        return [strip_times(each) for each in value]
    if isinstance(value, dict):
        return {name: None if name in TIMES else strip_times(each) for name, each in value.items()}
    return value


def clear_ids(objects, key, known):
    for each in objects:
        if each[key] not in known:
            each[key] = None


@pytest.mark.parametrize("make_body", SALES)
def test_answers_as_the_call_that_follows(api, scenario, make_body):
    body, account = make_body(scenario, api), scenario.account
    conversions = set(account.conversions.values_list("pk", flat=True))
    commissions = set(account.commissions.values_list("pk", flat=True))
    customers = set(account.customers.values_list("public_id", flat=True))
    affiliates = set(account.affiliates.values_list("slug", flat=True))

    with assert_nothing_stored():
        first = get_json(api.post(DRY_PATH, body))
        second = get_json(api.post(DRY_PATH, body))
    real = get_json(api.post(PATH, body))

    assert None not in [real["id"], *(row["id"] for row in real["commissions"])]
    explained = run_json_command("explain", account.slug, str(real["id"]))
    assert explained.pop("verified") is None
    sale, earned = explained["conversion"], explained["commissions"]
    clear_ids([real, sale], "id", conversions)
    clear_ids([*real["commissions"], *earned], "id", commissions)
    clear_ids(earned, "base_commission", commissions)
    clear_ids([real["customer"]] if real["customer"] else [], "id", customers)
    named = [real["affiliate"], *(row["affiliate"] for row in real["commissions"])]
    clear_ids(named, "id", affiliates)
    clear_ids([sale, *earned], "affiliate", affiliates)
    assert (
        strip_times(first) == strip_times(second) == strip_times(real | {"explanation": explained})
    )
    assert list(first) == [*real, "explanation"]


def test_shows_what_an_answer_looks_like(api, scenario):
    answer = get_json(api.post(DRY_PATH, by_coupon(scenario, api)))

    assert answer["id"] is None
    assert [(row["id"], row["amount"]) for row in answer["commissions"]] == [(None, 20), (None, 6)]
    assert answer["affiliate"] == scenario.mina.reference
    assert answer["explanation"]["attribution"]["winner"]["parameter"] == "coupon"
    assert [row["exact_amount"] for row in answer["explanation"]["commissions"]] == [20, 6]


def without_parameter(scenario, api):
    return {"amount": 5}


def by_an_unknown_coupon(scenario, api):
    return {"coupon": "NOBODY"}


def by_an_old_click(scenario, api):
    clicked_at = timezone.now() - timedelta(days=45, seconds=1)
    return {"click_id": str(scenario.create_click(at=clicked_at).public_id)}


def of_an_unknown_type(scenario, api):
    return {"coupon": scenario.mina.coupon, "commission_type": "nothing"}


def with_odd_fields(scenario, api):
    return {"coupon": scenario.mina.coupon, "amount": "much", "currency": "XXX"}


def of_an_archived_program(scenario, api):
    scenario.archive()
    return {"coupon": scenario.mina.coupon}


def of_a_locked_account(scenario, api):
    lock_account(scenario.account, at=CONVERSION_CREATED_AT)
    return {"coupon": scenario.mina.coupon}


def of_a_duplicate(scenario, api):
    scenario.create_conversion("200", external_id="order-9")
    return {"coupon": scenario.mina.coupon}


ERRORS = [
    without_parameter,
    by_an_unknown_coupon,
    by_an_old_click,
    of_an_unknown_type,
    with_odd_fields,
    of_an_archived_program,
    of_a_locked_account,
    of_a_duplicate,
]


@pytest.mark.parametrize("make_body", ERRORS)
def test_refuses_as_the_call_that_follows(api, scenario, make_body):
    body = make_body(scenario, api) | {"external_id": "order-9"}

    with assert_nothing_stored():
        answers = [api.post(DRY_PATH, body) for _ in range(2)]
    real = api.post(PATH, body)

    assert real.status_code == 400
    for answer in answers:
        assert (answer.status_code, answer.content) == (400, real.content)


def test_waits_as_the_real_call_after_its_failure(api, scenario):
    api.post(PATH, {"external_id": "order-9"})

    with assert_nothing_stored():
        message = get_error_message(
            api.post(DRY_PATH, by_coupon(scenario, api) | {"external_id": "order-9"})
        )

    assert message == "To many concurrent attempts to create conversion with id 'order-9'"


def test_keeps_the_failure_of_a_real_call(api, scenario):
    """A dry run that succeeds is no success of the sale."""
    api.post(PATH, {"external_id": "order-1"})
    scenario.account.conversion_attempts.update(failed_at=CONVERSION_CREATED_AT)

    with assert_nothing_stored():
        get_json(api.post(DRY_PATH, by_coupon(scenario, api)))


@pytest.mark.parametrize("value", ["yes", "2", "tru"])
def test_refuses_another_value_and_stores_nothing(api, scenario, value):
    with assert_nothing_stored():
        response = api.post(f"{PATH}?dry_run={value}", by_coupon(scenario, api))

    assert list_field_errors(response) == [("dry_run", "This value should be true or false.")]


@pytest.mark.parametrize("value", ["false", "0", "FALSE", ""])
def test_stores_the_sale_without_a_dry_run(api, scenario, value):
    sale = get_json(api.post(f"{PATH}?dry_run={value}", by_coupon(scenario, api)))

    assert "explanation" not in sale
    assert scenario.account.conversions.get().pk == sale["id"]


def test_neither_keeps_nor_replays_an_idempotency_key(api, scenario):
    body, key = by_coupon(scenario, api), {"Idempotency-Key": "k-1"}

    with assert_nothing_stored():
        dry = api.post(DRY_PATH, body, **key)
    real = api.post(PATH, body, **key)
    get_json(real)

    assert get_json(dry)["id"] is None
    assert api.post(PATH, body, **key).content == real.content
    assert get_error_message(api.post(DRY_PATH, body, **key)).startswith("Duplicate conversion")
    invalid = api.post(DRY_PATH, body, **{"Idempotency-Key": "ä"})
    assert invalid.status_code == 400


def test_needs_the_role_of_the_real_call(make_key, account):
    reader = ApiClient(make_key(account, role="viewer"))

    assert reader.post(DRY_PATH, {"amount": 1}).status_code == 403
