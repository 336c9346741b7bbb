"""Contract 1.2, 1.3, 1.10, 1.11: what is taken although it is not as the contract
says it, each named after the client that could not be served otherwise."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from tests.conftest import NOW
from tests.proof import everything, money_agrees
from tests.shop import Shop

SALE = {"external_id": "order-1", "amount": 200}
ONE = "/affiliates/minakessler/"
ENROLLED = "/programs/harbor-lamp-partners/affiliates/minakessler/"
UNKNOWN_VISITOR = {"errors": [{"message": "Invalid tracking id"}]}
UNKNOWN_CLICK = {"errors": [{"message": "Invalid click id"}]}
NO_CLUE = {"errors": [{"message": "Missing mandatory parameter(s)"}]}
NO_JSON = {"errors": [{"message": "Request body was not valid JSON"}]}


@pytest.fixture(autouse=True)
def now(time_machine):
    time_machine.move_to(NOW, tick=False)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    money_agrees(account)


@pytest.fixture
def clue(shop):
    return {"coupon": shop.mina.coupon}


@pytest.fixture
def customer(shop):
    return f"/customers/{shop.customer('acct-1').public_id}/"


@pytest.fixture
def sold(shop):
    """A sale of 200 EUR, its commission of 20 pending."""
    return shop.sell("200", external_id="order-0")


@pytest.fixture
def commission(shop, sold):
    return f"/commissions/{shop.commission_of(sold).pk}/"


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def without(record, *names):
    """A record but for what no two of a kind share."""
    return {name: value for name, value in record.items() if name not in names}


def customer_of(shop, **changed):
    """A new customer of Mina's, without `id` and `created_at`."""
    return {
        "customer_id": "acct-9",
        "status": "new",
        "click": None,
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "affiliate_meta_data": None,
        "meta_data": {},
        "warnings": None,
    } | changed


def registered(response):
    return without(said(response), "id", "created_at")


# 1.2: requests and bodies.


def test_ignores_properties_for_clients_that_send_their_own_records(api, shop, clue):
    own = {"customer_id": "acct-9", "shop": {"id": 7}, "metadata": {"a": "b"}, "": []}

    response = api.post("/customers/", clue | own)

    assert registered(response) == customer_of(shop)


def test_ignores_parameters_for_clients_that_add_some_to_every_address(
    api, shop, clue, sold
):
    added = "?apiVersion=3&limit=100&per_page=100&use_profile_timezone=1&_=1767225600"
    plain = said(api.get("/conversions/"))

    assert said(api.get(f"/conversions/{added}")) == plain
    assert registered(
        api.post(f"/customers/{added}", clue | {"customer_id": "acct-9"})
    ) == customer_of(shop)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("customer", {"customer_id": "acct-2"}),
        ("conversion", {"amount": 300}),
        ("affiliate", {"lastname": "Varga"}),
        ("enrolment", {"coupon": "MINA20"}),
    ],
)
def test_ignores_read_only_fields_for_clients_that_send_the_record_back(
    api, shop, sold, customer, path, change
):
    path = {
        "customer": customer,
        "conversion": f"/conversions/{sold.pk}/",
        "affiliate": ONE,
        "enrolment": ENROLLED,
    }[path]
    record = said(api.get(path))
    read_only = {"id": "nobody", "created_at": "2020-01-01T00:00:00+00:00"}
    read_only |= dict.fromkeys(("program", "affiliate", "click", "status"))

    response = api.patch(path, record | change | read_only)

    assert said(response) == record | change
    assert said(api.get(path)) == record | change


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain;charset=UTF-8",
        "text/html",
        "application/xml",
        "nonsense",
        "",
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_reads_json_under_any_type_for_clients_that_send_it_as_a_form(
    api, customer, method, content_type
):
    path = customer if method == "PATCH" else f"{customer}meta-data/"
    body = {"meta_data": {"a": "b=c&d"}} if method == "PATCH" else {"a": "b=c&d"}

    response = api.ask(method, path, body, content_type=content_type)

    assert said(response) == said(api.get(path))
    assert said(api.get(f"{customer}meta-data/")) == {"a": "b=c&d"}


