"""Contract 5.5: what the browser script calls; answers alike for known and unknown."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.test import Client

from accounts.services.accounts import lock
from affiliate_site.browser import views
from payouts.services.explaining import explain
from tests.proof import money_agrees
from tests.shop import Shop
from tracking.services.affiliates import Application
from tracking.services.enrolments import decide_on
from tracking.services.looking import LookAgain
from tracking.services.programs import archive
from tracking.services.prospects import Invitation, invite

VID = re.compile(r"[0-9a-f]{32}")
NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


class Page:
    """A browser on a page of the shop."""

    def __init__(self, shop) -> None:
        self.shop = shop
        self.client = Client()
        self.headers = {"User-Agent": AGENT, "Origin": "https://shop.example.net"}

    def tell(self, call, **told):
        body = {"account": self.shop.account.slug} | told
        return self.client.post(
            f"/track/{call}/",
            body,
            content_type="application/json",
            headers=self.headers,
            REMOTE_ADDR="203.0.113.7",
        )

    def visit(self, **told):
        """The new tracking id of a visit; by Mina's link unless told otherwise."""
        told = told or {"referral_code": self.shop.mina.code}
        answer = self.tell("click", **told)
        assert answer.status_code == 200
        assert list(answer.json()) == ["vid"]
        assert VID.fullmatch(answer.json()["vid"])
        return answer.json()["vid"]


@pytest.fixture
def shop(account, time_machine):
    time_machine.move_to(NOON, tick=False)
    shop = Shop(account)
    shop.odette = shop.join("Odette", "Varga")
    yield shop
    money_agrees(account)


@pytest.fixture
def page(shop):
    return Page(shop)


def stored(account):
    return {
        name: getattr(account, name).count()
        for name in ("clicks", "visitors", "customers", "conversions", "events")
    }


# Clicks.


def test_gives_a_visitor_an_id_and_keeps_the_visit(page, shop):
    vid = page.visit(
        referral_code=shop.mina.code,
        landing_page="https://shop.example.net/lamps",
        referrer="https://notes.example.org/",
        meta_data={"subid1": "spring"},
    )

    click = shop.account.clicks.get()
    assert shop.account.visitors.get(tracking_id=vid).click == click
    assert click.affiliate == shop.mina.affiliate
    assert click.landing_page == "https://shop.example.net/lamps"
    assert click.referrer == "https://notes.example.org/"
    assert click.meta_data == {"subid1": "spring"}
    assert (click.user_agent, click.ip) == (AGENT, "203.0.113.7")


def test_takes_an_asset_link_and_lets_a_code_beside_it_count(page, shop):
    pair = {"asset_id": shop.odette.asset_id, "source_id": shop.odette.source_id}

    page.visit(**pair)
    page.visit(**pair, referral_code=shop.mina.code)

    clicks = shop.account.clicks.order_by("id").values_list("affiliate__slug")
    assert list(clicks) == [("odettevarga",), ("minakessler",)]


def test_gives_each_visit_an_id_of_its_own(page, shop):
    first, again = page.visit(), page.visit()

    assert first != again
    assert shop.account.visitors.count() == 2


def test_shows_the_click_of_a_bot_as_one(page, shop, api):
    page.headers["User-Agent"] = (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    )

    page.visit()

    (click,) = api.get("/clicks/").json()
    details = click["details"]
    assert (details["browser"], details["device"]) == ("Googlebot 2", "Spider")


@pytest.mark.parametrize(
    ("seconds", "clicks"), [(0, 1), (1, 1), (59, 1), (60, 2), (61, 2), (119, 2)]
)
@pytest.mark.parametrize("begins", [0, 30, 59])
def test_folds_what_comes_again_within_a_minute(
    page, shop, time_machine, begins, seconds, clicks
):
    time_machine.move_to(NOON + timedelta(seconds=begins), tick=False)
    page.visit()

    time_machine.move_to(NOON + timedelta(seconds=begins + seconds), tick=False)
    page.visit()

    assert shop.account.clicks.count() == clicks


def test_folds_nothing_of_another_link_or_another_browser(page, shop):
    page.visit()
    page.visit(referral_code=shop.odette.code)
    page.visit(asset_id=shop.mina.asset_id, source_id=shop.mina.source_id)
    page.headers |= {"User-Agent": "curl/8"}
    page.visit()

    assert shop.account.clicks.count() == 4


def deleted(shop):
    shop.mina.affiliate.change(removed_at=NOON)


