"""Contract 4: sales told by postback, recorded and followed up."""

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts.engines import database_now
from accounts.services.accounts import lock
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, pay
from payouts.services.revising import change_commission, remove_conversion
from tests.affiliate_site.postbacks.answers import refusal, said
from tests.proof import everything
from tests.shop import SOLD, Shop, remove
from tracking.services.affiliates import Application
from tracking.services.placement import put_below
from tracking.services.programs import archive
from tracking.services.prospects import Invitation, invite

MISSING = "Missing mandatory parameter(s)"
EARLIER = timedelta(days=1)


def flaws(response):
    """Path, message and template of each entry of a refusal of fields."""
    assert response.status_code == 400, response.content
    errors = response.json()["errors"]
    for error in errors:
        assert list(error) == ["message", "message_raw", "property_path"]
    return [(it["property_path"], it["message"], it["message_raw"]) for it in errors]


def flaw(path, message, raw=None):
    return (path, message, raw or message)


def conflict(response):
    """The code of a refusal by a state."""
    assert response.status_code == 409, response.content
    [error] = response.json()["errors"]
    assert set(error) == {"message", "code"}
    return error["code"]


def lines(account, **which):
    """The commissions of the only sale: part, amount, status."""
    rows = account.commissions.present().filter(**which).order_by("id")
    return [(it.sub_amount, it.amount, it.status) for it in rows]


def stored(account):
    """All that is stored, but when the key was used and what has failed before."""
    return {
        name: rows
        for name, rows in everything(account).items()
        if name not in ("ApiKey", "ConversionAttempt")
    }


# con/c: the answer.


def test_records_a_sale_with_everything(tell, api, shop):
    click = shop.click(
        at=timezone.now(),
        referrer="https://notes.example.org/lamps",
        meta_data={"subid1": "newsletter-12"},
    )
    told = {
        "external_id": "order-1",
        "click_id": str(click.public_id),
        "customer_id": "acct-1",
        "commissions": [
            {"sub_amount": "200.005", "comment": "two lamps"},
            {"sub_amount": "49.90", "commission_type": "accessories"},
        ],
        "meta_data": {"plan": "pro"},
        "amount": "1",
        "user_agent": "Harbor/1",
        "ip": "unknown, 192.0.2.7",
        "override_max_cookie_time": True,
    }

    sale = said(tell("con/c/", told))

    first, second = (it["id"] for it in sale["commissions"])
    same = {
        "approved": False,
        "affiliate": shop.mina.ref,
        "kind": "regular",
        "currency": "EUR",
        "created_at": sale["created_at"],
        "payout": None,
        "final": None,
    }
    assert sale == {
        "id": sale["id"],
        "external_id": "order-1",
        "amount": 249.91,
        "click": {
            "created_at": sale["click"]["created_at"],
            "referrer": "https://notes.example.org/lamps",
            "landing_page": None,
        },
        "commissions": [
            same
            | {
                "id": first,
                "conversion_sub_amount": 200.01,
                "amount": 20,
                "commission_type": "standard",
                "comment": "two lamps",
                "commission_name": "Standard",
            },
            same
            | {
                "id": second,
                "conversion_sub_amount": 49.9,
                "amount": 3.74,
                "commission_type": "accessories",
                "comment": None,
                "commission_name": "Accessories",
            },
        ],
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "customer": {
            "id": sale["customer"]["id"],
            "customer_id": "acct-1",
            "status": "paying",
        },
        "meta_data": {"plan": "pro"},
        "created_at": sale["created_at"],
        "warnings": None,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "tracking_source": "click",
    }
    assert said(api.get(f"/conversions/{sale['id']}/")) == sale
    stored = shop.account.conversions.get()
    assert (stored.ip, stored.user_agent) == ("192.0.2.7", "Harbor/1")