BODIES = {
    "array": "[]",
    "object": "{}",
    "null": "null",
    "text": "approved=1",
    "bytes": b"\xff\x00",
    "twice": '{"a":1,"a":2}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{customer}"),
        ("HEAD", "{customer}"),
        ("PUT", "{customer}status/"),
        ("DELETE", "{customer}status/"),
        ("PUT", "{commission}approved/"),
        ("PUT", "{commission}approval/"),
        ("DELETE", "{commission}approved/"),
        ("DELETE", "{commission}approval/"),
        ("PUT", ENROLLED + "approved/"),
        ("PUT", ENROLLED + "approval/"),
        ("DELETE", ENROLLED + "approval/"),
        ("DELETE", ONE + "group/"),
        ("DELETE", ONE + "parent/"),
    ],
)
def test_reads_no_body_where_clients_send_an_empty_array_with_everything(
    api, customer, commission, method, path, body
):
    path = path.format(customer=customer, commission=commission)
    plain = api.ask(method, path)

    response = api.ask(method, path, body)

    assert said(plain) == said(response) if method != "HEAD" else True
    assert (response.status_code, response.content) == (200, plain.content)


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_deletes_for_clients_that_send_an_empty_array_with_everything(
    api, customer, body
):
    response = api.delete(customer, body)

    assert (response.status_code, response.content) == (204, b"")
    assert api.get(customer).json() == {"errors": [{"message": "Customer not found"}]}


@pytest.mark.parametrize("as_array", [False, True], ids=["object", "array"])
def test_takes_an_array_of_commissions_for_clients_that_book_renewals_in_bulk(
    api, shop, sold, as_array
):
    part = {"conversion_sub_amount": "49.90", "comment": "Renewal"}

    response = api.post(
        f"/conversions/{sold.pk}/commissions/", [part] if as_array else part
    )

    [made] = said(response)
    assert without(made, "id", "created_at") == {
        "conversion_sub_amount": 49.9,
        "amount": 4.99,
        "commission_type": "standard",
        "approved": False,
        "affiliate": shop.mina.ref,
        "kind": "regular",
        "currency": "EUR",
        "payout": None,
        "comment": "Renewal",
        "final": None,
        "commission_name": "Standard",
        "status": "pending",
        "conversion": {"id": sold.pk},
        "finalization_date": None,
    }


@pytest.mark.parametrize("path", ["/customers/", "/affiliates/", "/conversions/"])
def test_takes_no_array_where_no_client_sends_one(api, account, shop, path):
    before = everything(account)["Event"]

    response = api.post(path, [{"firstname": "A", "lastname": "B"}])

    assert (response.status_code, response.json()) == (400, NO_JSON)
    assert everything(account)["Event"] == before


# 1.3: values.


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_takes_null_for_nothing_for_clients_that_send_every_field(
    api, shop, customer, path
):
    nulls = ("referral_code", "coupon", "click_id", "tracking_id", "visitor_id")
    nulls += ("asset_id", "source_id", "click", "currency", "commission_type")
    nulls += ("commissions", "meta_data", "program_group", "user_agent", "ip")
    body = SALE | {"customer_id": "acct-1"} | dict.fromkeys(nulls)

    sale = said(api.post(path, body))

    [commission] = sale.pop("commissions")
    assert without(sale, "id", "created_at") == {
        "external_id": "order-1",
        "amount": 200,
        "click": None,
        "program": shop.ref,
        "affiliate": shop.mina.ref,
        "customer": {
            "id": customer.split("/")[2],
            "customer_id": "acct-1",
            "status": "paying",
        },
        "meta_data": {},
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "customer",
    }
    assert commission["amount"] == 20


NAMES = {"firstname": "Odette", "lastname": "Varga"}
NO_DETAILS = {"company": None, "address": None}


