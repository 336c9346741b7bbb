"""Claims of pages and facts with a key: docs/tracking-trust.md."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.exact_json import format_decimal
from accounts.services.accounts import update_page_tracking
from accounts.services.api_keys import (
    calculate_signature,
    create_signing_secret,
    revoke_signing_secret,
)
from payouts.errors import SettledCommission
from payouts.explanation import render_explanation
from payouts.services import conversion_creation
from payouts.services.commissions import approve_commission
from payouts.services.corrections import confirm_claim
from payouts.services.explanation import explain_conversion
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.reconciliation import reconcile
from tests.factories.tracking import ProgramFactory
from tests.ledger_checks import assert_amounts_consistent
from tracking import claims
from tracking.claims import Trust
from tracking.errors import ClaimNotFound
from tracking.services.affiliates import PersonData
from tracking.services.prospects import ProspectData, create_prospect
from tracking.services.retention import delete_refused_claims

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def scenario(scenario, time_machine):
    """Mina is honest; Mallory is an affiliate who reports what is not true."""
    time_machine.move_to(NOON, tick=False)
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.mallory = scenario.create_enrolled_affiliate("Mallory", "Thorn")
    yield scenario
    assert_amounts_consistent(scenario.account)
    for conversion in scenario.account.conversions.all():
        explanation = explain_conversion(scenario.account, conversion_id=conversion.pk)
        assert explanation.differences == []


@pytest.fixture
def page(scenario):
    return Page(scenario.account)


class Page:
    """Calls of the browser script, by anybody."""

    def __init__(self, account) -> None:
        self.account = account

    def call(self, call, **data):
        response = Client().post(
            f"/track/{call}/",
            {"account": self.account.slug} | data,
            content_type="application/json",
        )
        assert response.status_code in (200, 204)
        return response

    def click(self, affiliate):
        # Each visitor has a user agent of its own, or it would be one click.
        return self.call("click", referral_code=affiliate.code).json()["vid"]

    def report(self, affiliate, external_id="order-1", **data):
        """Report a conversion of a new visitor of the affiliate; return its vid."""
        vid = self.click(affiliate)
        body = {"external_id": external_id, "amount": 200} | data
        self.call("conversion", vid=vid, **body)
        return vid


def get_commissions(account):
    """Affiliate, amount and status of the commissions that are not deleted."""
    rows = account.commissions.not_deleted().order_by("id")
    return [(row.affiliate.slug, format_decimal(row.amount), row.status) for row in rows]


def get_balance(account, affiliate):
    rows = account.ledger_accounts.filter(affiliate=affiliate.affiliate, kind="payable")
    return sum((row.balance for row in rows), Decimal(0))


def add_extra(api, account):
    """Add a commission for 10 to the only conversion; return it."""
    path = f"/conversions/{account.conversions.get().pk}/commissions/"
    response = api.post(path, {"conversion_sub_amount": 10})
    assert response.status_code == 200
    return response.json()[-1]


# Conversions.


def test_fact_confirms_a_claim(page, scenario, api):
    page.report(scenario.mallory, amount=99_999)
    claim = scenario.account.conversions.get()
    assert claim.claim_status == "open"
    assert get_commissions(scenario.account) == [("mallorythorn", "9999.9", "pending")]

    body = {"external_id": "order-1", "amount": 50, "coupon": scenario.mina.coupon}
    response = api.post("/conversions/", body | {"meta_data": {"a": "b"}})

    assert response.status_code == 200
    answer = response.json()
    assert (answer["id"], answer["amount"]) == (claim.pk, 50)
    assert answer["affiliate"]["id"] == "minakessler"
    assert (answer["meta_data"], answer["warnings"]) == ({"a": "b"}, None)
    assert answer["tracking_source"] == "coupon"
    assert get_commissions(scenario.account) == [("minakessler", "5", "approved")]
    assert get_balance(scenario.account, scenario.mallory) == 0
    assert get_balance(scenario.account, scenario.mina) == 5
    report = reconcile([scenario.account], at=NOON)
    assert report.discrepancies == []
    again = api.post("/conversions/", body)
    assert "Duplicate conversion" in again.json()["errors"][0]["message"]


def test_visitor_of_the_claim_decides_if_the_fact_names_nobody(page, scenario, api):
    page.report(scenario.mina)

    response = api.post("/conversions/", {"external_id": "order-1", "amount": 80})

    assert response.json()["affiliate"]["id"] == "minakessler"
    assert response.json()["tracking_source"] == "tracking_id"
    assert get_commissions(scenario.account) == [("minakessler", "8", "approved")]


def test_postback_confirms_a_claim(page, scenario, api):
    page.report(scenario.mallory)

    query = f"external_id=order-1&amount=50&coupon={scenario.mina.coupon}"
    response = api.get(f"/pb/con/c/?{query}")

    assert response.json()["affiliate"]["id"] == "minakessler"


def test_expired_cookie_does_not_matter_for_a_claim_in_time(page, scenario, api, time_machine):
    page.report(scenario.mina)
    time_machine.move_to(NOON + timedelta(days=60), tick=False)

    response = api.post("/conversions/", {"external_id": "order-1", "amount": 80})

    assert response.status_code == 200
    assert response.json()["created_at"] == "2026-03-04T12:00:00+00:00"


def test_fact_replaces_what_staff_approved_but_not_what_is_paid(page, scenario, api):
    for external_id in ("order-1", "order-2"):
        page.report(scenario.mallory, external_id)
    first, second = scenario.account.commissions.order_by("id")
    for row in (first, second):
        assert api.put(f"/commissions/{row.pk}/approved/").status_code == 200
    api.post(
        "/payments/",
        [{"affiliate_id": "mallorythorn", "amount": 20, "currency": "EUR"}],
    )

    answers = [
        api.post(
            "/conversions/",
            {"external_id": name, "amount": 50, "coupon": scenario.mina.coupon},
        )
        for name in ("order-1", "order-2")
    ]

    assert [answer.status_code for answer in answers] == [400, 200]
    assert "Duplicate" in answers[0].json()["errors"][0]["message"]
    assert get_balance(scenario.account, scenario.mina) == 5


def test_claim_does_not_touch_a_fact(page, scenario, api):
    scenario.create_conversion("200", external_id="order-1", at=NOON)

    page.report(scenario.mallory)

    conversion = scenario.account.conversions.get()
    assert conversion.affiliate == scenario.mina.affiliate
    assert conversion.warnings is None
    assert not scenario.account.conversion_claims.exists()


def test_change_by_key_takes_the_external_id_of_a_claim(page, scenario, api):
    page.report(scenario.mallory, "order-1")
    fact = scenario.create_conversion("50", at=NOON)

    response = api.patch(f"/conversions/{fact.pk}/", {"external_id": "order-1"})

    assert response.status_code == 200
    ids = scenario.account.conversions.order_by("id").values_list("external_id")
    assert [external_id for (external_id,) in ids] == [None, "order-1"]
    claim = scenario.account.conversions.earliest("id")
    assert claim.claim_status == "reviewed"
    assert get_commissions(scenario.account) == [
        ("mallorythorn", "20", "disapproved"),
        ("minakessler", "5", "approved"),
    ]


@pytest.mark.parametrize("trust", [Trust.CLAIM, Trust.FACT])
def test_call_that_found_a_claim_looks_again_if_it_lost_its_external_id(
    page, scenario, monkeypatch, trust
):
    page.report(scenario.mallory)
    stale = scenario.account.conversions.get()
    scenario.account.conversions.update(external_id=None)

    def find(account, external_id):
        monkeypatch.undo()
        return stale

    monkeypatch.setattr(conversion_creation, "find_conversion", find)
    stored = scenario.create_conversion("5", external_id="order-1", trust=trust)

    assert stored.pk != stale.pk
    claim = scenario.account.conversions.get(pk=stale.pk)
    assert (claim.claim_status, claim.warnings) == ("open", None)


def test_change_by_key_takes_back_what_staff_approved_but_not_what_is_paid(page, scenario, api):
    """As a call with a key does that confirms the claim."""
    scenario.create_level(2, "1")
    scenario.add_child(scenario.mallory, scenario.mina, at=NOON)
    for external_id in ("order-1", "order-2"):
        page.report(scenario.mallory, external_id)
    for row in scenario.account.commissions.all():
        assert api.put(f"/commissions/{row.pk}/approved/").status_code == 200
    payment = {"affiliate_id": "mallorythorn", "amount": 20, "currency": "EUR"}
    api.post("/payments/", payment)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    facts = [scenario.create_conversion("50", affiliate=odette, at=NOON) for _ in range(2)]

    answers = [
        api.patch(f"/conversions/{fact.pk}/", {"external_id": name})
        for fact, name in zip(facts, ("order-1", "order-2"), strict=True)
    ]

    assert [answer.status_code for answer in answers] == [400, 200]
    assert "Duplicate" in answers[0].json()["errors"][0]["message"]
    paid, taken = scenario.account.conversions.order_by("id")[:2]
    assert (paid.external_id, taken.external_id) == ("order-1", None)
    statuses = [status for _, _, status in get_commissions(scenario.account)]
    assert statuses[:4] == ["approved", "approved", "disapproved", "disapproved"]
    assert get_balance(scenario.account, scenario.mallory) == 0
    assert get_balance(scenario.account, scenario.mina) == 2
    report = reconcile([scenario.account], at=NOON)
    assert report.discrepancies == []


def test_change_by_key_to_the_id_of_contested_claims_decides_them(page, scenario, api):
    page.report(scenario.mallory, amount=90)
    page.report(scenario.mina, amount=50)
    contested = scenario.account.conversions.get()
    rival = scenario.account.conversion_claims.get(is_original=False)
    fact = scenario.create_conversion("50", at=NOON)

    answer = api.patch(f"/conversions/{fact.pk}/", {"external_id": "order-1"})

    assert answer.status_code == 200
    contested.refresh_from_db()
    assert (contested.is_contested, contested.warnings) == (False, None)
    assert not scenario.account.conversion_claims.filter(decided_at=None).exists()
    with pytest.raises(ClaimNotFound):
        confirm_claim(scenario.account, claim_id=rival.pk, at=NOON)


# Contested claims.


def test_second_visitor_contests_a_claim(page, scenario, api):
    page.report(scenario.mallory, amount=90)
    page.report(scenario.mina)
    page.report(scenario.mina)  # a third visitor

    conversion = scenario.account.conversions.get()
    assert conversion.affiliate == scenario.mallory.affiliate
    assert conversion.warnings == ["contested_claim"]
    rows = scenario.account.conversion_claims.order_by("id")
    assert [(row.affiliate.slug, format_decimal(row.amount), row.is_original) for row in rows] == [
        ("mallorythorn", "90", True),
        ("minakessler", "200", False),
        ("minakessler", "200", False),
    ]
    assert all(row.click and row.tracking_id for row in rows)
    refused = api.get("/pb/con/u/?external_id=order-1&status=approved")
    assert refused.status_code == 409
    (error,) = refused.json()["errors"]
    assert error["code"] == "contested_claim"
    commission = scenario.account.commissions.get()
    assert api.put(f"/commissions/{commission.pk}/approved/").status_code == 409
    assert api.delete(f"/commissions/{commission.pk}/approved/").status_code == 200


def test_same_visitor_does_not_contest_its_claim(page, scenario):
    vid = page.report(scenario.mina)
    page.call("conversion", vid=vid, external_id="order-1", amount=200)

    assert scenario.account.conversions.get().warnings is None
    assert not scenario.account.conversion_claims.exists()


def test_bounds_competing_claims(page, scenario, monkeypatch):
    monkeypatch.setattr("payouts.services.claims.MAX_COMPETING_CLAIMS", 3)
    for _ in range(6):
        page.report(scenario.mallory)

    assert scenario.account.conversion_claims.count() == 3


def test_fact_with_a_parameter_decides_a_contest(page, scenario, api):
    page.report(scenario.mallory)
    vid = page.report(scenario.mina)

    body = {"external_id": "order-1", "amount": 50, "tracking_id": vid}
    response = api.post("/conversions/", body)

    assert response.json()["affiliate"]["id"] == "minakessler"
    assert response.json()["warnings"] is None
    assert get_commissions(scenario.account) == [("minakessler", "5", "approved")]


def test_fact_without_a_parameter_leaves_a_contest_to_staff(page, scenario, api):
    page.report(scenario.mallory)
    page.report(scenario.mina)

    response = api.post("/conversions/", {"external_id": "order-1", "amount": 50})

    assert response.status_code == 200
    assert response.json()["warnings"] == ["contested_claim"]
    assert get_commissions(scenario.account) == [("mallorythorn", "5", "pending")]
    claim = scenario.account.conversion_claims.get(affiliate=scenario.mina.affiliate)
    confirm_claim(scenario.account, claim_id=claim.pk, at=NOON + timedelta(hours=1))
    assert get_commissions(scenario.account) == [("minakessler", "5", "approved")]


@pytest.mark.parametrize("winner", ["mina", "mallory"])
def test_staff_confirm_one_of_the_claims(page, scenario, winner):
    page.report(scenario.mallory, amount=90, customer_id="acct-1")
    page.report(scenario.mina, amount=200, customer_id="acct-1")
    affiliate = getattr(scenario, winner)
    claim = scenario.account.conversion_claims.get(affiliate=affiliate.affiliate)

    confirm_claim(scenario.account, claim_id=claim.pk, at=NOON + timedelta(hours=1))

    conversion = scenario.account.conversions.get()
    assert conversion.affiliate == affiliate.affiliate
    assert (conversion.warnings, conversion.claim_status) == (None, None)
    assert conversion.customer.is_confirmed
    assert conversion.customer.affiliate == affiliate.affiliate
    amount = "20" if winner == "mina" else "9"
    assert get_commissions(scenario.account) == [
        (affiliate.slug, amount, "approved"),
    ]
    with pytest.raises(ClaimNotFound):
        confirm_claim(scenario.account, claim_id=claim.pk, at=NOON)


def test_a_paid_claim_cannot_be_given_to_another(page, scenario, api):
    """The first one was paid before anybody else claimed its order."""
    page.report(scenario.mallory, external_id=None, amount=90)
    account = scenario.account
    approve_commission(account, commission_id=account.commissions.get().pk, at=NOON)
    create_payments(account, orders=[PaymentOrder("mallorythorn", Decimal(9), "EUR")], at=NOON)
    api.patch(f"/conversions/{account.conversions.get().pk}/", {"external_id": "order-1"})
    page.report(scenario.mina)
    claim = account.conversion_claims.get(affiliate=scenario.mina.affiliate)

    with pytest.raises(SettledCommission, match="is paid or final"):
        confirm_claim(account, claim_id=claim.pk, at=NOON)

    assert account.conversions.get().is_contested
    assert get_commissions(account) == [("mallorythorn", "9", "approved")]


# Customers.


def test_fact_with_a_parameter_takes_over_an_unconfirmed_customer(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")

    body = {"customer_id": "acct-1", "coupon": scenario.mina.coupon, "amount": 100}
    response = api.post("/conversions/", body)

    assert response.json()["affiliate"]["id"] == "minakessler"
    assert response.json()["warnings"] is None
    customer = scenario.account.customers.get()
    assert (customer.affiliate, customer.is_confirmed, customer.status) == (
        scenario.mina.affiliate,
        True,
        "paying",
    )
    renewal = api.post("/conversions/", {"customer_id": "acct-1", "amount": 100})
    assert renewal.json()["affiliate"]["id"] == "minakessler"
    assert get_balance(scenario.account, scenario.mallory) == 0


def test_unconfirmed_customer_decides_alone_and_waits(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")

    first = api.post("/conversions/", {"customer_id": "acct-1", "amount": 100}).json()

    assert first["warnings"] == ["unconfirmed_customer"]
    assert first["commissions"][0]["approved"] is False
    pk = first["commissions"][0]["id"]
    assert api.put(f"/commissions/{pk}/approved/").status_code == 200
    assert scenario.account.customers.get().is_confirmed
    second = api.post("/conversions/", {"customer_id": "acct-1", "amount": 100}).json()
    assert second["warnings"] is None
    assert second["commissions"][0]["approved"] is True


def test_post_customers_confirms_an_unconfirmed_one(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")
    claimed = scenario.account.customers.get()

    body = {"customer_id": "acct-1", "coupon": scenario.mina.coupon, "status": "trial"}
    response = api.post("/customers/", body)

    assert response.status_code == 200
    assert response.json()["id"] == claimed.public_id
    assert response.json()["status"] == "trial"
    assert response.json()["affiliate"]["id"] == "minakessler"
    assert api.post("/customers/", body).status_code == 400


def test_page_without_other_parameters_relies_on_an_unconfirmed_customer(page, scenario):
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")

    page.call("conversion", external_id="order-1", amount=50, customer_id="acct-1")

    assert scenario.account.conversions.get().affiliate == scenario.mina.affiliate


def test_claimed_customer_does_not_win_over_the_cookie_of_a_page(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")

    page.report(scenario.mina, customer_id="acct-1")

    conversion = scenario.account.conversions.get()
    assert conversion.affiliate == scenario.mina.affiliate
    commission = scenario.account.commissions.get()
    assert api.put(f"/commissions/{commission.pk}/approved/").status_code == 200
    customer = scenario.account.customers.get()
    assert (customer.affiliate, customer.is_confirmed) == (
        scenario.mallory.affiliate,
        False,
    )


def test_page_relies_on_the_customer_if_its_cookie_expired(page, scenario, time_machine):
    vid = page.click(scenario.mina)
    page.call("customer", vid=vid, customer_id="acct-1")
    time_machine.move_to(NOON + timedelta(days=60), tick=False)

    page.call("conversion", vid=vid, external_id="o", amount=5, customer_id="acct-1")

    assert scenario.account.conversions.get().tracking_source == "customer"


def test_program_can_trust_customers_of_pages(page, scenario, api):
    scenario.program.update_row(trust_browser_customers=True)
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")

    body = {"customer_id": "acct-1", "coupon": scenario.mallory.coupon, "amount": 100}
    answer = api.post("/conversions/", body).json()

    assert (answer["affiliate"]["id"], answer["warnings"]) == ("minakessler", None)


def test_claim_does_not_uncancel_a_customer(page, scenario, api):
    customer = scenario.create_customer("acct-1", at=NOON)
    api.delete(f"/customers/{customer.public_id}/status/")

    page.report(scenario.mina, customer_id="acct-1")
    assert scenario.account.customers.get().status == "canceled"
    api.post("/conversions/", {"customer_id": "acct-1", "amount": 1})
    assert scenario.account.customers.get().status == "paying"


def test_claims_do_not_use_up_a_cap(page, scenario, api):
    scenario.program.update_row(recurring_cap=1)
    scenario.create_customer("acct-1", at=NOON)
    for number in range(3):
        page.report(scenario.mallory, f"false-{number}", customer_id="acct-1")

    answer = api.post("/conversions/", {"customer_id": "acct-1", "amount": 100}).json()

    assert answer["commissions"][0]["approved"] is True


@pytest.mark.parametrize("by_person", [False, True])
def test_a_confirmed_claim_does_not_use_up_its_own_cap(page, scenario, api, by_person):
    scenario.program.update_row(recurring=False)
    page.report(scenario.mallory, customer_id="acct-1")

    if by_person:
        page.report(scenario.mina, customer_id="acct-1")
        claim = scenario.account.conversion_claims.get(is_original=False)
        confirm_claim(scenario.account, claim_id=claim.pk, at=NOON)
    else:
        body = {"external_id": "order-1", "amount": 200, "customer_id": "acct-1"}
        api.post("/conversions/", body | {"coupon": scenario.mina.coupon})

    expected = [("minakessler", "20", "approved")]
    assert get_commissions(scenario.account) == expected
    # It counts for the next sale.
    api.post("/conversions/", {"customer_id": "acct-1", "amount": 100})
    expected.append(("minakessler", "10", "disapproved"))
    assert get_commissions(scenario.account) == expected


def test_claimed_customer_does_not_shorten_the_earning_period(page, scenario, api, time_machine):
    scenario.program.update_row(recurring_period_days=30)
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")
    time_machine.move_to(NOON + timedelta(days=40), tick=False)

    body = {"customer_id": "acct-1", "coupon": scenario.mina.coupon, "amount": 100}
    answer = api.post("/conversions/", body).json()

    assert answer["commissions"][0]["approved"] is True


def test_change_by_key_takes_the_customer_id_of_an_unconfirmed_one(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")
    fact = scenario.create_customer("acct-old", at=NOON)

    path = f"/customers/{fact.public_id}/"
    assert api.patch(path, {"customer_id": "acct-1"}).status_code == 200
    assert scenario.account.customers.not_deleted().get() == fact


# Prospects.


@pytest.fixture
def prospect_code(scenario):
    """The referral code of a prospect, by which pages report."""
    data = ProspectData(person=PersonData(firstname="Pia", lastname="Prosper"))
    prospect = create_prospect(scenario.account, data=data, at=NOON)
    return scenario.account.referral_codes.get(prospect=prospect)


def test_prospect_promoted_by_a_claim_waits_for_approval(page, scenario, api, prospect_code):
    vid = page.report(prospect_code, amount=200)
    enrollment = scenario.account.enrollments.get(promoted_by_claim=True)
    assert enrollment.approved is None
    page.call("conversion", vid=vid, external_id="order-2", amount=200)
    assert scenario.account.conversions.count() == 2

    body = {
        "referral_code": prospect_code.code,
        "external_id": "order-3",
        "amount": 100,
    }
    assert api.post("/conversions/", body).status_code == 200

    assert enrollment.reload().approved is True


def test_disapproved_promotion_stays_disapproved(page, scenario, api, prospect_code):
    page.report(prospect_code, amount=200)
    promoted = scenario.account.conversions.get().affiliate
    scenario.set_approval(promoted, False, at=NOON)

    response = api.post("/conversions/", {"referral_code": prospect_code.code, "amount": 1})

    assert response.json()["errors"][0]["message"] == ("Affiliate is not approved for this program")


# Limits.


@pytest.mark.parametrize(
    ("data", "count"),
    [
        ({"amount": 100_000}, 1),
        ({"amount": "100000.01"}, 0),
        ({"amount": 5, "currency": "USD"}, 0),
        ({"amount": 5, "currency": "eur"}, 1),
    ],
)
def test_bounds_what_a_page_reports(page, scenario, data, count):
    page.report(scenario.mina, **data)

    assert scenario.account.conversions.count() == count


def test_bounds_open_claims_of_an_affiliate(page, scenario, api, monkeypatch):
    monkeypatch.setattr("payouts.services.claims.MAX_OPEN_CLAIMS", 2)
    monkeypatch.setattr("tracking.services.customers.MAX_OPEN_CLAIMS", 2)
    for number in range(4):
        page.report(scenario.mallory, f"order-{number}")
        vid = page.click(scenario.mallory)
        page.call("customer", vid=vid, customer_id=f"acct-{number}")

    assert scenario.account.conversions.count() == 2
    assert scenario.account.customers.count() == 2
    page.report(scenario.mina, "order-9")
    assert scenario.account.conversions.count() == 3
    commission = scenario.account.commissions.earliest("id")
    api.delete(f"/commissions/{commission.pk}/approved/")
    page.report(scenario.mallory, "order-8")
    assert scenario.account.conversions.count() == 4


@pytest.mark.parametrize("dry_run", [True, False])
def test_prune_deletes_claims_that_lost_long_ago(page, scenario, other_account, dry_run):
    for order in ("order-1", "order-2"):
        page.report(scenario.mallory, order)
        page.report(scenario.mina, order)
    rows = scenario.account.conversion_claims
    won = rows.filter(conversion__external_id="order-1").latest("id")
    confirm_claim(scenario.account, claim_id=won.pk, at=NOON)
    prune = partial(delete_refused_claims, dry_run=dry_run)
    end = NOON + timedelta(days=400)

    assert prune(scenario.account, at=end - timedelta(microseconds=1)) == 0
    assert prune(other_account, at=end) == 0
    assert prune(scenario.account, at=end) == 1
    # The claim that was confirmed stays, and both of the contest that is open.
    assert rows.count() == (4 if dry_run else 3)
    assert rows.filter(pk=won.pk).exists()


# Signatures.


def sign(secret, *lines):
    return calculate_signature(secret.secret, lines)


def test_signed_conversion_is_a_fact(page, scenario, api):
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "order-1", "49.90", "", "acct-1")
    data = {"amount": "49.90", "customer_id": "acct-1", "signature": signature}

    page.report(scenario.mina, **data)

    conversion = scenario.account.conversions.get()
    assert conversion.claim_status is None
    assert conversion.customer.is_confirmed
    assert get_commissions(scenario.account) == [("minakessler", "4.99", "approved")]
    body = {"external_id": "order-1", "coupon": scenario.mallory.coupon}
    assert api.post("/conversions/", body).status_code == 400


def test_signed_conversion_without_currency_is_a_claim_if_there_are_two(
    page, scenario, other_account
):
    account = scenario.account
    secret = create_signing_secret(account, at=NOON)
    ProgramFactory(account=other_account, currency="JPY")  # of others: no reason
    signature = sign(secret, "conversion", "order-1", "5000", "", "")
    page.report(scenario.mina, amount="5000", signature=signature)
    assert account.conversions.get().claim_status is None
    ProgramFactory(account=account, currency="JPY")
    for number, currency in ((2, ""), (3, "EUR")):
        lines = ("conversion", f"order-{number}", "5000", currency, "")
        data = {"signature": sign(secret, *lines)} | ({"currency": currency} if currency else {})
        page.report(scenario.mina, f"order-{number}", amount="5000", **data)
    assert list(account.conversions.order_by("id").values_list("external_id", "claim_status")) == [
        ("order-1", None),
        ("order-2", "open"),
        ("order-3", None),
    ]
    assert account.failed_page_calls.get().reason == "unsigned_currency"


def test_signed_conversion_confirms_a_claim(page, scenario):
    secret = create_signing_secret(scenario.account, at=NOON)
    page.report(scenario.mallory, amount=9)
    signature = sign(secret, "conversion", "order-1", "100", "", "")

    page.report(scenario.mina, amount=100, signature=signature)

    assert get_commissions(scenario.account) == [("minakessler", "10", "approved")]


def test_rates_that_are_not_signed_wait_for_approval(page, scenario):
    secret = create_signing_secret(scenario.account, at=NOON)
    scenario.create_commission_type("gold", "90")
    signature = sign(secret, "conversion", "order-1", "100", "", "")

    data = {"amount": 100, "commission_type": "gold", "signature": signature}
    page.report(scenario.mina, **data)

    assert get_commissions(scenario.account) == [("minakessler", "90", "pending")]


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 100.5},
        {"external_id": "order-2"},
        {"currency": "EUR"},
        {"customer_id": "acct-2"},
        {"signature": "0" * 64},
        {"signature": "ä"},
        {"signature": 5},
    ],
    ids=str,
)
def test_wrong_signature_is_refused(page, scenario, change):
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "order-1", "100", "", "")

    page.report(scenario.mina, **{"amount": 100, "signature": signature} | change)

    assert not scenario.account.conversions.exists()


def test_two_secrets_are_valid_while_rotating(page, scenario):
    old, new = (create_signing_secret(scenario.account, at=NOON) for _ in range(2))
    for number, secret in enumerate((old, new)):
        signature = sign(secret, "customer", f"acct-{number}", "lead")
        vid = page.click(scenario.mina)
        data = {"customer_id": f"acct-{number}", "status": "lead"}
        page.call("customer", vid=vid, signature=signature, **data)
    revoke_signing_secret(scenario.account, prefix=old.prefix, at=NOON)
    signature = sign(old, "customer", "acct-9", "")
    page.call("customer", vid=vid, customer_id="acct-9", signature=signature)

    rows = scenario.account.customers.order_by("id")
    assert [(row.customer_id, row.is_confirmed) for row in rows] == [
        ("acct-0", True),
        ("acct-1", True),
    ]


def test_account_can_require_signatures(page, scenario):
    update_page_tracking(scenario.account, require_signatures=True, at=NOON)

    page.report(scenario.mina, customer_id="acct-1")
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-2")

    assert not scenario.account.conversions.exists()
    assert not scenario.account.customers.exists()


def test_switch_for_browser_sales_approves_claims(page, scenario):
    scenario.program.update_row(auto_approve_browser_sales=True)

    page.report(scenario.mina)

    assert get_commissions(scenario.account) == [("minakessler", "20", "approved")]


def test_explanation_says_what_was_a_claim(page, scenario, api):
    page.report(scenario.mallory, customer_id="acct-1")
    body = {"external_id": "order-1", "customer_id": "acct-1", "amount": 1}
    conversion = api.post("/conversions/", body | {"coupon": scenario.mina.coupon})

    explanation = explain_conversion(scenario.account, conversion_id=conversion.json()["id"])

    candidates = explanation.attribution["candidates"]
    assert {item["parameter"]: item["is_claim"] for item in candidates} == {
        "customer": True,
        "coupon": False,
        "claim": True,
    }
    text = "\n".join(render_explanation(explanation, at=NOON))
    assert "Attribution: minakessler by coupon" in text
    assert "customer (a claim)" in text
    assert "reported by a page" not in text


def test_explanation_says_that_a_page_reported_a_conversion(page, scenario):
    page.report(scenario.mina)
    conversion = scenario.account.conversions.get()

    explanation = explain_conversion(scenario.account, conversion_id=conversion.pk)

    text = "\n".join(render_explanation(explanation, at=NOON))
    assert "reported by a page without a signature: a claim" in text


def test_limits_are_those_of_the_documents(account):
    assert claims.MAX_OPEN_CLAIMS == 10_000
    assert account.max_browser_amount == 100_000


# What a dishonest affiliate tried.


def test_refused_claim_does_not_delay_an_honest_page(page, scenario):
    page.call("conversion", external_id="order-1")

    page.report(scenario.mina)

    assert scenario.account.conversions.get().affiliate == scenario.mina.affiliate


def test_page_does_not_make_an_unconfirmed_customer_more_certain(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")
    page.call("conversion", external_id="order-1", amount=9, customer_id="acct-1")

    body = {"external_id": "order-1", "amount": 40, "customer_id": "acct-1"}
    answer = api.post("/conversions/", body).json()

    assert answer["warnings"] == ["unconfirmed_customer"]
    assert not scenario.account.customers.get().is_confirmed
    body = {"customer_id": "acct-1", "amount": 40, "coupon": scenario.mina.coupon}
    assert api.post("/conversions/", body).json()["affiliate"]["id"] == "minakessler"


def test_claims_that_contradict_each_other_wait(page, scenario, api):
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")
    page.report(scenario.mallory)

    body = {"external_id": "order-1", "amount": 40, "customer_id": "acct-1"}
    answer = api.post("/conversions/", body).json()

    assert answer["warnings"] == ["unconfirmed_customer"]
    customer = scenario.account.customers.get()
    assert (customer.affiliate, customer.is_confirmed) == (
        scenario.mina.affiliate,
        False,
    )
    assert get_balance(scenario.account, scenario.mallory) == 0


def test_contest_does_not_refuse_a_fact_with_a_status(page, scenario, api):
    page.report(scenario.mina)
    page.report(scenario.mallory)

    response = api.get("/pb/con/c/?external_id=order-1&amount=50&status=approved")

    assert response.status_code == 200
    assert response.json()["warnings"] == ["contested_claim"]
    assert get_commissions(scenario.account) == [("minakessler", "5", "pending")]


def test_rejected_claim_does_not_decide_for_a_fact(page, scenario, api):
    page.report(scenario.mallory)
    commission = scenario.account.commissions.get()
    api.delete(f"/commissions/{commission.pk}/approved/")

    body = {"external_id": "order-1", "amount": 40}
    assert api.post("/conversions/", body).status_code == 400
    assert api.get("/pb/con/c/?external_id=order-1&amount=40").status_code == 400
    fact = {"external_id": "order-1", "amount": 40, "coupon": scenario.mina.coupon}
    answer = api.get(f"/pb/con/c/?{urlencode(fact)}")

    # The failed postback delays its repetition by ten seconds, as always.
    assert answer.status_code == 400
    assert get_balance(scenario.account, scenario.mallory) == 0


def test_claim_by_coupon_is_contested_by_another_amount(page, scenario):
    coupon = scenario.mina.coupon
    for amount in (0, 50, 50):
        page.call("conversion", external_id="order-1", amount=amount, coupons=coupon)

    assert scenario.account.conversions.get().is_contested
    assert scenario.account.conversion_claims.count() == 2


def test_contest_after_an_approval_is_visible(page, scenario, api):
    page.report(scenario.mallory)
    commission = scenario.account.commissions.get()
    api.put(f"/commissions/{commission.pk}/approved/")

    page.report(scenario.mina)

    assert scenario.account.conversions.get().is_contested
    claim = scenario.account.conversion_claims.get(affiliate=scenario.mina.affiliate)
    confirm_claim(scenario.account, claim_id=claim.pk, at=NOON + timedelta(hours=1))
    assert get_balance(scenario.account, scenario.mallory) == 0
    assert get_balance(scenario.account, scenario.mina) == 20


# What a dishonest affiliate tried later.


def test_many_claims_do_not_crowd_out_another_affiliate(page, scenario, monkeypatch):
    monkeypatch.setattr("payouts.services.claims.MAX_COMPETING_CLAIMS", 2)
    for amount in (100, 101, 102):
        page.report(scenario.mallory, amount=amount)

    page.report(scenario.mina, amount=50)

    claims = scenario.account.conversion_claims.order_by("id")
    assert [claim.affiliate for claim in claims] == [
        scenario.mallory.affiliate,
        scenario.mallory.affiliate,
        scenario.mina.affiliate,
    ]


@pytest.mark.parametrize("by", ["affiliate", "commission"])
def test_fact_trusts_the_next_claim_if_the_first_was_disapproved(page, scenario, api, by):
    page.report(scenario.mallory)
    page.report(scenario.mina)
    if by == "affiliate":
        scenario.set_approval(scenario.mallory, False, at=NOON)
    else:
        commission = scenario.account.commissions.get()
        api.delete(f"/commissions/{commission.pk}/approved/")

    response = api.post("/conversions/", {"external_id": "order-1", "amount": 300})

    assert response.status_code == 200
    assert response.json()["warnings"] == ["contested_claim"]
    assert get_commissions(scenario.account) == [("minakessler", "30", "pending")]


@pytest.mark.parametrize("is_claimed", [True, False])
def test_contested_claim_does_not_confirm_a_customer(page, scenario, api, is_claimed):
    if is_claimed:
        vid = page.click(scenario.mallory)
        page.call("customer", vid=vid, customer_id="acct-1")
    page.report(scenario.mallory)
    page.report(scenario.mina)
    data = {"customer_id": "acct-1", "amount": 100}

    api.post("/conversions/", {"external_id": "order-1"} | data)
    renewal = api.post("/conversions/", {"external_id": "order-2"} | data).json()

    assert renewal["warnings"][0] == "unconfirmed_customer"
    claim = scenario.account.conversion_claims.get(is_original=False)
    confirm_claim(scenario.account, claim_id=claim.pk, at=NOON)
    customer = scenario.account.customers.get()
    assert customer.is_confirmed
    assert customer.affiliate == scenario.mina.affiliate


def test_contested_claim_does_not_approve_a_promoted_affiliate(page, scenario, api, prospect_code):
    page.report(prospect_code, amount=100)
    page.report(scenario.mina, amount=100)

    api.post("/conversions/", {"external_id": "order-1", "amount": 100})

    conversion = scenario.account.conversions.get()
    enrollment = scenario.account.enrollments.get(affiliate=conversion.affiliate)
    assert conversion.is_contested
    assert enrollment.promoted_by_claim
    assert enrollment.approved is None


def test_affiliate_promoted_by_a_claim_earns_nothing_automatically(
    page, scenario, api, prospect_code
):
    page.report(prospect_code, amount=100)

    response = api.post("/conversions/", {"external_id": "order-1", "amount": 100})

    (commission,) = response.json()["commissions"]
    assert commission["approved"] is False
    assert not scenario.account.enrollments.get(promoted_by_claim=True).approved


@pytest.mark.parametrize("call", ["customer", "conversion"])
def test_two_pages_that_claim_a_customer_are_visible(page, scenario, api, call):
    page.call("customer", vid=page.click(scenario.mallory), customer_id="acct-1")
    data = {"external_id": "order-1", "amount": 100} if call == "conversion" else {}
    page.call(call, vid=page.click(scenario.mina), customer_id="acct-1", **data)

    renewal = {"external_id": "order-2", "customer_id": "acct-1", "amount": 100}
    response = api.post("/conversions/", renewal).json()

    customer = scenario.account.customers.get()
    assert customer.warnings == ["contested_customer"]
    assert response["warnings"] == ["unconfirmed_customer", "contested_customer"]
    for conversion in scenario.account.conversions.all():
        assert "contested_customer" in conversion.warnings
    commission = response["commissions"][0]
    api.put(f"/commissions/{commission['id']}/approved/")
    customer.refresh_from_db()
    assert customer.is_confirmed
    assert customer.warnings is None


def test_reload_does_not_contest_a_customer(page, scenario):
    for _ in range(2):
        page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")

    assert scenario.account.customers.get().warnings is None


@pytest.mark.parametrize("reporter", ["page", "key"])
def test_claimed_customer_does_not_use_up_the_days_of_its_own_affiliate(
    page, scenario, api, time_machine, reporter
):
    scenario.program.update_row(recurring_period_days=30)
    page.call("customer", vid=page.click(scenario.mina), customer_id="acct-1")
    time_machine.move_to(NOON + timedelta(days=40), tick=False)

    data = {"external_id": "order-1", "customer_id": "acct-1", "amount": 100}
    if reporter == "page":
        page.report(scenario.mina, **data)
    else:
        code = scenario.mina.code
        api.post("/conversions/", data | {"referral_code": code})

    status = "pending" if reporter == "page" else "approved"
    assert get_commissions(scenario.account) == [("minakessler", "10", status)]


@pytest.mark.parametrize("external_id", ["order-1\u200b", "order-1 ", "\u202eorder-1"])
def test_invisible_characters_of_an_external_id_are_visible(page, scenario, external_id):
    page.report(scenario.mallory, external_id=external_id)

    conversion = scenario.account.conversions.get()
    assert conversion.external_id == external_id
    assert conversion.warnings == ["odd_external_id"]


def test_signed_call_for_a_deleted_conversion_waits(page, scenario, api):
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "order-1", "100", "", "")
    vid = page.report(scenario.mallory, amount=100, signature=signature)
    api.delete(f"/conversions/{scenario.account.conversions.get().pk}/")

    data = {"external_id": "order-1", "amount": 100, "signature": signature}
    page.call("conversion", vid=vid, **data)

    assert get_commissions(scenario.account) == [("mallorythorn", "10", "pending")]


@pytest.mark.parametrize("renames", [1, 2])
def test_signed_call_for_a_renamed_conversion_waits(page, scenario, api, renames):
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "order-1", "100", "", "")
    vid = page.report(scenario.mallory, amount=100, signature=signature)
    (paid,) = get_commissions(scenario.account)
    conversion = scenario.account.conversions.get()
    for number in range(renames):
        api.patch(f"/conversions/{conversion.pk}/", {"external_id": f"INV-{number}"})

    data = {"external_id": "order-1", "amount": 100, "signature": signature}
    page.call("conversion", vid=vid, **data)

    assert paid == ("mallorythorn", "10", "approved")
    assert get_commissions(scenario.account) == [
        paid,
        ("mallorythorn", "10", "pending"),
    ]


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_call_with_a_key_for_a_renamed_conversion_is_a_new_sale(scenario, api, path):
    sale = {"external_id": "order-1", "amount": 100, "coupon": scenario.mina.coupon}
    first = api.post(path, sale).json()
    for external_id in ("INV-1", "order-1", "INV-1"):  # an id is noted once
        body = {"external_id": external_id}
        assert api.patch(f"/conversions/{first['id']}/", body).status_code == 200

    second = api.post(path, sale).json()

    assert second["id"] != first["id"]
    approved = ("minakessler", "10", "approved")
    assert get_commissions(scenario.account) == [approved, approved]


def test_signed_call_without_external_id_waits(page, scenario):
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "", "100", "", "")

    for _ in range(2):
        page.report(scenario.mallory, "", amount=100, signature=signature)

    pending = ("mallorythorn", "10", "pending")
    assert get_commissions(scenario.account) == [pending, pending]


def test_signed_value_cannot_be_split(page, scenario):
    secret = create_signing_secret(scenario.account, at=NOON)
    # The shop signed an order of 10 by the customer "x\n99999\nEUR\n".
    signature = sign(secret, "conversion", "order-1", "10", "EUR", "x\n99999\nEUR\n")

    data = {"amount": "99999", "currency": "EUR", "signature": signature}
    page.report(scenario.mallory, "order-1\n10\nEUR\nx", **data)

    assert not scenario.account.conversions.exists()


@pytest.mark.parametrize("is_required", [True, False])
def test_line_items_cannot_raise_a_signed_amount(page, scenario, is_required):
    update_page_tracking(scenario.account, require_signatures=is_required, at=NOON)
    secret = create_signing_secret(scenario.account, at=NOON)
    signature = sign(secret, "conversion", "order-1", "10", "", "")
    data = {"amount": "10", "signature": signature}

    page.report(scenario.mallory, commissions=[{"sub_amount": 5000}], **data)

    stored = list(scenario.account.conversions.values_list("claim_status", flat=True))
    assert stored == ([] if is_required else ["open"])


@pytest.mark.parametrize("is_extra_first", [False, True])
@pytest.mark.parametrize(
    ("is_original", "expected"),
    [
        (True, [("mallorythorn", "1"), ("mallorythorn", "5")]),
        # The reward was added to a sale that was not Mallory's.
        (False, [("minakessler", "5")]),
    ],
)
def test_confirming_a_claim_after_a_fact_pays_an_extra_reward_once(
    page, scenario, api, time_machine, is_extra_first, is_original, expected
):
    account = scenario.account
    page.report(scenario.mallory)
    page.report(scenario.mina)
    path = f"/conversions/{account.conversions.get().pk}/commissions/"
    extra = (path, {"conversion_sub_amount": 10})
    fact = ("/conversions/", {"external_id": "order-1", "amount": 50})

    for minute, call in enumerate([extra, fact] if is_extra_first else [fact, extra]):
        time_machine.move_to(NOON + timedelta(minutes=minute + 1), tick=False)
        assert api.post(*call).status_code == 200
    claim = account.conversion_claims.get(is_original=is_original)
    confirm_claim(account, claim_id=claim.pk, at=NOON + timedelta(hours=1))

    assert account.conversions.get().amount == 50
    assert sorted(row[:2] for row in get_commissions(account)) == expected


def test_a_fact_for_another_affiliate_takes_back_an_extra_reward(page, scenario, api, time_machine):
    page.report(scenario.mallory)
    time_machine.move_to(NOON + timedelta(minutes=1), tick=False)
    add_extra(api, scenario.account)

    body = {"external_id": "order-1", "amount": 50, "coupon": scenario.mina.coupon}
    assert api.post("/conversions/", body).status_code == 200

    assert get_commissions(scenario.account) == [("minakessler", "5", "approved")]


def test_confirming_the_first_claim_pays_its_extra_reward_once(page, scenario, api, time_machine):
    account = scenario.account
    page.report(scenario.mallory)
    time_machine.move_to(NOON + timedelta(minutes=1), tick=False)
    add_extra(api, account)
    page.report(scenario.mina)

    claim = account.conversion_claims.get(is_original=True)
    confirm_claim(account, claim_id=claim.pk, at=NOON + timedelta(hours=1))

    assert account.conversions.get().amount == 200
    earned = sorted(row[:2] for row in get_commissions(account))
    assert earned == [("mallorythorn", "1"), ("mallorythorn", "20")]


@pytest.mark.parametrize("is_contested_first", [False, True])
@pytest.mark.parametrize(("is_original", "earner"), [(True, 0), (False, 1)])
def test_confirming_a_claim_keeps_the_amount_that_a_key_has_set(
    page, scenario, api, is_contested_first, is_original, earner
):
    account = scenario.account
    page.report(scenario.mallory)
    if is_contested_first:
        page.report(scenario.mina, amount=300)
    path = f"/conversions/{account.conversions.get().pk}/"
    refunded = api.patch(f"{path}?recalculate_commissions=true", {"amount": 150})
    assert refunded.status_code == 200
    if not is_contested_first:
        page.report(scenario.mina, amount=300)

    claim = account.conversion_claims.get(is_original=is_original)
    confirm_claim(account, claim_id=claim.pk, at=NOON)

    assert account.conversions.get().amount == 150
    slug = ("mallorythorn", "minakessler")[earner]
    assert get_commissions(account) == [(slug, "15", "approved")]


@pytest.mark.parametrize("states_sub_amount", [False, True])
def test_an_amount_that_a_key_states_again_is_a_fact(page, scenario, api, states_sub_amount):
    account = scenario.account
    page.report(scenario.mallory, amount=100)
    conversion, commission = account.conversions.get(), account.commissions.get()
    for amount in (100, 100):  # a repetition changes nothing
        stated = (
            api.patch(f"/commissions/{commission.pk}/", {"conversion_sub_amount": amount})
            if states_sub_amount
            else api.patch(f"/conversions/{conversion.pk}/", {"amount": amount})
        )
        assert stated.status_code == 200
    page.report(scenario.mina, amount=90_000)

    claim = account.conversion_claims.get(is_original=False)
    confirm_claim(account, claim_id=claim.pk, at=NOON)

    assert account.conversions.get().amount == 100
    assert get_commissions(account) == [("minakessler", "10", "approved")]
    entries = account.audit_log.filter(subject=f"conversion:{conversion.pk}")
    kinds = list(entries.order_by("id").values_list("kind", flat=True))
    assert kinds.count("conversion.amount_confirmed") == 1


def test_an_extra_reward_of_the_same_moment_is_not_what_was_reported(page, scenario, api):
    """Times say nothing: the clock stands still."""
    account = scenario.account
    page.report(scenario.mallory)
    add_extra(api, account)

    fact = {"external_id": "order-1", "amount": 50}
    assert api.post("/conversions/", fact).status_code == 200

    assert get_commissions(account) == [
        ("mallorythorn", "1", "approved"),
        ("mallorythorn", "5", "approved"),
    ]


def test_a_fact_in_another_currency_takes_back_an_extra_reward(page, scenario, api, time_machine):
    account = scenario.account
    page.report(scenario.mallory)
    time_machine.move_to(NOON + timedelta(minutes=1), tick=False)
    add_extra(api, account)

    fact = {"external_id": "order-1", "amount": 50, "currency": "USD"}
    assert api.post("/conversions/", fact).status_code == 200

    commission = account.commissions.not_deleted().get()
    assert (commission.amount, commission.currency) == (5, "USD")
    path = f"/conversions/{account.conversions.get().pk}/?recalculate_commissions=true"
    assert api.patch(path, {"amount": 20}).status_code == 200
    assert commission.reload().amount == 2


def test_a_paid_extra_reward_refuses_a_fact_in_another_currency(page, scenario, api, time_machine):
    account = scenario.account
    page.report(scenario.mallory)
    time_machine.move_to(NOON + timedelta(minutes=1), tick=False)
    extra = add_extra(api, account)
    assert api.put(f"/commissions/{extra['id']}/approved/").status_code == 200
    order = {"affiliate_id": "mallorythorn", "amount": 1, "currency": "EUR"}
    assert api.post("/payments/", order).status_code == 200

    fact = {"external_id": "order-1", "amount": 50, "currency": "USD"}
    answer = api.post("/conversions/", fact)

    assert answer.status_code == 400
    assert "Duplicate conversion" in answer.json()["errors"][0]["message"]
    assert account.conversions.get().currency == "EUR"


@pytest.mark.parametrize("is_stated", [False, True])
def test_a_confirmed_claim_has_the_currency_of_its_amount(page, scenario, api, is_stated):
    account = scenario.account
    page.report(scenario.mallory)
    path = f"/conversions/{account.conversions.get().pk}/"
    body = {"conversion_sub_amount": 10}
    assert api.post(f"{path}commissions/", body).status_code == 200
    if is_stated:
        assert api.patch(path, {"amount": 200}).status_code == 200
    scenario.program.update_row(currency="USD")
    page.report(scenario.mallory, amount=300)

    claim = account.conversion_claims.get(is_original=False)
    confirm_claim(account, claim_id=claim.pk, at=NOON)

    conversion = account.conversions.get()
    found = (conversion.amount, conversion.currency)
    assert found == ((200, "EUR") if is_stated else (300, "USD"))
    commissions = account.commissions.not_deleted().order_by("id")
    currencies = [row.currency for row in commissions]
    assert currencies == (["EUR", "EUR"] if is_stated else ["USD"])