def test_keeps_an_id_as_it_was_sent(tell, shop):
    told = {"external_id": " 1.50 ", "coupon": f" {shop.mina.coupon}\t"}

    assert said(tell("con/c/", told))["external_id"] == " 1.50 "


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        pytest.param({"commission_type": "accessories"}, "accessories", id="the type"),
        pytest.param({"commission_types": "accessories"}, "accessories", id="alias"),
        pytest.param(
            {"commission_types": " accessories , standard"}, "accessories", id="first"
        ),
        pytest.param(
            {"commission_type": "accessories", "commission_types": "standard"},
            "accessories",
            id="the proper name",
        ),
        pytest.param({"commission_types": "default,x"}, "standard", id="default"),
    ],
)
def test_takes_the_first_of_a_list_of_types(tell, shop, named, kept):
    told = {"external_id": "order-1", "coupon": shop.mina.coupon, "amount": 100}

    [commission] = said(tell("con/c/", told | named))["commissions"]

    assert commission["commission_type"] == kept


def test_knows_short_names_of_clues_by_get_alone(api, shop):
    clues = {"external_id": "order-1", "ref": shop.odette.code}

    by_post = api.post("/pb/con/c/", clues)
    shop.account.conversion_attempts.all().delete()
    by_get = api.get(f"/pb/con/c/?{urlencode(clues)}")

    assert refusal(by_post) == MISSING
    assert said(by_get)["affiliate"] == shop.odette.ref


def test_reads_nothing_of_the_query_of_a_post(api, shop):
    click = shop.click(at=SOLD - timedelta(days=300))
    body = {"external_id": "order-1", "click_id": str(click.public_id)}

    response = api.post("/pb/con/c/?override_max_cookie_time=true&coupon=%00", body)

    assert refusal(response) == "Cookie expired"


@pytest.mark.parametrize(
    "body", ["no JSON", "[]", b"\xff", " " * (1024 * 1024 + 1)], ids=range(4)
)
def test_reads_nothing_of_the_body_of_a_get(api, shop, body):
    told = {"external_id": "order-1", "coupon": shop.mina.coupon}

    response = api.ask("GET", f"/pb/con/c/?{urlencode(told)}", body)

    assert said(response)["external_id"] == "order-1"


# con/c: who earned. Four people, each behind one clue.

CUSTOMER, COUPON, CODE = "customer", "coupon", "code"
CLICK, PAIR, VISITOR = "click", "pair", "visitor"
WHO = {COUPON: "mina", CODE: "odette", CLICK: "pavel", PAIR: "jana", CUSTOMER: "jana"}
NO_CODE = "Parameter 'referral_code' takes precedence for tracking, but no value was"
NO_CLICK = "Parameter 'click_id' takes precedence for tracking, but no value was passed"
NO_CODE += " passed"

ORDER = [
    # clues that are sent, decided by REST, by a postback
    ([CODE, CLICK], CODE, CLICK),
    ([CODE, CLICK, PAIR], CODE, CLICK),
    ([CODE, CLICK, PAIR, VISITOR], CODE, CLICK),
    ([COUPON, CODE, CLICK, PAIR], COUPON, COUPON),
    ([COUPON, CLICK], COUPON, COUPON),
    ([COUPON, CODE], COUPON, COUPON),
    ([CODE, PAIR], CODE, CODE),
    ([CLICK, PAIR], CLICK, CLICK),
    ([PAIR, VISITOR], PAIR, PAIR),
    ([CODE, "blank click"], CODE, NO_CLICK),
    (["blank code", CLICK], NO_CODE, CLICK),
    (["blank code", "blank click"], NO_CODE, NO_CLICK),
    ([COUPON, "blank code", "blank click"], COUPON, COUPON),
]


@pytest.mark.parametrize(
    ("sent", "rest", "postback"), ORDER, ids=["+".join(it[0]) for it in ORDER]
)
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/conversions/", {"external_id": "order-1"}),
        ("/customers/", {"customer_id": "acct-1"}),
    ],
    ids=["sale", "customer"],
)
def test_asks_clues_in_an_order_of_its_own(
    api, tell, shop, clues, address, told, sent, rest, postback
):
    for name in sent:
        told = told | clues[name]
    path = "con/c/" if "external_id" in told else "cus/c/"

    by_postback = tell(path, told)
    removed(shop.account, by_postback, api, address)
    by_rest = api.post(address, told)

    for response, decided in ((by_postback, postback), (by_rest, rest)):
        if decided in WHO:
            assert said(response)["affiliate"] == getattr(shop, WHO[decided]).ref
        else:
            assert refusal(response) == decided


