"""Signed events with an odd value at some place: they fail with a sentence, or do what
they would do without it, and never raise what nobody expects.
"""

import json
import random
from copy import deepcopy

import pytest
from django.db import transaction

from affiliate_site.shops.processing import OUR_FAULT, process_event
from tests import paddle_events, shopify_events, stripe_events, woocommerce_events
from tests.affiliate_site.shops import test_other as other_events
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.inbox import Envelope, store_event

pytestmark = [pytest.mark.usefixtures("shared_scenario")]

SAMPLES = 30  # of each event
FAULT = OUR_FAULT.partition(";")[0]
ODD_VALUES = (
    *(-1, 0, 10**30, -0.01, "-5", "ten", "", "\u0660", "x" * 5000, "a\x00b", "\ud800"),
    *("NaN", "1e400", None, True, [], {}, [None], [[]], {"a": []}, ["a"], [{}]),
)
REFUNDED = {"refunds": [("11", "23.80")]}

# Of each kind: a sale, and what follows it, as kind of event and body.
EVENTS = {
    "stripe": lambda code: [
        stripe_events.build_checkout(client_reference_id=code),
        stripe_events.build_subscription_checkout(1, client_reference_id=code),
        stripe_events.build_invoice(2),
        stripe_events.build_charge(2380, 3),
        stripe_events.build_refund("re_1", 2380, 4),
        stripe_events.build_dispute("needs_response", 5),
        stripe_events.build_subscription("updated", 6),
    ],
    "woocommerce": lambda code: [
        woocommerce_events.build_order(meta={"referral_code": code}),
        woocommerce_events.build_order(1, meta={"referral_code": code}, **REFUNDED),
        woocommerce_events.build_deletion(2),
    ],
    "shopify": lambda code: [
        shopify_events.build_order(landing_site=f"/?ref={code}"),
        shopify_events.build_amount_refund(7, "23.80"),
    ],
    "paddle": lambda code: [
        paddle_events.build_transaction(custom_data={"ref": code}),
        paddle_events.build_adjustment("adj_1", 2000, 1),
        paddle_events.build_subscription("updated", 2),
    ],
    "other": lambda code: [
        other_events.build_sale(ref=code),
        other_events.build_refund("re_1", 2380, 1),
    ],
}
TOPICS = {
    "woocommerce": ["order.updated", "order.updated", "order.deleted"],
    "shopify": ["orders/updated", "refunds/create"],
    "other": ["event", "event"],
}


def list_places(value, place=()):
    """The places of all values in a body, also of objects and lists."""
    pairs = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, each in pairs:
        yield (*place, key)
        yield from list_places(each, (*place, key))


def change(body, place, value):
    """The body with another value at a place."""
    changed = deepcopy(body)
    *parents, key = place
    target = changed
    for parent in parents:
        target = target[parent]
    target[key] = value
    return changed


def get_topic(kind, body, number):
    return TOPICS[kind][number] if kind in TOPICS else body.get("type") or body["event_type"]


@pytest.fixture(params=EVENTS)
def connection(request, scenario):
    return create_connection(
        scenario.account,
        kind=request.param,
        program=scenario.program,
        mode=ConnectionMode.LIVE,
        settings={"stores_email": True, "reference_may_be_code": True}
        | ({"other": MAPPING} if request.param == "other" else {}),
        at=CONVERSION_CREATED_AT,
    )


def process(connection, key, topic, body):
    """Store and process an event; return what it did."""
    envelope = Envelope(key, topic, CONVERSION_CREATED_AT, json.dumps(body))
    event = store_event(connection, envelope, at=CONVERSION_CREATED_AT)
    process_event(event, at=CONVERSION_CREATED_AT)
    return event.result


def test_odd_values_are_no_error_of_ours(scenario, connection):
    dice = random.Random(5)  # noqa: S311 - reproducible bodies
    kind, faults = connection.kind, set()
    events = EVENTS[kind](scenario.mina.code)
    for number, body in enumerate(events):
        topic = get_topic(kind, body, number)
        cases = [(p, v) for p in list_places(body) for v in range(len(ODD_VALUES))]
        for place, value in dice.sample(cases, min(SAMPLES, len(cases))):
            odd = change(body, place, ODD_VALUES[value])
            with transaction.atomic():
                result = process(connection, f"{number}-odd", topic, odd)
                if FAULT in " ".join(map(str, result)):
                    faults.add((topic, place, str(ODD_VALUES[value])[:20]))
                transaction.set_rollback(True)
        process(connection, f"{number}", topic, body)
    assert faults == set()
    assert scenario.account.conversions.exists()
    assert_ledger_consistent(scenario.account)
