"""The timeline of a customer: click, conversions and commissions."""

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse

from accounts.models.api_keys import Role
from affiliate_site.backoffice.conversions import customer_details
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_updates import update_commission
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.refunds import refund_conversion
from tests.program_scenario import (
    CLICK_CREATED_AT,
    CONVERSION_CREATED_AT,
    ProgramScenario,
)
from tracking.attribution import TrackingParameters

pytestmark = pytest.mark.usefixtures("shared_scenario")

LINE = re.compile(r'<div class="backoffice-lines">(.*?)</div>')
HOUR = timedelta(hours=1)


def get_customer_page(client, customer):
    path = reverse("admin:tracking_customer_change", args=[customer.pk])
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def list_timeline_texts(client, customer):
    """The texts of the entries, without links."""
    found = LINE.findall(get_customer_page(client, customer))
    return [unescape(re.sub("<[^>]+>", "", line)) for line in found]


def make_payment(shop, amount, at):
    order = PaymentOrder(shop.mina.slug, Decimal(amount), "EUR")
    return create_payments(shop.account, orders=[order], at=at)[0]


@pytest.fixture
def conversion(scenario):
    """A conversion of a new customer, through a click."""
    click = scenario.create_click(landing_page="https://shop.example.net/lamps?a=1&b=2")
    parameters = TrackingParameters(click_id=str(click.public_id), customer_id="anna")
    return scenario.create_conversion("200", parameters=parameters)


def test_shows_all_events_in_order(staff_client, scenario, conversion, account):
    commission = scenario.get_commission(conversion)
    number = commission.pk
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + HOUR)
    disapprove_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + 2 * HOUR)
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + 3 * HOUR)
    first = make_payment(scenario, "20", CONVERSION_CREATED_AT + 4 * HOUR)
    cancel_payment(account, payment_id=first.public_id, at=CONVERSION_CREATED_AT + 5 * HOUR)
    second = make_payment(scenario, "20", CONVERSION_CREATED_AT + 6 * HOUR)

    lines = list_timeline_texts(staff_client(role=Role.VIEWER), conversion.customer)

    at = [f"{CONVERSION_CREATED_AT + hours * HOUR:%Y-%m-%d %H:%M:%S} UTC" for hours in range(7)]
    status_lines = [line for line in lines if "this customer" in line]
    assert [line for line in lines if line not in status_lines] == [
        f"{CLICK_CREATED_AT:%Y-%m-%d %H:%M:%S} UTC click https://shop.example.net/lamps?a=1&b=2",
        f"{at[0]} conversion {conversion.pk} 200.00 EUR",
        f"{at[0]} commission {number} 20.00 EUR for minakessler: pending",
        f"{at[1]} commission {number} approved",
        f"{at[2]} commission {number} disapproved",
        f"{at[3]} commission {number} approved",
        f"{at[4]} commission {number} paid by {first.public_id}",
        f"{at[5]} commission {number} unpaid: payment {first.public_id} was canceled",
        f"{at[6]} commission {number} paid by {second.public_id}",
    ]
    assert lines.index(status_lines[0]) == 1
    texts = [line.partition(" UTC ")[2] for line in status_lines]
    assert texts == ["created this customer"]


def test_a_refund_does_not_read_as_a_disapproval(staff_client, scenario, account):
    scenario.create_customer("anna")
    conversion = scenario.create_conversion("100", "40", customer_id="anna")
    line, other = account.commissions.order_by("id")
    for hours, amounts in ((1, {line.pk: Decimal(100)}), (2, None)):
        refund_conversion(
            account,
            conversion_id=conversion.pk,
            line_amounts=amounts,
            reason="Returned.",
            at=CONVERSION_CREATED_AT + hours * HOUR,
        )

    lines = list_timeline_texts(staff_client(), conversion.customer)

    texts = [text.partition(" UTC ")[2] for text in lines]
    assert "changed the status of this customer status: new → paying" in texts
    assert texts[-5:] == [
        f"refunded 100.00 EUR of conversion {conversion}",
        f"commission {line} refunded",
        f"refunded 40.00 EUR of conversion {conversion}",
        f"commission {line} removed with its conversion",
        f"commission {other} removed with its conversion",
    ]


