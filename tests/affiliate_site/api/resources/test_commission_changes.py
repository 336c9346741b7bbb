"""Contract 2.3: one commission read, changed and decided by PATCH."""

import pytest

from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve, disapprove
from tests.affiliate_site.api.resources.shown import shown_commission
from tests.command_line import run
from tests.proof import everything, money_agrees
from tests.shop import SOLD, Shop, remove
from tracking.services.programs import archive

UNKNOWN = {"errors": [{"message": "Commission not found"}]}
APPROVED = {"approved": True, "status": "approved"}
DISAPPROVED = {"status": "disapproved"}
FROZEN = {
    "errors": [
        {
            "message": "The commission is approved and cannot be changed.",
            "code": "commission_approved",
        }
    ]
}
UNFUNDED = {
    "errors": [
        {
            "message": "The payout balance does not cover this commission.",
            "code": "commission_unfunded",
        }
    ]
}


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    money_agrees(account)


@pytest.fixture
def commission(shop):
    """20 EUR of a sale of 200, pending."""
    return shop.commission_of(shop.sell("200"))


def path_of(commission):
    return f"/commissions/{commission.pk}/"


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def flaws(response):
    """Path, message and template of each entry of a 400."""
    assert response.status_code == 400, response.content
    return [
        (it["property_path"], it["message"], it["message_raw"])
        for it in response.json()["errors"]
    ]


def flaw(path, message, raw=None):
    return (path, message, raw or message)


def use_payouts(account, *, on=True):
    account.uses_payouts = on
    account.save()


def stored(account):
    """Everything but the moment at which a key was used last."""
    return everything(account) | {"ApiKey": None}


# Reading one.


def test_shows_one_commission(api, commission):
    response = api.get(path_of(commission))

    assert said(response) == shown_commission(commission)
    assert list(response.json()) == list(shown_commission(commission))
    assert "X-RateLimit-Limit" not in response
    assert "Link" not in response


def test_shows_pending_alone_as_null_to_whoever_asked_for_it(api, account, commission):
    account.pending_as_null = True
    account.save()
    path = path_of(commission)

    answers = [
        api.get(path),
        api.patch(path, {"approved": True}),
        api.patch(path, {"approved": None}),
        api.patch(path, {"approved": False}),
    ]

    assert [said(it) for it in answers] == [
        shown_commission(commission, approved=None),
        shown_commission(commission, **APPROVED),
        shown_commission(commission, approved=None),
        shown_commission(commission, **DISAPPROVED),
    ]


def test_shows_the_payment_that_covers_it_and_lists_by_it(api, account, shop):
    first, second = (shop.commission_of(shop.sell("200")) for _ in range(2))
    for it in (first, second):
        approve(account, commission_id=it.pk, at=SOLD)
    order = {"affiliate_id": "minakessler", "amount": 20, "currency": "EUR"}
    (payment,) = said(api.post("/payments/", order))

    covered = shown_commission(first, payout={"id": payment["id"]}, **APPROVED)
    assert said(api.get(path_of(first))) == covered
    assert said(api.get("/commissions/?paid=true")) == [covered]
    assert said(api.get("/commissions/?paid=0")) == [
        shown_commission(second, **APPROVED)
    ]
    assert said(api.get("/commissions/?paid=1&status=pending")) == []
    api.delete(f"/payments/{payment['id']}/")
    assert said(api.get(path_of(first))) == shown_commission(first, **APPROVED)


