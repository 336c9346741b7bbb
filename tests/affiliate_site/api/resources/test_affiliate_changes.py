"""Contract 2.4.4, 2.4.5, 2.4.9, 2.1.5: affiliates changed, removed, and their lists."""

import pytest
from django.conf import settings

from payouts.services.commissions import approve
from tests.conftest import NOW
from tests.proof import everything, money_agrees
from tests.shop import Shop

pytestmark = pytest.mark.usefixtures("now")

PATH = "/affiliates/minakessler/"
MISSING = "Missing mandatory parameter(s)"
BLANK = "This value should not be blank."
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
MINA = {
    "id": "minakessler",
    "firstname": "Mina",
    "lastname": "Kessler",
    "email": "mina@notes.example.org",
    "company": None,
    "address": None,
    "meta_data": {},
    "parent_id": None,
    "created_at": "2026-03-02T08:00:00+00:00",
    "affiliate_group_id": None,
    "promoted_at": None,
    "promotion_method": None,
    "custom_fields": {},
}
HOME = {
    "address": "Pristaniška 4",
    "address_two": None,
    "postal_code": "6000",
    "city": "Koper",
    "state": None,
    "country": {"code": "SI", "name": "Slovenia"},
}


@pytest.fixture
def fields(account, other_account):
    """A text, a choice of several, and one of somebody else's."""
    for slug, title, kind in [
        ("website", "Your site", "url"),
        ("shoes", "Sizes", "multiselect"),
    ]:
        account.field_definitions.create(slug=slug, title=title, type=kind)
    other_account.field_definitions.create(slug="zz-marker", title="zz", type="text")


def flaw(path, message, **filling):
    text = message
    for name, value in filling.items():
        text = text.replace(f"{{{{ {name} }}}}", str(value))
    return {"message": text, "message_raw": message, "property_path": path}


def refused(response, *entries):
    assert response.status_code == 400
    assert response.json() == {"errors": list(entries)}
    return True


def not_found(response, resource="Affiliate"):
    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": f"{resource} not found"}]}
    return True


# PATCH /affiliates/{id}/


def test_changes_everything_that_is_sent(api, shop, fields):
    said = {
        "firstname": " Minna",
        "lastname": "Keßler",
        "email": " Minna@Notes.example.org ",
        "company": {"description": "Lamps"},
        "address": HOME | {"country": "si"},
        "custom_fields": {"Your site": "https://m.example", "shoes": ["38", "39"]},
        "meta_data": {"tier": "gold"},
        "id": "chosen",
        "parent_id": "minakessler",
        "affiliate_group_id": "ag_1",
        "password": "a secret of hers",
    }

    response = api.patch(PATH, said)

    assert response.status_code == 200
    assert list(response.json()) == list(MINA)
    assert response.json() == MINA | {
        "firstname": " Minna",
        "lastname": "Keßler",
        "email": "Minna@Notes.example.org",
        "company": {"name": None, "description": "Lamps"},
        "address": HOME,
        "custom_fields": {"website": "https://m.example", "shoes": ["38", "39"]},
        "meta_data": {"tier": "gold"},
    }
    assert api.get(PATH).json() == response.json()
    assert response["X-RateLimit-Limit"] == "1500"


