"""Prospects and their promotion to affiliates: docs/api-contract.md, 2.6 and 7.8."""

import re
from datetime import timedelta

import pytest
from django.conf import settings

from tests.affiliate_site.api.resources.expected import HOME, expected_affiliate
from tests.affiliate_site.responses import build_field_error, has_only_errors
from tests.conftest import NOW
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario", "frozen_time")

PATH = "/affiliate-prospects/"
NAME = {"firstname": "Pia", "lastname": "Lang"}
NOT_FOUND = {"errors": [{"message": "Affiliate prospect not found"}]}
ARCHIVED = {"errors": [{"message": "This program is archived.", "code": "program_archived"}]}
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
AT = "2026-03-04T09:15:27+00:00"
PIA = NAME | {
    "email": "pia@notes.example.org",
    "company": {"name": "Lang", "description": None},
    "address": HOME,
}
MORE = {"custom_fields": {"Your site": "p.example"}, "meta_data": {"tier": "gold"}}


@pytest.fixture
def scenario(scenario, account):
    """A program with a rate of 10 %, 25 % for the group Gold, and a custom field."""
    account.field_definitions.create(slug="site", title="Your site", type="url")
    group = account.affiliate_groups.create(public_id="ag_gold", title="Gold")
    scenario.create_group_rate(group, "25")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def other(other_account):
    """A program of another account, with a group and a prospect."""
    other = ProgramScenario(other_account, prefix="zz-marker-")
    other_account.affiliate_groups.create(public_id="ag_zz", title="zz-marker")
    return other


@pytest.fixture
def pia(api, scenario):
    """A prospect in the group, with all fields."""
    body = PIA | MORE | {"affiliate_group_id": "ag_gold"}
    return api.post(PATH, body).json()


def get_referral_code(prospect):
    return prospect["referral_link"]["link"].partition("ref=")[2]


def get_tracking_parameter(api, prospect, by):
    """Return the tracking parameter of this name for a prospect."""
    if by == "referral_code":
        return {"referral_code": get_referral_code(prospect)}
    if by == "pair":
        link = prospect["referral_link"]
        return {name: link[name] for name in ("asset_id", "source_id")}
    click = api.post("/clicks/", {"referral_code": get_referral_code(prospect)})
    return {"click_id": click.json()["id"]}


def promote(api, prospect, fields=None):
    """Post a conversion by the code of a prospect."""
    code = {"referral_code": get_referral_code(prospect), "amount": 1}
    return api.post("/conversions/", code | (fields or {}))


def affiliates(api):
    return [row["id"] for row in api.get("/affiliates/").json()]


# POST /affiliate-prospects/


@pytest.mark.parametrize("group", ["affiliate_group_id", "group_id"])
def test_creates_a_prospect_with_a_referral_link(api, scenario, group):
    body = PIA | MORE | {group: "ag_gold", "signup_source": "form", "promoted_at": AT}

    response = api.post(PATH, body)

    prospect = response.json()
    assert response.status_code == 200
    assert re.fullmatch("ap_[A-Za-z0-9]{16}", prospect["id"])
    assert re.fullmatch("[a-z0-9]{7}", get_referral_code(prospect))
    assert prospect == {
        "id": prospect["id"],
        "firstname": "Pia",
        "lastname": "Lang",
        "email": "pia@notes.example.org",
        "company": {"name": "Lang", "description": None},
        "address": HOME,
        "signup_source": "api",
        "referral_link": {
            "link": f"https://shop.example.net/?ref={get_referral_code(prospect)}",
            "asset_id": scenario.mina.asset_id,
            "source_id": prospect["referral_link"]["source_id"],
        },
        "created_at": AT,
        "promoted_at": None,
        "promotion_method": None,
    }
    assert re.fullmatch("[1-9][0-9]*-[0-9a-f]{6}", prospect["referral_link"]["source_id"])
    assert api.get(f"{PATH}{prospect['id']}/").json() == prospect
    assert affiliates(api) == ["minakessler"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        dict.fromkeys(["email", "company", "address", "custom_fields", "meta_data"]),
        {"program_id": None, "affiliate_group_id": None, "group_id": None},
        {"company": {}, "address": {}, "meta_data": {}, "custom_fields": {"x": "y"}},
    ],
    ids=["names alone", "nulls", "null references", "empty objects"],
)
def test_requires_only_a_name(api, scenario, body):
    prospect = api.post(PATH, NAME | body).json()

    assert prospect["email"] is prospect["company"] is prospect["address"] is None
    assert prospect["referral_link"]["asset_id"] == scenario.mina.asset_id