def waiting(shop):
    decide_on(
        shop.account,
        program=shop.program,
        affiliate_id=shop.mina.slug,
        approved=False,
        at=NOON,
    )


def archived(shop):
    archive(shop.account, slug=shop.program.slug, at=NOON)


def locked(shop):
    lock(shop.account, at=NOON)


def nothing(shop):
    pass


ODD_VISITS = {
    "unknown code": (nothing, {"referral_code": "nobody"}),
    "no code": (nothing, {"landing_page": "https://shop.example.net/"}),
    "odd code": (nothing, {"referral_code": ["a"]}),
    "half a pair": (nothing, {"asset_id": "4-b81d20"}),
    "odd meta data": (nothing, {"meta_data": {"a": []}}),
    "unknown account": (nothing, {"account": "nobody"}),
    "odd account": (nothing, {"account": 5}),
    "other group": (nothing, {"program_group": "books"}),
    "deleted": (deleted, {}),
    "not approved": (waiting, {}),
    "archived": (archived, {}),
    "locked": (locked, {}),
}


@pytest.mark.parametrize("name", ODD_VISITS)
def test_answers_alike_and_stores_nothing_where_nobody_earns(page, shop, name):
    given, told = ODD_VISITS[name]
    if "pair" not in name and "no code" not in name:
        told = {"referral_code": shop.mina.code} | told
    given(shop)
    before = stored(shop.account)

    page.visit(**told)

    assert stored(shop.account) == before


@pytest.mark.parametrize(
    "told",
    [
        {"referral_code": "nobody"},
        {"referral_code": "q" * 256},
        {"referral_code": 5.5},
        {"meta_data": {"q": "x" * 300}},
        {},
    ],
)
def test_keeps_the_click_of_the_former_id_for_an_unknown_code(page, shop, told):
    former = page.visit()

    vid = page.visit(**told, vid=former)

    click = shop.account.clicks.get()
    assert vid != former
    assert shop.account.visitors.get(tracking_id=vid).click == click


def test_knows_nobody_by_the_id_of_another_account(page, shop, other_account):
    stranger = Shop(other_account, mark="z-", email="z@notes.example.org")
    former = Page(stranger).visit()

    page.visit(referral_code="nobody", vid=former)
    page.tell("conversion", vid=former, external_id="order-1", amount=200)

    assert stored(shop.account) | {"events": 0} == dict.fromkeys(
        ("clicks", "visitors", "customers", "conversions", "events"), 0
    )


def test_takes_a_visit_by_a_prospect_s_link(page, shop):
    prospect = invite(
        shop.account, invitation=Invitation(Application("Pia", "Lang")), at=NOON
    )
    code = shop.account.referral_codes.get(prospect=prospect).code

    vid = page.visit(referral_code=code)
    page.tell("conversion", vid=vid, external_id="order-1", amount=200)

    [sale] = shop.account.conversions.all()
    assert sale.affiliate.promoted_at is not None
    assert shop.account.clicks.get().affiliate == sale.affiliate


# Sales.


def test_records_a_sale_of_the_visitor_s_click(page, shop):
    vid = page.visit()

    answer = page.tell(
        "conversion",
        vid=vid,
        external_id="order-1",
        amount="200",
        customer_id="acct-1",
        meta_data={"plan": "pro"},
    )

    sale = shop.account.conversions.get()
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Type" not in answer.headers
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert (sale.external_id, sale.amount) == ("order-1", Decimal(200))
    assert sale.affiliate == shop.mina.affiliate
    assert sale.click == shop.account.clicks.get()
    assert sale.tracking_source == "tracking_id"
    assert sale.customer.customer_id == "acct-1"
    assert sale.meta_data == {"plan": "pro"}
    assert (sale.user_agent, sale.ip) == (AGENT, "203.0.113.7")
    assert shop.commission_of(sale).amount == 20


def test_records_the_parts_of_a_sale(page, shop):
    shop.type("accessories", "7.5")
    parts = [
        {"sub_amount": 100},
        {"sub_amount": "10.50", "commission_type": "accessories"},
    ]

    page.tell("conversion", vid=page.visit(), external_id="o", commissions=parts)

    assert shop.account.conversions.get().amount == Decimal("110.50")
    assert shop.account.commissions.count() == 2


