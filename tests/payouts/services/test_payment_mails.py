"""Mail about payments that have arrived: one for each, with the statement's numbers."""

from datetime import UTC, date, datetime, timedelta

import pytest

from accounts.errors import ErrorList
from payouts.services.mails import (
    DEFAULT_TEXTS,
    EXAMPLE,
    PLACEHOLDERS,
    find_payment_mail,
    update_payment_mails,
    write_mail,
)
from payouts.services.payments import cancel_payment
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_settings import get_payout_settings
from payouts.services.statements import get_statement, sum_statements
from tests.payout_scenario import CONFIRMED_AT, Paid, create_run, get_lines
from tests.program_scenario import ProgramScenario
from tracking.errors import UnknownPlaceholder
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.portal_profiles import set_notices

pytestmark = pytest.mark.usefixtures("shared_scenario")

AT = CONFIRMED_AT + timedelta(days=3)
OTHER_TEXTS = {"mail_subject": "Paid: {amount}", "mail_text": "{reference} {date}"}


@pytest.fixture(autouse=True)
def run(scenario):
    """Mina is paid 20 EUR of 30, Nils, who has no address, 119 EUR, which is more than
    he has earned."""
    for amount in ("200", "100"):
        scenario.approve(scenario.get_commission(scenario.create_conversion(amount)))
    scenario.create_enrolled_affiliate("Nils", "Berg")
    return create_run(scenario.account, Paid("20"), Paid("119", slug="nilsberg"))


def switch_on(account, *, at=AT, mails_payments=True, mail_subject="", mail_text=""):
    changes = {
        "mails_payments": mails_payments,
        "mail_subject": mail_subject,
        "mail_text": mail_text,
    }
    return update_payment_mails(account, changes=changes, at=at)


def answer(run, state=ResultState.SETTLED, *, at=AT):
    results = [PayoutResult(it.payment.public_id, state) for it in get_lines(run)]
    return apply_payout_results(run.account, results, at=at)


def test_mails_a_payment_that_has_arrived(account, run):
    switch_on(account)
    assert len(answer(run).settled) == 2
    mail = account.mails.get()  # Nils has no address
    payment = get_lines(run)[0].payment
    assert mail == find_payment_mail(payment)
    assert (mail.recipient, mail.due_at) == ("mina@notes.example.org", AT)
    assert mail.subject == f"{account.name} paid you 20.00 EUR"
    assert mail.text == (
        "Hello Mina Kessler,\n\n"
        f"{account.name} paid you 20.00 EUR. The payment arrived on 8 April 2026.\n"
        f"Its reference: {payment.public_id}\n\n"
        "Your balance from 1 March 2026 to 5 April 2026:\n\n"
        "Before: 0.00 EUR\nEarned: 30.00 EUR\nPaid: 20.00 EUR\nAfter: 10.00 EUR\n"
    )


def test_mails_once(account, run):
    switch_on(account)
    for _ in range(2):
        answer(run)
    assert account.mails.count() == 1


@pytest.mark.parametrize("reason", ["off", "no server", "other account", "preview"])
def test_mails_nothing(account, other_account, run, settings, reason):
    if reason != "off":
        switch_on(other_account if reason == "other account" else account)
    if reason == "no server":
        settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    if reason == "preview":
        results = [PayoutResult(get_lines(run)[0].payment.public_id, "settled")]
        apply_payout_results(account, results, is_dry_run=True, at=AT)
    else:
        answer(run)
    assert not account.mails.exists()
    assert not other_account.mails.exists()


def test_a_payment_that_did_not_arrive_is_not_mailed(account, run):
    switch_on(account)
    answer(run, ResultState.FAILED)
    assert not account.mails.exists()


@pytest.mark.parametrize("is_returned", [True, False])
def test_does_not_send_the_mail_of_a_canceled_payment(account, run, is_returned):
    switch_on(account)
    answer(run)
    if is_returned:
        answer(run, ResultState.RETURNED)
    else:
        payment = get_lines(run)[0].payment
        cancel_payment(account, payment_id=payment.public_id, at=AT)
    mail = account.mails.get()
    assert (mail.due_at, mail.error) == (None, "the payment was canceled before")