def test_defaults_to_the_oldest_active_program(api, account, scenario):
    middle = ProgramScenario(account, "middle", email=None, landing_page="")
    ProgramScenario(account, "youngest", email=None)
    archive_program(account, slug="harbor-lamp-partners", at=NOW)

    prospect = api.post(PATH, NAME).json()

    assert prospect["referral_link"]["asset_id"] == middle.mina.asset_id
    link = prospect["referral_link"]["link"]
    assert link == f"{settings.PUBLIC_URL}/?ref={get_referral_code(prospect)}"


def test_rejects_an_archived_program(api, account, scenario):
    archive_program(account, slug="harbor-lamp-partners", at=NOW)
    named = {"program_id": " harbor-lamp-partners "}
    ungrouped = named | {"group_id": "ag_unknown"}

    conflict = api.post(PATH, NAME | named)
    field_first = api.post(PATH, NAME | ungrouped)
    custom_first = api.post(PATH, NAME | named | {"custom_fields": {"site": ["a"] * 2}})
    none_open = api.post(PATH, NAME)

    assert (conflict.status_code, conflict.json()) == (409, ARCHIVED)
    assert has_only_errors(
        field_first, build_field_error("affiliate_group_id", "Unknown affiliate group")
    )
    assert has_only_errors(custom_first, build_field_error("custom_fields[site]", TYPE, "string"))
    assert has_only_errors(none_open, build_field_error("program_id", "Unknown program"))
    assert account.prospects.count() == account.referral_codes.count() - 1 == 0


NO_PROGRAM = ("program_id", "Unknown program")
NO_GROUP = ("affiliate_group_id", "Unknown affiliate group")
INVALID = [
    (
        {"firstname": " ", "lastname": None},
        [("firstname", MISSING), ("lastname", MISSING)],
    ),
    ({"email": "pia"}, [("email", "This is not a valid email address.")]),
    (
        {"address": {"city": "Koper", "country": "si"}},
        [("address.address", MISSING), ("address.postal_code", MISSING)],
    ),
    ({"meta_data": {"a": None}}, [("meta_data[a]", TYPE, "string")]),
    (
        {"custom_fields": {"site": ["a", "b"]}},
        [("custom_fields[site]", TYPE, "string")],
    ),
    ({"program_id": "zz-marker-harbor-lamp-partners"}, [NO_PROGRAM]),
    ({"program_id": " "}, [NO_PROGRAM]),
    ({"group_id": "ag_zz"}, [NO_GROUP]),
    ({"group_id": " "}, [NO_GROUP]),
    (
        {"lastname": "", "program_id": "unknown", "affiliate_group_id": "ag_unknown"},
        [("lastname", MISSING), NO_PROGRAM, NO_GROUP],
    ),
]


@pytest.mark.parametrize(("body", "errors"), INVALID, ids=range(len(INVALID)))
def test_rejects_invalid_fields(api, account, scenario, other, body, errors):
    response = api.post(PATH, NAME | body)

    assert has_only_errors(response, *(build_field_error(*error) for error in errors))
    assert account.prospects.count() == 0
    assert account.sources.filter(affiliate=None).count() == 0


# GET and DELETE


