"""What an attack on the finished API found, each with the request that found it."""

import pytest

from payouts.services.commissions import approve, disapprove
from tests.shop import SOLD, Shop


@pytest.fixture
def shop(account):
    return Shop(account)


def flaws(response):
    """Path and message of each entry of a 400."""
    assert response.status_code == 400
    return [
        (it["property_path"], it["message"], it["message_raw"])
        for it in response.json()["errors"]
    ]


def flaw(path, message, raw=None):
    return (path, message, raw or message)


TYPE = "This value should be of type {{ type }}."
AN_OBJECT = "This value should be of type object."
NEGATIVE = "This value should be 0 or more."


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param(
            {"amount": -5, "meta_data": []},
            [flaw("amount", NEGATIVE), flaw("meta_data", AN_OBJECT, TYPE)],
            id="amount and meta data",
        ),
        pytest.param(
            {"amount": -5, "currency": "zzz"},
            [flaw("amount", NEGATIVE), flaw("currency", "Unknown currency")],
            id="amount and currency",
        ),
        pytest.param(
            {"commissions": [5, {"sub_amount": -1}]},
            [
                flaw("commissions[0]", AN_OBJECT, TYPE),
                flaw("commissions[1].sub_amount", NEGATIVE),
            ],
            id="two parts",
        ),
        pytest.param(
            {"commissions": [None]},
            [flaw("commissions[0]", AN_OBJECT, TYPE)],
            id="a part that is null",
        ),
    ],
)
def test_names_every_flaw_of_a_sale_at_once(api, shop, said, found):
    response = api.post("/conversions/", {"coupon": shop.mina.coupon} | said)

    assert flaws(response) == found


def test_names_the_flaws_of_body_and_query_at_once(api, shop):
    response = api.post(
        "/customers/?override_max_cookie_time=perhaps",
        {"customer_id": "a", "coupon": shop.mina.coupon, "meta_data": []},
    )

    assert flaws(response) == [
        flaw("meta_data", AN_OBJECT, TYPE),
        flaw("override_max_cookie_time", "This value should be true or false."),
    ]


@pytest.mark.parametrize(
    "path", ["/affiliates/", "/programs/harbor-lamp-partners/affiliates/"]
)
def test_trims_the_address_that_a_list_is_asked_for(api, shop, path):
    response = api.get(f"{path}?email=%20MINA@notes.example.org%09")

    assert [row["id"] for row in response.json()] == ["minakessler"]


def test_takes_the_alias_where_the_proper_name_says_nothing(api, account, shop):
    late = Shop(account, slug="late", email=None)
    response = api.post(
        f"/programs/{late.program.slug}/affiliates/",
        {"affiliate": {"id": None}, "affiliate_id": "minakessler"},
    )

    assert response.status_code == 200
    assert response.json()["id"] == "minakessler"


def test_joins_what_an_enrolment_shows_by_the_account(api, shop, statements):
    with statements() as asked:
        api.get("/programs/harbor-lamp-partners/affiliates/minakessler/")

    read = asked[-1]["sql"]
    for table in ("referralcode", "coupon", "asset", "source"):
        assert f'"tracking_{table}"' in read
    # The main table in WHERE, and each of the four in its own join.
    assert read.partition("FROM")[2].count('"account_id"') >= 5


def test_answers_an_approval_with_what_it_did_whatever_came_after(
    api, account, shop, monkeypatch
):
    from affiliate_site.api.resources import enrolments

    def overtaken(account, **what):
        enrolment = decide_on(account, **what)
        account.enrolments.update(approved=False)
        return enrolment

    decide_on = enrolments.decide_on
    monkeypatch.setattr(enrolments, "decide_on", overtaken)

    response = api.put(
        "/programs/harbor-lamp-partners/affiliates/minakessler/approved/"
    )

    assert response.json()["approved"] is True


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=%20approved%20", "approved"),
        ("status=approved&approved=perhaps", "approved"),
        ("status=approved&approved=false", "approved"),
        ("approved=false", "disapproved"),
    ],
    ids=["trimmed", "odd beside it", "another beside it", "alone"],
)
def test_reads_approved_only_where_no_status_is_asked_for(
    api, account, shop, query, found
):
    for decide in (approve, disapprove):
        conversion = shop.sell()
        commission = account.commissions.get(conversion=conversion)
        decide(account, commission_id=commission.pk, at=SOLD)

    response = api.get(f"/commissions/?{query}")

    assert [row["status"] for row in response.json()] == [found]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("true", "minakessler"),
        ("TRUE", "minakessler"),
        ("1", "minakessler"),
        ("0", "odettevarga"),
        ("False", "odettevarga"),
        ("pending", "ingaberg"),
        ("NULL", "ingaberg"),
    ],
)
def test_knows_every_spelling_of_an_approval(api, shop, word, found):
    shop.join("Odette", "Varga", approved=False)
    shop.join("Inga", "Berg", approved=None)

    response = api.get(f"/programs/harbor-lamp-partners/affiliates/?approved={word}")

    assert [row["id"] for row in response.json()] == [found]


def test_keeps_a_query_from_ending_the_address_in_the_link(api, shop):
    response = api.get('/programs/?x="<a>,;next&y=%20z')

    assert response["Link"].startswith(
        "<http://testserver/1.6/programs/?x=%22%3Ca%3E,;next&y=%20z&page=1>;"
    )