def removed(account, response, api, address):
    """Forget what was made, so that it can be made again."""
    if response.status_code == 200:
        assert api.delete(f"{address}{response.json()['id']}/").status_code == 204


def test_lets_a_known_customer_decide_over_every_clue(tell, shop, clues):
    shop.customer("acct-1", member=shop.jana)
    told = {"external_id": "order-1", "customer_id": "acct-1"}

    sale = said(tell("con/c/", told | clues["code"] | clues["blank coupon"]))

    assert sale["affiliate"] == shop.jana.ref
    assert (sale["tracking_source"], sale["click"]) == ("customer", None)


def test_shows_the_click_beside_a_coupon(tell, shop, clues):
    told = {"external_id": "order-1"} | clues["coupon"] | clues["click"]

    sale = said(tell("con/c/", told))

    assert sale["tracking_source"] == "coupon"
    assert sale["click"] is not None
    assert sale["affiliate_meta_data"] is None  # of somebody else's click


@pytest.mark.parametrize("path", ["con/c/", "cus/c/"])
def test_promotes_a_prospect(tell, shop, account, path):
    prospect = invite(
        account,
        invitation=Invitation(Application("Nora", "Falk", email="n@example.org")),
        at=SOLD,
    )
    code = account.referral_codes.get(prospect=prospect).code
    told = {"external_id": "order-1", "customer_id": "acct-1", "referral_code": code}

    made = said(tell(path, told))

    assert made["affiliate"]["id"] == "norafalk"
    assert prospect.again().promoted_at is not None


# con/c: the messages of the spec.


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


def mina(shop):
    return {"coupon": shop.mina.coupon}


def old_click(shop):
    return {"click_id": str(shop.click(at=SOLD - timedelta(days=300)).public_id)}


def sold(shop):
    shop.sell("10", external_id="order-1", at=SOLD - EARLIER)


def hasty(shop):
    shop.account.conversion_attempts.create(
        source="postback",
        external_id="order-1",
        failed_at=database_now() - timedelta(seconds=9),
        message="",
    )


def deleted(shop):
    remove(shop.mina.affiliate)


def waiting(shop):
    shop.mina.enrolment.change(approved=None)


def archived(shop):
    archive(shop.account, slug=shop.program.slug, at=SOLD)


def locked(shop):
    lock(shop.account, at=SOLD)


DUPLICATE = (
    "Duplicate conversion. There is already a conversion for External id 'order-1'"
)
HASTY = "To many concurrent attempts to create conversion with id 'order-1'"
STRANGER = (
    "Missing tracking parameter value and no customer found for customer id: acct-9"
)
LOCKED = "Advertiser account locked"
NOT_APPROVED = "Affiliate is not approved for this program"
NOBODY = {"asset_id": "999999-000000", "source_id": "999999-000000"}
NO_CLICK_ID = {"click_id": "5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"}

