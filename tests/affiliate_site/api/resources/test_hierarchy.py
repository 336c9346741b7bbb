"""Group and parent of an affiliate, and the filters by them.

See docs/api-contract.md, section 2.4.6.
"""

import pytest

from tests.affiliate_site.responses import build_field_error, has_only_errors
from tests.ledger_checks import assert_amounts_consistent
from tests.program_scenario import ProgramScenario, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario", "frozen_time")

MINA = "/affiliates/minakessler/"
GROUP, PARENT = f"{MINA}group/", f"{MINA}parent/"
MEMBERS = "/programs/harbor-lamp-partners/affiliates/"


@pytest.fixture
def scenario(scenario):
    """Mina, Odette and Inga in a program that pays two levels."""
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.inga = scenario.create_enrolled_affiliate("Inga", "Berg")
    scenario.create_level(2, "3")
    scenario.create_level(3, "1")
    yield scenario
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def other(other_account):
    """A program of another account, with a group."""
    other = ProgramScenario(other_account, prefix="zz-marker-")
    other.group_id = other_account.affiliate_groups.create(
        public_id="ag_zzmarker00000000", title="zz-marker"
    )
    return other


def make_group(api, title="Gold"):
    return api.post("/affiliate-groups/", {"title": title}).json()["id"]


def list_ids(response):
    assert response.status_code == 200
    return [row["id"] for row in response.json()]


# Groups


@pytest.mark.parametrize(
    "body",
    [
        {"group_id": "{}"},
        {"affiliate_group_id": " {}\n"},
        {"group_id": "{}", "affiliate_group_id": "ag_unknown"},
        {"group_id": None, "affiliate_group_id": "{}"},
    ],
    ids=["canonical name", "alias", "both", "null with the alias"],
)
def test_moves_an_affiliate_to_another_group(api, scenario, body):
    api.put(GROUP, {"group_id": make_group(api, "Old")})
    before, group = api.get(MINA).json(), make_group(api)
    body = {name: text and text.format(group) for name, text in body.items()}

    response = api.put(GROUP, body)

    assert response.status_code == 200
    assert response.json() == before | {"affiliate_group_id": group}
    assert api.get(MINA).json() == response.json()
    counts = {row["title"]: row["affiliate_count"] for row in api.get("/affiliate-groups/").json()}
    assert counts == {"Gold": 1, "Old": 0}


def test_removing_from_the_group_is_idempotent(api, scenario):
    api.put(GROUP, {"group_id": make_group(api)})

    first, again = api.delete(GROUP), api.delete(GROUP, "{{")

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == api.get(MINA).json()
    assert first.json()["affiliate_group_id"] is None


TYPE = "This value should be of type {{ type }}."
MISSING = "Missing mandatory parameter(s)"
NO_GROUP = "Unknown affiliate group"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, (MISSING,)),
        ({"group_id": " "}, (MISSING,)),
        ({"group_id": []}, (TYPE, "string")),
        ({"group_id": "ag_0"}, (NO_GROUP,)),
        ({"affiliate_group_id": "ag_zzmarker00000000"}, (NO_GROUP,)),
    ],
    ids=["absent", "blank", "list", "unknown", "foreign"],
)
def test_rejects_an_invalid_group(api, scenario, other, body, error):
    group = make_group(api)
    api.put(GROUP, {"group_id": group})

    response = api.put(GROUP, body)

    assert has_only_errors(response, build_field_error("group_id", *error))
    assert api.get(MINA).json()["affiliate_group_id"] == group


def test_applies_the_group_rate_to_later_conversions(api, account, scenario):
    group = make_group(api)
    scenario.create_group_rate(account.affiliate_groups.get(), "25")
    before = scenario.get_commission(scenario.create_conversion("200"))
    api.put(GROUP, {"group_id": group})

    after = scenario.get_commission(scenario.create_conversion("200"))

    assert [item.reload().amount for item in (before, after)] == [20, 50]


# Parents


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    "body",
    [
        {"affiliate_id": " odettevarga "},
        {"affiliate": {"id": "odettevarga"}},
        {"via": "odettevarga"},
        {"via": "{code}"},
        {"affiliate_id": "odettevarga", "via": "ingaberg"},
        {"affiliate_id": None, "affiliate": None, "via": "odettevarga"},
    ],
    ids=["id", "object", "via id", "via code", "both", "nulls with via"],
)
def test_sets_the_parent(api, scenario, method, body):
    before = api.get(MINA).json()
    body = {
        name: value.format(code=scenario.odette.code) if isinstance(value, str) else value
        for name, value in body.items()
    }

    response = api.request(method, PARENT, body)

    assert response.status_code == 200
    assert response.json() == before | {"parent_id": "odettevarga"}
    assert api.get(MINA).json() == response.json()


def test_removing_the_parent_is_idempotent(api, scenario):
    api.put(PARENT, {"affiliate_id": "odettevarga"})

    first, again = api.delete(PARENT), api.delete(PARENT, "{{")

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == api.get(MINA).json()
    assert first.json()["parent_id"] is None


