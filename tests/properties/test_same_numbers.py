"""One random history: each number is the same wherever it stands."""

import csv
import re
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from affiliate_site.portal_sessions import COOKIE
from payouts.services.bookkeeping import OwedMovement
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.properties.test_payout_runs import History, steps
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.integration

NOW = AT + timedelta(hours=3)  # of the day on which everything has happened
DAY = f"{NOW.date()}"
PERIOD = {"from": DAY, "to": DAY}
ZERO = Decimal(0)


def sign_in(account):
    """The browser of an owner."""
    user, _ = create_staff_user(
        account, email="o@x.example", role=Role.OWNER, password=PASSWORD, at=AT
    )
    client = Client()
    client.force_login(user)
    return client


def sign_in_as(affiliate):
    """The browser of an affiliate in the portal."""
    account, at = affiliate.account, NOW
    token = invite_affiliate(account, affiliate_id=affiliate.slug, at=at).token
    client = Client()
    client.cookies[COOKIE] = set_portal_password(
        account, token, password=PASSWORD, at=at
    )
    return client


def export(client, page, **filters):
    """The lines of an export by title."""
    response = client.get(reverse(f"admin:{page}_export"), filters)
    text = response.getvalue().decode("utf-8-sig")
    return list(csv.DictReader(StringIO(text)))


def add_up(lines, title):
    """The sum of a column of amounts in euros."""
    return sum((Decimal(line.get(title) or 0) for line in lines), ZERO)


def read_amount(text):
    """`1,234.50 EUR` as a number; 0 without any."""
    found = re.search(r"-?[\d,]+(\.\d+)?(?=.EUR)", f"{text}")
    return Decimal(found[0].replace(",", "")) if found else ZERO


def read_dashboard(client):
    """The values of the cards by title."""
    context = client.get("/admin/", PERIOD).context
    groups = ("headline", "funnel", "money", "money_today")
    return {card.title: card for name in groups for card in context[name]}


def read_closing(client):
    """The amounts of the closing in euros: pending, payable, together, by row."""
    query = {"start": DAY, "end": DAY}
    response = client.get(reverse("admin:closing"), query)
    rows = [row for section in response.context["sections"] for row in section.rows]
    amounts: dict[str, list[Decimal]] = defaultdict(lambda: [ZERO] * 3)
    return amounts | {what: list(map(read_amount, rest)) for what, *rest in rows}


def read_portal(history, name):
    """The lines of a file of all affiliates."""
    url = f"/partners/{history.account.slug}/figures/"
    query = {"start": DAY, "end": DAY, "period": "own", "file": name}
    lines = []
    for person in history.people:
        response = sign_in_as(person.affiliate).get(url, query)
        assert response.status_code == 200
        text = response.getvalue().decode("utf-8-sig")
        lines += csv.DictReader(StringIO(text))
    return lines


def compare(history):
    """Compare dashboard, closing, lists, exports and portal."""
    client = sign_in(history.account)
    cards, closing = read_dashboard(client), read_closing(client)
    value = {title: read_amount(card.value) for title, card in cards.items()}
    affiliates = export(client, "tracking_affiliate")
    not_removed = {"deleted_at__isnull": "True", **PERIOD}
    sales = export(client, "tracking_conversion", **not_removed)
    commissions = export(client, "payouts_commission", **not_removed)
    balances = export(client, "payouts_ledgeraccount")
    payments = export(client, "payouts_payment", canceled_at__isnull="True", **PERIOD)
    days = read_portal(history, "time")

    revenue = add_up(sales, "Amount")
    assert value["Revenue"] == revenue == add_up(affiliates, "Revenue, 30 days")
    assert revenue == add_up(days, "Revenue (EUR)")
    assert cards["Conversions"].value == f"{len(sales):,}"
    assert len(sales) == add_up(affiliates, "Conversions, 30 days")

    counted = [it for it in commissions if it["Status"] != "disapproved"]
    earned = add_up(counted, "Amount")
    changes = (OwedMovement.EARNED, OwedMovement.INCREASED, OwedMovement.WITHDRAWN)
    assert value["Commissions"] == earned == add_up(days, "You earn (EUR)")
    assert earned == sum((closing[it.label][2] for it in changes), ZERO)
    assert earned == value["Pending commissions"] + value["Approved commissions"]

    paid = add_up(payments, "Amount")
    payouts = (OwedMovement.PAID, OwedMovement.PAYMENT_CANCELED)
    assert value["Paid out"] == paid
    assert paid == -sum((closing[it.label][1] for it in payouts), ZERO)

    overpaid = read_amount(cards["Balance due"].note)
    owed = add_up(balances, "Balance due")
    assert owed == value["Balance due"] - overpaid
    assert owed == add_up(affiliates, "Balance due")
    assert owed == closing["Open at the end"][1]
    assert value["Waiting for approval"] == closing["Open at the end"][0]
    listed = client.get(cards["Active affiliates"].url).context["cl"].result_list
    assert cards["Active affiliates"].value == f"{len(listed)}"


@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # pages are slow to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps)
def test_all_places_have_the_same_numbers(db, steps):
    with time_machine.travel(NOW, tick=False), transaction.atomic():
        history = History()
        on = {"is_on": True}
        update_portal_settings(history.account, changes=on, at=AT)
        for name, *arguments in steps:
            getattr(history, name)(*arguments)
        history.earn(0, 1234, 0)  # without activity, there is no dashboard
        compare(history)
        transaction.set_rollback(True)