def test_keeps_what_was_sent_before_the_payment_came_back(account, run):
    switch_on(account)
    answer(run)
    record_mail_result(claim_mail(account, due_before=AT), MailResult(), at=AT)
    answer(run, ResultState.RETURNED)
    assert (account.mails.get().sent_at, account.mails.get().error) == (AT, "")


def test_writes_the_account_s_own_texts(account, run):
    switch_on(account, **OTHER_TEXTS)
    answer(run)
    mail = account.mails.get()
    assert mail.subject == "Paid: 20.00 EUR"
    assert mail.text == f"{get_lines(run)[0].payment.public_id} 8 April 2026"


def test_no_name_adds_a_header_or_fills_a_placeholder(account, scenario, run):
    scenario.mina.affiliate.update_row(firstname="{amount}\r\nBcc: x@example.org")
    switch_on(account, mail_subject="For {affiliate}", mail_text="Dear {affiliate}")
    answer(run)
    mail = account.mails.get()
    assert mail.subject == "For {amount} Bcc: x@example.org Kessler"
    assert mail.text == "Dear {amount} Bcc: x@example.org Kessler"


def test_refuses_unknown_placeholders_in_both_texts(account):
    with pytest.raises(ErrorList) as caught:
        switch_on(account, mail_subject="{sum}", mail_text="{Amount}")
    assert [(str(it), it.path) for it in caught.value.errors] == [
        (f"There is no {{sum}}. You can use {list_names()}.", "mail_subject"),
        (f"There is no {{Amount}}. You can use {list_names()}.", "mail_text"),
    ]
    with pytest.raises(UnknownPlaceholder):
        switch_on(account, mail_text="{}")
    assert not account.payout_settings.exists()


def list_names():
    return ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)


def test_keeps_defaults_as_empty_texts(account):
    crlf = DEFAULT_TEXTS["mail_text"].replace("\n", "\r\n")
    settings = switch_on(account, **DEFAULT_TEXTS | {"mail_text": crlf})
    assert (settings.mail_subject, settings.mail_text) == ("", "")
    switch_on(account, **OTHER_TEXTS)
    entry = account.audit_log.filter(kind="payout_settings.updated").latest("id")
    assert entry.details == {"fields": ["mail_subject", "mail_text"]}


def test_the_example_has_a_value_for_each_placeholder(account):
    assert {*EXAMPLE, "account"} == set(PLACEHOLDERS)
    settings = get_payout_settings(account)
    settings.mail_text = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    assert "{" not in write_mail(settings, EXAMPLE)[1]


def test_sums_are_those_of_the_statement(account, scenario, other_account):
    """With a payment that was canceled, and another account."""
    other = ProgramScenario(other_account, "zz-marker-program", prefix="zz-marker")
    other.approve(other.get_commission(other.create_conversion("900")))
    run = create_run(account, Paid("5"), at=datetime(2026, 4, 20, tzinfo=UTC))
    cancel_payment(
        account,
        payment_id=get_lines(run)[0].payment.public_id,
        at=datetime(2026, 4, 25, tzinfo=UTC),
    )
    affiliates = account.affiliates.order_by("pk")
    day = scenario.account.get_day(account.commissions.first().created_at)
    for start, end in (
        (day, day),
        (day + timedelta(days=1), CONFIRMED_AT.date()),
        (CONFIRMED_AT.date(), CONFIRMED_AT.date() + timedelta(days=16)),
        (CONFIRMED_AT.date() + timedelta(days=16), date(2026, 5, 1)),
    ):
        sums = sum_statements(account, [row.pk for row in affiliates], start=start, end=end)
        for affiliate in affiliates:
            statement = get_statement(account, affiliate, start=start, end=end)
            for currency in statement.currencies:
                found = sums[affiliate.pk, currency.currency]
                paid = sum(it.amount for it in currency.lines if it.payment)
                moved_in = (
                    it.amount for it in currency.lines if it.kind.value.startswith("opening")
                )
                assert (found.opening, found.paid, found.closing) == (
                    currency.opening + sum(moved_in),
                    -paid,
                    currency.closing,
                )
    assert {key[0] for key in sums} <= {row.pk for row in affiliates}


def test_mails_nobody_who_does_not_want_it(account, scenario, run):
    switch_on(account)
    set_notices(scenario.mina.affiliate, {"paid": False})
    answer(run)
    assert not account.mails.exists()