FILLED = {
    "company": {"name": "Kessler", "description": "Lamps"},
    "address": HOME | {"address_two": "2nd floor", "state": "Obala"},
    "custom_fields": {"website": "https://m.example", "shoes": ["38"]},
    "meta_data": {"tier": "gold", "plan": "x"},
}


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ({}, {}),
        (dict.fromkeys(["firstname", "lastname", "email", "meta_data"]), {}),
        ({"custom_fields": None}, {}),
        ({"company": {}, "address": {}, "custom_fields": {}}, {}),
        ({"company": None}, {"company": None}),
        (
            {"company": {"name": "New"}},
            {"company": {"name": "New", "description": None}},
        ),
        ({"address": None}, {"address": None}),
        ({"address": HOME}, {"address": HOME}),
        ({"meta_data": {"b": "2"}}, {"meta_data": {"b": "2"}}),
        ({"meta_data": {}}, {"meta_data": {}}),
        (
            {"custom_fields": {"website": None}},
            {"custom_fields": {"shoes": ["38"]}},
        ),
        (
            {"custom_fields": {"Your site": None, "Sizes": [], "nobody": "x"}},
            {"custom_fields": {"shoes": []}},
        ),
        (
            {"custom_fields": {"shoes": "40"}},
            {"custom_fields": {"website": "https://m.example", "shoes": ["40"]}},
        ),
        (
            {"custom_fields": {"website": 7, "Your site": "beside its id"}},
            {"custom_fields": {"website": "7", "shoes": ["38"]}},
        ),
        ({"custom_fields": {"zz-marker": "x", "zz": "y"}}, {}),
    ],
    ids=[
        "nothing",
        "nulls",
        "null for a map",
        "empty objects",
        "no company",
        "company as a whole",
        "no address",
        "address as a whole",
        "meta data as a whole",
        "no meta data",
        "one custom field cleared",
        "cleared by its title",
        "one choice",
        "an id before a title",
        "foreign custom fields",
    ],
)
def test_replaces_wholes_and_clears_by_null(api, shop, fields, said, changed):
    api.patch(PATH, FILLED)

    response = api.patch(PATH, said)

    assert response.status_code == 200
    assert response.json() == MINA | FILLED | changed
    assert api.get(PATH).json() == response.json()


def test_writes_the_diary_when_something_changes_and_never_a_value(api, account, shop):
    api.patch(PATH, {"firstname": "Secretly", "email": "secret@notes.example.org"})
    api.patch(PATH, {"firstname": "Secretly"})

    lines = account.events.filter(kind="affiliate.updated")
    assert [(it.subject, it.facts) for it in lines] == [
        (
            "affiliate:minakessler",
            {"fields": ["email", "email_folded", "firstname"]},
        )
    ]


ODD_CHANGES = [
    ({"firstname": "", "lastname": " "}, [("firstname", BLANK), ("lastname", BLANK)]),
    ({"firstname": True}, [("firstname", TYPE, {"type": "string"})]),
    ({"lastname": "x" * 256}, [("lastname", LONG, {"limit": 255})]),
    ({"email": ""}, [("email", "This is not a valid email address.")]),
    ({"company": []}, [("company", TYPE, {"type": "object"})]),
    (
        {"company": {"name": "fine", "description": "x" * 1001}},
        [("company.description", LONG, {"limit": 1000})],
    ),
    (
        {"address": {"city": "Koper"}},
        [
            ("address.address", MISSING),
            ("address.postal_code", MISSING),
            ("address.country.code", MISSING),
        ],
    ),
    (
        {"address": HOME | {"country": {"code": "ZZ"}}},
        [("address.country.code", "Unknown country")],
    ),
    (
        {"custom_fields": {"website": ["a"], "shoes": "x"}},
        [("custom_fields[website]", TYPE, {"type": "string"})],
    ),
    (
        {"custom_fields": {"unknown": {}}},
        [("custom_fields[unknown]", TYPE, {"type": "string"})],
    ),
    (
        {"meta_data": {"tier": None}},
        [("meta_data[tier]", TYPE, {"type": "string"})],
    ),
]


@pytest.mark.parametrize(
    ("said", "entries"), ODD_CHANGES, ids=[repr(it[0])[:40] for it in ODD_CHANGES]
)
def test_refuses_odd_changes_and_changes_nothing(api, shop, fields, said, entries):
    response = api.patch(PATH, {"company": {"name": "Kept out"}} | said)

    told = [flaw(path, text, **(how[0] if how else {})) for path, text, *how in entries]
    assert refused(response, *told)
    assert api.get(PATH).json() == MINA


@pytest.mark.parametrize("email", ["odette@x.example", " ODETTE@X.example "])
def test_refuses_an_address_that_somebody_else_has(api, shop, email):
    shop.join("Odette", "Varga", email="odette@x.example")

    response = api.patch(PATH, {"firstname": "Kept out", "email": email})

    assert refused(response, flaw("email", "Email address is already in use"))
    assert api.get(PATH).json() == MINA


def test_takes_an_address_that_is_its_own_foreign_or_a_prospects(
    api, other_account, shop
):
    Shop(other_account, mark="zz-marker-", email="theirs@x.example")
    invited = {"firstname": "A", "lastname": "B", "email": "invited@x.example"}
    api.post("/affiliate-prospects/", invited)

    for email in ("MINA@notes.example.org", "theirs@x.example", "invited@x.example"):
        assert api.patch(PATH, {"email": email}).json()["email"] == email