MESSAGES = {
    "no external id": ({"external_id": None}, mina, MISSING),
    "blank external id": ({"external_id": " "}, mina, MISSING),
    "no clue": ({}, None, MISSING),
    "half a pair": ({"asset_id": "4-b81d20"}, None, MISSING),
    "blank customer alone": ({"customer_id": " "}, None, MISSING),
    "blank coupon": ({"coupon": " "}, None, blank("coupon")),
    "empty coupon": ({"coupon": ""}, None, blank("coupon")),
    "empty before a code": ({"click_id": "", "referral_code": "a"}, None, NO_CLICK),
    "part without amount": ({"commissions": [{"comment": "lamp"}]}, mina, MISSING),
    "blank click": ({"click_id": "\t"}, None, blank("click_id")),
    "blank half": (
        {"asset_id": "4-b81d20", "source_id": " "},
        None,
        blank("source_id"),
    ),
    "unknown coupon": ({"coupon": "NOBODY"}, None, "Unknown coupon code"),
    "unknown code": ({"referral_code": "nobody"}, None, "Unknown referral code"),
    "unknown click": (NO_CLICK_ID, None, "Invalid click id"),
    "unknown pair": (NOBODY, None, "Invalid asset id or source id"),
    "unknown visitor": ({"tracking_id": "0" * 32}, None, "Invalid tracking id"),
    "other group": ({"program_group": "books"}, mina, "Unknown coupon code"),
    "unknown customer": ({"customer_id": "acct-9"}, None, STRANGER),
    "expired": ({}, old_click, "Cookie expired"),
    "deleted": ({}, mina, "Affiliate is deleted", deleted),
    "waiting": ({}, mina, NOT_APPROVED, waiting),
    "deleted and waiting": ({}, mina, "Affiliate is deleted", deleted, waiting),
    "archived": ({}, mina, "Program is archived", archived),
    "waiting and archived": ({}, mina, NOT_APPROVED, waiting, archived),
    "archived and expired": ({}, old_click, "Program is archived", archived),
    "duplicate": ({}, mina, DUPLICATE, sold),
    "duplicate and odd": ({"amount": "x"}, None, DUPLICATE, sold),
    "duplicate within ten seconds": ({}, mina, DUPLICATE, sold, hasty),
    "hasty": ({}, mina, HASTY, hasty),
    "hasty and odd": ({"amount": "x", "status": "x"}, None, HASTY, hasty),
    "locked": ({}, mina, LOCKED, locked),
    "locked before missing": ({"external_id": None}, None, LOCKED, locked),
    "locked before duplicate": ({}, mina, LOCKED, sold, locked),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_refuses_with_the_message_of_the_spec(tell, shop, account, name):
    told, clue, message, *given = MESSAGES[name]
    told = {"external_id": "order-1"} | (clue(shop) if clue else {}) | told
    for it in given:
        it(shop)
    before = stored(account)

    response = tell("con/c/", {key: it for key, it in told.items() if it is not None})

    assert refusal(response) == message
    assert stored(account) == before


@pytest.mark.parametrize("body", ["", "[]", "null", "external_id=order-1", "{}x"])
def test_takes_nothing_but_an_object_by_post(api, account, shop, body):
    lock(account, at=SOLD)

    response = api.post("/pb/con/c/", body)

    assert refusal(response) == "Request body was not valid JSON"


def test_asks_whether_the_account_is_locked_before_any_field(api, account, shop):
    lock(account, at=SOLD)

    response = api.get("/pb/con/c/?external_id=order-1&coupon=%00")

    assert refusal(response) == LOCKED


def test_does_not_see_clues_of_another_account(tell, shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-")
    theirs.customer("acct-1")
    told = {"external_id": "order-1", "customer_id": "acct-1"}

    assert refusal(tell("con/c/", told | mina(theirs))) == "Unknown coupon code"


TYPE = "This value should be of type {{ type }}."
ODD_STATUS = "Invalid status '{{ value }}'. Valid are {{ values }}"


def odd_status(value):
    told = f"Invalid status '{value}'. Valid are 'approved', 'disapproved', 'pending'"
    return flaw("status", told, ODD_STATUS)


def odd_type(path, name):
    return flaw(path, f"This value should be of type {name}.", TYPE)


NO_NUMBER = "This value should be a number."
FIELDS = {
    "amount": ({"amount": "1e2"}, flaw("amount", NO_NUMBER)),
    "negative": ({"amount": "-1"}, flaw("amount", "This value should be 0 or more.")),
    "currency": ({"currency": "zzz"}, flaw("currency", "Unknown currency")),
    "map": ({"meta_data": "pro"}, odd_type("meta_data", "object")),
    "deep map": (
        {"meta_data": {"plan": {"a": "b"}}},
        odd_type("meta_data[plan]", "string"),
    ),
    "list": ({"commissions": "5"}, odd_type("commissions", "array")),
    "names for numbers": (
        {"commissions": {"a": {"sub_amount": "5"}}},
        odd_type("commissions", "array"),
    ),
    "clue": ({"coupon": {"a": "b"}}, odd_type("coupon", "string")),
    "status": ({"status": "paid"}, odd_status("paid")),
    "status in capitals": ({"status": "Approved"}, odd_status("Approved")),
    "cookie flag": (
        {"override_max_cookie_time": "yes"},
        flaw("override_max_cookie_time", "This value should be true or false."),
    ),
    "type": (
        {"commission_type": "lamps"},
        flaw("commission_type", "Unknown commission type"),
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_refuses_odd_fields(tell, shop, account, name):
    told, found = FIELDS[name]

    response = tell("con/c/", {"external_id": "order-1"} | mina(shop) | told)

    assert flaws(response) == [found]
    assert not account.conversions.exists()
    assert account.conversion_attempts.get().source == "postback"


def test_names_all_odd_fields_in_the_order_of_the_table(tell, shop):
    odd = {"status": "x", "meta_data": "x", "currency": "zzz", "amount": "x"}

    response = tell("con/c/", {"external_id": "order-1"} | odd)

    assert [it[0] for it in flaws(response)] == [
        *("amount", "currency", "meta_data", "status")
    ]


@pytest.mark.parametrize("external_id", ["x" * 256, {"a": "b"}], ids=["long", "map"])
def test_refuses_an_odd_external_id_and_remembers_nothing(tell, shop, external_id):
    response = tell("con/c/", {"external_id": external_id, "amount": "x"} | mina(shop))

    assert [it[0] for it in flaws(response)] == ["external_id"]
    assert not shop.account.conversion_attempts.exists()


@pytest.mark.parametrize("word", ["true", 1, "1"])
def test_takes_no_word_for_a_flag_by_post(api, shop, word):
    told = {"external_id": "order-1", "override_max_cookie_time": word} | mina(shop)

    found = flaws(api.post("/pb/con/c/", told))

    assert found == [
        flaw("override_max_cookie_time", "This value should be true or false.")
    ]


def test_takes_an_old_click_when_told_to(tell, shop):
    told = {"external_id": "order-1", "override_max_cookie_time": True}

    assert said(tell("con/c/", told | old_click(shop)))["tracking_source"] == "click"


# con/c: a memory of its own of failed attempts.


def failing(source, seconds, account):
    """A failure so long ago, told by somebody else or by a postback."""
    account.conversion_attempts.create(
        source=source,
        external_id="order-1",
        failed_at=database_now() - timedelta(seconds=seconds),
        message="Unknown coupon code",
    )


def memory(account):
    rows = account.conversion_attempts.order_by("source")
    return list(rows.values_list("source", "external_id", "message"))


def test_remembers_a_failed_postback_apart(tell, api, shop, account):
    wrong = {"external_id": "order-1", "coupon": "NOBODY"}

    assert refusal(tell("con/c/", wrong)) == "Unknown coupon code"
    assert refusal(tell("con/c/", wrong | mina(shop))) == HASTY
    assert memory(account) == [("postback", "order-1", "Unknown coupon code")]
    assert said(api.post("/conversions/", wrong | mina(shop)))["id"]


@pytest.mark.parametrize("source", ["api", "browser"])
def test_is_not_delayed_by_attempts_of_others(tell, shop, account, source):
    failing(source, 1, account)

    said(tell("con/c/", {"external_id": "order-1"} | mina(shop)))

    assert memory(account) == [(source, "order-1", "Unknown coupon code")]


def test_forgets_a_failure_after_ten_seconds(tell, shop, account):
    failing("postback", 10, account)

    said(tell("con/c/", {"external_id": "order-1"} | mina(shop)))

    assert memory(account) == []


def test_leaves_a_hasty_retry_out_of_the_memory(tell, shop, account):
    failing("postback", 9, account)
    before = account.conversion_attempts.get().failed_at

    refusal(tell("con/c/", {"external_id": "order-1"} | mina(shop)))

    assert account.conversion_attempts.get().failed_at == before


def test_does_not_apply_the_pause_to_a_follow_up(tell, shop, account):
    shop.sell("200", external_id="order-1")
    failing("postback", 1, account)

    assert said(tell("con/u/", {"external_id": "order-1", "amount": 100}))
    assert memory(account) == [("postback", "order-1", "Unknown coupon code")]


# con/c: decided at once.


@pytest.mark.parametrize(
    ("status", "approved"),
    [("approved", True), ("disapproved", False), ("pending", False)],
)
@pytest.mark.parametrize("auto", [False, True])
def test_decides_a_sale_at_once(tell, shop, account, status, approved, auto):
    shop.program.change(auto_approve_commissions=auto)
    told = {"external_id": "order-1", "amount": 200, "status": status}

    sale = said(tell("con/c/", told | mina(shop)))

    assert [it["approved"] for it in sale["commissions"]] == [approved]
    assert lines(account) == [(200, 20, status)]
    owed = {"minakessler": {"EUR": Decimal(20)}} if approved else {}
    assert balances_of(account) == owed


@pytest.mark.parametrize(
    ("auto", "status", "code"),
    [
        pytest.param(False, "approved", "commission_unfunded", id="unfunded"),
        pytest.param(True, "disapproved", "commission_approved", id="final"),
        pytest.param(True, "pending", "commission_approved", id="final-to-pending"),
    ],
)
def test_stores_nothing_of_a_sale_whose_decision_is_refused(
    tell, shop, pay_through_service, auto, status, code
):
    account = pay_through_service
    if auto:
        top_up(account, amount=Decimal(20), currency="EUR", at=SOLD)
    shop.program.change(auto_approve_commissions=auto)
    before = stored(account)
    told = {"external_id": "order-1", "amount": 200, "status": status}

    response = tell("con/c/", told | {"customer_id": "acct-1"} | mina(shop))

    assert conflict(response) == code
    assert stored(account) == before
    [(source, external_id, _)] = memory(account)
    assert (source, external_id) == ("postback", "order-1")


# Recurring sales.


def test_books_a_renewal_by_its_customer_alone(tell, shop, account):
    shop.customer("acct-1", member=shop.odette, status="trial")

    for number in ("order-1", "order-2"):
        told = {"external_id": number, "customer_id": "acct-1", "amount": 50}
        sale = said(tell("con/c/", told))

        assert sale["affiliate"] == shop.odette.ref
        assert sale["customer"]["status"] == "paying"
    assert lines(account) == [(50, 5, "pending")] * 2


@pytest.mark.parametrize(
    "rules",
    [{"recurring": False}, {"recurring_cap": 1}],
    ids=["once", "capped"],
)
def test_disapproves_renewals_past_the_cap(tell, shop, account, rules):
    shop.program.change(auto_approve_commissions=True, **rules)
    told = {"customer_id": "acct-1", "amount": 50}

    said(tell("con/c/", told | {"external_id": "order-1"} | mina(shop)))
    sale = said(tell("con/c/", told | {"external_id": "order-2"}))

    assert sale["customer"]["status"] == "paying"
    assert [it[2] for it in lines(account)] == ["approved", "disapproved"]


def test_wakes_a_canceled_customer_by_a_renewal(tell, api, shop):
    customer = shop.customer("acct-1")
    api.delete(f"/customers/{customer.public_id}/status/")

    sale = said(tell("con/c/", {"external_id": "order-1", "customer_id": "acct-1"}))

    assert sale["customer"]["status"] == "paying"


# con/u.


@pytest.fixture
def order(shop):
    """200 EUR in two parts: 20 of 100 and 1.5 of 20, a level of 3 % above both."""
    put_below(
        shop.account,
        affiliate_id=shop.mina.slug,
        parent=shop.odette.slug,
        at=SOLD - EARLIER,
    )
    shop.level(2, "3")
    return shop.sell("180", ("20", "accessories"), external_id="order-1")


BORN = [(180, 18), (20, Decimal("1.5")), (180, Decimal("5.4")), (20, Decimal("0.6"))]
HALVED = [
    *((90, 9), (10, Decimal("0.75"))),
    *((90, Decimal("2.7")), (10, Decimal("0.3"))),
]


def money(account):
    return [line[:2] for line in lines(account)]


@pytest.mark.parametrize(
    ("told", "amount", "kept"),
    [
        pytest.param({}, 200, BORN, id="nothing"),
        pytest.param({"amount": 100}, 100, HALVED, id="recalculated"),
        pytest.param(
            {"amount": 100, "recalculate_commissions": True},
            100,
            HALVED,
            id="recalculated when told to",
        ),
        pytest.param(
            {"amount": 100, "recalculate_commissions": False},
            100,
            BORN,
            id="the amount alone",
        ),
        pytest.param({"amount": "99.995", "currency": " eur "}, 100, HALVED, id="eur"),
        pytest.param({"amount": 0}, 0, [(0, 0)] * 4, id="nought"),
    ],
)
def test_lets_commissions_follow_the_amount(tell, api, order, told, amount, kept):
    response = tell("con/u/", {"external_id": "order-1"} | told)

    assert said(response) == said(api.get(f"/conversions/{order.pk}/"))
    assert said(response)["amount"] == amount
    assert money(order.account) == kept


def test_rewrites_an_amount_set_by_hand(tell, shop, account):
    sale = shop.sell("200", external_id="order-1")
    number = shop.commission_of(sale).pk
    by_hand = {"amount": Decimal(7)}
    change_commission(account, commission_id=number, changes=by_hand, at=SOLD)

    said(tell("con/u/", {"external_id": "order-1", "amount": 200}))

    assert money(account) == [(200, 20)]


def test_replaces_meta_data_whole(tell, shop):
    shop.sell("200", external_id="order-1", meta_data={"plan": "basic", "a": "b"})

    sale = said(tell("con/u/", {"external_id": "order-1", "meta_data": {"c": ""}}))

    assert sale["meta_data"] == {"c": ""}


@pytest.mark.parametrize("goal", ["approved", "disapproved", "pending"])
def test_decides_all_commissions_and_skips_those_already_there(
    tell, order, account, goal
):
    first, second, *_ = account.commissions.order_by("id")
    approve(account, commission_id=first.pk, at=SOLD)
    disapprove(account, commission_id=second.pk, at=SOLD)

    for _ in range(2):
        said(tell("con/u/", {"external_id": "order-1", "status": goal}))

        assert [it[2] for it in lines(account)] == [goal] * 4
    events = account.events.filter(kind="commission.updated").count()
    assert events == 2 + (3 if goal != "pending" else 2)


def test_takes_back_what_was_paid(tell, shop, account):
    sale = shop.sell("200", external_id="order-1")
    approve(account, commission_id=shop.commission_of(sale).pk, at=SOLD)
    pay(account, orders=[Order("minakessler", Decimal(20), "EUR")], at=SOLD)

    sale = said(tell("con/u/", {"external_id": "order-1", "status": "disapproved"}))

    assert sale["commissions"][0]["payout"] is None
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(-20)}}


def test_moves_an_approved_balance_by_a_partial_refund(tell, shop, account):
    sale = shop.sell("200", external_id="order-1")
    approve(account, commission_id=shop.commission_of(sale).pk, at=SOLD)

    said(tell("con/u/", {"external_id": "order-1", "amount": "150.55"}))

    assert balances_of(account) == {"minakessler": {"EUR": Decimal("15.06")}}


REFUSED = {
    "currency": (
        {"currency": "USD"},
        flaw("currency", "The currency of a conversion cannot change"),
    ),
    "unknown currency": (
        {"currency": "zzz"},
        flaw("currency", "The currency of a conversion cannot change"),
    ),
    "status": ({"status": "paid"}, odd_status("paid")),
    "blank status": ({"status": " "}, odd_status("")),
    "amount": ({"amount": "1e2"}, flaw("amount", NO_NUMBER)),
    "meta data": ({"meta_data": "pro"}, odd_type("meta_data", "object")),
    "flag": (
        {"recalculate_commissions": "yes"},
        flaw("recalculate_commissions", "This value should be true or false."),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_changes_nothing_when_one_thing_is_refused(tell, order, account, name):
    told, found = REFUSED[name]
    good = {"amount": 100, "meta_data": {"a": "b"}, "status": "approved"}
    before = stored(account)

    response = tell("con/u/", {"external_id": "order-1"} | good | told)

    assert flaws(response) == [found]
    assert stored(account) == before


@pytest.mark.parametrize(
    ("currency", "sent", "kept"), [("JPY", "10.5", 11), ("KWD", "10.0005", 10.001)]
)
def test_rounds_in_the_currency_of_the_sale(tell, shop, currency, sent, kept):
    shop.sell("200", external_id="order-1", currency=currency)
    told = {"external_id": "order-1", "amount": sent, "currency": currency.lower()}

    assert said(tell("con/u/", told))["amount"] == kept


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"status": "disapproved"}, "commission_approved"),
        ({"status": "pending"}, "commission_approved"),
        ({"status": "approved"}, "commission_unfunded"),
    ],
    ids=["disapproved", "pending", "approved"],
)
def test_refuses_all_by_the_state_of_one(tell, shop, pay_through_service, told, code):
    account = pay_through_service
    top_up(account, amount=Decimal(20), currency="EUR", at=SOLD)
    shop.sell("200", "100", external_id="order-1")
    first, _ = account.commissions.order_by("id")
    approve(account, commission_id=first.pk, at=SOLD)
    before = stored(account)
    more = {"amount": 150, "recalculate_commissions": False, "meta_data": {"a": "b"}}

    response = tell("con/u/", {"external_id": "order-1"} | more | told)

    assert conflict(response) == code
    assert stored(account) == before


