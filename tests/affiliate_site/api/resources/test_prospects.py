"""Contract 2.6 and 7.8: prospects, and how they become affiliates."""

import re
from datetime import timedelta

import pytest
from django.conf import settings

from tests.conftest import NOW
from tests.proof import everything, money_agrees
from tests.shop import Shop
from tracking.services.programs import archive

pytestmark = pytest.mark.usefixtures("now")

PATH = "/affiliate-prospects/"
NAME = {"firstname": "Pia", "lastname": "Lang"}
NOT_FOUND = {"errors": [{"message": "Affiliate prospect not found"}]}
ARCHIVED = {
    "errors": [{"message": "This program is archived.", "code": "program_archived"}]
}
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
AT = "2026-03-04T09:15:27+00:00"
HOME = {
    "address": "Pristaniška 4",
    "address_two": None,
    "postal_code": "6000",
    "city": "Koper",
    "state": None,
    "country": {"code": "SI", "name": "Slovenia"},
}
PIA = NAME | {
    "email": "pia@notes.example.org",
    "company": {"name": "Lang", "description": None},
    "address": HOME,
}
MORE = {"custom_fields": {"Your site": "p.example"}, "meta_data": {"tier": "gold"}}


@pytest.fixture
def shop(account):
    """Ten per cent, a quarter for the group Gold; a custom field."""
    shop = Shop(account)
    account.field_definitions.create(slug="site", title="Your site", type="url")
    group = account.affiliate_groups.create(public_id="ag_gold", title="Gold")
    shop.group_rate(group, "25")
    yield shop
    money_agrees(account)


@pytest.fixture
def other(other_account):
    """A shop of somebody else, with a group and a prospect."""
    other = Shop(other_account, mark="zz-marker-")
    other_account.affiliate_groups.create(public_id="ag_zz", title="zz-marker")
    return other


@pytest.fixture
def pia(api, shop):
    """Invited into the group, with all that can be said."""
    said = PIA | MORE | {"affiliate_group_id": "ag_gold"}
    return api.post(PATH, said).json()