@pytest.mark.parametrize(
    "empty",
    [
        {"company": {}, "address": {}},
        {"company": {"name": None}, "address": {"city": None, "country": None}},
        {"company": None, "address": None},
    ],
    ids=["empty", "empty-inside", "null"],
)
@pytest.mark.parametrize("path", ["/affiliates/", "/affiliate-prospects/"])
def test_takes_an_empty_object_for_nothing_for_clients_that_build_one_first(
    api, shop, path, empty
):
    made = said(api.post(path, NAMES | empty))

    assert made | NAMES | NO_DETAILS == made


def test_leaves_what_it_has_for_clients_that_build_an_empty_object_first(api, shop):
    address = {"address": "Pristaniška 4", "postal_code": "6000", "city": "Koper"}
    details = {"company": {"name": "K"}, "address": address | {"country": "SI"}}
    record = said(api.patch(ONE, details))

    response = api.patch(ONE, {"company": {}, "address": {}})

    assert said(response) == record
    assert record["address"]["country"] == {"code": "SI", "name": "Slovenia"}


@pytest.mark.parametrize(
    ("value", "overridden"),
    [(it, True) for it in ("true", "TRUE", "True", "tRuE", "1")]
    + [(it, False) for it in ("false", "FALSE", "False", "0", "")],
)
def test_takes_any_boolean_for_clients_that_write_their_languages_own(
    api, shop, value, overridden
):
    shop.program.change(cookie_time=1)
    click = shop.click(at=NOW - timedelta(days=1, seconds=1))
    body = {"customer_id": "acct-9", "click_id": str(click.public_id)}

    response = api.post(f"/customers/?override_max_cookie_time={value}", body)

    if overridden:
        click = {
            "created_at": "2026-03-03T09:15:26+00:00",
            "referrer": None,
            "landing_page": None,
        }
        assert registered(response) == customer_of(
            shop, click=click, affiliate_meta_data={}
        )
    else:
        assert response.status_code == 400
        assert response.json() == {"errors": [{"message": "Cookie expired"}]}


@pytest.mark.parametrize(
    ("sent", "amount", "earned"),
    [
        ('"49.90"', "49.9", "4.99"),
        ("49.90", "49.9", "4.99"),
        ('"0200"', "200", "20"),
        ('"200.00"', "200", "20"),
        ("2e2", "200", "20"),
        ("0.30000000000000004", "0.3", "0.03"),
    ],
)
def test_takes_amounts_as_text_for_clients_that_keep_them_so(
    api, clue, sent, amount, earned
):
    body = json.dumps(clue | {"amount": "?"}).replace('"?"', sent)

    response = api.post("/conversions/", body)

    sale = json.loads(response.content, parse_float=Decimal, parse_int=Decimal)
    assert response.status_code == 200, response.content
    assert str(sale["amount"]) == amount
    assert str(sale["commissions"][0]["amount"]) == earned


# 1.10: meta data.

SPELLINGS = {
    "number": ("5", "5"),
    "nought": ("-0.0", "-0.0"),
    "price": ("1.50", "1.50"),
    "exponent": ("1e2", "100"),
    "small": ("25E-3", "0.025"),
    "true": ("true", "true"),
    "false": ("false", "false"),
    "empty": ('""', ""),
    "text": ('" 1.50 "', " 1.50 "),
    "signs": (
        r'"\": { } ] \\ \' / & é🛶"'.replace(r"\'", "'"),
        "\": { } ] \\ ' / & é🛶",
    ),
    "long": (json.dumps("v" * 255), "v" * 255),
}


@pytest.mark.parametrize(("sent", "kept"), SPELLINGS.values(), ids=list(SPELLINGS))
def test_keeps_numbers_and_booleans_as_text_for_clients_that_do_not_quote_them(
    api, shop, clue, customer, sent, kept
):
    body = json.dumps(clue | {"customer_id": "acct-9", "meta_data": "?"})

    made = api.post("/customers/", body.replace('"?"', f'{{"plan": {sent}}}'))
    whole = api.put(f"{customer}meta-data/", f'{{"plan": {sent}}}')
    one = api.put(f"{customer}meta-data/seats/", f'{{"value": {sent}}}')

    assert registered(made) == customer_of(shop, meta_data={"plan": kept})
    assert said(whole) == {"plan": kept}
    assert said(one) == {"value": kept}


