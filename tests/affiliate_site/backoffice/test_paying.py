"""Paying many: by a minimum and a last day, shown first, each paid once."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from payouts.services.commissions import approve
from payouts.services.ledger import balances_of
from tests.shop import Shop

PAGE = "/admin/payouts/ledgeraccount/pay/"
TODAY = timezone.now()
YESTERDAY = TODAY - timedelta(days=1)
EARLIER = TODAY - timedelta(days=3)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.type("all", 100)
    for name, amounts in (
        ("Odette", {"30": EARLIER, "5": TODAY}),
        ("Zoe", {"4.99": EARLIER}),
        ("Ida", {"40": TODAY}),
    ):
        member = shop.join(name, "Lund")
        for amount, at in amounts.items():
            earn(shop, amount, at=at, member=member)
    earn(shop, "20", at=EARLIER)
    return shop


def earn(shop, amount, *, at, **sale):
    commission = shop.commission_of(shop.sell((amount, "all"), **sale))
    approve(shop.account, commission_id=commission.pk, at=at)


def terms(**changed):
    usual = {"currency": "EUR", "minimum": "5", "last_day": f"{YESTERDAY:%Y-%m-%d}"}
    return usual | changed


def agreed(page):
    """What the form on the page would send."""
    fields = re.findall(r'name="([^"]+)" value="([^"]*)"', page.content.decode())
    return {
        name: [value for field, value in fields if field == name]
        for name in ("_selected_action", "shown")
    }


def confirm(client, page, **changed):
    address = f"{PAGE}?{page.request['QUERY_STRING']}"
    return client.post(address, agreed(page) | changed)


def paid(account):
    rows = account.payments.order_by("affiliate__slug")
    return [(it.affiliate.slug, it.amount, it.currency) for it in rows]


def test_shows_whom_it_would_pay_how_much(staff, shop):
    page = staff().get(PAGE, terms())

    text = page.content.decode()
    assert "<strong>2</strong>, together <strong>50 EUR</strong>" in text
    assert "2 left out: nothing of theirs is due, or it is below the minimum" in text
    rows = [(str(row.affiliate), row.owed_told, it) for row, it in page.context["rows"]]
    assert rows == [("odettelund", "35 EUR", "30"), ("minakessler", "20 EUR", "20")]
    assert not shop.account.payments.exists()


def test_pays_what_was_shown(staff, shop, account):
    client = staff()
    page = client.get(PAGE, terms())

    answer = confirm(client, page)

    assert answer.status_code == 302
    assert paid(account) == [
        ("minakessler", Decimal(20), "EUR"),
        ("odettelund", Decimal(30), "EUR"),
    ]
    assert balances_of(account)["odettelund"] == {"EUR": Decimal(5)}
    assert "2 done" in client.get(answer.url).content.decode()

    confirm(client, page)
    assert account.payments.count() == 2


def test_pays_nobody_whose_balance_moved_since(staff, shop, account):
    client = staff()
    page = client.get(PAGE, terms())
    earn(shop, "6", at=EARLIER)

    answer = confirm(client, page)

    assert paid(account) == [("odettelund", Decimal(30), "EUR")]
    told = client.get(answer.url).content.decode()
    assert "it is 26 EUR by now" in told


def test_pays_nobody_who_was_not_shown(staff, shop, account):
    client = staff()
    page = client.get(PAGE, terms())
    earn(shop, "90", at=EARLIER, member=shop.join("Una", "Berg"))
    ida = account.ledger_accounts.get(kind="payable", affiliate__firstname="Ida")

    confirm(client, page, _selected_action=[ida.pk, 999999, "x"])

    assert paid(account) == []


@pytest.mark.parametrize("shown", ["", "abc", ":::", "1:999 2"])
def test_pays_nobody_at_an_amount_that_was_not_shown(staff, shop, account, shown):
    client = staff()
    page = client.get(PAGE, terms())

    assert confirm(client, page, shown=[shown]).status_code == 302
    later = f"{PAGE}?currency=EUR&minimum=0&last_day={TODAY:%Y-%m-%d}"
    chosen = agreed(page)["_selected_action"]
    client.post(later, {"_selected_action": chosen, "shown": shown})

    assert paid(account) == []


def test_pays_some_and_says_how_many_come_after(staff, shop, account, monkeypatch):
    monkeypatch.setattr("affiliate_site.backoffice.paying.AT_ONCE", 1)
    client = staff()
    page = client.get(PAGE, terms())
    assert "1 more come after these" in page.content.decode()

    confirm(client, page)

    assert paid(account) == [("odettelund", Decimal(30), "EUR")]


@pytest.mark.parametrize(
    ("odd", "flaw"),
    [
        ({"currency": "USD"}, "not one of the available choices"),
        ({"minimum": "-1"}, "greater than or equal to 0"),
        ({"minimum": "NaN"}, "Enter a number"),
        ({"last_day": "tomorrow"}, "Enter a valid date"),
        ({"last_day": "9999-12-31"}, "Choose a day of this age"),
    ],
)
def test_says_what_is_wrong_with_the_terms(staff, shop, account, odd, flaw):
    page = staff().get(PAGE, terms(**odd))

    assert flaw in page.content.decode()
    assert "deed" not in page.context


def test_says_what_to_do_where_nothing_is_owed(staff, account):
    Shop(account)

    assert "Approve commissions first" in staff().get(PAGE).content.decode()


@pytest.mark.parametrize("role", ["viewer", "manager"])
def test_is_for_owners(staff, shop, account, role):
    client = staff(role=role)

    assert client.get(PAGE, terms()).status_code == 403
    address = f"{PAGE}?currency=EUR&minimum=0&last_day=2026-01-01"
    assert client.post(address).status_code == 403
    assert not account.payments.exists()
    page = client.get(reverse("admin:payouts_ledgeraccount_changelist"))
    assert "Pay by a minimum" not in page.content.decode()


def test_is_not_for_operators(client, shop):
    client.force_login(User.objects.create_superuser("ops@example.org", "x"))

    assert client.get(PAGE, terms()).status_code == 403


def test_knows_nobody_of_another_account(staff, shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.type("all", 100)
    earn(theirs, "77", at=EARLIER)
    place = other_account.ledger_accounts.get(kind="payable")
    client = staff()

    page = client.get(PAGE, terms())
    assert "zz-marker" not in page.content.decode()
    confirm(client, page, _selected_action=[place.pk], shown=[f"{place.pk}:77"])

    assert not other_account.payments.exists()


def test_is_reached_from_the_balances(staff, shop):
    page = staff().get(reverse("admin:payouts_ledgeraccount_changelist"))

    assert (
        '<a class="underline text-primary-600 dark:text-primary-500" href="pay/">'
        in (page.content.decode())
    )


def test_takes_so_many_statements_and_no_more(staff, shop, statements):
    client = staff()
    with statements() as few:
        client.get(PAGE, terms())
    for number in range(10):
        earn(shop, "9", at=EARLIER, member=shop.join(f"Ada{number}", "Lund"))
    with statements() as many:
        client.get(PAGE, terms())

    assert len(few) == len(many) <= 15