def test_shows_no_cancellation_after_a_status_change(staff_client, scenario, conversion, account):
    number = scenario.get_commission(conversion).pk
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + HOUR)
    make_payment(scenario, "20", CONVERSION_CREATED_AT + 2 * HOUR)
    disapprove_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + 3 * HOUR)
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + 4 * HOUR)
    make_payment(scenario, "20", CONVERSION_CREATED_AT + 5 * HOUR)

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert "canceled" not in str(lines)
    payment = account.commissions.get().payment
    assert lines[-1].endswith(f" paid by {payment}")


def test_shows_no_cancellation_of_a_released_commission(
    staff_client, scenario, conversion, account
):
    number = scenario.get_commission(conversion).pk
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + HOUR)
    payment = make_payment(scenario, "20", CONVERSION_CREATED_AT + 2 * HOUR)
    disapprove_commission(account, commission_id=number, at=CONVERSION_CREATED_AT + 3 * HOUR)
    cancel_payment(account, payment_id=payment.public_id, at=CONVERSION_CREATED_AT + 4 * HOUR)

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert "canceled" not in str(lines)
    assert lines[-2].endswith(f" paid by {payment}")
    assert lines[-1].endswith(" disapproved")


def test_shows_no_cancellation_after_a_deletion(staff_client, scenario, conversion, account):
    scenario.approve(scenario.get_commission(conversion), at=CONVERSION_CREATED_AT + HOUR)
    payment = make_payment(scenario, "20", CONVERSION_CREATED_AT + 2 * HOUR)
    scenario.delete(conversion, at=CONVERSION_CREATED_AT + 3 * HOUR)
    cancel_payment(account, payment_id=payment.public_id, at=CONVERSION_CREATED_AT + 4 * HOUR)

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert "canceled" not in str(lines)
    assert lines[-1].endswith(" removed with its conversion")


def test_shows_changed_amounts(staff_client, scenario, conversion, account):
    number = scenario.get_commission(conversion).pk

    def change(hours, **changes):
        at = CONVERSION_CREATED_AT + hours * HOUR
        update_commission(account, commission_id=number, changes=changes, at=at)

    change(1, amount=Decimal(15))
    change(2, status="approved")
    change(3, amount=Decimal(25))
    change(4, status="disapproved")
    change(5, amount=Decimal(30))
    change(6, status="approved")

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert [line.partition(f"commission {number} ")[2] for line in lines[-6:]] == [
        "20.00 EUR for minakessler: pending",
        "15.00 EUR",
        "approved",
        "25.00 EUR",
        "disapproved",
        "approved, 30.00 EUR",
    ]


def test_shows_automatic_approvals(staff_client, scenario, account):
    scenario.program.update_row(auto_approve_commissions=True)
    conversion = scenario.create_conversion("200", customer_id="anna")

    assert list_timeline_texts(staff_client(), conversion.customer)[-1].endswith(
        " for minakessler: approved"
    )


def test_shows_commissions_of_zero(staff_client, scenario, account):
    conversion = scenario.create_conversion("0", customer_id="anna")

    assert list_timeline_texts(staff_client(), conversion.customer)[-1].endswith(
        " 0.00 EUR for minakessler: pending"
    )


def test_shows_deletions(staff_client, scenario, conversion, account):
    scenario.delete(conversion, at=CONVERSION_CREATED_AT + HOUR)

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert [line.partition(" UTC ")[2] for line in lines[-2:]] == [
        f"removed conversion {conversion.pk}",
        f"commission {account.commissions.get().pk} removed with its conversion",
    ]


