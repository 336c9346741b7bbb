"""Contract 6.1: what is told of a change is what the API shows at that moment."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import transaction

from accounts.models.webhooks import EVENTS
from accounts.services.webhooks import add_postback, add_webhook
from tests.conftest import NOW
from tests.world import World

URL = "https://hooks.example.net/"


@pytest.fixture
def world(account, api):
    add_webhook(account, url=URL, at=NOW)
    return World(api, account.slug, "harbor")


def shown(world, path):
    """The bytes of an answer of the API."""
    response = world.api.get(path)
    assert response.status_code == 200, (path, response.content)
    return response.content


def done(response):
    """It had to succeed."""
    assert response.status_code in (200, 204), response.content


def told(account):
    """What was told, in order: the event's name and its bytes."""
    rows = account.deliveries.order_by("id").select_related("event")
    return [(it.event.kind, bytes(it.body)) for it in rows]


# What each event is told by: an act, and the bytes that the API shows of it.


def affiliate_created(world):
    return shown(world, f"/affiliates/{world.affiliate}/")


def affiliate_updated(world):
    path = f"/affiliates/{world.affiliate}/"
    done(world.api.patch(path, {"firstname": "Ludmila"}))
    return shown(world, path)


def affiliate_deleted(world):
    path = f"/affiliates/{world.affiliate}/"
    below = f"/affiliates/{world.rival}/parent/"
    done(world.api.put(below, {"affiliate_id": world.affiliate}))
    before = shown(world, path)
    done(world.api.delete(path))
    return before


def affiliate_added_to_group(world):
    path = f"/affiliates/{world.affiliate}/"
    done(world.api.put(f"{path}group/", {"group_id": world.group}))
    return shown(world, path)


def enrolment_shown(world):
    path = f"/programs/{world.program}/affiliates/{world.member}/"
    program = json.loads(shown(world, f"/programs/{world.program}/"))
    short = {name: program[name] for name in ("id", "title", "currency")}
    return shown(world, path)[:-1] + b',"program":' + packed(short) + b"}"


def packed(data):
    return json.dumps(data, separators=(",", ":")).encode()


def affiliate_added_to_program(world):
    return enrolment_shown(world)


def affiliate_disapproved(world):
    path = f"/programs/{world.program}/affiliates/{world.member}/"
    done(world.api.delete(f"{path}approved/"))
    return enrolment_shown(world)


def affiliate_approved(world):
    affiliate_disapproved(world)
    path = f"/programs/{world.program}/affiliates/{world.member}/"
    done(world.api.put(f"{path}approved/"))
    return enrolment_shown(world)


def affiliate_prospect_created(world):
    return shown(world, f"/affiliate-prospects/{world.prospect}/")


def affiliate_prospect_promoted(world):
    prospect = json.loads(shown(world, f"/affiliate-prospects/{world.prospect}/"))
    code = prospect["referral_link"]["link"].partition("ref=")[2]
    world.made("/customers/", {"customer_id": "c-1", "referral_code": code})
    return shown(world, f"/affiliate-prospects/{world.prospect}/")


def affiliate_prospect_deleted(world):
    before = affiliate_prospect_created(world)
    done(world.api.delete(f"/affiliate-prospects/{world.prospect}/"))
    return before


def customer_created(world):
    return shown(world, f"/customers/{world.customer}/")


def customer_updated(world):
    done(world.api.delete(f"/customers/{world.customer}/status/"))
    return shown(world, f"/customers/{world.customer}/")


def customer_deleted(world):
    before = customer_created(world)
    done(world.api.delete(f"/customers/{world.customer}/"))
    return before


def conversion_created(world):
    return shown(world, f"/conversions/{world.conversion}/")


def conversion_updated(world):
    """Its commissions have followed already."""
    path = f"/conversions/{world.conversion}/"
    done(world.api.patch(f"{path}?recalculate_commissions=true", {"amount": 50}))
    after = shown(world, path)
    assert json.loads(after)["commissions"][0]["amount"] == 5
    return after


