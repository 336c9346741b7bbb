"""Query budgets: the number of SQL statements that each operation executes.

BEGIN and COMMIT (SAVEPOINT and RELEASE in a test), API key lookup and rate limiting
are included. The number must not depend on how many rows a page has.
"""

from decimal import Decimal

import pytest
from django.utils import timezone

from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.programs import ProgramSettings, create_program
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import SECRET
from tracking.attribution import TrackingParameters
from tracking.services.affiliates import PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.enrollments import EnrollmentData, create_enrollment

LISTS = {
    "/programs/": 4,
    "/programs/spring/affiliates/": 5,
    "/affiliates/": 4,
    "/clicks/": 4,
    "/customers/": 4,
    "/conversions/": 5,
    "/conversions/?pending=true": 5,
    "/commissions/": 4,
    "/balances/": 3,
    "/payments/": 4,
    "/affiliates/adastone/payments/": 5,
    "/affiliates/adastone/programs/": 5,
    "/programs/spring/commission-types/": 6,
}
ITEMS = {
    "/programs/spring/": 3,
    "/programs/spring/affiliates/adastone/": 4,
    "/affiliates/adastone/": 3,
    "/affiliates/adastone/balances/": 4,
    "/clicks/{click}/": 3,
    "/customers/{customer}/": 3,
    "/customers/{customer}/meta-data/": 3,
    "/conversions/{conversion}/": 4,
    "/commissions/{commission}/": 2,
    "/affiliates/adastone/notes/": 4,
    "/affiliates/adastone/payout-methods/": 4,
    "/affiliates/custom-fields/": 3,
    "/affiliate-groups/": 3,
    "/affiliate-prospects/": 3,
    "/programs/spring/levels/": 4,
    "/programs/spring/bonuses/": 4,
}
CLICK = 3
CUSTOMER = 7
CONVERSION_OF_KNOWN_CUSTOMER = 15
CONVERSION_OF_NEW_CUSTOMER = 15
FIRST_CONVERSION_OF_AFFILIATE = 18
APPROVAL = 15
REPEATED_APPROVAL = 9
# To one affiliate, for any number of commissions; two are the savepoint of the service,
# in the transaction that reads the answer as well.
PAYMENT = 21  # one reads the payout method that is kept with it
PAYMENT_WITH_A_KEY = 24
RECALCULATION = 18


@pytest.fixture
def scenario(account):
    """A program with one approved affiliate."""
    at = timezone.now()
    rules = ProgramSettings(title="Spring", currency="EUR")
    program = create_program(account, slug="spring", settings=rules, at=at)
    person = PersonData("Ada", "Stone")
    create_affiliate(account, data=person, password=SECRET, at=at)
    entry = EnrollmentData(affiliate_id="adastone", approved=True, coupon="ADA")
    create_enrollment(account, program=program, data=entry, at=at)
    return program


def make_conversion(account, number, parts=1):
    """Create a click and a conversion by it for a new customer."""
    at = timezone.now()
    visit = Visit(parameters=TrackingParameters(referral_code=get_referral_code(account)))
    click = record_click(account, visit=visit, at=at)
    sale = ConversionData(
        parameters=TrackingParameters(
            click_id=str(click.public_id), customer_id=f"customer-{number}"
        ),
        line_items=[LineItem(Decimal(10))] * parts,
        external_id=f"order-{number}",
    )
    return create_conversion(account, data=sale, at=at)


def make_payment(account):
    """Create a payment without a balance due."""
    order = PaymentOrder("adastone", Decimal(1), "EUR")
    create_payments(account, orders=[order], at=timezone.now())


def get_referral_code(account):
    return account.referral_codes.get().code


def count_queries(api, statements, method, path, body=None, **headers):
    """Return the number of SQL statements of a successful request."""
    with statements() as captured:
        response = api.request(method, path, body, **headers)
    assert response.status_code == 200, response.content
    return len(captured)


def test_list_takes_as_many_queries_for_one_row_as_for_a_full_page(
    api, account, scenario, capture_queries, subtests
):
    make_conversion(account, 0, parts=3)
    make_payment(account)
    api.get("/programs/")  # records the first use of the API key

    with_one = {path: count_queries(api, capture_queries, "GET", path) for path in LISTS}
    for number in range(1, 30):
        make_conversion(account, number, parts=3)
        make_payment(account)

    for path in LISTS:
        with subtests.test(path=path):
            with_many = count_queries(api, capture_queries, "GET", path)
            assert with_one[path] == with_many <= LISTS[path]


