"""A payment of a payout run about which the bank has not answered yet."""

import pytest
from django.urls import reverse

from affiliate_site.backoffice.formatters import format_datetime
from payouts.models.runs import PayoutLineState
from tests.affiliate_site.backoffice.money_forms import page_url
from tests.conftest import NOW
from tests.payout_scenario import Paid, create_run, get_lines

pytestmark = pytest.mark.usefixtures("shared_scenario")

LISTS = ("payouts_payment", "payouts_commission", "tracking_conversion")


@pytest.fixture
def line(account, scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission)
    run = create_run(account, Paid("20"))
    run.update_row(exported_at=NOW)
    return get_lines(run)[0]


@pytest.fixture
def urls(account, line):
    rows = [line.payment, account.commissions.get(), account.conversions.get()]
    affiliate = page_url(line.affiliate, "change")
    return [
        *(reverse(f"admin:{name}_changelist") for name in LISTS),
        *(page_url(row, "change") for row in rows),
        *(f"{affiliate}?tab={tab}" for tab in ("conversions", "commissions")),
        f"{affiliate}?tab=payments",
    ]


def get_page(client, url):
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode().lower()


def has_label(page, text):
    """Whether a table or the head of the page has a label with this text."""
    main = page[page.index("<main") :] if "<main" in page else page
    return any(
        part.partition("<")[0].partition(">")[2].strip() == text for part in main.split("<span")
    )


def test_is_paid_only_when_the_bank_has_answered(staff_client, line, urls):
    client = staff_client()

    for url in urls:
        page = get_page(client, url)
        assert (has_label(page, "no answer yet"), has_label(page, "paid")) == (
            True,
            False,
        ), url

    line.update_row(state=PayoutLineState.SETTLED)

    for url in urls:
        page = get_page(client, url)
        assert (has_label(page, "no answer yet"), has_label(page, "paid")) == (
            False,
            True,
        ), url


def test_histories_say_paid_only_when_the_bank_has_answered(staff_client, account, scenario, line):
    commission = account.commissions.get()
    customer = scenario.create_customer("anna")
    account.conversions.update(customer=customer)
    client = staff_client()
    pages = [page_url(row, "change") for row in (commission, customer, line.payment)]

    texts = [get_page(client, url) for url in pages]
    assert [("sent by" in text, "paid by" in text) for text in texts] == [(True, False)] * 3

    line.update_row(state=PayoutLineState.SETTLED)

    texts = [get_page(client, url) for url in pages]
    assert [("sent by" in text, "paid by" in text) for text in texts] == [(False, True)] * 3


def test_a_payment_by_hand_is_paid(staff_client, account, line, urls):
    account.payout_lines.filter(pk=line.pk).delete()

    client = staff_client()
    assert all(has_label(get_page(client, url), "paid") for url in urls)


def test_an_action_says_so_too(staff_client, account, line):
    selected = {
        "action": "disapprove_selected",
        "_selected_action": account.commissions.get().pk,
    }

    response = staff_client().post(reverse("admin:payouts_commission_changelist"), selected)

    assert "No answer yet" in response.content.decode()


@pytest.mark.parametrize(("method", "payer"), [("bank", "the bank"), ("paypal", "PayPal")])
def test_warns_before_it_is_canceled_though_its_file_was_downloaded(
    staff_client, line, method, payer
):
    line.update_row(method=method)

    response = staff_client().get(page_url(line.payment, "cancel"))
    [alert] = response.context["page"].list_alerts()

    assert alert == (
        f"This payment is in a file that was downloaded on {format_datetime(NOW)}. If"
        f" the file was handed in, {payer} may still pay it, and the next payout run"
        " pays the amount a second time: ask there first."
    )


def test_does_not_warn_before_a_file_was_downloaded(staff_client, line):
    line.run.update_row(exported_at=None)

    response = staff_client().get(page_url(line.payment, "cancel"))

    assert response.context["page"].list_alerts() == []
