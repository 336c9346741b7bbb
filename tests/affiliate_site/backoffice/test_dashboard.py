"""The dashboard: numbers that lead to the rows which add up to them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from tests.command_line import run
from tests.shop import Shop


@pytest.fixture
def shop(account):
    shop = Shop(account)
    now = timezone.now()
    for days in (1, 2, 40):
        shop.click(at=now - timedelta(days=days))
        shop.sell("100", at=now - timedelta(days=days))
    return shop


def cards(answer):
    return {card.title: card for card in answer.context["cards"]}


def test_shows_the_period_and_the_one_before(staff, shop):
    answer = staff().get("/admin/")

    shown = {title: (card.value, card.before) for title, card in cards(answer).items()}
    changes = {it.title: it.change for it in cards(answer).values() if it.change}
    assert changes == {
        "Clicks": "+100 %",
        "Conversions": "+100 %",
        "Active affiliates": "+0 %",
    }
    assert "1 before (+100 %)" in answer.content.decode()
    assert shown == {
        "Clicks": ("2", "1"),
        "Customers": ("0", "0"),
        "Conversions": ("2", "1"),
        "Conversion rate": ("100 %", "100 %"),
        "Revenue": ("200 EUR", "100 EUR"),
        "Active affiliates": ("1", "1"),
        "Commissions pending": ("20 EUR", "10 EUR"),
        "Commissions approved": ("0", "0"),
        "Paid": ("0", "0"),
        "Owed now": ("0", ""),
    }


@pytest.mark.parametrize(("days", "sales"), [("7", "2"), ("90", "3"), ("x", "2")])
def test_counts_the_days_that_were_chosen(staff, shop, days, sales):
    answer = staff().get("/admin/", {"days": days})

    assert cards(answer)["Conversions"].value == sales


def test_counts_from_one_day_to_another(staff, shop):
    today = timezone.now().date()
    span = {"from": today - timedelta(days=45), "to": today - timedelta(days=2)}

    client = staff()
    answer = client.get("/admin/", span)

    sales = cards(answer)["Conversions"]
    assert (sales.value, sales.before) == ("2", "0")
    rows = client.get(sales.link).context["cl"].result_list
    assert len(rows) == 2
    assert f"{span['from']} to {span['to']}, and the 44 days before" in (
        answer.content.decode()
    )


@pytest.mark.parametrize(
    ("first", "last", "flaw"),
    [
        ("2026-01-31", "", "Give both days like 2026-01-31."),
        ("x", "2026-01-01", "Give both days like 2026-01-31."),
        ("2026-02-01", "2026-01-01", "The first day comes before the last one"),
        ("2026-01-01", "9999-12-31", "The first day comes before the last one"),
        ("2020-01-01", "2026-01-01", "Choose 366 days at most."),
        ("0001-01-01", "0001-01-02", "Choose days of this age."),
    ],
)
def test_says_what_is_wrong_with_odd_days(staff, shop, first, last, flaw):
    answer = staff().get("/admin/", {"from": first, "to": last})

    assert flaw in answer.content.decode()
    assert cards(answer)["Conversions"].value == "2"


def test_leads_to_rows_that_add_up(staff, shop):
    client = staff()
    answer = client.get("/admin/")

    for title, column in (("Revenue", "amount"), ("Commissions pending", "amount")):
        card = cards(answer)[title]
        rows = client.get(card.link).context["cl"].result_list
        total = sum(getattr(row, column) for row in rows)
        assert f"{total.normalize():f} EUR" == card.value
    for title in ("Clicks", "Conversions"):
        card = cards(answer)[title]
        rows = client.get(card.link).context["cl"].result_list
        assert str(len(rows)) == card.value
    for card in answer.context["worklist"]:
        assert client.get(card.link).status_code == 200
    assert client.get(cards(answer)["Owed now"].link).status_code == 200


def test_says_what_to_expect_where_there_is_nothing(staff):
    page = staff().get("/admin/").content.decode()

    assert "No sales in these days." in page
    assert "No clicks in these days." in page


def test_has_the_chart_as_a_table_too(staff, shop):
    page = staff().get("/admin/").content.decode()

    rows = re.findall(
        r"<tr><td>[0-9-]{10}</td><td>1</td><td>1</td><td>10 EUR</td>", page
    )
    assert len(rows) == 2


def test_takes_so_many_statements_and_no_more(staff, shop, statements):
    client = staff()
    client.get("/admin/")  # counts the days that are over
    with statements() as few:
        client.get("/admin/")
    for number in range(20):
        shop.join(f"Zoe{number}", "Lund")
        shop.sell("5", at=timezone.now() - timedelta(hours=1))
    with statements() as many:
        client.get("/admin/")

    # One asks for a second factor, one for the first row; yesterday takes five more
    # until it is closed.
    assert len(few) == len(many) <= 23


def test_tells_whether_the_books_were_proved(staff, shop, account, other_account):
    def ledger():
        account.refresh_from_db()
        client = Client()
        client.force_login(account.staff.get())
        worklist = client.get("/admin/").context["worklist"]
        return next((it.value, it.note) for it in worklist if it.title == "Ledger")

    staff()
    assert ledger() == ("not checked yet", "an operator runs check_ledger --note")
    run("check_ledger", "--note")
    value, note = ledger()
    assert value == "every balance agrees"
    assert re.fullmatch(r"checked \d{4}-\d\d-\d\d \d\d:\d\d UTC", note)

    account.ledger_accounts.filter(kind="pending").update(balance=1)
    with pytest.raises(SystemExit):
        run("check_ledger", "--note", "--account", account.slug)
    assert ledger()[0] == "3 rows differ: pay nobody, call an operator"
    other_account.refresh_from_db()
    assert other_account.differing_rows == 0


def test_shows_operators_the_lists_of_all(account, other_account, shop):
    Shop(other_account, mark="zz-marker-", email=None)
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    assert "You are an operator" in client.get("/admin/").content.decode()
    page = client.get(reverse("admin:tracking_program_changelist")).content.decode()
    assert "zz-marker-harbor-lamp-partners" in page
    assert "harbor-lamp-partners" in page
    assert client.get(reverse("admin:accounts_apikey_add")).status_code == 403