def test_reads_the_body_then_looks_for_the_affiliate_then_reads_the_fields(api, shop):
    broken = api.patch("/affiliates/nobody/", "[]")
    unknown = api.patch("/affiliates/nobody/", {"firstname": ""})

    assert broken.json() == {"errors": [{"message": "Request body was not valid JSON"}]}
    assert not_found(unknown)


def test_is_not_replaced_by_put(api, shop):
    response = api.put(PATH, {"firstname": "New"})

    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) >= {"GET", "PATCH", "DELETE"}


# DELETE /affiliates/{id}/


@pytest.fixture
def removed(api, account, shop):
    """Mina had a sale, a payment, a child; then she was removed."""
    shop.click_id = str(shop.click())
    shop.sale = shop.sell("200", customer_id="acct-1")
    approve(account, commission_id=shop.commission_of(shop.sale).pk, at=NOW)
    order = {"affiliate_id": "minakessler", "amount": 5, "currency": "EUR"}
    shop.payment = api.post("/payments/", order).json()[0]
    shop.inga = shop.join("Inga", "Berg")
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "minakessler"})
    shop.note = api.post(f"{PATH}notes/", {"note": "gone?"}).json()["id"]
    api.put(f"{PATH}payout-methods/paypal/", {"paypal_address": "m@x.example"})
    response = api.delete(PATH, "[]")
    assert (response.status_code, response.content) == (204, b"")
    yield shop
    money_agrees(account)


SUB_PATHS = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("PUT", "group/"),
    ("DELETE", "group/"),
    ("PUT", "parent/"),
    ("POST", "parent/"),
    ("DELETE", "parent/"),
    ("GET", "notes/"),
    ("POST", "notes/"),
    ("GET", "notes/{note}/"),
    ("PATCH", "notes/{note}/"),
    ("DELETE", "notes/{note}/"),
    ("GET", "payout-methods/"),
    ("GET", "payout-methods/paypal/"),
    ("PUT", "payout-methods/paypal/"),
    ("GET", "balances/"),
    ("GET", "payments/"),
    ("GET", "programs/"),
    ("GET", "meta-data/"),
    ("PUT", "meta-data/"),
    ("GET", "meta-data/a/"),
    ("PUT", "meta-data/a/"),
    ("DELETE", "meta-data/a/"),
]


@pytest.mark.parametrize(("method", "tail"), SUB_PATHS, ids=map("".join, SUB_PATHS))
def test_is_gone_with_every_sub_path(api, removed, method, tail):
    path = PATH + tail.format(note=removed.note)

    assert not_found(api.ask(method, path, {"firstname": []}))


def test_leaves_every_list_of_affiliates(api, removed):
    queries = [
        "email=mina@notes.example.org",
        f"referral_code={removed.mina.code}",
        f"source_id={removed.mina.source_id}",
        f"click_id={removed.click_id}",
    ]

    found = [api.get(f"/affiliates/?{query}").json() for query in queries]
    member = api.get("/programs/harbor-lamp-partners/affiliates/minakessler/")

    assert found == [[]] * 4
    assert [row["id"] for row in api.get("/affiliates/").json()] == ["ingaberg"]
    assert not_found(member)


def test_keeps_what_a_removed_affiliate_earned(api, removed):
    conversion = api.get(f"/conversions/{removed.sale.pk}/").json()
    owed = api.get("/balances/").json()
    payments = api.get("/payments/").json()

    assert conversion["affiliate"] == removed.mina.ref
    assert conversion["commissions"][0]["approved"] is True
    assert [it["id"] for it in payments] == [removed.payment["id"]]
    assert str(owed).count("15") == 1


def test_leaves_the_children_without_a_parent(api, account, removed):
    removed.level(2, "3")
    sale = removed.sell("200", member=removed.inga)

    assert api.get("/affiliates/ingaberg/").json()["parent_id"] is None
    assert api.get("/affiliates/?parent_id=minakessler").json() == []
    assert account.commissions.filter(conversion=sale).count() == 1


