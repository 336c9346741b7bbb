"""Bulk payout: criteria, preview, and one payment per affiliate."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from payouts.services.commissions import approve_commission
from payouts.services.ledger import get_payable_balances_by_slug
from tests.program_scenario import ProgramScenario

PAGE = "/admin/payouts/ledgeraccount/bulk-payouts/"
TODAY = timezone.now()
YESTERDAY = TODAY - timedelta(days=1)
EARLIER = TODAY - timedelta(days=3)


@pytest.fixture
def scenario(account):
    shop = ProgramScenario(account)
    shop.create_commission_type("all", 100)
    for name, amounts in (
        ("Odette", {"30": EARLIER, "5": TODAY}),
        ("Zoe", {"4.99": EARLIER}),
        ("Ida", {"40": TODAY}),
    ):
        affiliate = shop.create_enrolled_affiliate(name, "Lund")
        for amount, at in amounts.items():
            make_approved_commission(shop, amount, at=at, affiliate=affiliate)
    make_approved_commission(shop, "20", at=EARLIER)
    return shop


def make_approved_commission(shop, amount, *, at, **fields):
    commission = shop.get_commission(shop.create_conversion((amount, "all"), **fields))
    approve_commission(shop.account, commission_id=commission.pk, at=at)


def build_query(**changes):
    criteria = {
        "currency": "EUR",
        "minimum": "5",
        "approved_until": f"{YESTERDAY:%Y-%m-%d}",
        "includes_without_method": "on",
    }
    return criteria | changes


def get_form_data(page):
    """The fields that the form of the page submits."""
    fields = re.findall(r'name="([^"]+)" value="([^"]*)"', page.content.decode())
    return {
        name: [value for field, value in fields if field == name]
        for name in ("_selected_action", "confirmed_amounts", "token")
    }


def post_confirmation(client, page, **changes):
    url = f"{PAGE}?{page.request['QUERY_STRING']}"
    return client.post(url, get_form_data(page) | changes)


def list_payments(account):
    rows = account.payments.order_by("affiliate__slug")
    return [(row.affiliate.slug, row.amount, row.currency) for row in rows]


def test_preview_shows_affiliates_and_amounts(staff_client, scenario):
    page = staff_client().get(PAGE, build_query())

    text = page.content.decode()
    assert "<strong>2</strong>, total <strong>50.00 EUR</strong>" in text
    assert "2 left out: nothing due, below the minimum" in text
    rows = [
        (str(row.affiliate), row.formatted_balance_due, amount)
        for row, amount in page.context["rows"]
    ]
    assert rows == [
        ("odettelund", "35.00 EUR", "30"),
        ("minakessler", "20.00 EUR", "20"),
    ]
    assert not scenario.account.payments.exists()


def test_preview_says_where_to_pay_and_who_is_skipped(staff_client, scenario):
    affiliate = scenario.account.affiliates.get(slug="odettelund")
    scenario.account.payout_methods.create(
        affiliate=affiliate,
        kind="paypal",
        details={"email": "o@x.org"},
        is_primary=True,
    )

    client = staff_client()
    text = client.get(PAGE, build_query()).content.decode()

    assert "it transfers no money itself" in text
    assert "PayPal (email: o@x.org)</td>" in text
    alert = "Without a payout method, but recorded as paid, too: minakessler.</p>"
    assert alert in text

    text = client.get(PAGE, build_query(includes_without_method="")).content.decode()

    assert "Without a payout method" not in text
    left_out = text.partition("left out")[2]
    cells = r"<td [^>]*>(\w+) .*?>([\d.]+ EUR)</td><td [^>]*>(.*?)</td>"
    skipped = re.findall(cells, left_out)
    assert sorted(skipped) == [
        ("Ida", "40.00 EUR", "Nothing due by that date"),
        ("Mina", "20.00 EUR", "No payout method"),
        ("Zoe", "4.99 EUR", "Below the minimum of 5.00 EUR"),
    ]


def test_includes_approvals_up_to_the_last_moment_of_the_day(staff_client, account):
    shop = ProgramScenario(account)
    shop.create_commission_type("all", 100)
    midnight = TODAY.replace(hour=0, minute=0, second=0, microsecond=0)
    for amount, at in (
        ("6", midnight - timedelta(microseconds=1)),
        ("7", midnight),
        ("8", midnight + timedelta(microseconds=1)),
    ):
        make_approved_commission(shop, amount, at=at)

    page = staff_client().get(PAGE, build_query())

    assert "<strong>1</strong>, total <strong>6.00 EUR</strong>" in (
        page.content.decode()
    )


def test_pays_the_confirmed_amounts(staff_client, scenario, account):
    client = staff_client()
    page = client.get(PAGE, build_query())

    response = post_confirmation(client, page)

    assert response.status_code == 302
    assert list_payments(account) == [
        ("minakessler", Decimal(20), "EUR"),
        ("odettelund", Decimal(30), "EUR"),
    ]
    assert get_payable_balances_by_slug(account)["odettelund"] == {"EUR": Decimal(5)}
    payments = client.get(response.url)
    assert payments.request["PATH_INFO"] == "/admin/payouts/payment/"
    text = payments.content.decode()
    assert "Pay affiliates: 2 done. Total: 50.00 EUR." in text
    assert payments.context["cl"].row_number.number == 2
    assert len(payments.context["cl"].chips) == 1

    post_confirmation(client, page)
    assert account.payments.count() == 2


def test_the_back_button_does_not_pay_the_next_balances(
    staff_client, scenario, account
):
    client = staff_client()
    page = client.get(PAGE, build_query())
    post_confirmation(client, page)
    make_approved_commission(scenario, "20", at=EARLIER)  # the same amount again

    response = client.get(post_confirmation(client, page).url)

    assert "nothing was done a second time" in response.content.decode()
    assert account.payments.count() == 2
    post_confirmation(client, client.get(PAGE, build_query()))
    assert account.payments.count() == 3


def test_skips_affiliates_whose_balance_changed(staff_client, scenario, account):
    client = staff_client()
    page = client.get(PAGE, build_query())
    make_approved_commission(scenario, "6", at=EARLIER)

    response = post_confirmation(client, page)

    assert list_payments(account) == [("odettelund", Decimal(30), "EUR")]
    text = client.get(response.url).content.decode()
    assert "the amount is now 26.00 EUR" in text


def test_pays_only_affiliates_of_the_preview(staff_client, scenario, account):
    client = staff_client()
    page = client.get(PAGE, build_query())
    make_approved_commission(
        scenario,
        "90",
        at=EARLIER,
        affiliate=scenario.create_enrolled_affiliate("Una", "Berg"),
    )
    ida = account.ledger_accounts.get(kind="payable", affiliate__firstname="Ida")

    post_confirmation(client, page, _selected_action=[ida.pk, 999999, "x"])

    assert list_payments(account) == []


@pytest.mark.parametrize("amounts", ["", "abc", ":::", "1:999 2"])
def test_pays_only_confirmed_amounts(staff_client, scenario, account, amounts):
    client = staff_client()
    page = client.get(PAGE, build_query())

    assert (
        post_confirmation(client, page, confirmed_amounts=[amounts]).status_code == 302
    )
    other_criteria = f"{PAGE}?currency=EUR&minimum=0&approved_until={TODAY:%Y-%m-%d}"
    selected = get_form_data(page)["_selected_action"]
    client.post(
        other_criteria, {"_selected_action": selected, "confirmed_amounts": amounts}
    )

    assert list_payments(account) == []


def test_pays_one_batch_and_shows_how_many_remain(
    staff_client, scenario, account, monkeypatch
):
    monkeypatch.setattr("affiliate_site.backoffice.payouts.bulk_payouts.BATCH_SIZE", 1)
    client = staff_client()
    page = client.get(PAGE, build_query())
    assert "1 more follow in the next batch" in page.content.decode()

    post_confirmation(client, page)

    assert list_payments(account) == [("odettelund", Decimal(30), "EUR")]


@pytest.mark.engine_independent
@pytest.mark.parametrize(
    ("invalid", "error"),
    [
        ({"currency": "USD"}, "not one of the available choices"),
        ({"minimum": "-1"}, "greater than or equal to 0"),
        ({"minimum": "NaN"}, "Enter a number"),
        ({"approved_until": "tomorrow"}, "Enter a valid date"),
        ({"approved_until": "9999-12-31"}, "The date is out of range"),
    ],
)
def test_shows_errors_of_the_criteria(staff_client, scenario, account, invalid, error):
    page = staff_client().get(PAGE, build_query(**invalid))

    assert error in page.content.decode()
    assert "admin_action" not in page.context


def test_explains_what_to_do_without_balances(staff_client, account):
    ProgramScenario(account)

    assert "Approve commissions first" in staff_client().get(PAGE).content.decode()


@pytest.mark.parametrize("role", ["viewer", "manager"])
def test_requires_the_owner_role(staff_client, scenario, account, role):
    client = staff_client(role=role)

    assert client.get(PAGE, build_query()).status_code == 403
    url = f"{PAGE}?currency=EUR&minimum=0&approved_until=2026-01-01"
    assert client.post(url).status_code == 403
    assert not account.payments.exists()
    for name in ("ledgeraccount", "payment"):
        page = client.get(reverse(f"admin:payouts_{name}_changelist"))
        assert "Bulk payout" not in page.content.decode()


def test_is_not_available_to_operators(client, scenario):
    client.force_login(User.objects.create_superuser("ops@example.org", "x"))

    assert client.get(PAGE, build_query()).status_code == 403


def test_shows_and_pays_nothing_of_another_account(
    staff_client, scenario, other_account
):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    foreign.create_commission_type("all", 100)
    make_approved_commission(foreign, "77", at=EARLIER)
    balance = other_account.ledger_accounts.get(kind="payable")
    client = staff_client()

    page = client.get(PAGE, build_query())
    assert "zz-marker" not in page.content.decode()
    post_confirmation(
        client,
        page,
        _selected_action=[balance.pk],
        confirmed_amounts=[f"{balance.pk}:77"],
    )

    assert not other_account.payments.exists()


@pytest.mark.parametrize("name", ["ledgeraccount", "payment"])
def test_lists_link_to_bulk_payouts(staff_client, scenario, name):
    url = reverse(f"admin:payouts_{name}_changelist")
    page = staff_client().get(url)

    assert re.search(rf'<a href="{PAGE}"', page.content.decode())


def test_query_count_does_not_depend_on_the_number_of_affiliates(
    staff_client, scenario, capture_queries
):
    client = staff_client()
    with capture_queries() as before:
        client.get(PAGE, build_query())
    for number in range(10):
        make_approved_commission(
            scenario,
            "9",
            at=EARLIER,
            affiliate=scenario.create_enrolled_affiliate(f"Ada{number}", "Lund"),
        )
    with capture_queries() as after:
        client.get(PAGE, build_query())

    assert len(before) == len(after) <= 15
