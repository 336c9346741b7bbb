"""Contract 2.4.6: an affiliate's group and parent, and the lists narrowed by them."""

import pytest

from accounts.models.accounts import Plan
from tests.conftest import Api
from tests.proof import money_agrees
from tests.shop import Shop

pytestmark = pytest.mark.usefixtures("now")

MINA = "/affiliates/minakessler/"
GROUP, PARENT = f"{MINA}group/", f"{MINA}parent/"
MEMBERS = "/programs/harbor-lamp-partners/affiliates/"
NOT_FOUND = {"errors": [{"message": "Affiliate not found"}]}


@pytest.fixture
def shop(account):
    """Mina, Odette and Inga, in one program that pays two levels."""
    shop = Shop(account)
    shop.odette = shop.join("Odette", "Varga")
    shop.inga = shop.join("Inga", "Berg")
    shop.level(2, "3")
    shop.level(3, "1")
    yield shop
    money_agrees(account)


@pytest.fixture
def other(other_account):
    """Another account's shop, with a group."""
    other = Shop(other_account, mark="zz-marker-")
    other.group = other_account.affiliate_groups.create(
        public_id="ag_zzmarker00000000", title="zz-marker"
    )
    return other


def made_group(api, title="Gold"):
    return api.post("/affiliate-groups/", {"title": title}).json()["id"]


def flaw(path, message, raw=None):
    return {
        "errors": [
            {"message": message, "message_raw": raw or message, "property_path": path}
        ]
    }


def ids(response):
    assert response.status_code == 200
    return [row["id"] for row in response.json()]


# Groups


@pytest.mark.parametrize(
    "said",
    [
        {"group_id": "{}"},
        {"affiliate_group_id": " {}\n"},
        {"group_id": "{}", "affiliate_group_id": "ag_unknown"},
        {"group_id": None, "affiliate_group_id": "{}"},
    ],
    ids=["proper name", "alias", "both", "null beside the alias"],
)
def test_puts_into_a_group_in_place_of_the_old_one(api, shop, said):
    api.put(GROUP, {"group_id": made_group(api, "Old")})
    before, group = api.get(MINA).json(), made_group(api)
    said = {name: text and text.format(group) for name, text in said.items()}

    response = api.put(GROUP, said)

    assert response.status_code == 200
    assert response.json() == before | {"affiliate_group_id": group}
    assert api.get(MINA).json() == response.json()
    counts = {
        it["title"]: it["affiliate_count"]
        for it in api.get("/affiliate-groups/").json()
    }
    assert counts == {"Gold": 1, "Old": 0}


def test_takes_out_of_the_group_again_and_again(api, shop):
    api.put(GROUP, {"group_id": made_group(api)})

    first, again = api.delete(GROUP), api.delete(GROUP, "{{")

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == api.get(MINA).json()
    assert first.json()["affiliate_group_id"] is None


TYPE = "This value should be of type {{ type }}."
MISSING = "Missing mandatory parameter(s)"
NO_TEXT = flaw("group_id", TYPE.replace("{{ type }}", "string"), TYPE)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, flaw("group_id", MISSING)),
        ({"group_id": None}, flaw("group_id", MISSING)),
        ({"group_id": " "}, flaw("group_id", MISSING)),
        ({"group_id": []}, NO_TEXT),
        ({"group_id": "ag_0"}, flaw("group_id", "Unknown affiliate group")),
        (
            {"affiliate_group_id": "ag_zzmarker00000000"},
            flaw("group_id", "Unknown affiliate group"),
        ),
    ],
    ids=["absent", "null", "blank", "list", "unknown", "foreign"],
)
def test_refuses_an_odd_group_and_keeps_the_old_one(api, shop, other, said, told):
    group = made_group(api)
    api.put(GROUP, {"group_id": group})

    response = api.put(GROUP, said)

    assert response.status_code == 400
    assert response.json() == told
    assert api.get(MINA).json()["affiliate_group_id"] == group