@pytest.mark.parametrize(
    "clue",
    [
        {"coupon": "{mina.coupon}"},
        {"referral_code": "{mina.code}"},
        {"click_id": "{click_id}"},
        {"asset_id": "{mina.asset_id}", "source_id": "{mina.source_id}"},
        {"customer_id": "acct-1"},
    ],
    ids=lambda clue: next(iter(clue)),
)
def test_says_that_a_removed_affiliate_is_deleted(api, removed, clue):
    clues = {name: text.format_map(vars(removed)) for name, text in clue.items()}

    response = api.post("/conversions/", clues | {"amount": 1})

    assert response.status_code == 400
    assert response.json() == {"errors": [{"message": "Affiliate is deleted"}]}


def test_frees_the_address_alone(api, removed):
    inga = "/programs/harbor-lamp-partners/affiliates/ingaberg/"
    again = api.post(
        "/affiliates/",
        {"firstname": "Mina", "lastname": "Kessler", "email": "mina@notes.example.org"},
    )
    coupon = api.patch(inga, {"coupon": removed.mina.coupon})
    code = api.patch(inga, {"referral_code": removed.mina.code})

    assert again.json()["id"] == "minakessler2"
    assert refused(coupon, flaw("coupon", "Coupon is already in use"))
    assert refused(code, flaw("referral_code", "Referral code is already in use"))


def test_does_not_remove_somebody_of_another_account(api, other_account, shop):
    other = Shop(other_account, mark="zz-marker-")
    before = everything(other_account)

    response = api.delete(f"/affiliates/{other.mina.slug}/")

    assert not_found(response)
    assert everything(other_account) == before


# GET /affiliates/{id}/programs/


def test_lists_the_programs_of_an_affiliate_newest_first(api, account, shop):
    later = Shop(
        account, "later", email=None, title="Later", currency="JPY", landing_page=""
    )
    member = later.take_in(shop.mina.affiliate, approved=None)
    account.coupons.filter(enrolment=member.enrolment).delete()
    later.program.change(archived_at=NOW)

    response = api.get(f"{PATH}programs/")

    assert response.status_code == 200
    assert response.json() == [
        {
            "id": "later",
            "title": "Later",
            "currency": "JPY",
            "currency_symbol": "¥",
            "cookie_time": 45,
            "default_landing_page_url": None,
            "recurring": True,
            "recurring_cap": None,
            "recurring_period_days": None,
            "program_category": None,
            "program": {"id": "later", "title": "Later", "currency": "JPY"},
            "approved": None,
            "coupon": None,
            "applied_at": "2026-03-02T08:00:00+00:00",
            "referral_link": {
                "link": f"{settings.PUBLIC_URL}/?ref={member.code}",
                "asset_id": member.asset_id,
                "source_id": shop.mina.source_id,
            },
        },
        {
            "id": "harbor-lamp-partners",
            "title": "Harbor Lamp Partners",
            "currency": "EUR",
            "currency_symbol": "€",
            "cookie_time": 45,
            "default_landing_page_url": "https://shop.example.net/",
            "recurring": True,
            "recurring_cap": None,
            "recurring_period_days": None,
            "program_category": None,
            "program": shop.ref,
            "approved": True,
            "coupon": shop.mina.coupon,
            "applied_at": "2026-03-02T08:00:00+00:00",
            "referral_link": {
                "link": f"https://shop.example.net/?ref={shop.mina.code}",
                "asset_id": shop.mina.asset_id,
                "source_id": shop.mina.source_id,
            },
        },
    ]
    assert 'page=1>; rel="last"' in response["Link"]


def test_lists_no_programs_of_somebody_else(api, other_account, shop):
    other = Shop(other_account, mark="zz-marker-")

    assert not_found(api.get(f"/affiliates/{other.mina.slug}/programs/"))


# GET /affiliates/custom-fields/


def test_lists_the_custom_fields_as_they_were_defined(api, account, fields):
    account.field_definitions.create(
        slug="size", title="Size", type="select", required=True, options=["S", "L"]
    )

    response = api.get("/affiliates/custom-fields/")

    assert response.status_code == 200
    assert response.json()[1:] == [
        {
            "id": "shoes",
            "key": "shoes",
            "title": "Sizes",
            "name": "Sizes",
            "type": "multiselect",
            "required": False,
            "options": None,
        },
        {
            "id": "size",
            "key": "size",
            "title": "Size",
            "name": "Size",
            "type": "select",
            "required": True,
            "options": ["S", "L"],
        },
    ]
    assert response.json()[0]["id"] == "website"


