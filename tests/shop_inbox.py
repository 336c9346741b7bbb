"""Events of shops through the inbox, without HTTP."""

import json
from datetime import UTC, datetime
from itertools import permutations

import pytest

from accounts.exact_json import format_decimal
from affiliate_site.shops.processing import process_event
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.inbox import Envelope, store_event

# Every order of five events; `make test` takes each eighth.
ORDERS_OF_FIVE = [
    pytest.param(order, marks=pytest.mark.slow if number % 8 else ())
    for number, order in enumerate(permutations(range(5)))
]


def deliver(connection, body, *, key=None, kind=None, at=CONVERSION_CREATED_AT):
    """Store and process an event, by default one of Stripe; return it."""
    occurred_at = at
    if "created" in body:
        occurred_at = datetime.fromtimestamp(body["created"], tz=UTC)
    at = max(at, occurred_at)
    envelope = Envelope(key or body["id"], kind or body["type"], occurred_at, json.dumps(body))
    event = store_event(connection, envelope, at=at)
    if event is None:
        return None
    process_event(event, at=at)
    return event


def list_sales(account):
    """Order ID, amount and commission amounts of each sale that is not removed."""
    return [
        (
            row.external_id,
            format_decimal(row.amount),
            [
                (format_decimal(each.amount), each.status)
                for each in account.commissions.filter(conversion=row, deleted_at=None).order_by(
                    "id"
                )
            ],
        )
        for row in account.conversions.not_deleted().order_by("external_id")
    ]