def test_counts_the_rate_of_the_group_for_later_sales(api, account, shop):
    group = made_group(api)
    shop.group_rate(account.affiliate_groups.get(), "25")
    before = shop.commission_of(shop.sell("200"))
    api.put(GROUP, {"group_id": group})

    after = shop.commission_of(shop.sell("200"))

    assert [it.again().amount for it in (before, after)] == [20, 50]


# Parents


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    "said",
    [
        {"affiliate_id": " odettevarga "},
        {"affiliate": {"id": "odettevarga"}},
        {"via": "odettevarga"},
        {"via": "{code}"},
        {"affiliate_id": "odettevarga", "via": "ingaberg"},
        {"affiliate_id": None, "affiliate": None, "via": "odettevarga"},
    ],
    ids=["id", "object", "via id", "via code", "both", "nulls beside via"],
)
def test_puts_below_a_parent(api, shop, method, said):
    before = api.get(MINA).json()
    said = {
        name: it.format(code=shop.odette.code) if isinstance(it, str) else it
        for name, it in said.items()
    }

    response = api.ask(method, PARENT, said)

    assert response.status_code == 200
    assert response.json() == before | {"parent_id": "odettevarga"}
    assert api.get(MINA).json() == response.json()


def test_sets_free_again_and_again(api, shop):
    api.put(PARENT, {"affiliate_id": "odettevarga"})

    first, again = api.delete(PARENT), api.delete(PARENT, "{{")

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json() == api.get(MINA).json()
    assert first.json()["parent_id"] is None


UNKNOWN = flaw("affiliate_id", "Unknown affiliate")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, flaw("affiliate_id", MISSING)),
        ({"affiliate_id": ""}, flaw("affiliate_id", MISSING)),
        ({"affiliate": "odettevarga"}, flaw("affiliate_id", MISSING)),
        ({"via": {}}, flaw("via", TYPE.replace("{{ type }}", "string"), TYPE)),
        ({"affiliate_id": "nobody"}, UNKNOWN),
        ({"affiliate_id": "OdetteVarga"}, UNKNOWN),
        ({"affiliate_id": "{code}"}, UNKNOWN),
        ({"affiliate": {"id": "{code}"}}, UNKNOWN),
        ({"via": "nobody"}, UNKNOWN),
        ({"via": "{prospect}"}, UNKNOWN),
        ({"via": "{foreign}"}, UNKNOWN),
        ({"affiliate_id": "zzmarkerminakessler"}, UNKNOWN),
    ],
    ids=[
        "absent",
        "blank",
        "no object",
        "wrong type",
        "unknown",
        "another case",
        "a code as an id",
        "a code inside the object",
        "unknown via",
        "the code of a prospect",
        "a foreign code",
        "foreign",
    ],
)
def test_refuses_an_odd_parent(api, account, shop, other, said, told):
    person = {"firstname": "A", "lastname": "B"}
    link = api.post("/affiliate-prospects/", person).json()["referral_link"]["link"]
    codes = {
        "code": shop.odette.code,
        "prospect": link.partition("ref=")[2],
        "foreign": other.mina.code,
    }

    def filled(it):
        if isinstance(it, dict):
            return {name: filled(inner) for name, inner in it.items()}
        return it.format_map(codes)

    response = api.put(PARENT, filled(said))

    assert response.status_code == 400
    assert response.json() == told
    assert api.get(MINA).json()["parent_id"] is None


@pytest.mark.parametrize("via", ["slug", "code"])
def test_does_not_know_a_removed_parent(api, shop, via):
    api.delete("/affiliates/odettevarga/")

    response = api.put(PARENT, {"via": getattr(shop.odette, via)})

    assert response.status_code == 400
    assert response.json() == UNKNOWN


@pytest.mark.parametrize("below", ["minakessler", "odettevarga", "ingaberg"])
def test_refuses_to_be_its_own_ancestor(api, shop, below):
    """Inga is below Odette, who is below Mina."""
    api.put("/affiliates/odettevarga/parent/", {"affiliate_id": "minakessler"})
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "odettevarga"})

    response = api.put(PARENT, {"via": below})

    assert response.status_code == 400
    assert response.json() == flaw(
        "affiliate_id", "An affiliate cannot be its own ancestor"
    )
    assert api.get(MINA).json()["parent_id"] is None