@pytest.mark.parametrize(
    ("told", "earner"),
    [
        pytest.param({"coupons": "ODETTE"}, "odettevarga", id="coupon"),
        pytest.param({"coupons": ["NOBODY", "ODETTE"]}, "odettevarga", id="known"),
        pytest.param({"coupons": ["NOBODY"]}, "minakessler", id="unknown coupon"),
        pytest.param({"coupons": []}, "minakessler", id="no coupon"),
        pytest.param({"customer_id": "acct-o"}, "odettevarga", id="customer"),
        pytest.param({"customer_id": "acct-new"}, "minakessler", id="new customer"),
        pytest.param(
            {"customer_id": "acct-o", "coupons": "MINA"}, "odettevarga", id="both"
        ),
    ],
)
def test_lets_the_customer_and_the_coupon_come_before_the_cookie(
    page, shop, told, earner
):
    shop.account.coupons.filter(enrolment=shop.odette.enrolment).update(code="ODETTE")
    shop.account.coupons.filter(enrolment=shop.mina.enrolment).update(code="MINA")
    shop.customer("acct-o", coupon="ODETTE")

    page.tell("conversion", vid=page.visit(), external_id="o", amount=200, **told)

    assert shop.account.conversions.get().affiliate.slug == earner


def test_lets_the_last_click_win(page, shop):
    first = page.visit()
    vid = page.visit(referral_code=shop.odette.code, vid=first)

    page.tell("conversion", vid=vid, external_id="order-1", amount=200)

    assert shop.account.conversions.get().affiliate == shop.odette.affiliate


@pytest.mark.parametrize("days", [45, 46])
def test_asks_how_old_the_click_is(page, shop, time_machine, days):
    vid = page.visit()
    time_machine.move_to(NOON + timedelta(days=days), tick=False)

    answer = page.tell("conversion", vid=vid, external_id="order-1", amount=200)

    assert answer.status_code == 204
    assert shop.account.conversions.count() == (days == 45)


@pytest.mark.parametrize(("trusts", "status"), [(False, "pending"), (True, "approved")])
def test_approves_nothing_that_a_page_tells_unless_it_is_trusted(
    page, shop, trusts, status
):
    shop.program.change(
        auto_approve_commissions=True, auto_approve_browser_sales=trusts
    )

    page.tell("conversion", vid=page.visit(), external_id="order-1", amount=200)

    sale = shop.account.conversions.get()
    assert shop.commission_of(sale).status == status
    assert explain(shop.account, conversion_id=sale.pk).differences == []


ODD_SALES = {
    "unknown id": {"vid": "0" * 32},
    "no id": {"vid": None},
    "odd amount": {"amount": "1e2"},
    "negative": {"amount": -1},
    "odd currency": {"currency": "ZZZ"},
    "unknown type": {"commission_type": "gold"},
    "odd parts": {"commissions": [{}]},
    "long id": {"external_id": "o" * 256},
    "odd meta data": {"meta_data": {"a": []}},
    "unknown account": {"account": "nobody"},
    "no account": {"account": None},
}


@pytest.mark.parametrize("name", ODD_SALES)
def test_answers_alike_to_a_sale_that_is_odd(page, shop, name):
    told = {"vid": page.visit(), "external_id": "order-1", "amount": 200}
    before = stored(shop.account)

    answer = page.tell("conversion", **told | ODD_SALES[name])

    assert (answer.status_code, answer.content) == (204, b"")
    assert stored(shop.account) == before


@pytest.mark.parametrize("given", [deleted, waiting, archived, locked])
def test_answers_alike_to_a_sale_by_which_nobody_may_earn(page, shop, given):
    vid = page.visit()
    given(shop)
    before = stored(shop.account)

    answer = page.tell("conversion", vid=vid, external_id="order-1", amount=200)

    assert (answer.status_code, answer.content) == (204, b"")
    assert stored(shop.account) == before


def test_records_a_sale_once(page, shop):
    vid = page.visit()
    told = {"vid": vid, "external_id": "order-1", "amount": 200}

    answers = [page.tell("conversion", **told) for _ in range(3)]

    assert {it.status_code for it in answers} == {204}
    assert shop.account.conversions.count() == 1
    assert shop.account.conversion_attempts.count() == 0


def test_lets_a_sale_that_failed_wait_without_delaying_other_doors(page, shop):
    told = {"external_id": "order-1", "amount": 200}
    page.tell("conversion", vid="0" * 32, **told)
    assert shop.account.conversion_attempts.get().source == "browser"

    page.tell("conversion", vid=page.visit(), **told)

    assert shop.account.conversions.count() == 0
    shop.sell("200", external_id="order-1")