def test_lists_prospects_newest_first_including_promoted(frozen_time, api, scenario, pia, other):
    frozen_time.move_to(NOW + timedelta(hours=1), tick=False)
    later = api.post(PATH, NAME).json()
    promote(api, pia)

    response = api.get(PATH)

    assert [row["id"] for row in response.json()] == [later["id"], pia["id"]]
    assert response.json()[1]["promotion_method"] == "conversion"
    assert 'page=1>; rel="last"' in response["Link"]


FILTERS = [
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
]


@pytest.mark.parametrize("promoted", [False, True], ids=["before", "promoted"])
def test_filters_the_list(api, other_api, account, scenario, pia, other, promoted, subtests):
    ProgramScenario(account, "later", email=None)
    inga = api.post(PATH, NAME | {"program_id": "later"}).json()
    foreign = other_api.post(PATH, NAME | {"email": "zz@x.example"}).json()
    if promoted:
        promote(api, pia)
    names = {pia["id"]: "pia", inga["id"]: "inga"}
    codes = {
        "code": get_referral_code(pia),
        "mina": scenario.mina.code,
        "foreign": get_referral_code(foreign),
    }

    for query, found in FILTERS:
        with subtests.test(query=query):
            response = api.get(f"{PATH}?{query.format_map(codes)}")

            assert response.status_code == 200
            assert [names[row["id"]] for row in response.json()] == found


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_deletes_a_prospect_with_its_code(api, account, scenario, pia, by):
    parameters, one = get_tracking_parameter(api, pia, by), f"{PATH}{pia['id']}/"

    deleted = api.delete(one, "[]")
    again = [api.request(method, one) for method in ("GET", "DELETE")]
    sale = api.post("/conversions/", parameters | {"amount": 1})

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert [(response.status_code, response.json()) for response in again] == [(404, NOT_FOUND)] * 2
    assert api.get(PATH).json() == []
    assert sale.status_code == 400
    if by == "referral_code":
        assert sale.json() == {"errors": [{"message": "Unknown referral code"}]}
    assert affiliates(api) == ["minakessler"]
    line = account.audit_log.get(kind="affiliate_prospect.deleted")
    assert line.subject == f"prospect:{pia['id']}"
    assert account.referral_codes.filter(prospect__public_id=pia["id"]).count() == 1


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_deleting_a_promoted_prospect_keeps_its_affiliate(api, scenario, pia, by):
    parameters = get_tracking_parameter(api, pia, by)
    api.post("/conversions/", parameters | {"amount": 1})

    deleted = api.delete(f"{PATH}{pia['id']}/")
    sale = api.post("/conversions/", parameters | {"amount": 1})

    assert deleted.status_code == 204
    assert sale.json()["affiliate"]["id"] == "pialang"
    assert api.get("/affiliates/pialang/").json()["promotion_method"] == "conversion"


def test_does_not_reuse_the_code_of_a_prospect(api, scenario, pia):
    mina = "/programs/harbor-lamp-partners/affiliates/minakessler/"

    response = api.patch(mina, {"referral_code": get_referral_code(pia)})

    assert has_only_errors(
        response, build_field_error("referral_code", "Referral code is already in use")
    )


# Promotion


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
@pytest.mark.parametrize("method", ["customer", "conversion"])
def test_promotes_on_the_first_customer_or_conversion(frozen_time, api, scenario, pia, method, by):
    parameters = get_tracking_parameter(api, pia, by)
    frozen_time.move_to(NOW + timedelta(hours=1), tick=False)
    later = "2026-03-04T10:15:27+00:00"
    promoted = {"promoted_at": later, "promotion_method": method}

    response = api.post(f"/{method}s/", parameters | {"customer_id": "acct-1"})

    assert response.status_code == 200
    assert response.json()["affiliate"] == {"id": "pialang"} | NAME
    assert api.get(f"{PATH}{pia['id']}/").json() == pia | promoted
    affiliate = api.get("/affiliates/pialang/").json()
    assert affiliate == expected_affiliate(
        id="pialang",
        meta_data={"tier": "gold"},
        created_at=later,
        affiliate_group_id="ag_gold",
        custom_fields={"site": "p.example"},
        **PIA | promoted,
    )
    enrollment = api.get("/programs/harbor-lamp-partners/affiliates/pialang/")
    assert enrollment.json() == affiliate | {
        "referral_link": pia["referral_link"],
        "coupon": None,
        "approved": True,
        "applied_at": later,
    }


