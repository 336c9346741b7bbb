"""Promise P2: 64 clients post one sale at once; it is recorded once, and nobody
is told of a fault of ours."""

import json
from collections import Counter
from threading import Barrier

import pytest

from tests.concurrency.server import all_at_once, serving

CLIENTS = 64
DUPLICATE = "Duplicate conversion. There is already a conversion for External id '{}'"
HASTY = "To many concurrent attempts to create conversion with id '{}'"


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(3, id="quick"),
        pytest.param(200, id="whole", marks=pytest.mark.slow),
    ],
)
def test_records_a_sale_once_however_often_it_is_posted_at_once(
    committed, tmp_path, rounds
):
    with serving(tmp_path) as server:
        server.manage("create_account", "race", "--name", "Race")
        server.manage(
            "create_program", "race", "spring", "--title", "Spring", "--currency", "EUR"
        )
        key = server.manage("create_api_key", "race").strip()
        code = affiliate_with_code(server.client(key))
        clients = [server.client(key) for _ in range(CLIENTS)]
        together = Barrier(CLIENTS)
        answers = Counter()

        for number in range(rounds):
            sale = {
                "referral_code": code,
                "external_id": f"order-{number}",
                "customer_id": f"customer-{number}",
                "amount": "49.90",
            }

            def post(client, sale=sale):
                together.wait()
                return client.post("/conversions/", sale)

            in_round = all_at_once(clients, post)

            allowed = {DUPLICATE.format(sale["external_id"])}
            allowed.add(HASTY.format(sale["external_id"]))
            refusals = [body for status, body in in_round if status != 200]
            assert len(refusals) == CLIENTS - 1, in_round
            assert all(
                list(body) == ["errors"] and body["errors"][0]["message"] in allowed
                for body in refusals
            ), refusals
            answers.update(status for status, _ in in_round)

        proof = json.loads(server.manage("check_ledger", "--json"))
        owed = clients[0].ask("GET", "/conversions/?page=1")[1]
        assert answers == {200: rounds, 400: rounds * (CLIENTS - 1)}
        assert proof["ok"] is True
        assert proof["failures"] == []
        assert proof["checked"]["transfers"] == rounds
        assert len(owed) == min(rounds, 25)
        print(f"{rounds} rounds of {CLIENTS}: {dict(answers)}, books agree")  # noqa: T201


def affiliate_with_code(client):
    """Sign an affiliate up and approve it; its referral code."""
    status, affiliate = client.post("/affiliates/", {"firstname": "A", "lastname": "B"})
    assert status == 200
    status, enrolment = client.post(
        "/programs/spring/affiliates/",
        {"affiliate": {"id": affiliate["id"]}, "approved": True},
    )
    assert status == 200
    return enrolment["referral_link"]["link"].rpartition("ref=")[2]
