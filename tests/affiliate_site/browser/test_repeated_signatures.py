"""Signed calls of pages that are sent again when the ID of their customer is free."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from accounts.services.accounts import update_page_tracking
from accounts.services.api_keys import calculate_signature, create_signing_secret
from payouts.services.erasure import erase_person
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario
from tracking.claims import FORMER_CUSTOMER_ID

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def page(scenario, time_machine):
    """Signed calls; Mina is honest, Mallory has seen what a page signed."""
    time_machine.move_to(NOON, tick=False)
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.mallory = scenario.create_enrolled_affiliate("Mallory", "Thorn")
    return Page(scenario.account)


class Page:
    def __init__(self, account):
        self.account = account
        self.secret = create_signing_secret(account, at=NOON).secret

    def post(self, call, **data):
        response = Client().post(
            f"/track/{call}/",
            {"account": self.account.slug} | data,
            content_type="application/json",
        )
        assert (response.status_code, response.content) == (204, b"")

    def sign_up(self, affiliate, customer_id="acct-1"):
        signature = calculate_signature(self.secret, ("customer", customer_id, ""))
        data = {"customer_id": customer_id, "signature": signature}
        self.post("customer", coupons=[affiliate.coupon], **data)

    def sell(self, affiliate, order_id="order-1", customer_id="acct-1"):
        lines = ("conversion", order_id, "100", "", customer_id)
        data = {"external_id": order_id, "amount": "100", "customer_id": customer_id}
        data["signature"] = calculate_signature(self.secret, lines)
        self.post("conversion", coupons=[affiliate.coupon], **data)


def list_customers(account):
    """ID, affiliate, whether it is confirmed, and warnings of who is not deleted."""
    rows = account.customers.not_deleted().select_related("affiliate").order_by("pk")
    return [(row.customer_id, row.affiliate.slug, row.is_confirmed, row.warnings) for row in rows]


def free_by_api(api, customer):
    assert api.delete(f"/customers/{customer.public_id}/").status_code == 204


def rename_by_api(api, customer):
    body = {"customer_id": "acct-2"}
    assert api.patch(f"/customers/{customer.public_id}/", body).status_code == 200


def erase(api, customer):
    erase_person(customer.account, identifier=customer.public_id, at=NOON)


@pytest.mark.parametrize("free", [free_by_api, rename_by_api, erase])
def test_sign_up_is_a_claim_once_the_id_was_used(page, scenario, api, free):
    page.sign_up(scenario.mina)
    (first,) = scenario.account.customers.all()
    assert list_customers(scenario.account)[0][2:] == (True, None)
    free(api, first)

    page.sign_up(scenario.mallory)

    expected = ("acct-1", "mallorythorn", False, [FORMER_CUSTOMER_ID])
    assert list_customers(scenario.account)[-1] == expected
    (digest,) = scenario.account.former_id_digests.values_list("digest", flat=True)
    assert len(digest) == 64


def test_api_shows_the_claim_and_a_key_confirms_it(page, scenario, api):
    page.sign_up(scenario.mina)
    free_by_api(api, scenario.account.customers.get())
    page.sign_up(scenario.mallory)
    (claim,) = api.get("/customers/").json()

    body = {"customer_id": "acct-1", "coupon": scenario.mina.coupon}
    response = api.post("/customers/", body)

    assert claim["warnings"] == [FORMER_CUSTOMER_ID]
    assert claim["affiliate"]["id"] == "mallorythorn"
    assert response.status_code == 200
    changes = {"affiliate": response.json()["affiliate"], "warnings": None}
    assert response.json() == claim | changes
    assert response.json()["affiliate"]["id"] == "minakessler"


def test_call_with_a_key_is_a_customer_as_ever(page, scenario, api):
    page.sign_up(scenario.mina)
    free_by_api(api, scenario.account.customers.get())

    body = {"customer_id": "acct-1", "coupon": scenario.mallory.coupon}
    response = api.post("/customers/", body)
    page.sign_up(scenario.mina)

    assert response.status_code == 200
    assert response.json()["warnings"] is None
    expected = [("acct-1", "mallorythorn", True, None)]
    assert list_customers(scenario.account) == expected


def test_an_id_that_only_claims_had_is_not_a_former_one(page, scenario, api):
    page.post("customer", coupons=[scenario.mallory.coupon], customer_id="acct-1")
    free_by_api(api, scenario.account.customers.get())

    page.sign_up(scenario.mina)

    expected = [("acct-1", "minakessler", True, None)]
    assert list_customers(scenario.account) == expected
    assert not scenario.account.former_id_digests.exists()


def test_an_id_is_noted_once_and_in_its_account_only(page, scenario, api, db):
    for _ in range(3):
        body = {"customer_id": "acct-1", "coupon": scenario.mina.coupon}
        api.post("/customers/", body)
        free_by_api(api, scenario.account.customers.not_deleted().get())
    other = ProgramScenario(AccountFactory(plan__name="enterprise"))
    elsewhere = Page(other.account)

    elsewhere.sign_up(other.mina)

    assert scenario.account.former_id_digests.count() == 1
    assert list_customers(other.account) == [("acct-1", "minakessler", True, None)]


def test_program_that_trusts_pages_does_not_trust_a_repetition(page, scenario, api):
    scenario.program.update_row(trust_browser_customers=True)
    update_page_tracking(scenario.account, require_signatures=True, at=NOON)
    page.sign_up(scenario.mina)
    free_by_api(api, scenario.account.customers.get())

    page.sign_up(scenario.mallory)

    expected = [("acct-1", "mallorythorn", False, [FORMER_CUSTOMER_ID])]
    assert list_customers(scenario.account) == expected


@pytest.mark.parametrize("order_id", ["order-1", "order-2"])
def test_sale_to_a_former_customer_id_is_a_claim(page, scenario, api, order_id):
    """The first one is a repetition: it was deleted, too."""
    page.sell(scenario.mina)
    api.delete(f"/conversions/{scenario.account.conversions.get().pk}/")
    free_by_api(api, scenario.account.customers.get())

    page.sell(scenario.mallory, order_id)

    sale = scenario.account.conversions.not_deleted().get()
    assert (sale.claim_status, sale.warnings) == ("open", [FORMER_CUSTOMER_ID])
    statuses = sale.commissions.values_list("affiliate__slug", "status")
    assert list(statuses) == [("mallorythorn", "pending")]
    expected = [("acct-1", "mallorythorn", False, [FORMER_CUSTOMER_ID])]
    assert list_customers(scenario.account) == expected


def test_sale_does_not_confirm_a_repeated_sign_up(page, scenario, api):
    page.sign_up(scenario.mina)
    free_by_api(api, scenario.account.customers.get())
    page.sign_up(scenario.mallory)

    page.sell(scenario.mallory)

    assert scenario.account.conversions.get().claim_status == "open"
    assert [it[2] for it in list_customers(scenario.account)] == [False]


def test_sale_of_a_known_customer_is_a_fact(page, scenario, api):
    """The customer had the ID before, and has it again."""
    page.sign_up(scenario.mina)
    (customer,) = scenario.account.customers.all()
    rename_by_api(api, customer)
    body = {"customer_id": "acct-1"}
    api.patch(f"/customers/{customer.public_id}/", body)

    page.sell(scenario.mallory)

    sale = scenario.account.conversions.get()
    assert (sale.claim_status, sale.affiliate.slug) == (None, "minakessler")
    assert sale.warnings is None


def test_sale_whose_id_was_erased_waits(page, scenario, api):
    """An order ID with an address is erased with the customer; its digest stays."""
    page.sell(scenario.mina, "order of mina@example.org")
    erase(api, scenario.account.customers.get())
    assert scenario.account.conversions.get().external_id is None

    page.sell(scenario.mallory, "order of mina@example.org", "acct-2")

    sale = scenario.account.conversions.latest("pk")
    assert sale.claim_status is None
    assert sale.commissions.get().status == "pending"


def test_is_known_by_the_previous_key_too(page, scenario, api, settings):
    page.sign_up(scenario.mina)
    free_by_api(api, scenario.account.customers.get())
    settings.ENCRYPTION_KEYS = ["a" * 43 + "=", *settings.ENCRYPTION_KEYS]

    page.sign_up(scenario.mallory)

    assert [it[2] for it in list_customers(scenario.account)] == [False]