def test_takes_any_key_that_clients_made_of_their_forms_labels(api, customer):
    labels = ["k" * 64, "Tarif ü", "[0", "a.b", "1", "plan-of<the>year", "$", "🛶", " "]
    data = {label: label for label in labels}

    assert said(api.put(f"{customer}meta-data/", data)) == data
    assert said(api.get(customer))["meta_data"] == data


# 1.11: other names.


@pytest.mark.parametrize("status", ["approved", "disapproved"])
def test_takes_approval_for_clients_that_decide_by_the_noun(api, commission, status):
    record = said(api.get(commission))
    method = "PUT" if status == "approved" else "DELETE"

    response = api.ask(method, f"{commission}approval/")

    decided = record | {"status": status, "approved": status == "approved"}
    assert said(response) == decided
    assert said(api.get(commission)) == decided
    assert said(api.ask(method, f"{commission}approved/")) == decided


@pytest.mark.parametrize("approved", [True, False])
def test_takes_approval_for_clients_that_let_affiliates_in_by_the_noun(
    api, account, shop, approved
):
    account.enrolments.update(approved=None)
    record = said(api.get(ENROLLED))

    response = api.ask("PUT" if approved else "DELETE", f"{ENROLLED}approval/")

    assert said(response) == record | {"approved": approved}
    assert said(api.get(ENROLLED)) == record | {"approved": approved}


@pytest.mark.parametrize(
    "parent",
    [
        {"affiliate_id": "odettevarga"},
        {"affiliate": {"id": "odettevarga"}},
        {"via": "odettevarga"},
        {"affiliate_id": "odettevarga", "via": "minakessler"},
        {"affiliate_id": "odettevarga", "affiliate": {"id": "nobody"}},
    ],
    ids=["id", "object", "via", "both-via", "both-object"],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_takes_a_parent_by_post_for_clients_that_add_it(api, shop, method, parent):
    shop.join("Odette", "Varga")
    record = said(api.get(ONE))

    response = api.ask(method, f"{ONE}parent/", parent)

    assert said(response) == record | {"parent_id": "odettevarga"}
    assert said(api.get(ONE)) == record | {"parent_id": "odettevarga"}


def test_takes_a_parents_code_for_clients_that_know_only_the_link(api, shop):
    code = shop.join("Odette", "Varga").code
    record = said(api.get(ONE))

    response = api.post(f"{ONE}parent/", {"via": code})

    assert said(response) == record | {"parent_id": "odettevarga"}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"note": "Called back"}, "Called back"),
        ({}, "Called"),
        ({"note": None}, "Called"),
    ],
    ids=["text", "nothing", "null"],
)
def test_takes_a_note_by_put_for_clients_that_send_it_whole(
    api, shop, method, sent, kept
):
    note = said(api.post(f"{ONE}notes/", {"note": "Called"}))

    response = api.ask(method, f"{ONE}notes/{note['id']}/", sent)

    assert said(response) == note | {"note": kept}
    assert said(api.get(f"{ONE}notes/")) == [note | {"note": kept}]


@pytest.mark.parametrize("of", ["customer", "conversion", "affiliate"])
def test_takes_meta_data_by_post_for_clients_that_add_it(api, customer, sold, of):
    path = {"customer": customer, "conversion": f"/conversions/{sold.pk}/"}.get(of, ONE)
    api.put(f"{path}meta-data/", {"old": "gone"})

    response = api.post(f"{path}meta-data/", {"plan": "pro"})

    assert said(response) == {"plan": "pro"}
    assert said(api.get(f"{path}meta-data/")) == {"plan": "pro"}
    assert said(api.get(path))["meta_data"] == {"plan": "pro"}


