"""Contract 2.2.1: what is written of a sale, its commissions apart."""

from decimal import Decimal

import pytest

from tests.conftest import NOW
from tests.proof import everything
from tests.shop import remove
from tracking.attribution import REST, Clues
from tracking.errors import DuplicateConversion
from tracking.services.attribution import verify, weigh
from tracking.services.conversions import create_conversion


@pytest.fixture
def write(account, shop):
    """Write a sale of nought, which needs no commission: `write(external_id=…)`."""

    def make(clues=None, **values):
        clues = clues or Clues(coupon=shop.mina.coupon)
        finding = weigh(
            account, clues=clues, order=REST, at=NOW, ignore_cookie_age=False
        )
        told = {
            "external_id": None,
            "customer_id": clues.customer_id,
            "amount": Decimal(0),
            "currency": "EUR",
            "meta_data": {},
            "user_agent": None,
            "ip": None,
        }
        return create_conversion(account, finding=finding, **told | values, at=NOW)

    return make


def test_writes_whose_sale_it_is(account, shop, write):
    sale = write(
        external_id="order-1",
        amount=Decimal("249.90"),
        currency="CHF",
        meta_data={"channel": "web"},
        user_agent="Harbor/1",
    )

    kept = account.conversions.get()
    assert kept == sale
    assert (kept.program, kept.affiliate) == (shop.program, shop.mina.affiliate)
    assert (kept.customer, kept.click, kept.warnings) == (None, None, None)
    assert (kept.external_id, kept.amount, kept.currency) == (
        *("order-1", Decimal("249.90"), "CHF"),
    )
    assert (kept.meta_data, kept.user_agent) == ({"channel": "web"}, "Harbor/1")
    assert (kept.created_at, kept.removed_at) == (NOW, None)


def test_keeps_one_decision_about_each_sale(account, write):
    first, second = write(), write()

    decisions = {it.conversion_id: it for it in account.decisions.all()}
    assert set(decisions) == {first.pk, second.pk}
    assert all(verify(it) for it in decisions.values())


@pytest.mark.parametrize(
    ("ip", "kept"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("192.0.2.7", "192.0.2.7", id="one"),
        pytest.param("unknown, 192.0.2.7", "192.0.2.7", id="the-first-that-is-one"),
        pytest.param("192.0.2.7, 192.0.2.8", "192.0.2.7", id="the-first-of-two"),
        pytest.param(" 2001:DB8::1 ", "2001:db8::1", id="six"),
        pytest.param("192.0.2.999", None, id="no-address"),
        pytest.param("", None, id="empty"),
    ],
)
def test_keeps_the_first_valid_address(account, write, ip, kept):
    write(ip=ip)

    assert account.conversions.get().ip == kept


@pytest.mark.parametrize("removed", [False, True], ids=["present", "removed"])
def test_knows_an_external_id_as_long_as_its_sale_is_present(account, write, removed):
    first = write(external_id="order-1")
    if removed:
        first.change(removed_at=NOW)

    if removed:
        assert write(external_id="order-1") != first
    else:
        before = account.conversions.count()
        with pytest.raises(DuplicateConversion):
            write(external_id="order-1")
        assert account.conversions.count() == before


def test_lets_many_sales_have_no_external_id(account, write):
    assert [write(), write()] == list(account.conversions.order_by("id"))


def test_makes_the_customer_of_a_sale(account, shop, write):
    click = shop.click()

    sale = write(Clues(click_id=str(click.public_id), customer_id="acct-1"))

    assert sale.customer == account.customers.get(customer_id="acct-1")
    assert sale.customer.status == "paying"
    assert sale.click == sale.customer.click == click
    assert sale.tracking_source == "click"


def test_moves_a_known_customer_to_paying(account, shop, write):
    customer = shop.customer("acct-1", status="trial")

    sale = write(Clues(customer_id="acct-1"))

    assert sale.customer == customer
    assert sale.customer.again().status == "paying"
    assert sale.tracking_source == "customer"


@pytest.mark.parametrize(
    ("customer_id", "warnings"),
    [
        pytest.param("mina@notes.example.org", ["customer_is_affiliate"], id="same"),
        pytest.param("MINA@Notes.Example.Org", ["customer_is_affiliate"], id="case"),
        pytest.param("mina", None, id="another"),
    ],
)
def test_warns_of_a_customer_who_is_the_affiliate(shop, write, customer_id, warnings):
    sale = write(Clues(coupon=shop.mina.coupon, customer_id=customer_id))

    assert sale.again().warnings == warnings


def test_writes_nothing_for_somebody_who_cannot_be_named(account, shop, write):
    remove(shop.mina.affiliate)
    before = everything(account)

    with pytest.raises(LookupError):
        write(Clues(customer_id="acct-9"))

    assert everything(account) == before
