"""Contract 1.9 against a real server: many send one POST at the same moment."""

import json
from collections import Counter
from threading import Barrier

import pytest

from tests.concurrency.server import all_at_once, key_of
from tests.proof import books_agree

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


class Race:
    """An affiliate to be paid, and clients with two API keys of one account."""

    def __init__(self, server, shop, keys) -> None:
        self.shop = shop
        self.payee = shop.mina.slug
        self.clients = [server.client(keys[n % 2]) for n in range(CLIENTS)]
        self.first = self.clients[0]
        self.together = Barrier(CLIENTS)

    def order(self, amount="5"):
        return {"affiliate_id": self.payee, "amount": amount, "currency": "EUR"}

    def click(self):
        return {"referral_code": self.shop.mina.code}

    def post(self, client, path, body, key):
        return client.send("POST", path, json.dumps(body), **{"Idempotency-Key": key})

    def at_once(self, path, key, bodies):
        """Each client posts its body at the same moment."""
        sent = dict(zip(self.clients, bodies, strict=True))

        def post(client):
            self.together.wait()
            return self.post(client, path, sent[client], key)

        return all_at_once(self.clients, post)

    def listed(self, path):
        """How many rows the list has."""
        count, page = 0, 1
        while rows := self.first.ask("GET", f"{path}?page={page}")[1]:
            count, page = count + len(rows), page + 1
        return count

    def transfers(self):
        """How many the ledger has; its books agree."""
        return books_agree(self.shop.account).transfers


@pytest.fixture
def race(server, shop):
    return Race(server, shop, [key_of(shop.account) for _ in range(2)])


def is_replay(answer):
    return answer[1]["Idempotent-Replayed"] == "true"


@ROUNDS
def test_does_what_is_posted_at_once_with_one_key_once(race, rounds):
    answers = []

    for number in range(rounds):
        for path, body in (("/payments/", race.order()), ("/clicks/", race.click())):
            key = f"{path}-{number}"
            answers.append(race.at_once(path, key, [body] * CLIENTS))

    for in_round in answers:
        assert Counter(status for status, _, _ in in_round) == {200: CLIENTS}
        assert len({content for _, _, content in in_round}) == 1
        assert Counter(map(is_replay, in_round)) == {True: CLIENTS - 1, False: 1}
    assert race.listed(f"/affiliates/{race.payee}/payments/") == rounds
    assert race.listed("/clicks/") == rounds
    assert race.transfers() == rounds


def test_shows_a_password_to_one_of_those_who_sign_up_at_once(race):
    person = {"firstname": "Mina", "lastname": "Kessler"}

    answers = race.at_once("/affiliates/", "sign-up", [person] * CLIENTS)

    said = [json.loads(content) for _, _, content in answers]
    [shown] = [
        it for it, answer in zip(said, answers, strict=True) if not is_replay(answer)
    ]
    assert len(shown["password"]) == 16
    assert said.count(shown | {"password": None}) == CLIENTS - 1
    assert race.listed("/affiliates/") == 2


def test_does_one_of_several_requests_that_share_a_key(race):
    bodies = [race.order(amount=str(n + 1)) for n in range(CLIENTS)]

    answers = race.at_once("/payments/", "shared", bodies)

    refused = [json.loads(content) for status, _, content in answers if status == 409]
    assert Counter(status for status, _, _ in answers) == {200: 1, 409: CLIENTS - 1}
    assert refused == [REUSED] * (CLIENTS - 1)
    assert race.transfers() == 1


@ROUNDS
def test_frees_the_key_of_a_request_that_fails_for_all(race, rounds):
    for number in range(rounds):
        key = f"failing-{number}"
        bad = race.order() | {"affiliate_id": "nobody"}

        failed = race.at_once("/payments/", key, [bad] * CLIENTS)
        paid, again = (
            race.post(race.first, "/payments/", race.order(), key) for _ in range(2)
        )

        assert [json.loads(content) for _, _, content in failed] == [UNKNOWN] * CLIENTS
        assert {status for status, _, _ in failed} == {400}
        assert not any(map(is_replay, failed))
        assert (paid[0], is_replay(paid)) == (200, False)
        assert (again[0], is_replay(again), again[2]) == (200, True, paid[2])
    assert race.transfers() == rounds
