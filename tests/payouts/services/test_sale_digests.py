"""The daily mail about new sales: of yesterday, once, to who wants it."""

from datetime import timedelta

import pytest

from payouts.services.mails import queue_sale_digests
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.services.portal_profiles import set_notices
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

A_DAY = timedelta(days=1)
TOMORROW = CONVERSION_CREATED_AT + A_DAY
URL = "https://example.org/sales/"


@pytest.fixture
def affiliate(account, scenario, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    update_portal_settings(account, changes={"is_on": True}, at=CONVERSION_CREATED_AT)
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email="mina@notes.example", email_folded="mina@notes.example")
    set_notices(affiliate, {"new_sales": True})
    return affiliate


def queue(account, at=TOMORROW):
    return queue_sale_digests(account, url=URL, at=at)


def test_sums_the_sales_of_yesterday_once(account, scenario, affiliate):
    for amount in ("100", "50.50"):
        scenario.create_conversion(amount)
    scenario.create_conversion("30", currency="USD")
    refused = scenario.create_conversion("70")
    scenario.disapprove(scenario.get_commission(refused))
    scenario.delete(scenario.create_conversion("80"))
    scenario.create_conversion("90", at=TOMORROW)

    assert queue(account) == 1
    assert queue(account, TOMORROW + timedelta(hours=1)) == 0

    mail = account.mails.get()
    assert (mail.kind, mail.about) == ("new_sales", f"{affiliate.log_id}-2026-03-04")
    assert mail.recipient == "mina@notes.example"
    assert mail.subject == f"Your new sales at {account.name}"
    assert mail.text == (
        f"Hello Mina,\n\nyou had new sales at {account.name} on 4 March 2026:\n\n"
        "2 sales, your commission: 15.05 EUR\n1 sale, your commission: 3.00 USD\n\n"
        f"See them here:\n{URL}\n\nYou get this mail because you asked for it. Switch"
        " it off under Profile, Mails.\n"
    )
    assert queue(account, TOMORROW + A_DAY) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda affiliate: set_notices(affiliate, {"new_sales": False}),
        lambda affiliate: affiliate.update_row(notices=None),
        lambda affiliate: affiliate.update_row(email=None, email_folded=None),
        lambda affiliate: affiliate.update_row(deleted_at=TOMORROW),
        lambda affiliate: affiliate.account.portal_settings.update(is_on=False),
    ],
)
def test_mails_nobody_else(account, scenario, affiliate, change):
    scenario.create_conversion("100")
    change(affiliate)
    assert queue(account) == 0
    assert not account.mails.exists()


def test_mails_nobody_without_sales_or_mail_server(account, scenario, affiliate, settings):
    assert queue(account) == 0
    scenario.create_conversion("100")
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert queue(account) == 0