# Meta data of affiliates and conversions


@pytest.fixture(params=["Affiliate", "Conversion"])
def owner(request, account, shop):
    """What carries the meta data: its path, its row, its name."""
    sale = shop.sell("200", meta_data={"plan": "basic"})
    shop.mina.affiliate.change(meta_data={"plan": "basic"})
    row = {"Affiliate": shop.mina.affiliate, "Conversion": sale}[request.param]
    plural = f"{request.param.lower()}s"
    return f"/{plural}/{getattr(row, 'slug', row.pk)}/meta-data/", row, request.param


def test_reads_and_replaces_meta_data(api, owner):
    path, row, _ = owner

    shown = api.get(path)
    replaced = api.put(path, '{"a": 1.50, "b": true}')
    by_alias = api.post(path, {"c": ""})

    assert shown.json() == {"plan": "basic"}
    assert (replaced.status_code, replaced.json()) == (200, {"a": "1.50", "b": "true"})
    assert (by_alias.status_code, by_alias.json()) == (200, {"c": ""})
    assert row.again().meta_data == {"c": ""}
    assert by_alias["X-RateLimit-Limit"] == "300"
    assert by_alias["X-RateLimit-Remaining"] == "298"


def test_keeps_single_keys(api, owner):
    path, row, _ = owner

    made = api.put(f"{path}%C5%BE%20x/", {"value": ""})
    over = api.put(f"{path}plan/", {"value": "pro"})
    shown = api.get(f"{path}%C5%BE%20x/")
    gone = api.delete(f"{path}plan/", "{{")

    assert (made.status_code, made.json()) == (200, {"value": ""})
    assert (over.status_code, over.json()) == (200, {"value": "pro"})
    assert shown.json() == {"value": ""}
    assert (gone.status_code, gone.content) == (204, b"")
    assert row.again().meta_data == {"ž x": ""}
    assert not_found(api.get(f"{path}plan/"), "Meta data key")
    assert not_found(api.delete(f"{path}plan/"), "Meta data key")


def test_refuses_odd_meta_data(api, owner):
    path, row, _ = owner
    ten = {f"key-{n}": "x" for n in range(10)}
    crowded = flaw("meta_data", "Meta data holds {{ limit }} keys at most.", limit=10)

    assert refused(api.put(path, ten | {"eleventh": "x"}), crowded)
    assert refused(
        api.put(path, {"a": None, "b": []}),
        flaw("meta_data[a]", TYPE, type="string"),
        flaw("meta_data[b]", TYPE, type="string"),
    )
    assert api.put(path, ten).status_code == 200
    assert refused(
        api.put(f"{path}eleventh/", {"value": "x"}),
        crowded | {"property_path": "value"},
    )
    assert refused(api.put(f"{path}key-1/", {}), flaw("value", MISSING))
    assert row.again().meta_data == ten


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("PUT", "", {"a": None}),
        ("GET", "plan/", None),
        ("PUT", "plan/", {}),
        ("DELETE", "plan/", None),
    ],
    ids=["get", "put", "get-key", "put-key", "delete-key"],
)
@pytest.mark.parametrize("which", ["removed", "foreign", "unknown"])
def test_knows_no_meta_data_of_others(
    api, other_account, owner, which, method, tail, body
):
    path, _, name = owner
    other = Shop(other_account, mark="zz-marker-")
    foreign = {"Affiliate": other.mina.slug, "Conversion": other.sell("1").pk}[name]
    if which == "removed":
        assert api.delete(path.replace("meta-data/", "")).status_code == 204
    else:
        number = foreign if which == "foreign" else "9999999999999999999999"
        path = f"/{name.lower()}s/{number}/meta-data/"

    response = api.ask(method, path + tail, body)

    assert not_found(response, name)


def test_tells_the_diary_that_meta_data_changed_but_not_what(api, account, owner):
    path, _, name = owner

    api.put(f"{path}plan/", {"value": "basic"})
    api.put(f"{path}plan/", {"value": "secret"})

    lines = account.events.filter(kind=f"{name.lower()}.updated")
    assert [it.facts for it in lines] == [{"fields": ["meta_data"]}]