def flaw(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def refused(response, *entries):
    assert response.status_code == 400
    assert response.json() == {"errors": list(entries)}
    return True


def code_of(prospect):
    return prospect["referral_link"]["link"].partition("ref=")[2]


def clues_of(api, prospect, by):
    """The clue of this name that points at a prospect."""
    if by == "referral_code":
        return {"referral_code": code_of(prospect)}
    if by == "pair":
        link = prospect["referral_link"]
        return {name: link[name] for name in ("asset_id", "source_id")}
    click = api.post("/clicks/", {"referral_code": code_of(prospect)})
    return {"click_id": click.json()["id"]}


def affiliates(api):
    return [row["id"] for row in api.get("/affiliates/").json()]


# POST /affiliate-prospects/


@pytest.mark.parametrize("group", ["affiliate_group_id", "group_id"])
def test_invites_somebody_with_a_link_that_is_ready(api, shop, group):
    said = PIA | MORE | {group: "ag_gold", "signup_source": "form", "promoted_at": AT}

    response = api.post(PATH, said)

    prospect = response.json()
    assert response.status_code == 200
    assert re.fullmatch("ap_[A-Za-z0-9]{16}", prospect["id"])
    assert re.fullmatch("[a-z0-9]{7}", code_of(prospect))
    assert prospect == {
        "id": prospect["id"],
        "firstname": "Pia",
        "lastname": "Lang",
        "email": "pia@notes.example.org",
        "company": {"name": "Lang", "description": None},
        "address": HOME,
        "signup_source": "api",
        "referral_link": {
            "link": f"https://shop.example.net/?ref={code_of(prospect)}",
            "asset_id": shop.mina.asset_id,
            "source_id": prospect["referral_link"]["source_id"],
        },
        "created_at": AT,
        "promoted_at": None,
        "promotion_method": None,
    }
    assert re.fullmatch(
        "[1-9][0-9]*-[0-9a-f]{6}", prospect["referral_link"]["source_id"]
    )
    assert api.get(f"{PATH}{prospect['id']}/").json() == prospect
    assert affiliates(api) == ["minakessler"]
    assert response["X-RateLimit-Limit"] == "1500"


@pytest.mark.parametrize(
    "said",
    [
        {},
        dict.fromkeys(["email", "company", "address", "custom_fields", "meta_data"]),
        {"program_id": None, "affiliate_group_id": None, "group_id": None},
        {"company": {}, "address": {}, "meta_data": {}, "custom_fields": {"x": "y"}},
    ],
    ids=["names alone", "nulls", "null references", "empty objects"],
)
def test_wants_no_more_than_a_name(api, shop, said):
    prospect = api.post(PATH, NAME | said).json()

    assert prospect["email"] is prospect["company"] is prospect["address"] is None
    assert prospect["referral_link"]["asset_id"] == shop.mina.asset_id


def test_takes_the_oldest_program_that_is_not_archived(api, account, shop):
    middle = Shop(account, "middle", email=None, landing_page="")
    Shop(account, "youngest", email=None)
    archive(account, slug="harbor-lamp-partners", at=NOW)

    prospect = api.post(PATH, NAME).json()

    assert prospect["referral_link"]["asset_id"] == middle.mina.asset_id
    link = prospect["referral_link"]["link"]
    assert link == f"{settings.PUBLIC_URL}/?ref={code_of(prospect)}"


def test_invites_for_no_archived_program(api, account, shop):
    archive(account, slug="harbor-lamp-partners", at=NOW)
    named = {"program_id": " harbor-lamp-partners "}
    ungrouped = named | {"group_id": "ag_unknown"}

    conflict = api.post(PATH, NAME | named)
    field_first = api.post(PATH, NAME | ungrouped)
    none_open = api.post(PATH, NAME)

    assert (conflict.status_code, conflict.json()) == (409, ARCHIVED)
    assert refused(field_first, flaw("affiliate_group_id", "Unknown affiliate group"))
    assert refused(none_open, flaw("program_id", "Unknown program"))
    assert account.prospects.count() == account.referral_codes.count() - 1 == 0


@pytest.mark.parametrize(
    ("said", "entries"),
    [
        ({"firstname": " ", "lastname": None}, ["firstname", "lastname"]),
        ({"email": "pia"}, [("email", "This is not a valid email address.")]),
        (
            {"address": {"city": "Koper", "country": "si"}},
            ["address.address", "address.postal_code"],
        ),
        (
            {"meta_data": {"a": None}},
            [("meta_data[a]", TYPE.replace("{{ type }}", "string"), TYPE)],
        ),
        (
            {"custom_fields": {"site": ["a", "b"]}},
            [("custom_fields[site]", TYPE.replace("{{ type }}", "string"), TYPE)],
        ),
        ({"program_id": "unknown"}, [("program_id", "Unknown program")]),
        (
            {"program_id": "zz-marker-harbor-lamp-partners"},
            [("program_id", "Unknown program")],
        ),
        ({"program_id": " "}, [("program_id", "Unknown program")]),
        (
            {"affiliate_group_id": "ag_unknown"},
            [("affiliate_group_id", "Unknown affiliate group")],
        ),
        ({"group_id": "ag_zz"}, [("affiliate_group_id", "Unknown affiliate group")]),
        ({"group_id": " "}, [("affiliate_group_id", "Unknown affiliate group")]),
        (
            {"program_id": "unknown", "affiliate_group_id": "ag_unknown"},
            [
                ("program_id", "Unknown program"),
                ("affiliate_group_id", "Unknown affiliate group"),
            ],
        ),
    ],
    ids=[
        "no name",
        "no address",
        "half an address",
        "meta data",
        "custom fields",
        "unknown program",
        "foreign program",
        "blank program",
        "unknown group",
        "foreign group",
        "blank group",
        "unknown program and group",
    ],
)
def test_refuses_odd_fields(api, account, shop, other, said, entries):
    told = [flaw(it, MISSING) if isinstance(it, str) else flaw(*it) for it in entries]

    response = api.post(PATH, NAME | said)

    assert refused(response, *told)
    assert account.prospects.count() == 0
    assert account.sources.filter(affiliate=None).count() == 0


# GET and DELETE


def test_lists_prospects_newest_first_promoted_ones_too(now, api, shop, pia, other):
    now.move_to(NOW + timedelta(hours=1), tick=False)
    later = api.post(PATH, NAME).json()
    api.post("/conversions/", {"referral_code": code_of(pia), "amount": 1})

    response = api.get(PATH)

    assert [it["id"] for it in response.json()] == [later["id"], pia["id"]]
    assert response.json()[1]["promotion_method"] == "conversion"
    assert 'page=1>; rel="last"' in response["Link"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("email=%20PIA@Notes.example.org", ["pia"]),
        ("email=pia", []),
        ("email=mina@notes.example.org", []),
        ("email=zz@x.example", []),
        ("referral_code={code}", ["pia"]),
        ("referral_code={mina}", []),
        ("referral_code={foreign}", []),
        ("program_id=harbor-lamp-partners", ["pia"]),
        ("program_id=later", ["inga"]),
        ("program_id=zz-marker-harbor-lamp-partners", []),
        ("group_id=ag_gold", ["pia"]),
        ("affiliate_group_id=ag_gold", ["pia"]),
        ("group_id=ag_zz", []),
        ("group_id=ag_gold&affiliate_group_id=ag_unknown", ["pia"]),
        ("group_id=ag_gold&program_id=later", []),
        ("email=&referral_code=&program_id=&group_id=", ["inga", "pia"]),
    ],
)
@pytest.mark.parametrize("promoted", [False, True], ids=["before", "promoted"])
def test_narrows_the_list(
    api, other_api, account, shop, pia, other, query, found, promoted
):
    Shop(account, "later", email=None)
    inga = api.post(PATH, NAME | {"program_id": "later"}).json()
    theirs = other_api.post(PATH, NAME | {"email": "zz@x.example"}).json()
    if promoted:
        api.post("/conversions/", {"referral_code": code_of(pia), "amount": 1})
    names = {pia["id"]: "pia", inga["id"]: "inga"}
    codes = {"code": code_of(pia), "mina": shop.mina.code, "foreign": code_of(theirs)}

    response = api.get(f"{PATH}?{query.format_map(codes)}")

    assert response.status_code == 200
    assert [names[it["id"]] for it in response.json()] == found


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_forgets_the_code_of_a_removed_prospect(api, account, shop, pia, by):
    clues, one = clues_of(api, pia, by), f"{PATH}{pia['id']}/"

    gone = api.delete(one, "[]")
    again = [api.ask(method, one) for method in ("GET", "DELETE")]
    sale = api.post("/conversions/", clues | {"amount": 1})

    assert (gone.status_code, gone.content) == (204, b"")
    assert [(it.status_code, it.json()) for it in again] == [(404, NOT_FOUND)] * 2
    assert api.get(PATH).json() == []
    assert sale.status_code == 400
    if by == "referral_code":
        assert sale.json() == {"errors": [{"message": "Unknown referral code"}]}
    assert affiliates(api) == ["minakessler"]
    line = account.events.get(kind="affiliate_prospect.deleted")
    assert line.subject == f"prospect:{pia['id']}"


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_keeps_the_affiliate_of_a_removed_prospect(api, shop, pia, by):
    clues = clues_of(api, pia, by)
    api.post("/conversions/", clues | {"amount": 1})

    gone = api.delete(f"{PATH}{pia['id']}/")
    sale = api.post("/conversions/", clues | {"amount": 1})

    assert gone.status_code == 204
    assert sale.json()["affiliate"]["id"] == "pialang"
    assert api.get("/affiliates/pialang/").json()["promotion_method"] == "conversion"


