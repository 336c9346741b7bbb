"""Simultaneous POSTs with one Idempotency-Key (docs/api-contract.md, section 1.9)."""

import json
from collections import Counter
from threading import Barrier

import pytest

from tests.concurrency.server import make_key, run_simultaneously
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.integration

CLIENTS = 16
ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(3, id="quick"),
        pytest.param(30, id="whole", marks=pytest.mark.slow),
    ],
)
UNKNOWN = {
    "errors": [
        {
            "message": "Unknown affiliate",
            "message_raw": "Unknown affiliate",
            "property_path": "affiliate_id",
        }
    ]
}
REUSED = {
    "errors": [
        {
            "message": "This Idempotency-Key was used for another request.",
            "code": "idempotency_key_reused",
        }
    ]
}


class RaceScenario:
    """Clients with two API keys of one account, and an affiliate to pay."""

    def __init__(self, server, scenario, keys) -> None:
        self.scenario = scenario
        self.payee = scenario.mina.slug
        self.clients = [server.connect(keys[n % 2]) for n in range(CLIENTS)]
        self.first = self.clients[0]
        self.barrier = Barrier(CLIENTS)

    def build_payment(self, amount="5"):
        return {"affiliate_id": self.payee, "amount": amount, "currency": "EUR"}

    def build_click(self):
        return {"referral_code": self.scenario.mina.code}

    def post(self, client, path, body, key):
        return client.request("POST", path, json.dumps(body), **{"Idempotency-Key": key})

    def post_simultaneously(self, path, key, bodies):
        """Post one body per client at the same time; return the responses."""
        body_by_client = dict(zip(self.clients, bodies, strict=True))

        def post(client):
            self.barrier.wait()
            return self.post(client, path, body_by_client[client], key)

        return run_simultaneously(self.clients, post)

    def count_rows(self, path):
        """Count the rows of all pages of a list."""
        count, page = 0, 1
        while rows := self.first.request_json("GET", f"{path}?page={page}")[1]:
            count, page = count + len(rows), page + 1
        return count

    def count_transfers(self):
        """Check the ledger and count its transfers."""
        return assert_ledger_consistent(self.scenario.account).transfer_count


@pytest.fixture
def race(server, scenario):
    return RaceScenario(server, scenario, [make_key(scenario.account) for _ in range(2)])


def is_replay(response):
    return response[1]["Idempotent-Replayed"] == "true"


@ROUNDS
def test_performs_simultaneous_posts_with_one_key_once(race, rounds):
    responses = []

    for number in range(rounds):
        for path, body in (
            ("/payments/", race.build_payment()),
            ("/clicks/", race.build_click()),
        ):
            key = f"{path}-{number}"
            responses.append(race.post_simultaneously(path, key, [body] * CLIENTS))

    for round_responses in responses:
        assert Counter(status for status, _, _ in round_responses) == {200: CLIENTS}
        assert len({content for _, _, content in round_responses}) == 1
        assert Counter(map(is_replay, round_responses)) == {True: CLIENTS - 1, False: 1}
    assert race.count_rows(f"/affiliates/{race.payee}/payments/") == rounds
    assert race.count_rows("/clicks/") == rounds
    assert race.count_transfers() == rounds


def test_returns_password_to_one_of_simultaneous_posts(race):
    person = {"firstname": "Mina", "lastname": "Kessler"}

    responses = race.post_simultaneously("/affiliates/", "sign-up", [person] * CLIENTS)

    bodies = [json.loads(content) for _, _, content in responses]
    [original] = [
        body for body, response in zip(bodies, responses, strict=True) if not is_replay(response)
    ]
    assert len(original["password"]) == 16
    assert bodies.count(original | {"password": None}) == CLIENTS - 1
    assert race.count_rows("/affiliates/") == 2


def test_performs_one_of_several_requests_with_one_key(race):
    bodies = [race.build_payment(amount=str(n + 1)) for n in range(CLIENTS)]

    responses = race.post_simultaneously("/payments/", "shared", bodies)

    conflicts = [json.loads(content) for status, _, content in responses if status == 409]
    assert Counter(status for status, _, _ in responses) == {200: 1, 409: CLIENTS - 1}
    assert conflicts == [REUSED] * (CLIENTS - 1)
    assert race.count_transfers() == 1


@ROUNDS
def test_failed_requests_release_the_key(race, rounds):
    for number in range(rounds):
        key = f"failing-{number}"
        invalid = race.build_payment() | {"affiliate_id": "nobody"}

        failures = race.post_simultaneously("/payments/", key, [invalid] * CLIENTS)
        first, second = (
            race.post(race.first, "/payments/", race.build_payment(), key) for _ in range(2)
        )

        assert [json.loads(content) for _, _, content in failures] == [UNKNOWN] * CLIENTS
        assert {status for status, _, _ in failures} == {400}
        assert not any(map(is_replay, failures))
        assert (first[0], is_replay(first)) == (200, False)
        assert (second[0], is_replay(second), second[2]) == (200, True, first[2])
    assert race.count_transfers() == rounds