def conversion_deleted(world):
    """With all that it was, its commissions too."""
    before = conversion_created(world)
    assert json.loads(before)["commissions"]
    assert json.loads(before)["meta_data"]
    done(world.api.delete(f"/conversions/{world.conversion}/"))
    return before


def commission_created(world):
    return shown(world, f"/commissions/{world.commission}/")


def commission_updated(world):
    assert world.balance
    return shown(world, f"/commissions/{world.commission}/")


def payment_created(world):
    return shown(world, f"/payments/{world.payment}/")


def payment_canceled(world):
    before = payment_created(world)
    done(world.api.delete(f"/payments/{world.payment}/"))
    return before


@pytest.mark.parametrize("event", EVENTS)
def test_tells_what_the_api_shows(account, world, event):
    expected = globals()[event.replace(".", "_")](world)

    kinds = [body for kind, body in told(account) if kind == event]
    assert kinds[-1] == expected


def test_tells_a_sale_in_the_order_in_which_it_happens(account, world):
    world.click  # noqa: B018 - somebody came
    before = len(told(account))

    sale = {"customer_id": "c-1", "click_id": world.click, "external_id": "o-1"}
    parts = {"commissions": [{"sub_amount": 100}, {"sub_amount": 50}]}
    answer = world.made("/conversions/", sale | parts)

    now = told(account)[before:]
    assert [kind for kind, _ in now] == [
        "customer.created",
        "conversion.created",
        "commission.created",
        "commission.created",
    ]
    assert json.loads(now[1][1]) == answer
    told_parts = [json.loads(body) for kind, body in now[2:]]
    assert [it["id"] for it in told_parts] == [it["id"] for it in answer["commissions"]]


@pytest.mark.parametrize("path", ["con/c", "con/u"])
def test_tells_a_sale_as_it_is_at_last(account, world, path):
    """What a postback says of a sale and of its decision is one story."""
    if path == "con/u":
        assert world.conversion
    before = len(told(account))
    sale = {"external_id": "harbor-order", "amount": 50, "status": "approved"}

    answer = world.api.post(f"/pb/{path}/", sale | {"click_id": world.click})

    done(answer)
    now = dict(told(account)[before:])
    event = "conversion.created" if path == "con/c" else "conversion.updated"
    assert json.loads(now[event]) == answer.json()
    assert answer.json()["commissions"][0]["approved"] is True


def test_tells_nothing_of_a_sale_that_is_refused(account, world):
    world.conversion  # noqa: B018 - it is there
    before = told(account)

    again = {"external_id": world.external_id, "click_id": world.click, "amount": 1}
    assert world.api.post("/conversions/", again).status_code == 400

    assert told(account) == before


def test_tells_of_what_a_payment_covers(account, world):
    assert world.balance == "20"
    before = len(told(account))

    world.made(
        "/payments/", {"affiliate_id": world.member, "amount": 20, "currency": "EUR"}
    )

    kinds = [kind for kind, _ in told(account)[before:]]
    assert kinds == ["payment.created", "commission.updated"]
    covered = json.loads(told(account)[-1][1])
    assert covered["payout"] == {"id": account.payments.get().public_id}


def test_tells_that_children_have_no_parent_any_more(account, world):
    affiliate_deleted(world)

    bodies = [body for kind, body in told(account) if kind == "affiliate.updated"]
    assert bodies[-1] == shown(world, f"/affiliates/{world.rival}/")
    assert json.loads(bodies[-1])["parent_id"] is None


def test_never_tells_a_password(account, world):
    world.affiliate  # noqa: B018 - it is signed up

    assert b"password" not in b"".join(body for _, body in told(account))


def test_tells_nobody_of_another_account(account, world, other_account, other_api):
    add_webhook(other_account, url=URL, at=NOW)
    other = World(other_api, other_account.slug, "zz-marker")
    assert other.payment
    assert world.payment

    assert b"zz-marker" not in b"".join(body for _, body in told(account))
    assert b"harbor" not in b"".join(body for _, body in told(other_account))