def test_item_stays_within_its_query_budget(api, account, scenario, capture_queries, subtests):
    conversion = make_conversion(account, 0, parts=3)
    api.get("/programs/")
    ids = {
        "click": conversion.click.public_id,
        "customer": conversion.customer.public_id,
        "conversion": conversion.pk,
        "commission": account.commissions.first().pk,
    }

    for path in ITEMS:
        with subtests.test(path=path):
            count = count_queries(api, capture_queries, "GET", path.format(**ids))
            assert count <= ITEMS[path]


def test_click_stays_within_its_query_budget(api, account, scenario, capture_queries):
    api.get("/programs/")
    visit = {"referral_code": get_referral_code(account)}

    assert count_queries(api, capture_queries, "POST", "/clicks/", visit) <= CLICK


def test_customer_stays_within_its_query_budget(api, account, scenario, capture_queries):
    click = make_conversion(account, 0).click
    api.get("/programs/")
    customer = {"customer_id": "new", "click_id": str(click.public_id)}

    assert count_queries(api, capture_queries, "POST", "/customers/", customer) <= CUSTOMER


@pytest.mark.parametrize(
    ("customer_id", "budget"),
    [
        pytest.param("customer-0", CONVERSION_OF_KNOWN_CUSTOMER, id="known customer"),
        pytest.param("new", CONVERSION_OF_NEW_CUSTOMER, id="new customer"),
    ],
)
@pytest.mark.parametrize("parts", [1, 10])
def test_conversion_stays_within_its_query_budget_for_any_number_of_line_items(
    api, account, scenario, capture_queries, customer_id, budget, parts
):
    click = make_conversion(account, 0).click
    api.get("/programs/")
    sale = {
        "external_id": "order-new",
        "click_id": str(click.public_id),
        "customer_id": customer_id,
        "commissions": [{"sub_amount": 10}] * parts,
    }

    assert count_queries(api, capture_queries, "POST", "/conversions/", sale) <= budget
    assert_ledger_consistent(account)


def test_first_conversion_of_an_affiliate_opens_its_ledger_accounts(
    api, account, scenario, capture_queries
):
    api.get("/programs/")
    sale = {"external_id": "o", "coupon": "ADA", "customer_id": "new", "amount": 10}

    cost = count_queries(api, capture_queries, "POST", "/conversions/", sale)

    assert cost <= FIRST_CONVERSION_OF_AFFILIATE


def test_approval_stays_within_its_query_budget(api, account, scenario, capture_queries):
    commission = make_conversion(account, 0).commissions.get()
    api.get("/programs/")
    path = f"/commissions/{commission.pk}/approved/"

    assert count_queries(api, capture_queries, "PUT", path) <= APPROVAL
    assert count_queries(api, capture_queries, "PUT", path) <= REPEATED_APPROVAL
    assert_ledger_consistent(account)


@pytest.mark.parametrize("sales", [1, 20])
@pytest.mark.parametrize(
    ("key", "budget"),
    [
        pytest.param({}, PAYMENT, id="without a key"),
        pytest.param({"Idempotency-Key": "once"}, PAYMENT_WITH_A_KEY, id="with a key"),
    ],
)
def test_payment_stays_within_its_query_budget_for_any_number_of_commissions(
    api, account, scenario, capture_queries, sales, key, budget
):
    scenario.update_row(auto_approve_commissions=True)
    for number in range(sales):
        make_conversion(account, number)
    api.get("/programs/")
    order = {"affiliate_id": "adastone", "amount": sales, "currency": "EUR"}

    cost = count_queries(api, capture_queries, "POST", "/payments/", order, **key)

    assert cost <= budget
    assert account.commissions.filter(payment__isnull=False).count() == sales
    assert_ledger_consistent(account)


def test_recalculation_stays_within_its_query_budget(api, account, scenario, capture_queries):
    conversion = make_conversion(account, 0)
    api.get("/programs/")
    path = f"/conversions/{conversion.pk}/?recalculate_commissions=true"

    assert count_queries(api, capture_queries, "PATCH", path, {"amount": 7}) <= RECALCULATION
    assert_ledger_consistent(account)
