"""Promise P2: 64 clients post one sale at once; it is recorded once, and nobody
is told of a fault of ours."""

from collections import Counter
from threading import Barrier

import pytest

from tests.concurrency.server import all_at_once, key_of
from tests.proof import books_agree

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
def test_records_a_sale_once_however_often_it_is_posted_at_once(server, shop, rounds):
    key = key_of(shop.account)
    clients = [server.client(key) for _ in range(CLIENTS)]
    together = Barrier(CLIENTS)
    answers = Counter()

    for number in range(rounds):
        sale = {
            "referral_code": shop.mina.code,
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

    listed = clients[0].ask("GET", "/conversions/?page=1")[1]
    assert answers == {200: rounds, 400: rounds * (CLIENTS - 1)}
    assert books_agree(shop.account).transfers == rounds
    assert len(listed) == min(rounds, 25)
    print(f"{rounds} rounds of {CLIENTS}: {dict(answers)}, books agree")  # noqa: T201