def test_promoted_affiliate_keeps_the_tracking_parameters_of_the_prospect(api, scenario, pia):
    click_id = get_tracking_parameter(api, pia, "click_id")["click_id"]
    queries = [
        f"click_id={click_id}",
        f"referral_code={get_referral_code(pia)}",
        f"source_id={pia['referral_link']['source_id']}",
        "email=pia@notes.example.org",
        "affiliate_group_id=ag_gold",
    ]
    found = []

    for _ in range(2):
        found += [api.get(f"/affiliates/?{query}").json() for query in queries]
        promote(api, pia)

    assert found[:5] == [[]] * 5
    assert [row["id"] for (row,) in found[5:]] == ["pialang"] * 5


def test_shows_a_click_without_an_affiliate_until_promotion(api, scenario, pia):
    click_id = get_tracking_parameter(api, pia, "click_id")["click_id"]
    one = f"/clicks/{click_id}/"

    before = api.get(one).json()
    listed = api.get("/clicks/?affiliate_id=pialang").json()
    unpromoted = affiliates(api)
    api.post(
        "/customers/",
        {"referral_code": get_referral_code(pia), "customer_id": "acct-1"},
    )

    assert before["affiliate"] is None
    assert before["program"] == scenario.reference
    assert api.get("/clicks/").json()[0]["id"] == click_id
    assert (listed, unpromoted) == ([], ["minakessler"])
    after = before | {"affiliate": {"id": "pialang"} | NAME}
    assert api.get(one).json() == after
    assert api.get("/clicks/?affiliate_id=pialang").json() == [after]


def test_applies_the_group_rate_to_the_first_conversion(api, scenario, pia):
    (commission,) = promote(api, pia, {"amount": 200}).json()["commissions"]

    assert commission["amount"] == 50
    assert commission["affiliate"]["id"] == "pialang"


def test_promotes_once(api, account, scenario, pia):
    body = {"referral_code": get_referral_code(pia), "amount": 200}
    shown = [api.post("/conversions/", body).json() for _ in range(2)]
    api.post(
        "/customers/",
        {"referral_code": get_referral_code(pia), "customer_id": "acct-1"},
    )

    assert [row["affiliate"]["id"] for row in shown] == ["pialang"] * 2
    assert affiliates(api) == ["pialang", "minakessler"]
    kinds = account.audit_log.filter(kind__contains="affiliate").order_by("id")
    assert [entry.kind for entry in kinds][-4:] == [
        "affiliate_prospect.created",
        "affiliate.created",
        "affiliate.added_to_program",
        "affiliate_prospect.promoted",
    ]


@pytest.mark.parametrize("email", ["MINA@notes.example.org", None])
def test_promoted_affiliate_has_no_taken_or_missing_email(api, scenario, email):
    prospect = api.post(PATH, NAME | {"email": email}).json()

    assert promote(api, prospect).status_code == 200
    assert api.get("/affiliates/pialang/").json()["email"] is None
    assert api.get(f"{PATH}{prospect['id']}/").json()["email"] == email
    assert api.get("/affiliates/minakessler/").json()["email"]


def test_promoted_affiliate_takes_the_email_of_a_deleted_one(api, scenario):
    prospect = api.post(PATH, NAME | {"email": "mina@notes.example.org"}).json()
    api.delete("/affiliates/minakessler/")

    promote(api, prospect)

    shown = api.get("/affiliates/pialang/").json()
    assert shown["email"] == "mina@notes.example.org"


def test_first_conversion_of_a_prospect_with_its_own_id_warns(api, scenario, pia):
    customer = {"customer_id": "PIA@notes.example.org"}

    sale = promote(api, pia, customer).json()

    assert sale["warnings"] == ["customer_is_affiliate"]
    assert sale["customer"]["customer_id"] == "PIA@notes.example.org"


