"""How many statements each operation asks of the database: measured, and frozen.

BEGIN and COMMIT (in a test SAVEPOINT and RELEASE), key look-up and rate count are
included. A number may fall, never rise, and none depends on the rows of a page.
"""

from decimal import Decimal

import pytest
from django.utils import timezone

from payouts.services.payments import Order, pay
from payouts.services.programs import Rules, open_program
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tests.proof import books_agree
from tests.shop import SECRET
from tracking.attribution import Clues
from tracking.services.affiliates import Application, sign_up
from tracking.services.clicks import Visit, record_click
from tracking.services.enrolments import Entry, enrol

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
CUSTOMER = 8
SALE_OF_KNOWN_CUSTOMER = 19
SALE_OF_NEW_CUSTOMER = 20
FIRST_SALE_OF_AFFILIATE = 24
APPROVAL = 14
REPEATED_APPROVAL = 8
PAYMENT = 19  # of one affiliate, however many commissions it covers
PAYMENT_WITH_A_KEY = 24
RECALCULATION = 18


@pytest.fixture
def shop(account):
    """A program, one approved affiliate, and how to sell."""
    at = timezone.now()
    rules = Rules(title="Spring", currency="EUR")
    program = open_program(account, slug="spring", rules=rules, at=at)
    person = Application("Ada", "Stone")
    sign_up(account, application=person, secret=SECRET, at=at)
    entry = Entry(affiliate_id="adastone", approved=True, coupon="ADA")
    enrol(account, program=program, entry=entry, at=at)
    return program


def sell(account, number, parts=1):
    """A click, and a sale by it to a customer of its own."""
    at = timezone.now()
    visit = Visit(clues=Clues(referral_code=code_of(account)))
    click = record_click(account, visit=visit, at=at)
    sale = Sale(
        clues=Clues(click_id=str(click.public_id), customer_id=f"customer-{number}"),
        items=[Item(Decimal(10))] * parts,
        external_id=f"order-{number}",
    )
    return record_conversion(account, sale=sale, at=at)


def pay_a_little(account):
    """A payment that nobody has earned."""
    order = Order("adastone", Decimal(1), "EUR")
    pay(account, orders=[order], at=timezone.now())


def code_of(account):
    return account.referral_codes.get().code


def asked(api, statements, method, path, body=None, **headers):
    """How many statements a request costs that succeeds, once the key was used."""
    with statements() as captured:
        response = api.ask(method, path, body, **headers)
    assert response.status_code == 200, response.content
    return len(captured)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_costs_the_same_with_one_row_and_with_a_full_page(
    api, account, shop, statements, path
):
    sell(account, 0, parts=3)
    pay_a_little(account)
    api.get("/programs/")  # the key's first use is written down

    with_one = asked(api, statements, "GET", path)
    for number in range(1, 30):
        sell(account, number, parts=3)
        pay_a_little(account)
    with_many = asked(api, statements, "GET", path)

    assert with_one == with_many == LISTS[path]


@pytest.mark.parametrize("path", ITEMS)
def test_an_item_costs_what_was_measured(api, account, shop, statements, path):
    conversion = sell(account, 0, parts=3)
    api.get("/programs/")
    filled = path.format(
        click=conversion.click.public_id,
        customer=conversion.customer.public_id,
        conversion=conversion.pk,
        commission=account.commissions.first().pk,
    )

    assert asked(api, statements, "GET", filled) == ITEMS[path]


def test_a_click_costs_what_was_measured(api, account, shop, statements):
    api.get("/programs/")
    visit = {"referral_code": code_of(account)}

    assert asked(api, statements, "POST", "/clicks/", visit) == CLICK


def test_a_customer_costs_what_was_measured(api, account, shop, statements):
    click = sell(account, 0).click
    api.get("/programs/")
    customer = {"customer_id": "new", "click_id": str(click.public_id)}

    assert asked(api, statements, "POST", "/customers/", customer) == CUSTOMER


@pytest.mark.parametrize(
    ("customer_id", "budget"),
    [
        pytest.param("customer-0", SALE_OF_KNOWN_CUSTOMER, id="known customer"),
        pytest.param("new", SALE_OF_NEW_CUSTOMER, id="new customer"),
    ],
)
@pytest.mark.parametrize("parts", [1, 10])
def test_a_sale_costs_what_was_measured_however_many_parts_it_has(
    api, account, shop, statements, customer_id, budget, parts
):
    click = sell(account, 0).click
    api.get("/programs/")
    sale = {
        "external_id": "order-new",
        "click_id": str(click.public_id),
        "customer_id": customer_id,
        "commissions": [{"sub_amount": 10}] * parts,
    }

    assert asked(api, statements, "POST", "/conversions/", sale) == budget
    books_agree(account)


def test_an_affiliates_first_sale_opens_its_ledger_accounts(
    api, account, shop, statements
):
    api.get("/programs/")
    sale = {"external_id": "o", "coupon": "ADA", "customer_id": "new", "amount": 10}

    cost = asked(api, statements, "POST", "/conversions/", sale)

    assert cost == FIRST_SALE_OF_AFFILIATE


def test_an_approval_costs_what_was_measured(api, account, shop, statements):
    commission = sell(account, 0).commissions.get()
    api.get("/programs/")
    path = f"/commissions/{commission.pk}/approved/"

    assert asked(api, statements, "PUT", path) == APPROVAL
    assert asked(api, statements, "PUT", path) == REPEATED_APPROVAL
    books_agree(account)


@pytest.mark.parametrize("sales", [1, 20])
@pytest.mark.parametrize(
    ("key", "budget"),
    [
        pytest.param({}, PAYMENT, id="without a key"),
        pytest.param({"Idempotency-Key": "once"}, PAYMENT_WITH_A_KEY, id="with one"),
    ],
)
def test_a_payment_costs_what_was_measured_however_much_it_covers(
    api, account, shop, statements, sales, key, budget
):
    shop.change(auto_approve_commissions=True)
    for number in range(sales):
        sell(account, number)
    api.get("/programs/")
    order = {"affiliate_id": "adastone", "amount": sales, "currency": "EUR"}

    cost = asked(api, statements, "POST", "/payments/", order, **key)

    assert cost == budget
    assert account.commissions.filter(payment__isnull=False).count() == sales
    books_agree(account)


def test_a_recalculation_costs_what_was_measured(api, account, shop, statements):
    conversion = sell(account, 0)
    api.get("/programs/")
    path = f"/conversions/{conversion.pk}/?recalculate_commissions=true"

    assert asked(api, statements, "PATCH", path, {"amount": 7}) == RECALCULATION
    books_agree(account)