def test_links_to_the_rows(staff_client, scenario, conversion, account):
    number = scenario.get_commission(conversion).pk
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)
    payment = make_payment(scenario, "20", CONVERSION_CREATED_AT)
    client = staff_client()

    found = re.findall(
        r'href="([^"]+)"',
        "".join(LINE.findall(get_customer_page(client, conversion.customer))),
    )

    assert set(found) == {
        reverse("admin:tracking_click_change", args=[conversion.click.pk]),
        reverse("admin:tracking_conversion_change", args=[conversion.pk]),
        reverse("admin:payouts_commission_change", args=[number]),
        reverse("admin:payouts_payment_change", args=[payment.pk]),
    }
    for path in found:
        assert client.get(path).status_code == 200


def test_escapes_landing_pages(staff_client, scenario):
    click = scenario.create_click(
        landing_page="https://shop.example.net/?<script>alert(1)</script>"
    )
    parameters = TrackingParameters(click_id=str(click.public_id), customer_id="anna")
    conversion = scenario.create_conversion("200", parameters=parameters)

    assert "<script>alert" not in get_customer_page(staff_client(), conversion.customer)


def test_query_count_does_not_depend_on_the_number_of_conversions(
    staff_client, scenario, conversion, account, capture_queries
):
    client = staff_client()
    scenario.approve(scenario.get_commission(conversion))
    make_payment(scenario, "20", CONVERSION_CREATED_AT)
    with capture_queries() as before:
        get_customer_page(client, conversion.customer)
    for number in range(10):
        more = scenario.create_conversion(
            "50", customer_id="anna", at=CONVERSION_CREATED_AT + number * HOUR
        )
        scenario.approve(scenario.get_commission(more))
    make_payment(scenario, "50", CONVERSION_CREATED_AT + 20 * HOUR)

    with capture_queries() as after:
        get_customer_page(client, conversion.customer)

    assert len(after) == len(before) <= 15


def test_limits_the_number_of_conversions(staff_client, scenario, conversion, monkeypatch):
    monkeypatch.setattr(customer_details, "MAX_CONVERSIONS", 2)
    later = [
        scenario.create_conversion("50", customer_id="anna", at=CONVERSION_CREATED_AT + HOUR)
        for _ in range(2)
    ]

    lines = list_timeline_texts(staff_client(), conversion.customer)

    assert lines[0].endswith("Showing the newest 2 conversions: show all")
    assert f"conversion {conversion.pk} " not in str(lines)
    assert all(f"conversion {other.pk} 50.00 EUR" in str(lines) for other in later)


def test_shows_nothing_of_another_account(staff_client, scenario, conversion, other_account):
    """Row IDs are unique across accounts; the audit log belongs to one account."""
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    customer = foreign.create_conversion("10", customer_id="anna").customer
    client = staff_client()

    response = client.get(reverse("admin:tracking_customer_change", args=[customer.pk]))

    assert response.status_code == 302
    assert "zz-marker" not in get_customer_page(client, conversion.customer)


def test_counts_orders_by_affiliate_and_currency(staff_client, scenario, conversion, account):
    """Without removed ones; the first order of all is no renewal."""
    customer = account.customers.get(customer_id="anna")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    day = timedelta(days=1)
    for number, (amount, currency, affiliate) in enumerate(
        [("50", "EUR", None), ("30", "USD", None), ("1249.9", "EUR", odette), ("999", "EUR", None)]
    ):
        at = CONVERSION_CREATED_AT + (number + 1) * day
        sale = scenario.create_conversion(amount, currency=currency, at=at)
        sale.update_row(customer=customer)
        if affiliate:
            sale.update_row(affiliate=affiliate.affiliate)
    scenario.delete(sale)

    page = get_customer_page(staff_client("viewer"), customer)

    table = page.partition("<table")[2].partition("</table>")[0]
    rows = [re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", row)) for row in table.split("<tr")[2:]]
    assert [row.split(">", 1)[-1].strip() for row in rows] == [
        "minakessler 2 1 250.00 EUR 2026-03-04 09:15 UTC 2026-03-05 09:15 UTC",
        "minakessler 1 1 30.00 USD 2026-03-06 09:15 UTC 2026-03-06 09:15 UTC",
        "odettevarga 1 1 1,249.90 EUR 2026-03-07 09:15 UTC 2026-03-07 09:15 UTC",
    ]
