"""Updating and deleting affiliates, their programs and their meta data.

See docs/api-contract.md, sections 2.1.5, 2.4.4, 2.4.5 and 2.4.9.
"""

import pytest
from django.conf import settings

from tests.affiliate_site.api.resources.expected import HOME, expected_affiliate
from tests.affiliate_site.responses import build_field_error, has_only_errors
from tests.conftest import NOW
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario", "frozen_time")

PATH = "/affiliates/minakessler/"
MISSING = "Missing mandatory parameter(s)"
BLANK = "This value should not be blank."
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
MINA = expected_affiliate()


@pytest.fixture
def fields(account, other_account):
    """A URL field, a multiselect field, and a field of another account."""
    for slug, title, kind in [
        ("website", "Your site", "url"),
        ("shoes", "Sizes", "multiselect"),
    ]:
        account.field_definitions.create(slug=slug, title=title, type=kind)
    other_account.field_definitions.create(slug="zz-marker", title="zz", type="text")


def not_found(response, resource="Affiliate"):
    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": f"{resource} not found"}]}
    return True


# PATCH /affiliates/{id}/


def test_updates_every_sent_field(api, scenario, fields):
    body = {
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

    response = api.patch(PATH, body)

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


FILLED = {
    "company": {"name": "Kessler", "description": "Lamps"},
    "address": HOME | {"address_two": "2nd floor", "state": "Obala"},
    "custom_fields": {"website": "https://m.example", "shoes": ["38"]},
    "meta_data": {"tier": "gold", "plan": "x"},
}


@pytest.mark.parametrize(
    ("body", "changed"),
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
        ({"custom_fields": {"website": None}}, {"custom_fields": {"shoes": ["38"]}}),
        (
            {"custom_fields": {"Your site": None, "Sizes": [], "nobody": "x"}},
            {"custom_fields": {"shoes": []}},
        ),
        (
            {"custom_fields": {"shoes": "40"}},
            {"custom_fields": {"website": "https://m.example", "shoes": ["40"]}},
        ),
        (
            {"custom_fields": {"website": 7, "Your site": "next to its id"}},
            {"custom_fields": {"website": "7", "shoes": ["38"]}},
        ),
        ({"custom_fields": {"zz-marker": "x", "zz": "y"}}, {}),
    ],
    ids=range(15),
)
def test_replaces_objects_and_clears_by_null(api, scenario, fields, body, changed):
    api.patch(PATH, FILLED)

    response = api.patch(PATH, body)

    assert response.status_code == 200
    assert response.json() == MINA | FILLED | changed
    assert api.get(PATH).json() == response.json()


def test_audit_log_records_changed_fields_without_values(api, account, scenario):
    api.patch(PATH, {"firstname": "Secretly", "email": "secret@notes.example.org"})
    api.patch(PATH, {"firstname": "Secretly"})

    events = account.audit_log.filter(kind="affiliate.updated")
    assert [(entry.subject, entry.details) for entry in events] == [
        (
            f"affiliate:{scenario.mina.affiliate.log_id}",
            {"fields": ["email", "email_folded", "firstname"]},
        )
    ]


INVALID_CHANGES = [
    ({"firstname": "", "lastname": " "}, [("firstname", BLANK), ("lastname", BLANK)]),
    ({"firstname": True}, [("firstname", TYPE, "string")]),
    ({"lastname": "x" * 256}, [("lastname", LONG, 255)]),
    ({"email": ""}, [("email", "This is not a valid email address.")]),
    ({"company": []}, [("company", TYPE, "object")]),
    (
        {"company": {"name": "fine", "description": "x" * 1001}},
        [("company.description", LONG, 1000)],
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
        [("custom_fields[website]", TYPE, "string")],
    ),
    ({"custom_fields": {"unknown": {}}}, [("custom_fields[unknown]", TYPE, "string")]),
    ({"meta_data": {"tier": None}}, [("meta_data[tier]", TYPE, "string")]),
]