def test_skips_what_is_final_already(tell, shop, pay_through_service):
    account = pay_through_service
    top_up(account, amount=Decimal(30), currency="EUR", at=SOLD)
    shop.sell("200", "100", external_id="order-1")
    first, _ = account.commissions.order_by("id")
    approve(account, commission_id=first.pk, at=SOLD)

    said(tell("con/u/", {"external_id": "order-1", "status": "approved"}))

    assert [it[2] for it in lines(account)] == ["approved", "approved"]


def test_decides_by_the_cover_of_the_new_amount(tell, shop, pay_through_service):
    account = pay_through_service
    top_up(account, amount=Decimal(10), currency="EUR", at=SOLD)
    shop.sell("200", external_id="order-1")
    told = {"external_id": "order-1", "status": "approved", "amount": 100}

    said(tell("con/u/", told))

    assert lines(account) == [(100, 10, "approved")]


@pytest.mark.parametrize("name", ["unknown", "removed", "foreign", "another case"])
def test_does_not_know_the_sale(tell, shop, account, other_account, name):
    number = shop.sell("200", external_id="order-1").pk
    Shop(other_account, mark="zz-marker-").sell("200", external_id="theirs")
    if name == "removed":
        remove_conversion(account, conversion_id=number, at=SOLD)
    known_as = {"removed": "order-1", "foreign": "theirs", "another case": "ORDER-1"}
    told = {"external_id": known_as.get(name, "order-2"), "status": "odd"}

    response = tell("con/u/", told)

    assert refusal(response, 404) == "Conversion not found"


@pytest.mark.parametrize("told", [{}, {"external_id": " "}, {"amount": "x"}])
def test_asks_which_sale(tell, shop, told):
    assert refusal(tell("con/u/", told)) == MISSING


def test_follows_up_in_an_archived_program_of_a_removed_affiliate(tell, shop):
    shop.sell("200", external_id="order-1")
    archived(shop)
    deleted(shop)
    told = {"external_id": "order-1", "amount": 100, "status": "approved"}

    sale = said(tell("con/u/", told))

    assert (sale["amount"], sale["commissions"][0]["approved"]) == (100, True)


def test_follows_up_nothing_on_a_locked_account(tell, shop):
    shop.sell("200", external_id="order-1")
    locked(shop)
    before = stored(shop.account)

    assert refusal(tell("con/u/", {"external_id": "order-1", "amount": 1})) == LOCKED
    assert stored(shop.account) == before
