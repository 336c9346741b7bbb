"""The story of a customer: from the click to what each commission became."""

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse

from accounts.models.keys import Role
from affiliate_site.backoffice import timeline
from payouts.services.commissions import approve, disapprove
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.revising import remove_conversion
from tests.shop import CLICKED, SOLD, Shop
from tracking.attribution import Clues

LINE = re.compile(r'<div class="office-story">(.*?)</div>')
HOUR = timedelta(hours=1)


def page_of(client, customer):
    path = reverse("admin:tracking_customer_change", args=[customer.pk])
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def told(client, customer):
    """The lines, without their links."""
    found = LINE.findall(page_of(client, customer))
    return [unescape(re.sub("<[^>]+>", "", line)) for line in found]


def give(shop, amount, at):
    order = Order(shop.mina.slug, Decimal(amount), "EUR")
    return pay(shop.account, orders=[order], at=at)[0]


@pytest.fixture
def sale(shop):
    """By a click, to a customer whom it makes."""
    click = shop.click(landing_page="https://shop.example.net/lamps?a=1&b=2")
    clues = Clues(click_id=str(click.public_id), customer_id="anna")
    return shop.sell("200", clues=clues)


def test_tells_what_became_of_each_commission(staff, shop, sale, account):
    commission = shop.commission_of(sale)
    number = commission.pk
    approve(account, commission_id=number, at=SOLD + HOUR)
    disapprove(account, commission_id=number, at=SOLD + 2 * HOUR)
    approve(account, commission_id=number, at=SOLD + 3 * HOUR)
    first = give(shop, "20", SOLD + 4 * HOUR)
    cancel_payment(account, payment_id=first.public_id, at=SOLD + 5 * HOUR)
    second = give(shop, "20", SOLD + 6 * HOUR)

    lines = told(staff(role=Role.VIEWER), sale.customer)

    at = [f"{SOLD + hours * HOUR:%Y-%m-%d %H:%M:%S}" for hours in range(7)]
    made = [line for line in lines if "customer." in line]
    assert [line for line in lines if line not in made] == [
        f"{CLICKED:%Y-%m-%d %H:%M:%S} click https://shop.example.net/lamps?a=1&b=2",
        f"{at[0]} conversion {sale.pk} 200 EUR",
        f"{at[0]} commission {number} 20 EUR for minakessler: pending",
        f"{at[1]} commission {number} approved",
        f"{at[2]} commission {number} disapproved",
        f"{at[3]} commission {number} approved",
        f"{at[4]} commission {number} paid",
        f"{at[5]} commission {number} free again: its payment was canceled",
        f"{at[6]} commission {number} paid by {second.public_id}",
    ]
    assert lines.index(made[0]) == 1


def test_starts_anew_where_a_decision_frees_what_was_paid(staff, shop, sale, account):
    number = shop.commission_of(sale).pk
    approve(account, commission_id=number, at=SOLD + HOUR)
    give(shop, "20", SOLD + 2 * HOUR)
    disapprove(account, commission_id=number, at=SOLD + 3 * HOUR)
    approve(account, commission_id=number, at=SOLD + 4 * HOUR)
    give(shop, "20", SOLD + 5 * HOUR)

    lines = told(staff(), sale.customer)

    assert "canceled" not in str(lines)
    payment = account.commissions.get().payment
    assert lines[-1].endswith(f" paid by {payment}")


def test_tells_of_an_automatic_decision_and_of_a_removal(staff, shop, sale, account):
    remove_conversion(account, conversion_id=sale.pk, at=SOLD + HOUR)

    lines = told(staff(), sale.customer)

    assert [line.partition(" ")[2].partition(" ")[2] for line in lines[-2:]] == [
        f"removed conversion {sale.pk}",
        f"commission {account.commissions.get().pk} removed with its sale",
    ]


def test_leads_to_the_rows(staff, shop, sale, account):
    number = shop.commission_of(sale).pk
    approve(account, commission_id=number, at=SOLD)
    payment = give(shop, "20", SOLD)
    client = staff()

    found = re.findall(
        r'href="([^"]+)"', "".join(LINE.findall(page_of(client, sale.customer)))
    )

    assert set(found) == {
        reverse("admin:tracking_click_change", args=[sale.click.pk]),
        reverse("admin:tracking_conversion_change", args=[sale.pk]),
        reverse("admin:payouts_commission_change", args=[number]),
        reverse("admin:payouts_payment_change", args=[payment.pk]),
    }
    for path in found:
        assert client.get(path).status_code == 200


def test_writes_a_page_of_somebody_as_text(staff, shop):
    click = shop.click(
        landing_page="https://shop.example.net/?<script>alert(1)</script>"
    )
    clues = Clues(click_id=str(click.public_id), customer_id="anna")
    sale = shop.sell("200", clues=clues)

    assert "<script>alert" not in page_of(staff(), sale.customer)


def test_costs_the_same_for_many_sales(staff, shop, sale, account, statements):
    client = staff()
    with statements() as one:
        page_of(client, sale.customer)
    for number in range(10):
        more = shop.sell("50", customer_id="anna", at=SOLD + number * HOUR)
        approve(account, commission_id=shop.commission_of(more).pk, at=SOLD)
    give(shop, "50", SOLD + 20 * HOUR)

    with statements() as many:
        page_of(client, sale.customer)

    assert len(many) == len(one) <= 15


def test_tells_the_newest_of_very_many_sales(staff, shop, sale, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_SALES", 2)
    later = [shop.sell("50", customer_id="anna", at=SOLD + HOUR) for _ in range(2)]

    lines = told(staff(), sale.customer)

    assert lines[0].endswith("Of many sales, these are the newest 2: all of them")
    assert f"conversion {sale.pk} " not in str(lines)
    assert all(f"conversion {it.pk} 50 EUR" in str(lines) for it in later)


def test_tells_nothing_of_another_account(staff, shop, sale, other_account):
    """Numbers of rows are those of the whole site; the diary is the account's."""
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    customer = theirs.sell("10", customer_id="anna").customer
    client = staff()

    answer = client.get(reverse("admin:tracking_customer_change", args=[customer.pk]))

    assert answer.status_code == 302
    assert "zz-marker" not in page_of(client, sale.customer)
