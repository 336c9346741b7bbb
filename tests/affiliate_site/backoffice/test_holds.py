"""Holds and minimums on the pages of commissions, balances, affiliates and groups."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from affiliate_site.backoffice.formatters import format_datetime
from payouts.services.payables import get_amounts_due
from payouts.services.payout_limits import set_minimum
from payouts.services.payout_methods import set_payout_method
from tests.affiliate_site.backoffice.form_values import get_form_values, get_version
from tests.affiliate_site.backoffice.money_forms import page_url, submit_and_confirm
from tests.affiliate_site.backoffice.test_exports import export_csv
from tests.conftest import NOW
from tests.ledger_checks import assert_unchanged
from tracking.services.hierarchy import create_group

pytestmark = [
    pytest.mark.usefixtures("shared_scenario", "consistent_amounts"),
    pytest.mark.engine_independent,  # its queries are tested with services
]

COMMISSIONS = "admin:payouts_commission_changelist"
REASON = "Odette asked for an advance."


@pytest.fixture
def sold_at():
    return timezone.now() - timedelta(days=1)


@pytest.fixture
def held(scenario, sold_at):
    """A commission of 20 EUR on hold, beside one of 40 EUR that is due."""
    scenario.approve(scenario.get_commission(scenario.create_conversion("400")))
    scenario.program.update_row(hold_days=30)
    sale = scenario.create_conversion("200", at=sold_at)
    scenario.create_conversion("100", at=sold_at)
    commission = scenario.get_commission(sale)
    scenario.approve(commission, at=sold_at)
    return commission


@pytest.fixture
def until(sold_at):
    return format_datetime(sold_at + timedelta(days=30))


def get_balance(account):
    return account.ledger_accounts.get(kind="payable")


def read(client, url, **query):
    response = client.get(url, query)
    assert response.status_code == 200
    return response.content.decode().replace("\u00a0", " ")


def get_due(commission):
    amounts = get_amounts_due(commission.account, [commission.affiliate_id], at=timezone.now())
    return amounts[commission.affiliate_id, "EUR"].due


def test_balances_say_what_is_due_on_hold_and_pending(staff_client, account, held, until):
    client = staff_client("viewer")

    page = read(client, reverse("admin:payouts_ledgeraccount_changelist"))
    for text in ("60.00 EUR", "40.00 EUR", "20.00 EUR", f"until {until}", "10.00 EUR"):
        assert text in page
    assert "60.00 EUR; due now: 40.00 EUR, on hold: 20.00 EUR</strong>" in page
    assert "not paid by runs: no payout method" in page
    assert "no payout run pays <strong>40.00 EUR</strong>" in page
    assert "below the minimum" not in page

    details = client.get(page_url(get_balance(account), "change")).context["details"]
    facts = {title: str(value) for title, value in details.sections[0].facts}
    assert details.alerts == ["Payout runs leave it out: no payout method."]
    assert facts["Due now"] == "40.00 EUR"
    assert facts["On hold"].startswith("20.00 EUR")
    assert facts["Pending"] == "10.00 EUR"
    assert [row[3] for row in details.sections[1].values] == [
        "now",
        f"on hold until {until}",
    ]


def test_balances_name_who_is_below_the_minimum(staff_client, account, held, until):
    client = staff_client("viewer")
    for amount in ("40.01", "40"):
        set_minimum(account, amount=Decimal(amount), currency="EUR", at=timezone.now())
        page = read(client, reverse("admin:payouts_ledgeraccount_changelist"))
        assert ("below the minimum of 40.01 EUR" in page) == (amount == "40.01")
    set_payout_method(
        account,
        affiliate_id=held.affiliate.slug,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
        at=timezone.now(),
    )
    page = read(client, reverse("admin:payouts_ledgeraccount_changelist"))
    assert "no payout run pays" not in page
    key = {"affiliate_id": held.affiliate.slug, "currency": "EUR"}
    set_minimum(account, amount=Decimal(90), **key, at=timezone.now())
    page = read(client, reverse("admin:payouts_ledgeraccount_changelist"))
    assert "below the minimum of 90.00 EUR" in page


def test_exports_have_what_the_list_of_balances_shows(staff_client, account, held):
    set_minimum(account, amount=Decimal(50), currency="EUR", at=timezone.now())
    line = dict(zip(*export_csv(staff_client(), "payouts_ledgeraccount"), strict=True))

    assert [line[title] for title in ("Balance due", "Due now", "On hold", "Pending")] == [
        "60",
        "40",
        "20",
        "10",
    ]
    assert line["On hold until (UTC)"].startswith(f"{held.due_at:%Y-%m-%dT%H:%M}")
    assert line["Why not paid"] == (
        "not paid by runs: no payout method; below the minimum of 50.00 EUR"
    )


def test_an_affiliate_has_the_same_amounts(staff_client, scenario, held, until):
    sale = scenario.create_conversion("70", currency="USD")
    commission = scenario.get_commission(sale)
    scenario.approve(commission)
    commission.update_row(due_at=None)
    context = staff_client().get(page_url(held.affiliate, "change")).context

    parts = [(title, str(value)) for title, value in context["balance_parts"]]
    assert [value for title, value in parts if title == "Due now"] == [
        "40.00 EUR",
        "7.00 USD",
    ]
    assert until in dict(parts)["On hold"]
    assert ("Pending", "10.00 EUR") in parts
    assert context["obstacle"] == "Payout runs leave the affiliate out: no payout method."


def test_a_commission_says_why_it_is_not_due(staff_client, held):
    page = read(staff_client("viewer"), page_url(held, "change"))

    assert "Not yet, on hold until" in page
    assert "because the program holds sales for 30 days" in page
    assert page_url(held, "release") not in page


def test_finds_the_commissions_on_hold(staff_client, held, until):
    client, url = staff_client(), reverse(COMMISSIONS)

    response = client.get(url, {"on_hold": "True"})

    assert list(response.context["cl"].result_list) == [held]
    assert until in strip_tags(response.content.decode())
    assert client.get(url, {"on_hold": "x"}).status_code == 400


def list_history(client, row):
    """The texts of the history of a page."""
    sections = client.get(page_url(row, "change")).context["details"].sections
    return [re.sub("<[^>]*>", "", f"{text}") for _, text, _ in sections[-1].values]


def test_releases_a_commission_with_a_reason(staff_client, account, held, until):
    client, url = staff_client("manager"), page_url(held, "release")
    assert url in read(client, page_url(held, "change"))
    assert "reason" in client.post(url, {"reason": ""}).context["form"].errors

    values = get_form_values(client, url) | {"reason": REASON}
    for _ in range(2):
        client.post(url, values)

    assert get_due(held) == 60
    assert account.corrections.get().reason == REASON
    assert REASON in read(client, page_url(held.conversion, "change"))
    released = "Released this commission before the end of its hold"
    *_, event, reason = list_history(client, held)
    assert [event, reason] == [f"{released}, {until}", f"Reason: {REASON}"]
    page = read(client, page_url(held, "change"))
    assert "because staff released it, though the program holds sales for 30" in page
    assert account.audit_log.filter(kind="commission.released").count() == 1


def test_releases_selected_commissions_that_are_on_hold(staff_client, account, held):
    client, url = staff_client("manager"), reverse(COMMISSIONS)
    rows = account.commissions.order_by("id")
    selected = {
        "action": "release_selected",
        "_selected_action": list(rows.values_list("pk", flat=True)),
    }
    page = client.post(url, selected)
    assert [reason for _, reason in page.context["skipped"]] == ["not on hold"]
    confirmed = {
        "confirmed": "1",
        "reason": REASON,
        "confirmed_amounts": " ".join(f"{row.pk}:{text}" for row, text in page.context["rows"]),
    }

    response = client.post(url, selected | confirmed, follow=True)

    assert "Release commissions: 2 done. Total: 30.00 EUR." in (
        response.content.decode().replace("\u00a0", " ")
    )
    assert get_due(held) == 60
    assert account.corrections.count() == 2


def test_viewers_release_and_set_nothing(staff_client, account, held):
    client = staff_client("viewer")
    group = create_group(account, title="Top", at=NOW)
    urls = [
        page_url(held, "release"),
        page_url(held.affiliate, "minimum"),
        page_url(group, "edit"),
        page_url(held.conversion.program, "edit"),
        reverse("admin:payouts_payoutminimum_add"),
    ]

    with assert_unchanged(account):
        assert {client.post(url).status_code for url in urls} == {403}


def test_managers_set_holds(staff_client, account, scenario):
    client = staff_client("manager")
    group = create_group(account, title="Top", at=NOW)
    for row, days in ((scenario.program, "14"), (group, "7"), (group, "")):
        url = page_url(row, "edit")
        client.post(url, get_form_values(client, url) | {"hold_days": days})
        row.refresh_from_db()
        assert row.hold_days == (int(days) if days else None)
    assert "when each program says" in read(client, page_url(group, "change"))
    program_page = read(client, page_url(scenario.program, "change"))
    assert "14 days after the sale" in program_page

    for row in (scenario.program, group):
        url = page_url(row, "edit")
        sent = get_form_values(client, url) | {"hold_days": "181"}
        errors = client.post(url, sent).context["form"].errors
        assert errors["hold_days"] == ["The days on hold must be 0 to 180"]


def test_pages_that_pay_in_full_name_what_is_on_hold(staff_client, account, held):
    client, balance = staff_client(), get_balance(account)
    alert = "On hold, but paid with it: minakessler: 20.00 EUR."
    url = reverse("admin:payouts_ledgeraccount_changelist")
    selected = {"action": "pay_selected", "_selected_action": balance.pk}
    page = client.post(url, selected).content.decode().replace("\u00a0", " ")
    assert alert in page


def test_paying_what_is_due_leaves_what_is_on_hold(staff_client, account, held):
    client, balance = staff_client(), get_balance(account)
    url = page_url(balance, "pay")
    alert = "20.00 EUR are on hold: paid only after all that is due."
    assert alert in read(client, url)

    submit_and_confirm(client, url)

    payment = account.payments.get()
    assert payment.amount == 40
    held.refresh_from_db()
    assert held.payment is None
    alert = "Nothing is due now: 20.00 EUR are on hold, but paid with it."
    assert alert in read(client, url)


def test_sets_changes_and_removes_minimums(staff_client, account, scenario):
    client = staff_client("manager")
    url = reverse("admin:payouts_payoutminimum_add")
    client.post(url, {"currency": "EUR", "amount": "50"})
    minimum = account.payout_minimums.get()
    assert minimum.amount == 50
    edit_url = page_url(minimum, "edit")
    client.post(edit_url, get_form_values(client, edit_url) | {"amount": "60,50"})
    assert account.payout_minimums.get().amount == Decimal("60.50")
    listed = read(client, reverse("admin:payouts_payoutminimum_changelist"))
    assert "all affiliates" in listed
    assert "60.50 EUR" in listed
    errors = client.post(url, {"currency": "JPY", "amount": "0.5"}).context["errors"]
    assert errors["amount"] == ["The minimum must be above 0, with the decimals of JPY"]

    client.post(page_url(minimum, "remove"))

    assert not account.payout_minimums.exists()


def test_an_affiliate_can_have_a_minimum_of_its_own(staff_client, account, scenario):
    client, mina = staff_client("manager"), scenario.mina.affiliate
    url = page_url(mina, "minimum")
    entries = {"currency": "EUR", "amount": "20"}
    client.post(url, entries | get_version(client, url))
    assert account.payout_minimums.get().affiliate == mina
    assert "20.00 EUR" in read(client, page_url(mina, "change"))
    values = get_form_values(client, url)
    assert (values["currency"], str(values["amount"])) == ("EUR", "20.00")

    client.post(url, values | {"amount": ""})

    assert not account.payout_minimums.exists()
    assert "that of the account" in read(client, page_url(mina, "change"))


@pytest.mark.parametrize(
    ("minimum", "text"),
    [
        ("50", "below the minimum of 50.00 EUR: waits for the next run"),
        ("40", "40.00 EUR"),
    ],
)
def test_a_balance_says_that_it_waits(staff_client, account, held, minimum, text):
    """What is on hold does not count."""
    set_minimum(account, currency="EUR", amount=Decimal(minimum), at=NOW)

    url = page_url(get_balance(account), "change")
    details = staff_client().get(url).context["details"]

    assert dict(details.sections[0].facts)["Payout minimum"] == text