def test_shows_a_bonus(api, account, shop):
    shop.bonus(goal=1, value=50, title="Spring")
    sale = shop.commission_of(shop.sell("200"))
    approve(account, commission_id=sale.pk, at=SOLD)
    (bonus,) = grant_bonuses(account, at=SOLD.replace(month=4))

    bare = shown_commission(bonus) | {
        "conversion_sub_amount": None,
        "amount": 50,
        "commission_type": "bonus",
        "kind": "bonus",
        "created_at": "2026-04-04T09:15:27+00:00",
        "commission_name": "Spring",
        "conversion": None,
    }
    assert said(api.get(path_of(bonus))) == bare
    answer = api.patch(path_of(bonus), {"approved": True, "amount": 7})
    assert said(answer) == bare | APPROVED | {"amount": 7}
    assert answer.json()["conversion"] is None
    refused = api.patch(path_of(bonus), {"conversion_sub_amount": 1})
    assert [path for path, *_ in flaws(refused)] == ["conversion_sub_amount"]


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_does_not_know_other_commissions(
    api, account, shop, commission, other_account, method
):
    theirs = Shop(other_account, mark="zz-marker-")
    foreign = theirs.commission_of(theirs.sell("200"))
    removed = shop.sell("10")
    gone = shop.commission_of(removed)
    assert api.delete(f"/conversions/{removed.pk}/").status_code == 204
    before = everything(other_account)

    answers = [
        api.ask(method, f"/commissions/{number}/", {"amount": "odd"})
        for number in (foreign.pk, gone.pk, 0, "01", "abc", 2**63, "%D9%A3")
    ]

    assert [it.status_code for it in answers] == [404] * len(answers)
    assert [it.json() for it in answers] == [UNKNOWN] * len(answers)
    assert everything(other_account) == before


# What may be sent.


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        pytest.param({"amount": 0}, {"amount": 0}, id="nought"),
        pytest.param({"amount": "12.345"}, {"amount": 12.35}, id="text-half-up"),
        pytest.param({"amount": 12.344}, {"amount": 12.34}, id="number-down"),
        pytest.param({"amount": -0.004}, {"amount": 0}, id="rounds-to-nought"),
        pytest.param(
            {"conversion_sub_amount": 300},
            {"conversion_sub_amount": 300, "amount": 30},
            id="sub-amount",
        ),
        pytest.param(
            {"conversion_sub_amount": "0.30000000000000004", "amount": "5"},
            {"conversion_sub_amount": 0.3, "amount": 5},
            id="both-amounts",
        ),
        pytest.param({"comment": "Thanks"}, {"comment": "Thanks"}, id="comment"),
        pytest.param({"comment": " "}, {"comment": " "}, id="comment-as-sent"),
        pytest.param({"comment": 5}, {"comment": "5"}, id="comment-of-digits"),
        pytest.param({"comment": "é" * 1000}, {"comment": "é" * 1000}, id="long"),
        pytest.param({"approved": True}, APPROVED, id="approve"),
        pytest.param({"approved": False}, DISAPPROVED, id="disapprove"),
        pytest.param({"approved": None}, {}, id="back-to-pending"),
        pytest.param(
            {"amount": 1, "comment": "x", "approved": True},
            {"amount": 1, "comment": "x"} | APPROVED,
            id="together",
        ),
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"amount": None, "conversion_sub_amount": None}, {}, id="null-is-not-sent"
        ),
        pytest.param(
            {"id": 7, "status": "approved", "kind": "bonus", "currency": "JPY"},
            {},
            id="read-only-and-unknown",
        ),
    ],
)
def test_changes_what_is_sent(api, commission, sent, changed):
    response = api.patch(path_of(commission), sent)

    assert said(response) == shown_commission(commission, **changed)
    assert list(response.json()) == list(shown_commission(commission))
    assert said(api.get(path_of(commission))) == response.json()
    assert "X-RateLimit-Limit" not in response


def test_clears_the_comment_with_null(api, commission):
    api.patch(path_of(commission), {"comment": "Thanks"})

    assert said(api.patch(path_of(commission), {"comment": None})) == shown_commission(
        commission
    )


def test_takes_the_sale_along(api, commission):
    api.patch(path_of(commission), {"conversion_sub_amount": 150.5})

    sale = said(api.get(f"/conversions/{commission.conversion_id}/"))
    assert sale["amount"] == 150.5
    assert [
        (it["conversion_sub_amount"], it["amount"]) for it in sale["commissions"]
    ] == [(150.5, 15.05)]