def test_takes_so_many_statements_and_no_more(account, world, statements):
    """One webhook costs each note two statements, and what its body takes to read."""
    sale = {"click_id": world.click, "customer_id": "c-1", "amount": 100}
    world.made("/conversions/", sale)
    with statements() as few:
        world.made("/conversions/", sale)
    for number in range(5):
        add_webhook(account, url=f"{URL}{number}", at=NOW)
    with statements() as many:
        world.made("/conversions/", sale)

    assert len(few) == len(many)


# Affiliates' own postbacks: contract 4, its end

MACROS = (
    "s=${click_subid}&a=${commission_amount}&c=${currency}&i=${conversion.id}"
    "&e=${conversion.external_id}&t=${conversion.amount}&u=${customer.id}"
    "&m=${conversion.click.meta_data[subid1]}&x=${unknown}"
)


def called(account):
    """The addresses that are to be called, of postbacks alone."""
    rows = account.deliveries.exclude(endpoint__affiliate="").order_by("id")
    assert {bytes(it.body) for it in rows} <= {b""}
    return [it.url for it in rows]


def test_calls_the_affiliate_who_sold(account, world):
    for affiliate in (world.member, world.affiliate):
        add_postback(
            account,
            affiliate=affiliate,
            url=f"https://track.example.net/?{MACROS}",
            events=["conversion.created"],
            at=NOW,
        )
    click = {"referral_code": world.code, "meta_data": {"subid1": "a b&c"}}
    sale = {
        "click_id": world.made("/clicks/", click)["id"],
        "external_id": "order/1",
        "customer_id": "c-1",
        "commissions": [{"sub_amount": "100.50"}, {"sub_amount": 50}],
    }

    sold = world.made("/conversions/", sale)

    assert called(account) == [
        "https://track.example.net/?s=a%20b%26c&a=15.05&c=EUR"
        f"&i={sold['id']}&e=order%2F1&t=150.5&u={sold['customer']['id']}"
        "&m=a%20b%26c&x="
    ]


def test_tells_an_affiliate_its_own_commissions_alone(account, world):
    """A parent's commission is no business of the child."""
    entry = {"affiliate": {"id": world.affiliate}, "approved": True}
    world.made(f"/programs/{world.program}/affiliates/", entry)
    above = {"affiliate_id": world.affiliate}
    done(world.api.put(f"/affiliates/{world.member}/parent/", above))
    account.levels.create(
        program=account.programs.get(), level=2, kind="percentage", value=5
    )
    account.commission_types.update(mlm=True)
    url = "https://t.example/?l=${conversion.commissions}&a=${commission_amount}"
    add_postback(account, affiliate=world.member, url=url, at=NOW)

    sold = world.made("/conversions/", {"click_id": world.click, "amount": 200})

    own, above = sold["commissions"]
    assert above["affiliate"]["id"] == world.affiliate
    (address,) = called(account)
    query = parse_qs(urlsplit(address).query)
    assert json.loads(query["l"][0]) == [own]
    assert query["l"][0] == packed([own]).decode()
    assert query["a"] == ["20"]


def test_calls_for_a_customer_too(account, world):
    add_postback(
        account,
        affiliate=world.member,
        url="https://t.example/?u=${customer.id}&s=${click_subid}&e=${conversion.id}",
        at=NOW,
    )

    assert world.customer
    done(world.api.delete(f"/customers/{world.customer}/status/"))

    address = f"https://t.example/?u={world.customer}&s=harbor&e="
    assert called(account) == [address, address]


def test_writes_bodies_and_change_in_one_transaction(account, world):
    world.code  # noqa: B018 - it is there
    before = told(account)

    with transaction.atomic():
        world.made("/customers/", {"customer_id": "c-1", "referral_code": world.code})
        assert len(told(account)) > len(before)
        transaction.set_rollback(True)

    assert told(account) == before