@pytest.mark.parametrize("whose", ["foreign", "unknown"])
def test_knows_the_prospects_of_its_account_alone(
    api, other_api, other_account, shop, other, whose
):
    theirs = other_api.post(PATH, NAME).json()["id"]
    path = f"{PATH}{theirs if whose == 'foreign' else 'ap_0000000000000000'}/"
    before = everything(other_account)

    answers = [api.get(path), api.delete(path)]

    assert [(it.status_code, it.json()) for it in answers] == [(404, NOT_FOUND)] * 2
    assert everything(other_account) == before


def test_gives_no_affiliate_the_code_of_a_prospect(api, shop, pia):
    mina = "/programs/harbor-lamp-partners/affiliates/minakessler/"

    response = api.patch(mina, {"referral_code": code_of(pia)})

    assert refused(response, flaw("referral_code", "Referral code is already in use"))


# Promotion


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
@pytest.mark.parametrize("method", ["customer", "conversion"])
def test_makes_an_affiliate_by_the_first_customer_or_sale(
    now, api, shop, pia, method, by
):
    clues = clues_of(api, pia, by)
    now.move_to(NOW + timedelta(hours=1), tick=False)
    later = "2026-03-04T10:15:27+00:00"
    promoted = {"promoted_at": later, "promotion_method": method}

    response = api.post(f"/{method}s/", clues | {"customer_id": "acct-1"})

    assert response.status_code == 200
    assert response.json()["affiliate"] == {"id": "pialang"} | NAME
    assert api.get(f"{PATH}{pia['id']}/").json() == pia | promoted
    affiliate = api.get("/affiliates/pialang/").json()
    assert affiliate == PIA | promoted | {
        "id": "pialang",
        "meta_data": {"tier": "gold"},
        "parent_id": None,
        "created_at": later,
        "affiliate_group_id": "ag_gold",
        "custom_fields": {"site": "p.example"},
    }
    enrolment = api.get("/programs/harbor-lamp-partners/affiliates/pialang/")
    assert enrolment.json() == affiliate | {
        "referral_link": pia["referral_link"],
        "coupon": None,
        "approved": True,
        "applied_at": later,
    }