def test_forgets_a_failure_once_the_sale_is_there(page, shop):
    page.tell("conversion", vid="0" * 32, external_id="order-1", amount=200)
    shop.account.conversion_attempts.update(failed_at=NOON - timedelta(hours=1))

    page.tell("conversion", vid=page.visit(), external_id="order-1", amount=200)

    assert shop.account.conversions.count() == 1
    assert shop.account.conversion_attempts.count() == 0


@pytest.mark.parametrize("failure", [OperationalError, LookAgain])
def test_tells_of_a_fault_of_ours_and_remembers_it(page, shop, monkeypatch, failure):
    def fail(*args, **kwargs):
        raise failure("database is locked")

    vid = page.visit()
    monkeypatch.setattr(views, "record_conversion", fail)
    page.client.raise_request_exception = False

    answer = page.tell("conversion", vid=vid, external_id="order-1", amount=200)

    assert answer.status_code == 503
    assert answer.json()["message"] == "Service Unavailable"
    assert shop.account.conversion_attempts.get().source == "browser"


# Customers.


@pytest.mark.parametrize("status", ["new", "trial", "lead"])
def test_registers_a_customer_of_the_visitor_s_click(page, shop, status):
    answer = page.tell(
        "customer", vid=page.visit(), customer_id="acct-1", status=status
    )

    customer = shop.account.customers.get()
    assert (answer.status_code, answer.content) == (204, b"")
    assert (customer.customer_id, customer.status) == ("acct-1", status)
    assert customer.affiliate == shop.mina.affiliate
    assert customer.click == shop.account.clicks.get()


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"vid": "0" * 32}, id="unknown id"),
        pytest.param({"vid": ""}, id="no id"),
        pytest.param({"status": "paying"}, id="odd status"),
        pytest.param({"customer_id": " "}, id="blank"),
        pytest.param({"customer_id": "acct-o"}, id="known"),
        pytest.param({"account": "nobody"}, id="unknown account"),
    ],
)
def test_answers_alike_to_a_customer_that_is_odd(page, shop, told):
    shop.customer("acct-o")
    vid = page.visit()
    before = stored(shop.account)

    answer = page.tell("customer", **{"vid": vid, "customer_id": "acct-1"} | told)

    assert (answer.status_code, answer.content) == (204, b"")
    assert stored(shop.account) == before


def test_registers_by_tracking_id_through_the_api(page, shop, api):
    told = {"customer_id": "acct-1", "tracking_id": page.visit()}

    answer = api.post("/customers/", told)

    assert answer.status_code == 200
    assert answer.json()["affiliate"]["id"] == "minakessler"
    assert shop.account.customers.get().click == shop.account.clicks.get()


# The door.


@pytest.mark.parametrize("call", ["click", "conversion", "customer"])
class TestDoor:
    """The same for all three calls."""

    def ask(self, call, method="POST", data=b"", **told):
        return Client().generic(method, f"/track/{call}/", data, **told)

    @pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a": NaN}', b'"x"'])
    def test_refuses_what_is_no_object(self, db, call, data):
        answer = self.ask(call, data=data)

        assert answer.status_code == 400
        assert answer.json() == {
            "errors": [{"message": "Request body was not valid JSON"}]
        }
        assert answer["Access-Control-Allow-Origin"] == "*"

    def test_refuses_a_body_over_a_mebibyte(self, db, call):
        answer = self.ask(call, data=b" " * (1024 * 1024 + 1))

        assert answer.status_code == 413
        assert answer.json()["message"] == "Request Entity Too Large"

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_takes_no_other_method(self, db, call, method):
        answer = self.ask(call, method)

        assert answer.status_code == 405
        assert answer["Allow"] == "POST, OPTIONS"

    def test_tells_a_browser_that_it_may_ask(self, db, call):
        answer = self.ask(call, "OPTIONS")

        assert (answer.status_code, answer.content) == (204, b"")
        assert answer["Allow"] == "POST, OPTIONS"
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "Content-Type" in answer["Access-Control-Allow-Headers"]
        assert answer["Access-Control-Max-Age"] == "600"

    def test_takes_120_calls_a_minute_of_an_address(self, db, call, time_machine):
        time_machine.move_to(NOON, tick=False)
        told = {"data": b"{}", "REMOTE_ADDR": "198.51.100.9"}

        answers = [self.ask(call, **told).status_code for _ in range(121)]
        elsewhere = self.ask(call, **told | {"REMOTE_ADDR": "198.51.100.10"})

        assert answers == [200 if call == "click" else 204] * 120 + [429]
        assert elsewhere.status_code != 429
        refused = self.ask(call, **told)
        assert refused.content == b"Too many requests"
        assert refused["Content-Type"] == "text/plain"
