"""64 clients post one conversion at once: it is recorded once, without server errors.

See promise 3 of docs/reliability.md, section 1.
"""

from collections import Counter
from threading import Barrier

import pytest

from tests.concurrency.server import make_key, run_simultaneously
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.integration

CLIENTS = 64
DUPLICATE = "Duplicate conversion. There is already a conversion for External id '{}'"
TOO_EARLY = "To many concurrent attempts to create conversion with id '{}'"


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(3, id="quick"),
        pytest.param(200, id="whole", marks=pytest.mark.slow),
    ],
)
def test_records_conversion_once(server, scenario, rounds):
    key = make_key(scenario.account)
    clients = [server.connect(key) for _ in range(CLIENTS)]
    barrier = Barrier(CLIENTS)
    statuses = Counter()

    for number in range(rounds):
        payload = {
            "referral_code": scenario.mina.code,
            "external_id": f"order-{number}",
            "customer_id": f"customer-{number}",
            "amount": "49.90",
        }

        def post(client, payload=payload):
            barrier.wait()
            return client.post("/conversions/", payload)

        responses = run_simultaneously(clients, post)

        allowed = {DUPLICATE.format(payload["external_id"])}
        allowed.add(TOO_EARLY.format(payload["external_id"]))
        errors = [body for status, body in responses if status != 200]
        assert len(errors) == CLIENTS - 1, responses
        assert all(
            list(body) == ["errors"] and body["errors"][0]["message"] in allowed for body in errors
        ), errors
        statuses.update(status for status, _ in responses)

    listed = clients[0].request_json("GET", "/conversions/?page=1")[1]
    assert statuses == {200: rounds, 400: rounds * (CLIENTS - 1)}
    assert assert_ledger_consistent(scenario.account).transfer_count == rounds
    assert len(listed) == min(rounds, 25)
    print(f"{rounds} rounds of {CLIENTS}: {dict(statuses)}, ledger consistent")  # noqa: T201