UNKNOWN = "Unknown affiliate"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        *((body, MISSING) for body in ({}, {"affiliate_id": ""}, {"affiliate": "x"})),
        ({"affiliate_id": "OdetteVarga"}, UNKNOWN),
        ({"affiliate_id": "{code}"}, UNKNOWN),
        ({"affiliate": {"id": "{code}"}}, UNKNOWN),
        ({"via": "nobody"}, UNKNOWN),
        ({"via": "{prospect}"}, UNKNOWN),
        ({"via": "{foreign}"}, UNKNOWN),
        ({"via": "{deleted}"}, UNKNOWN),
        ({"affiliate_id": "zzmarkerminakessler"}, UNKNOWN),
    ],
    ids=str,
)
def test_rejects_an_invalid_parent(api, account, scenario, other, body, message):
    mark_deleted(scenario.inga.affiliate)
    person = {"firstname": "A", "lastname": "B"}
    link = api.post("/affiliate-prospects/", person).json()["referral_link"]["link"]
    codes = {
        "code": scenario.odette.code,
        "prospect": link.partition("ref=")[2],
        "foreign": other.mina.code,
        "deleted": scenario.inga.code,
    }

    def fill(value):
        if isinstance(value, dict):
            return {name: fill(inner) for name, inner in value.items()}
        return value.format_map(codes)

    response = api.put(PARENT, fill(body))

    assert has_only_errors(response, build_field_error("affiliate_id", message))
    assert api.get(MINA).json()["parent_id"] is None


@pytest.mark.parametrize("below", ["minakessler", "odettevarga", "ingaberg"])
def test_rejects_a_cycle(api, scenario, below):
    """Mina is the parent of Odette, who is the parent of Inga."""
    api.put("/affiliates/odettevarga/parent/", {"affiliate_id": "minakessler"})
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "odettevarga"})

    response = api.put(PARENT, {"via": below})

    error = "An affiliate cannot be its own ancestor"
    assert has_only_errors(response, build_field_error("affiliate_id", error))
    assert api.get(MINA).json()["parent_id"] is None


def test_applies_the_new_parent_to_later_conversions(api, account, scenario):
    moves = [
        ("PUT", "ingaberg", {"affiliate_id": "odettevarga"}),
        ("PUT", "minakessler", {"affiliate_id": "ingaberg"}),
        ("PUT", "minakessler", {"affiliate_id": "odettevarga"}),
        ("DELETE", "minakessler", None),
    ]

    earned = [list_earning_affiliates(account, scenario.create_conversion("200"))]
    for method, slug, body in moves:
        assert api.request(method, f"/affiliates/{slug}/parent/", body).status_code == 200
        earned.append(list_earning_affiliates(account, scenario.create_conversion("200")))

    assert earned == [
        [("minakessler", 20)],
        [("minakessler", 20)],
        [("minakessler", 20), ("ingaberg", 6), ("odettevarga", 2)],
        [("minakessler", 20), ("odettevarga", 6)],
        [("minakessler", 20)],
    ]
    assert account.commissions.count() == sum(map(len, earned))


def list_earning_affiliates(account, sale):
    rows = account.commissions.filter(conversion=sale).order_by("id")
    return [(row.affiliate.slug, row.amount) for row in rows]


def test_audit_log_records_each_change_once(api, account, scenario):
    group = make_group(api)
    sent_body = [(GROUP, {"group_id": group}), (PARENT, {"affiliate_id": "ingaberg"})]
    for path, body in sent_body:
        api.put(path, body)
        api.put(path, body)
        api.delete(path)
        api.delete(path)

    subject = f"affiliate:{scenario.mina.affiliate.log_id}"
    events = account.audit_log.filter(subject=subject).order_by("id")
    assert [(entry.kind, entry.details) for entry in events[2:]] == [
        ("affiliate.added_to_group", {"group": group}),
        ("affiliate.updated", {"group": None}),
        ("affiliate.updated", {"parent": account.affiliates.get(slug="ingaberg").log_id}),
        ("affiliate.updated", {"parent": None}),
    ]


# Lists


@pytest.fixture
def affiliate_hierarchy(api, scenario, other):
    """Odette is the parent of Mina and Inga; the same in another account."""
    scenario.group = make_group(api)
    api.put(PARENT, {"affiliate_id": "odettevarga"})
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "odettevarga"})
    api.put("/affiliates/ingaberg/group/", {"group_id": scenario.group})
    other_affiliate = other.create_enrolled_affiliate("Rival", "X").affiliate
    other_affiliate.update_row(parent=other.mina.affiliate, group=other.group_id)
    return scenario


FILTERS = [
    ("parent_id=odettevarga", ["ingaberg", "minakessler"]),
    ("parentId=odettevarga", ["ingaberg", "minakessler"]),
    ("parent_id=OdetteVarga", []),
    ("parent_id=odettevarga&parentId=ingaberg", ["ingaberg", "minakessler"]),
    ("parentId=ingaberg&parent_id=odettevarga", ["ingaberg", "minakessler"]),
    ("parent_id=&parentId=odettevarga", ["ingaberg", "minakessler"]),
    ("parent_id=zzmarkerminakessler", []),
    ("affiliate_group_id={group}", ["ingaberg"]),
    ("affiliate_group_id={group}&parent_id=odettevarga", ["ingaberg"]),
    ("affiliate_group_id={group}&parent_id=ingaberg", []),
    ("affiliate_group_id=ag_zzmarker00000000", []),
    ("affiliate_group_id=", ["ingaberg", "odettevarga", "minakessler"]),
]


@pytest.mark.parametrize("path", ["/affiliates/", MEMBERS])
def test_filters_the_lists(api, affiliate_hierarchy, path, subtests):
    for query, found in FILTERS:
        with subtests.test(query=query):
            query = query.format(group=affiliate_hierarchy.group)
            assert list_ids(api.get(f"{path}?{query}")) == found