TRACKING = ["/customers/", "/conversions/", "/pb/cus/c/", "/pb/con/c/"]
NAMED = {"customer_id": "acct-9", "external_id": "order-1"}
BLANK = {
    "errors": [
        {
            "message": "Parameter 'tracking_id' takes precedence for tracking,"
            " but no value was passed"
        }
    ]
}
VISITORS = {
    "alias": ({"visitor_id": "f" * 32}, UNKNOWN_VISITOR),
    "blank-alias": ({"visitor_id": ""}, BLANK),
    "null-alias": ({"visitor_id": None}, NO_CLUE),
    "beside-null": ({"visitor_id": "f" * 32, "tracking_id": None}, UNKNOWN_VISITOR),
    "beside-blank": ({"visitor_id": "f" * 32, "tracking_id": ""}, BLANK),
    "click-alias": ({"click": {"id": "f" * 36}}, UNKNOWN_CLICK),
    "click-null": ({"click": {"id": None}}, NO_CLUE),
    "click-empty": ({"click": {}}, NO_CLUE),
    "click-text": ({"click": "f" * 36}, NO_CLUE),
}


@pytest.mark.parametrize("path", TRACKING)
@pytest.mark.parametrize(("sent", "answer"), VISITORS.values(), ids=list(VISITORS))
def test_takes_visitor_and_click_for_clients_that_forward_the_scripts_words(
    api, shop, path, sent, answer
):
    named = "customer_id" if "cus" in path else "external_id"

    response = api.post(path, {named: "new"} | sent)

    assert response.status_code == 400
    assert response.json() == answer


@pytest.mark.parametrize("path", TRACKING)
@pytest.mark.parametrize(
    "sent",
    [
        {"click": {"id": "{click}"}},
        {"click": {"id": " {click} ", "created_at": "2026-01-01"}},
        {"click_id": "{click}", "click": {"id": "unknown"}},
        {"click_id": None, "click": {"id": "{click}"}},
        {"click_id": "{click}", "visitor_id": "unknown", "tracking_id": "unknown"},
    ],
    ids=["alias", "white-space", "both", "beside-null", "above-visitor"],
)
def test_takes_a_click_object_for_clients_that_send_the_click_they_got(
    api, shop, path, sent
):
    click = str(shop.click(meta_data={"subid1": "letter"}).public_id)
    body = NAMED | json.loads(json.dumps(sent).replace("{click}", click))

    made = said(api.post(path, body))

    assert made["affiliate"] == shop.mina.ref
    assert made["affiliate_meta_data"] == {"subid1": "letter"}
    assert made["click"] == {
        "created_at": "2026-03-03T19:03:44+00:00",
        "referrer": None,
        "landing_page": None,
    }


@pytest.mark.parametrize("path", TRACKING)
def test_prefers_the_proper_click_though_the_client_sends_both(api, shop, path):
    click = str(shop.click().public_id)

    response = api.post(path, NAMED | {"click_id": "unknown", "click": {"id": click}})

    assert response.status_code == 400
    assert response.json() == UNKNOWN_CLICK


@pytest.mark.parametrize("path", TRACKING)
def test_prefers_the_proper_visitor_though_the_client_sends_both(api, shop, path):
    response = api.post(path, NAMED | {"tracking_id": "", "visitor_id": "f" * 32})

    assert response.status_code == 400
    assert response.json() == BLANK


@pytest.mark.parametrize("path", [*TRACKING, "/affiliates/"])
def test_ignores_metadata_which_clients_send_for_themselves(api, shop, clue, path):
    body = NAMED | NAMES | clue

    alone = said(api.post(path, body | {"metadata": {"a": "b"}, "metaData": 7}))

    assert alone["meta_data"] == {}


def test_ignores_metadata_beside_the_proper_word(api, shop, clue):
    both = {"meta_data": {"plan": "pro"}, "metadata": {"plan": None}}

    made = api.post("/customers/", clue | both | {"customer_id": "acct-9"})
    changed = api.patch(f"/customers/{made.json()['id']}/", {"metadata": {}})

    assert registered(made) == customer_of(shop, meta_data={"plan": "pro"})
    assert said(changed) == said(made)