NUMBER = "This value should be a number."
NEGATIVE = "This value should be 0 or more."
LONG = "This value has too many digits."
BOOLEAN = "This value should be true or false."
TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        pytest.param({"amount": -0.005}, [flaw("amount", NEGATIVE)], id="negative"),
        pytest.param({"amount": "1e2"}, [flaw("amount", NUMBER)], id="exponent-text"),
        pytest.param({"amount": True}, [flaw("amount", NUMBER)], id="boolean"),
        pytest.param({"amount": ""}, [flaw("amount", NUMBER)], id="empty"),
        pytest.param({"amount": "5 "}, [flaw("amount", NUMBER)], id="blank-after"),
        pytest.param(
            {"amount": "9999999999999.995"}, [flaw("amount", LONG)], id="rounded-up"
        ),
        pytest.param(
            {"conversion_sub_amount": 10**13},
            [flaw("conversion_sub_amount", LONG)],
            id="fourteen-digits",
        ),
        pytest.param({"approved": "true"}, [flaw("approved", BOOLEAN)], id="text"),
        pytest.param({"approved": 1}, [flaw("approved", BOOLEAN)], id="one"),
        pytest.param(
            {"comment": []},
            [flaw("comment", "This value should be of type string.", TYPE)],
            id="comment-list",
        ),
        pytest.param(
            {"comment": "x" * 1001},
            [flaw("comment", TOO_LONG.replace("{{ limit }}", "1000"), TOO_LONG)],
            id="comment-too-long",
        ),
        pytest.param(
            {
                "approved": "x",
                "comment": {},
                "conversion_sub_amount": [],
                "amount": {},
            },
            [
                flaw("amount", NUMBER),
                flaw("conversion_sub_amount", NUMBER),
                flaw("comment", "This value should be of type string.", TYPE),
                flaw("approved", BOOLEAN),
            ],
            id="all-in-the-tables-order",
        ),
    ],
)
def test_refuses_odd_values(api, account, commission, sent, found):
    before = stored(account)

    response = api.patch(path_of(commission), {"comment": "kept out"} | sent)

    assert flaws(response) == found
    assert stored(account) == before


@pytest.mark.parametrize("body", [b"", b"[]", b"[{}]", b"null", b'{"amount": NaN}'])
def test_wants_an_object_before_it_looks_for_the_commission(api, commission, body):
    paths = [path_of(commission), "/commissions/0/"]

    answers = [api.patch(path, body) for path in paths]

    assert [(it.status_code, it.json()) for it in answers] == [
        (400, {"errors": [{"message": "Request body was not valid JSON"}]})
    ] * 2


def test_refuses_the_part_of_what_is_no_regular_one(api, account, shop):
    parent = shop.join("Odette", "Varga")
    shop.mina.affiliate.change(parent=parent.affiliate)
    shop.level(2, 3)
    sale = shop.sell("200")
    level = account.commissions.get(conversion=sale, kind="level")

    response = api.patch(
        path_of(level), {"conversion_sub_amount": 100, "comment": "kept out"}
    )

    ((path, message, raw),) = flaws(response)
    assert (path, message) == ("conversion_sub_amount", raw)
    assert said(api.get(path_of(level))) == shown_commission(
        level,
        amount=6,
        commission_type="level-2",
        kind="level",
        affiliate=parent.ref,
        commission_name="Level 2",
    )


def test_names_the_field_of_a_sale_that_grew_too_large(api, shop, account):
    sale = shop.sell("9999999999998", "1")
    second = account.commissions.filter(conversion=sale).latest("id")

    response = api.patch(path_of(second), {"conversion_sub_amount": 2.01})

    assert flaws(response) == [flaw("conversion_sub_amount", LONG)]


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("manager", 200), ("owner", 200)]
)
def test_asks_for_a_manager(api, account, key_for, commission, role, status):
    api.key = key_for(account, role)

    assert api.patch(path_of(commission), {}).status_code == status
    assert api.patch("/commissions/0/", {}).status_code == (
        403 if status == 403 else 404
    )
    assert said(api.get(path_of(commission))) == shown_commission(commission)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_knows_no_other_method(api, commission, method):
    response = api.ask(method, path_of(commission), {})

    assert response.status_code == 405
    assert response["Allow"] == "GET, PATCH, HEAD, OPTIONS"