@pytest.mark.parametrize(
    ("body", "entries"),
    INVALID_CHANGES,
    ids=[repr(case[0])[:40] for case in INVALID_CHANGES],
)
def test_rejects_invalid_changes_without_effect(api, scenario, fields, body, entries):
    response = api.patch(PATH, {"company": {"name": "Kept out"}} | body)

    expected = [build_field_error(*entry) for entry in entries]
    assert has_only_errors(response, *expected)
    assert api.get(PATH).json() == MINA


@pytest.mark.parametrize("email", ["odette@x.example", " ODETTE@X.example "])
def test_rejects_the_email_of_another_affiliate(api, scenario, email):
    scenario.create_enrolled_affiliate("Odette", "Varga", email="odette@x.example")

    response = api.patch(PATH, {"firstname": "Kept out", "email": email})

    assert has_only_errors(response, build_field_error("email", "Email address is already in use"))
    assert api.get(PATH).json() == MINA


def test_accepts_its_own_email_a_foreign_one_and_a_prospects(api, other_account, scenario):
    ProgramScenario(other_account, prefix="zz-marker-", email="theirs@x.example")
    invited = {"firstname": "A", "lastname": "B", "email": "invited@x.example"}
    api.post("/affiliate-prospects/", invited)

    for email in ("MINA@notes.example.org", "theirs@x.example", "invited@x.example"):
        assert api.patch(PATH, {"email": email}).json()["email"] == email


def test_checks_body_then_affiliate_then_fields(api, scenario):
    broken = api.patch("/affiliates/nobody/", "[]")
    unknown = api.patch("/affiliates/nobody/", {"firstname": ""})

    assert broken.json() == {"errors": [{"message": "Request body was not valid JSON"}]}
    assert not_found(unknown)


# DELETE /affiliates/{id}/


@pytest.fixture
def removed(api, account, scenario):
    """Mina with a conversion, a payment and a child, then deleted."""
    scenario.click_id = str(scenario.create_click())
    scenario.sale = scenario.create_conversion("200", customer_id="acct-1")
    scenario.approve(scenario.get_commission(scenario.sale))
    order = {"affiliate_id": "minakessler", "amount": 5, "currency": "EUR"}
    scenario.payment = api.post("/payments/", order).json()[0]
    scenario.inga = scenario.create_enrolled_affiliate("Inga", "Berg")
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "minakessler"})
    scenario.note = api.post(f"{PATH}notes/", {"note": "gone?"}).json()["id"]
    api.put(f"{PATH}payout-methods/paypal/", {"paypal_address": "m@x.example"})
    response = api.delete(PATH, "[]")
    assert (response.status_code, response.content) == (204, b"")
    yield scenario
    assert_amounts_consistent(account)


SUB_PATHS = {
    "": "GET PATCH DELETE",
    "group/": "PUT DELETE",
    "parent/": "PUT POST DELETE",
    "notes/": "GET POST",
    "notes/{note}/": "GET PATCH DELETE",
    "payout-methods/": "GET",
    "payout-methods/paypal/": "GET PUT",
    "balances/": "GET",
    "payments/": "GET",
    "programs/": "GET",
    "meta-data/": "GET PUT",
    "meta-data/a/": "GET PUT DELETE",
}


def test_every_sub_path_of_a_deleted_affiliate_returns_404(api, removed, subtests):
    for tail, methods in SUB_PATHS.items():
        path = PATH + tail.format(note=removed.note)
        for method in methods.split():
            with subtests.test(method=method, tail=tail):
                assert not_found(api.request(method, path, {"firstname": []}))