def test_finds_the_new_affiliate_by_all_that_was_the_prospects(api, shop, pia):
    click_id = clues_of(api, pia, "click_id")["click_id"]
    before = [
        api.get(f"/affiliates/?{name}={value}").json()
        for name, value in (
            ("click_id", click_id),
            ("referral_code", code_of(pia)),
            ("source_id", pia["referral_link"]["source_id"]),
            ("email", "pia@notes.example.org"),
            ("affiliate_group_id", "ag_gold"),
        )
    ]

    api.post("/conversions/", {"referral_code": code_of(pia), "amount": 1})

    assert before == [[]] * 5
    for query in (
        f"click_id={click_id}",
        f"referral_code={code_of(pia)}",
        f"source_id={pia['referral_link']['source_id']}",
        "email=pia@notes.example.org",
        "affiliate_group_id=ag_gold",
    ):
        (row,) = api.get(f"/affiliates/?{query}").json()
        assert row["id"] == "pialang"


def test_shows_a_click_without_an_affiliate_until_there_is_one(api, shop, pia):
    click_id = clues_of(api, pia, "click_id")["click_id"]
    one = f"/clicks/{click_id}/"

    before = api.get(one).json()
    listed = api.get("/clicks/?affiliate_id=pialang").json()
    unpromoted = affiliates(api)
    api.post("/customers/", {"referral_code": code_of(pia), "customer_id": "acct-1"})

    assert before["affiliate"] is None
    assert before["program"] == shop.ref
    assert api.get("/clicks/").json()[0]["id"] == click_id
    assert (listed, unpromoted) == ([], ["minakessler"])
    after = before | {"affiliate": {"id": "pialang"} | NAME}
    assert api.get(one).json() == after
    assert api.get("/clicks/?affiliate_id=pialang").json() == [after]


