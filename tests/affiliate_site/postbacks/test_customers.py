"""Contract 4: customers told by postback, registered and followed up."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.services.accounts import lock
from tests.affiliate_site.postbacks.answers import refusal, said
from tests.proof import everything
from tests.shop import SOLD, Shop, remove
from tracking.services import customers
from tracking.services.programs import archive

MISSING = "Missing mandatory parameter(s)"
LOCKED = "Advertiser account locked"
NOT_APPROVED = "Affiliate is not approved for this program"
DUPLICATE = "Duplicate customer. There is already a customer for Customer id 'acct-1'"


def flaws(response):
    """Path and message of each entry of a refusal of fields."""
    assert response.status_code == 400, response.content
    errors = response.json()["errors"]
    for error in errors:
        assert list(error) == ["message", "message_raw", "property_path"]
    return [(it["property_path"], it["message"]) for it in errors]


def stored(account):
    """All that is stored, but when the key was used."""
    return everything(account) | {"ApiKey": None}


# cus/c.


def test_registers_a_customer_with_everything(tell, api, shop):
    click = shop.click(at=timezone.now(), meta_data={"subid1": "newsletter-12"})
    told = {
        "customer_id": "acct-1",
        "click_id": str(click.public_id),
        "status": "trial",
        "meta_data": {"plan": "pro"},
        "user_agent": "Harbor/1",
        "ip": "192.0.2.7",
    }

    customer = said(tell("cus/c/", told))

    assert customer == {
        "id": customer["id"],
        "customer_id": "acct-1",
        "status": "trial",
        "created_at": customer["created_at"],
        "click": {
            "created_at": customer["click"]["created_at"],
            "referrer": None,
            "landing_page": None,
        },
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "meta_data": {"plan": "pro"},
        "warnings": None,
    }
    assert said(api.get(f"/customers/{customer['id']}/")) == customer


def test_takes_an_old_click_when_told_to(tell, shop):
    told = {"customer_id": "acct-1", "override_max_cookie_time": True}

    assert said(tell("cus/c/", told | old_click(shop)))["click"] is not None


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


def odd_start(value):
    return f"Invalid status '{value}'. Valid are 'new', 'trial', 'lead'"


def mina(shop):
    return {"coupon": shop.mina.coupon}


def old_click(shop):
    return {"click_id": str(shop.click(at=SOLD - timedelta(days=300)).public_id)}


def taken(shop):
    shop.customer("acct-1")


def deleted(shop):
    remove(shop.mina.affiliate)


def waiting(shop):
    shop.mina.enrolment.change(approved=None)


def archived(shop):
    archive(shop.account, slug=shop.program.slug, at=SOLD)


def locked(shop):
    lock(shop.account, at=SOLD)


NOBODY = {"asset_id": "999999-000000", "source_id": "999999-000000"}
MESSAGES = {
    "no customer id": ({"customer_id": None}, mina, MISSING),
    "blank customer id": ({"customer_id": " "}, mina, MISSING),
    "blank customer id and odd": ({"customer_id": " ", "meta_data": 5}, None, MISSING),
    "no clue": ({}, None, MISSING),
    "no clue and odd status": ({"status": "odd"}, None, MISSING),
    "blank coupon": ({"coupon": " "}, None, blank("coupon")),
    "blank click": ({"click_id": " "}, None, blank("click_id")),
    "odd status": ({"status": "odd"}, mina, odd_start("odd")),
    "paying": ({"status": "paying"}, mina, odd_start("paying")),
    "canceled": ({"status": "canceled"}, mina, odd_start("canceled")),
    "odd status, taken": ({"status": "odd"}, mina, odd_start("odd"), taken),
    "taken": ({}, mina, DUPLICATE, taken),
    "taken, unknown": ({"coupon": "NOBODY"}, None, DUPLICATE, taken),
    "unknown coupon": ({"coupon": "NOBODY"}, None, "Unknown coupon code"),
    "unknown code": ({"referral_code": "nobody"}, None, "Unknown referral code"),
    "unknown click": ({"click_id": "1"}, None, "Invalid click id"),
    "unknown pair": (NOBODY, None, "Invalid asset id or source id"),
    "unknown visitor": ({"tracking_id": "0" * 32}, None, "Invalid tracking id"),
    "other group": ({"program_group": "books"}, mina, "Unknown coupon code"),
    "deleted": ({}, mina, "Affiliate is deleted", deleted, waiting),
    "waiting": ({}, mina, NOT_APPROVED, waiting, archived),
    "archived": ({}, old_click, "Program is archived", archived),
    "expired": ({}, old_click, "Cookie expired"),
    "locked": ({}, mina, LOCKED, locked),
    "locked before missing": ({"customer_id": None}, None, LOCKED, locked),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_refuses_with_the_message_of_the_spec(tell, shop, account, name):
    told, clue, message, *given = MESSAGES[name]
    told = {"customer_id": "acct-1"} | (clue(shop) if clue else {}) | told
    for it in given:
        it(shop)
    before = stored(account)

    response = tell("cus/c/", {key: it for key, it in told.items() if it is not None})

    assert refusal(response) == message
    assert stored(account) == before


def test_takes_nothing_but_an_object_by_post(api, shop):
    locked(shop)

    for path in ("cus/c/", "cus/u/"):
        response = api.post(f"/pb/{path}", [{"customer_id": "acct-1"}])

        assert refusal(response) == "Request body was not valid JSON"


def test_knows_no_pause_after_a_failure(tell, shop):
    told = {"customer_id": "acct-1", "external_id": "order-1"}

    refusal(tell("cus/c/", told | {"coupon": "NOBODY"}))

    assert said(tell("cus/c/", told | mina(shop)))["customer_id"] == "acct-1"


# cus/u.


def customer(shop, status, *, canceled=False):
    """A customer that has come to this state; paying: by a sale."""
    first = "lead" if status == "paying" else status
    made = shop.customer("acct-1", status=first)
    if status == "paying":
        shop.sell("10", customer_id="acct-1")
    if canceled:
        customers.cancel(shop.account, public_id=made.public_id, at=SOLD)
    return made


STATES = ["new", "trial", "lead", "paying"]


@pytest.mark.parametrize("was", STATES)
@pytest.mark.parametrize("canceled", [False, True], ids=["present", "canceled"])
def test_cancels_in_any_state(tell, shop, was, canceled):
    customer(shop, was, canceled=canceled)

    told = said(tell("cus/u/", {"customer_id": "acct-1", "status": " canceled "}))

    assert told["status"] == "canceled"


@pytest.mark.parametrize("was", STATES)
@pytest.mark.parametrize("sent", STATES)
def test_restores_what_was_whatever_is_sent(tell, shop, was, sent):
    customer(shop, was, canceled=True)

    told = said(tell("cus/u/", {"customer_id": "acct-1", "status": sent}))

    assert told["status"] == was


def test_restores_the_first_state_without_a_sale(tell, api, shop):
    sale = shop.sell("10", customer_id="acct-1")
    customers.cancel(shop.account, public_id=sale.customer.public_id, at=SOLD)
    api.delete(f"/conversions/{sale.pk}/")

    told = said(tell("cus/u/", {"customer_id": "acct-1", "status": "paying"}))

    assert told["status"] == "new"  # a sale had made it


@pytest.mark.parametrize("was", STATES)
@pytest.mark.parametrize("sent", STATES)
def test_keeps_the_state_of_whoever_is_not_canceled(tell, shop, account, was, sent):
    customer(shop, was)
    before = stored(account)
    more = {"meta_data": {"a": "b"}} if was != sent else {}

    response = tell("cus/u/", {"customer_id": "acct-1", "status": sent} | more)

    if was == sent:
        assert said(response)["status"] == was
    else:
        told = f"Customer status cannot change from '{was}' to '{sent}'"
        assert flaws(response) == [("status", told)]
    assert stored(account) == before


@pytest.mark.parametrize("canceled", [False, True], ids=["present", "canceled"])
@pytest.mark.parametrize("sent", ["odd", "Canceled", " "])
def test_refuses_an_odd_status(tell, shop, account, canceled, sent):
    customer(shop, "trial", canceled=canceled)
    before = stored(account)
    told = {"customer_id": "acct-1", "status": sent, "meta_data": {"a": "b"}}

    response = tell("cus/u/", told)

    valid = "'new', 'trial', 'lead', 'paying', 'canceled'"
    message = f"Invalid status '{sent.strip()}'. Valid are {valid}"
    assert flaws(response) == [("status", message)]
    assert stored(account) == before


@pytest.mark.parametrize("sent", ["odd", "paying"])
def test_gives_the_template_of_the_message_too(tell, shop, sent):
    customer(shop, "trial")

    response = tell("cus/u/", {"customer_id": "acct-1", "status": sent})

    raw = response.json()["errors"][0]["message_raw"]
    assert sent not in raw
    assert "{{ " in raw


def test_replaces_meta_data_whole(tell, shop):
    made = customer(shop, "trial")
    made.change(meta_data={"plan": "basic", "a": "b"})
    told = {"customer_id": "acct-1", "meta_data": {"c": ""}, "status": "canceled"}

    shown = said(tell("cus/u/", told))

    assert (shown["meta_data"], shown["status"]) == ({"c": ""}, "canceled")


def test_changes_nothing_when_meta_data_is_odd(tell, shop, account):
    customer(shop, "trial")
    before = stored(account)
    told = {"customer_id": "acct-1", "status": "canceled", "meta_data": {"a&b": "c"}}

    assert [it[0] for it in flaws(tell("cus/u/", told))] == ["meta_data[a&b]"]
    assert stored(account) == before


def test_changes_nothing_when_nothing_is_told(tell, shop, account):
    customer(shop, "trial")
    before = stored(account)

    shown = said(tell("cus/u/", {"customer_id": "acct-1", "coupon": "NOBODY"}))

    assert shown["status"] == "trial"
    assert stored(account) == before


@pytest.mark.parametrize("name", ["unknown", "removed", "foreign", "spaces"])
def test_does_not_know_the_customer(tell, shop, account, other_account, name):
    made = customer(shop, "trial")
    Shop(other_account, mark="zz-marker-").customer("theirs")
    if name == "removed":
        customers.remove(account, public_id=made.public_id, at=SOLD)
    known_as = {"removed": "acct-1", "foreign": "theirs", "spaces": " acct-1 "}

    response = tell(
        "cus/u/", {"customer_id": known_as.get(name, "acct-2"), "status": "odd"}
    )

    assert refusal(response, 404) == "Customer not found"


@pytest.mark.parametrize("told", [{}, {"customer_id": " "}, {"status": "odd"}])
def test_asks_which_customer(tell, shop, told):
    assert refusal(tell("cus/u/", told)) == MISSING


def test_follows_up_in_an_archived_program_of_a_removed_affiliate(tell, shop):
    customer(shop, "trial")
    archived(shop)
    deleted(shop)

    told = said(tell("cus/u/", {"customer_id": "acct-1", "status": "canceled"}))

    assert told["status"] == "canceled"


def test_follows_up_nothing_on_a_locked_account(tell, shop, account):
    customer(shop, "trial")
    locked(shop)
    before = stored(account)

    response = tell("cus/u/", {"customer_id": "acct-1", "status": "canceled"})

    assert refusal(response) == LOCKED
    assert stored(account) == before