def test_pays_the_new_chain_from_the_next_sale_on(api, account, shop):
    moves = [
        ("PUT", "ingaberg", {"affiliate_id": "odettevarga"}),
        ("PUT", "minakessler", {"affiliate_id": "ingaberg"}),
        ("PUT", "minakessler", {"affiliate_id": "odettevarga"}),
        ("DELETE", "minakessler", None),
    ]

    earned = [earners(account, shop.sell("200"))]
    for method, slug, said in moves:
        assert api.ask(method, f"/affiliates/{slug}/parent/", said).status_code == 200
        earned.append(earners(account, shop.sell("200")))

    assert earned == [
        [("minakessler", 20)],
        [("minakessler", 20)],
        [("minakessler", 20), ("ingaberg", 6), ("odettevarga", 2)],
        [("minakessler", 20), ("odettevarga", 6)],
        [("minakessler", 20)],
    ]
    assert account.commissions.count() == sum(map(len, earned))


def earners(account, sale):
    rows = account.commissions.filter(conversion=sale).order_by("id")
    return [(it.affiliate.slug, it.amount) for it in rows]


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
@pytest.mark.parametrize(
    ("feature", "status"), [(False, 403), (True, 404)], ids=["without", "with"]
)
def test_wants_mlm_before_it_looks_for_anybody(
    api, account, shop, method, feature, status
):
    Plan.objects.filter(name="enterprise").update(mlm=feature)

    response = api.ask(method, "/affiliates/nobody/parent/", {})

    assert response.status_code == status
    if not feature:
        assert response.json()["message"] == "Forbidden"
        assert api.get(MINA).status_code == api.delete(GROUP).status_code == 200


@pytest.mark.parametrize("path", ["group/", "parent/"])
@pytest.mark.parametrize("slug", ["nobody", "zzmarkerminakessler"])
def test_does_not_know_others_before_it_reads_the_fields(api, shop, other, path, slug):
    for method in ("PUT", "DELETE"):
        response = api.ask(method, f"/affiliates/{slug}/{path}", {})

        assert response.status_code == 404
        assert response.json() == NOT_FOUND


def test_lets_no_viewer_place_anybody(account, shop, key_for):
    viewer = Api(key_for(account, role="viewer"))

    answers = [viewer.put(path, {}).status_code for path in (GROUP, PARENT)]

    assert answers == [403, 403]


def test_tells_the_diary_once_what_changed(api, account, shop):
    group = made_group(api)
    said = [(GROUP, {"group_id": group}), (PARENT, {"affiliate_id": "ingaberg"})]
    for path, body in said:
        api.put(path, body)
        api.put(path, body)
        api.delete(path)
        api.delete(path)

    lines = account.events.filter(subject="affiliate:minakessler").order_by("id")
    assert [(it.kind, it.facts) for it in lines[2:]] == [
        ("affiliate.added_to_group", {"group": group}),
        ("affiliate.updated", {"group": None}),
        ("affiliate.updated", {"parent": "ingaberg"}),
        ("affiliate.updated", {"parent": None}),
    ]


# The lists


@pytest.fixture
def placed(api, shop, other):
    """Mina and Inga below Odette, Inga in a group; the same in another account."""
    shop.group = made_group(api)
    api.put(PARENT, {"affiliate_id": "odettevarga"})
    api.put("/affiliates/ingaberg/parent/", {"affiliate_id": "odettevarga"})
    api.put("/affiliates/ingaberg/group/", {"group_id": shop.group})
    rival = other.join("Rival", "X").affiliate
    rival.change(parent=other.mina.affiliate, group=other.group)
    return shop


@pytest.mark.parametrize("path", ["/affiliates/", MEMBERS])
@pytest.mark.parametrize(
    ("query", "found"),
    [
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
    ],
)
def test_narrows_the_lists(api, placed, path, query, found):
    assert ids(api.get(f"{path}?{query.format(group=placed.group)}")) == found