def test_pays_the_first_sale_by_the_groups_rate(api, shop, pia):
    sale = api.post("/conversions/", {"referral_code": code_of(pia), "amount": 200})

    (commission,) = sale.json()["commissions"]
    assert commission["amount"] == 50
    assert commission["affiliate"]["id"] == "pialang"


def test_promotes_once(api, account, shop, pia):
    said = {"referral_code": code_of(pia), "amount": 200}
    shown = [api.post("/conversions/", said).json() for _ in range(2)]
    api.post("/customers/", {"referral_code": code_of(pia), "customer_id": "acct-1"})

    assert [it["affiliate"]["id"] for it in shown] == ["pialang"] * 2
    assert affiliates(api) == ["pialang", "minakessler"]
    kinds = account.events.filter(kind__contains="affiliate").order_by("id")
    assert [it.kind for it in kinds][-4:] == [
        "affiliate_prospect.created",
        "affiliate.created",
        "affiliate.added_to_program",
        "affiliate_prospect.promoted",
    ]


@pytest.mark.parametrize("email", ["MINA@notes.example.org", None])
def test_has_no_address_that_is_taken_or_was_not_given(api, shop, email):
    prospect = api.post(PATH, NAME | {"email": email}).json()

    sale = api.post("/conversions/", {"referral_code": code_of(prospect)})

    assert sale.status_code == 200
    assert api.get("/affiliates/pialang/").json()["email"] is None
    assert api.get(f"{PATH}{prospect['id']}/").json()["email"] == email
    assert api.get("/affiliates/minakessler/").json()["email"]


def test_takes_the_address_of_a_removed_affiliate(api, shop):
    prospect = api.post(PATH, NAME | {"email": "mina@notes.example.org"}).json()
    api.delete("/affiliates/minakessler/")

    api.post("/conversions/", {"referral_code": code_of(prospect)})

    shown = api.get("/affiliates/pialang/").json()
    assert shown["email"] == "mina@notes.example.org"


def test_holds_the_first_sale_of_a_prospect_to_itself(api, shop, pia):
    said = {"referral_code": code_of(pia), "customer_id": "PIA@notes.example.org"}

    sale = api.post("/conversions/", said).json()

    assert sale["warnings"] == ["customer_is_affiliate"]
    assert sale["customer"]["customer_id"] == "PIA@notes.example.org"


NOT_ITS_OWN = [
    pytest.param({"coupon": "{coupon}"}, 200, id="a coupon comes first"),
    pytest.param({"customer_id": "acct-0"}, 200, id="a known customer comes first"),
    pytest.param({"external_id": "order-0"}, 400, id="a duplicate"),
    pytest.param({"commission_type": "unknown"}, 400, id="an unknown type"),
    pytest.param({"amount": -1}, 400, id="an odd amount"),
    pytest.param({"program_group": "another"}, 400, id="another group of programs"),
]


@pytest.mark.parametrize(("said", "status"), NOT_ITS_OWN)
def test_stays_a_prospect_by_a_sale_that_is_not_its_own(
    api, account, shop, pia, said, status
):
    shop.sell("1", customer_id="acct-0", external_id="order-0")
    said = {
        name: it.format(coupon=shop.mina.coupon) if isinstance(it, str) else it
        for name, it in said.items()
    }

    response = api.post("/conversions/", {"referral_code": code_of(pia)} | said)

    assert response.status_code == status
    assert api.get(f"{PATH}{pia['id']}/").json() == pia
    assert affiliates(api) == ["minakessler"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"customer_id": "acct-0"},
            "Duplicate customer. There is already a customer for Customer id 'acct-0'",
        ),
        (
            {"customer_id": "a", "status": "paying"},
            "Invalid status 'paying'. Valid are 'new', 'trial', 'lead'",
        ),
    ],
    ids=["duplicate", "status"],
)
def test_stays_a_prospect_by_a_customer_that_is_refused(api, shop, pia, said, message):
    shop.customer("acct-0")

    response = api.post("/customers/", {"referral_code": code_of(pia)} | said)

    assert response.status_code == 400
    assert response.json() == {"errors": [{"message": message}]}
    assert api.get(f"{PATH}{pia['id']}/").json() == pia
    assert affiliates(api) == ["minakessler"]