def test_deleted_affiliate_appears_in_no_list(api, removed):
    queries = [
        "email=mina@notes.example.org",
        f"referral_code={removed.mina.code}",
        f"source_id={removed.mina.source_id}",
        f"click_id={removed.click_id}",
    ]

    found = [api.get(f"/affiliates/?{query}").json() for query in queries]
    enrollment = api.get("/programs/harbor-lamp-partners/affiliates/minakessler/")

    assert found == [[]] * 4
    assert [row["id"] for row in api.get("/affiliates/").json()] == ["ingaberg"]
    assert not_found(enrollment)


def test_keeps_the_commissions_and_balance_of_a_deleted_affiliate(api, removed):
    conversion = api.get(f"/conversions/{removed.sale.pk}/").json()
    balance = api.get("/balances/").json()
    payments = api.get("/payments/").json()

    assert conversion["affiliate"] == removed.mina.reference
    assert conversion["commissions"][0]["approved"] is True
    assert [payment["id"] for payment in payments] == [removed.payment["id"]]
    assert str(balance).count("15") == 1


def test_deleting_a_parent_leaves_its_children_without_one(api, account, removed):
    removed.create_level(2, "3")
    sale = removed.create_conversion("200", affiliate=removed.inga)

    assert api.get("/affiliates/ingaberg/").json()["parent_id"] is None
    assert api.get("/affiliates/?parent_id=minakessler").json() == []
    assert account.commissions.filter(conversion=sale).count() == 1


def test_deleting_frees_the_email_only(api, removed):
    inga = "/programs/harbor-lamp-partners/affiliates/ingaberg/"
    again = api.post(
        "/affiliates/",
        {"firstname": "Mina", "lastname": "Kessler", "email": "mina@notes.example.org"},
    )
    coupon = api.patch(inga, {"coupon": removed.mina.coupon})
    code = api.patch(inga, {"referral_code": removed.mina.code})

    assert again.json()["id"] == "minakessler2"
    assert has_only_errors(coupon, build_field_error("coupon", "Coupon is already in use"))
    assert has_only_errors(
        code, build_field_error("referral_code", "Referral code is already in use")
    )


# GET /affiliates/{id}/programs/


def test_lists_the_programs_of_an_affiliate_newest_first(api, account, scenario):
    later = ProgramScenario(
        account, "later", email=None, title="Later", currency="JPY", landing_page=""
    )
    affiliate = later.enroll(scenario.mina.affiliate, approved=None)
    account.coupons.filter(enrollment=affiliate.enrollment).delete()
    later.program.update_row(archived_at=NOW)

    response = api.get(f"{PATH}programs/")

    assert response.status_code == 200
    same = {"cookie_time": 45, "recurring": True, "recurring_cap": None}
    same |= {"recurring_period_days": None, "program_category": None}
    same |= {"applied_at": "2026-03-02T08:00:00+00:00"}
    assert response.json() == [
        same
        | {
            "id": "later",
            "title": "Later",
            "currency": "JPY",
            "currency_symbol": "¥",
            "default_landing_page_url": None,
            "program": {"id": "later", "title": "Later", "currency": "JPY"},
            "approved": None,
            "coupon": None,
            "referral_link": {
                "link": f"{settings.PUBLIC_URL}/?ref={affiliate.code}",
                "asset_id": affiliate.asset_id,
                "source_id": scenario.mina.source_id,
            },
        },
        same
        | {
            "id": "harbor-lamp-partners",
            "title": "Harbor Lamp Partners",
            "currency": "EUR",
            "currency_symbol": "€",
            "default_landing_page_url": "https://shop.example.net/",
            "program": scenario.reference,
            "approved": True,
            "coupon": scenario.mina.coupon,
            "referral_link": {
                "link": f"https://shop.example.net/?ref={scenario.mina.code}",
                "asset_id": scenario.mina.asset_id,
                "source_id": scenario.mina.source_id,
            },
        },
    ]
    assert 'page=1>; rel="last"' in response["Link"]


# GET /affiliates/custom-fields/


def test_lists_the_custom_fields_as_defined(api, account, fields):
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
