"""A payment of a payout run about which the bank has not answered yet."""

import pytest

from affiliate_site.backoffice.formatters import format_datetime
from tests.affiliate_site.backoffice.money_forms import page_url
from tests.conftest import NOW
from tests.payout_scenario import Paid, create_run, get_lines

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def line(account, scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission)
    run = create_run(account, Paid("20"))
    run.update_row(exported_at=NOW)
    return get_lines(run)[0]


@pytest.mark.parametrize(
    ("method", "payer"), [("bank", "the bank"), ("paypal", "PayPal")]
)
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