def test_stays_a_prospect_when_the_cookie_expired(now, api, shop, pia):
    clues = clues_of(api, pia, "click_id")
    now.move_to(NOW + timedelta(days=45, seconds=1), tick=False)

    late = api.post("/conversions/", clues)
    stays = api.get(f"{PATH}{pia['id']}/").json()["promoted_at"]
    forced = api.post("/conversions/?override_max_cookie_time=true", clues)

    assert late.json() == {"errors": [{"message": "Cookie expired"}]}
    assert stays is None
    assert forced.json()["affiliate"]["id"] == "pialang"


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_stays_a_prospect_in_an_archived_program(api, account, shop, pia, by):
    clues = clues_of(api, pia, by)
    archive(account, slug="harbor-lamp-partners", at=NOW)

    answers = [
        api.post("/conversions/", clues),
        api.post("/customers/", clues | {"customer_id": "acct-1"}),
    ]

    archived = {"errors": [{"message": "Program is archived"}]}
    assert [(it.status_code, it.json()) for it in answers] == [(400, archived)] * 2
    assert affiliates(api) == ["minakessler"]


def test_says_that_its_affiliate_is_deleted(api, shop, pia):
    said = {"referral_code": code_of(pia), "amount": 1}
    api.post("/conversions/", said)
    api.delete("/affiliates/pialang/")

    response = api.post("/conversions/", said)

    assert response.json() == {"errors": [{"message": "Affiliate is deleted"}]}
    assert api.get(f"{PATH}{pia['id']}/").json()["promotion_method"] == "conversion"


def test_knows_no_prospect_of_another_account(api, other_api, shop, other):
    theirs = other_api.post(PATH, NAME).json()

    by_code = api.post("/conversions/", {"referral_code": code_of(theirs)})
    by_pair = api.post("/conversions/", clues_of(api, theirs, "pair"))

    assert by_code.json() == {"errors": [{"message": "Unknown referral code"}]}
    assert by_pair.json() == {"errors": [{"message": "Invalid asset id or source id"}]}
    assert other_api.get(f"{PATH}{theirs['id']}/").json() == theirs


def test_pairs_no_prospect_with_the_asset_of_another_program(api, account, shop, pia):
    later = Shop(account, "later", email=None)
    source = pia["referral_link"]["source_id"]
    clues = {"asset_id": later.mina.asset_id, "source_id": source}

    before = api.post("/conversions/", clues)
    api.post("/conversions/", {"referral_code": code_of(pia)})
    after = api.post("/conversions/", clues)

    assert before.status_code == 400
    assert after.json() == {
        "errors": [{"message": "Affiliate is not approved for this program"}]
    }


def test_names_all_that_is_wrong(api, program):
    answer = api.post(
        "/affiliate-prospects/",
        {"firstname": "Pia", "program_id": "zz", "affiliate_group_id": "gr_zz"},
    )

    assert answer.status_code == 400
    told = [(it["property_path"], it["message"]) for it in answer.json()["errors"]]
    assert sorted(told) == [
        ("affiliate_group_id", "Unknown affiliate group"),
        ("lastname", "Missing mandatory parameter(s)"),
        ("program_id", "Unknown program"),
    ]