NOT_ITS_OWN = [
    pytest.param({"coupon": "{coupon}"}, 200, id="a coupon comes first"),
    pytest.param({"customer_id": "acct-0"}, 200, id="a known customer comes first"),
    pytest.param({"external_id": "order-0"}, 400, id="a duplicate"),
    pytest.param({"commission_type": "unknown"}, 400, id="an unknown type"),
    pytest.param({"amount": -1}, 400, id="an invalid amount"),
    pytest.param({"program_group": "another"}, 400, id="another group of programs"),
]


@pytest.mark.parametrize(("body", "status"), NOT_ITS_OWN)
def test_is_not_promoted_by_an_unrelated_or_rejected_conversion(
    api, account, scenario, pia, body, status
):
    scenario.create_conversion("1", customer_id="acct-0", external_id="order-0")
    if "coupon" in body:
        body = {"coupon": scenario.mina.coupon}

    response = promote(api, pia, body)

    assert response.status_code == status
    assert api.get(f"{PATH}{pia['id']}/").json() == pia
    assert affiliates(api) == ["minakessler"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"customer_id": "acct-0"}, "Duplicate customer."),
        ({"customer_id": "a", "status": "paying"}, "Invalid status 'paying'."),
    ],
    ids=["duplicate", "status"],
)
def test_is_not_promoted_by_a_rejected_customer(api, scenario, pia, body, message):
    scenario.create_customer("acct-0")

    response = api.post("/customers/", {"referral_code": get_referral_code(pia)} | body)

    assert response.status_code == 400
    assert response.json()["errors"][0]["message"].startswith(message)
    assert api.get(f"{PATH}{pia['id']}/").json() == pia
    assert affiliates(api) == ["minakessler"]


def test_is_not_promoted_by_an_expired_cookie(frozen_time, api, scenario, pia):
    parameters = get_tracking_parameter(api, pia, "click_id")
    frozen_time.move_to(NOW + timedelta(days=45, seconds=1), tick=False)

    late = api.post("/conversions/", parameters)
    stays = api.get(f"{PATH}{pia['id']}/").json()["promoted_at"]
    forced = api.post("/conversions/?override_max_cookie_time=true", parameters)

    assert late.json() == {"errors": [{"message": "Cookie expired"}]}
    assert stays is None
    assert forced.json()["affiliate"]["id"] == "pialang"


@pytest.mark.parametrize("by", ["referral_code", "click_id", "pair"])
def test_is_not_promoted_in_an_archived_program(api, account, scenario, pia, by):
    parameters = get_tracking_parameter(api, pia, by)
    archive_program(account, slug="harbor-lamp-partners", at=NOW)

    responses = [
        api.post("/conversions/", parameters),
        api.post("/customers/", parameters | {"customer_id": "acct-1"}),
    ]

    archived = {"errors": [{"message": "Program is archived"}]}
    assert [(response.status_code, response.json()) for response in responses] == [
        (400, archived)
    ] * 2
    assert affiliates(api) == ["minakessler"]


def test_tracking_reports_its_deleted_affiliate(api, scenario, pia):
    promote(api, pia)
    api.delete("/affiliates/pialang/")

    response = promote(api, pia)

    assert response.json() == {"errors": [{"message": "Affiliate is deleted"}]}
    assert api.get(f"{PATH}{pia['id']}/").json()["promotion_method"] == "conversion"


def test_rejects_the_asset_of_another_program(api, account, scenario, pia):
    later = ProgramScenario(account, "later", email=None)
    source = pia["referral_link"]["source_id"]
    parameters = {"asset_id": later.mina.asset_id, "source_id": source}

    before = api.post("/conversions/", parameters)
    promote(api, pia)
    after = api.post("/conversions/", parameters)

    assert before.status_code == 400
    assert after.json() == {"errors": [{"message": "Affiliate is not approved for this program"}]}