# The table of states: contract 2.3.3.


def bring(account, commission, status):
    if status != "pending":
        decide = {"approved": approve, "disapproved": disapprove}[status]
        decide(account, commission_id=commission.pk, at=SOLD)


ACTIONS = {
    "approve": ("PATCH", "", {"approved": True}),
    "approve-by-put": ("PUT", "approved/", None),
    "disapprove": ("PATCH", "", {"approved": False}),
    "disapprove-by-delete": ("DELETE", "approval/", None),
    "back-to-pending": ("PATCH", "", {"approved": None}),
    "other-amount": ("PATCH", "", {"amount": 19}),
    "other-part": ("PATCH", "", {"conversion_sub_amount": 190}),
    "same-amounts": ("PATCH", "", {"amount": 20, "conversion_sub_amount": 200}),
    "comment": ("PATCH", "", {"comment": "x"}),
}
ONLY_COMMENTS = {"same-amounts", "comment"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_allows_everything_without_the_payout_feature(
    api, account, commission, action, status
):
    bring(account, commission, status)
    method, path, body = ACTIONS[action]

    response = api.ask(method, path_of(commission) + path, body)

    answer = said(response)
    assert (answer["final"], answer["finalization_date"]) == (None, None)
    owed = answer["amount"] if answer["status"] == "approved" else None
    assert said(api.get("/affiliates/minakessler/balances/")) == (
        {"EUR": owed} if owed else {}
    )


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_freezes_and_wants_cover_with_the_payout_feature(
    api, account, commission, action, status
):
    bring(account, commission, status)
    use_payouts(account)
    before = stored(account)
    method, path, body = ACTIONS[action]

    response = api.ask(method, path_of(commission) + path, body)

    refusal = None
    if status == "approved" and action not in ONLY_COMMENTS:
        refusal = FROZEN
    elif status != "approved" and action in ("approve", "approve-by-put"):
        refusal = UNFUNDED
    if refusal:
        assert (response.status_code, response.json()) == (409, refusal)
        assert stored(account) == before
    else:
        assert said(response)["id"] == commission.pk


@pytest.mark.parametrize("status", ["pending", "disapproved"])
@pytest.mark.parametrize("action", ["approve", "approve-by-put"])
def test_makes_a_covered_approval_final(api, account, commission, action, status):
    bring(account, commission, status)
    use_payouts(account)
    run("fund_payouts", "harbor", "20", "EUR")
    method, path, body = ACTIONS[action]

    answer = said(api.ask(method, path_of(commission) + path, body))

    moment = commission.again().finalized_at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    assert answer == shown_commission(
        commission, final=True, finalization_date=moment, **APPROVED
    )
    assert said(api.get(path_of(commission))) == answer


def test_answers_for_the_fields_before_the_state(api, account, commission):
    approve(account, commission_id=commission.pk, at=SOLD)
    use_payouts(account)

    response = api.patch(path_of(commission), {"amount": -1, "approved": True})

    assert flaws(response) == [flaw("amount", NEGATIVE)]


@pytest.mark.parametrize("on", [True, False], ids=["turned-on", "turned-off"])
def test_says_final_while_the_account_pays_through_the_service(
    api, account, commission, on
):
    """The feature was turned on or off after the approval: final is what cannot change
    any more."""
    use_payouts(account, on=not on)
    run("fund_payouts", "harbor", "20", "EUR")
    approve(account, commission_id=commission.pk, at=SOLD)
    use_payouts(account, on=on)

    shows_final = said(api.get(path_of(commission)))["final"]

    refused = api.patch(path_of(commission), {"amount": 19}).status_code == 409
    assert refused is on
    assert shows_final is (True if on else None)


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_works_in_an_archived_program_for_a_removed_affiliate(
    api, account, shop, commission, on
):
    archive(account, slug=shop.program.slug, at=SOLD)
    remove(shop.mina.affiliate)
    use_payouts(account, on=on)

    answer = said(api.patch(path_of(commission), {"amount": 5, "approved": False}))

    assert answer == shown_commission(commission, amount=5, **DISAPPROVED)
