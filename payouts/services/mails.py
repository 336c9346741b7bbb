"""Mail to affiliates about payments that have arrived, and about the new sales of a day."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext as _

from accounts.days import A_DAY
from accounts.db_compat import split_into_batches
from accounts.errors import run_checks
from accounts.models.accounts import Account
from accounts.services.notifications import can_send_mail
from accounts.written_days import write_day
from payouts.models.commissions import CommissionStatus
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLine, PayoutSettings
from payouts.services.payout_settings import (
    get_payout_settings,
    update_payout_settings,
)
from payouts.services.statements import get_interval, sum_statements
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.models.mails import Mail
from tracking.models.portal import Notice
from tracking.services.mails import (
    fill_placeholders,
    queue_mail,
    use_language_of,
    validate_placeholders,
    withdraw_mail,
)
from tracking.services.portal_profiles import wants_notice
from tracking.services.portal_settings import get_portal_settings
from tracking.written_amounts import write_amount

PAYMENT_MAIL = "payment"
# By the columns of the settings; in the language of the affiliate unless staff wrote
# their own.
DEFAULT_TEXTS = {
    "mail_subject": gettext_noop("{account} paid you {amount}"),
    "mail_text": gettext_noop("""\
Hello {affiliate},

{account} paid you {amount}. The payment arrived on {date}.
Its reference: {reference}

Your balance from {from} to {to}:

Before: {opening}
Earned: {earned}
Paid: {paid}
After: {closing}
"""),
}
STATEMENT_NAMES = ("opening", "earned", "paid", "closing")
PLACEHOLDERS = (
    *("affiliate", "account", "amount", "date", "reference"),
    *("from", "to", *STATEMENT_NAMES),
)
EXAMPLE = {
    "affiliate": "Nora Weld",
    "amount": "120.00 EUR",
    "date": "4 March 2026",
    "reference": "pa_4kQ9ZrB2mVx7TfHs",
    "from": "1 February 2026",
    "to": "2 March 2026",
    "opening": "35.50 EUR",
    "earned": "84.50 EUR",
    "paid": "120.00 EUR",
    "closing": "0.00 EUR",
}


def update_payment_mails(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> PayoutSettings:
    """Switch the mail on or off, and change its texts; empty ones are the defaults.

    Raises `UnknownPlaceholder`.
    """
    changes = dict(changes)
    for name, default in DEFAULT_TEXTS.items():
        text = "\n".join(changes[name].splitlines()).strip()
        changes[name] = "" if text == default.strip() else text
    run_checks(
        *(
            partial(validate_placeholders, changes[name], names=PLACEHOLDERS, path=name)
            for name in DEFAULT_TEXTS
        )
    )
    return update_payout_settings(account, changes=changes, at=at)


def write_mail(settings: PayoutSettings, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the subject and the text of a mail with these values."""
    values = {"account": settings.account.name, **values}
    subject, text = (
        fill_placeholders(getattr(settings, name) or gettext(default), values)
        for name, default in DEFAULT_TEXTS.items()
    )
    return subject, text


def queue_payment_mails(account: Account, payments: Collection[Payment], *, at: datetime) -> None:
    """Store a mail for each payment that has just been settled, if mail is switched on.

    Affiliates without an e-mail address, or who do not want it, get none.
    """
    settings = get_payout_settings(account)
    if not (settings.mails_payments and can_send_mail()):
        return
    days: dict[date, list[int]] = defaultdict(list)
    for payment in payments:
        days[account.get_day(payment.created_at)].append(payment.pk)
    for day, pks in sorted(days.items()):
        for batch in split_into_batches(pks):
            lines = account.payout_lines.filter(payment__in=batch, affiliate__email__gt="")
            rows = lines.select_related("payment", "affiliate").order_by("id")
            _queue_mails(settings, list(rows), day=day, at=at)


def _queue_mails(
    settings: PayoutSettings, lines: Collection[PayoutLine], *, day: date, at: datetime
) -> None:
    """Store the mails about payments of one day.

    Their statements begin with the month before, as those of a payout run.
    """
    account = settings.account
    start = (day.replace(day=1) - A_DAY).replace(day=1)
    affiliates = {line.affiliate_id for line in lines}
    statements = sum_statements(account, affiliates, start=start, end=day)
    for line in lines:
        payment, affiliate = line.payment, line.affiliate
        if payment is None or not wants_notice(affiliate, Notice.PAID):
            continue
        statement = statements[payment.affiliate_id, payment.currency]
        amounts = {
            "amount": payment.net_amount,
            **{name: getattr(statement, name) for name in STATEMENT_NAMES},
        }
        values = {
            "affiliate": f"{affiliate.firstname} {affiliate.lastname}",
            "reference": payment.public_id,
        }
        days = {"date": line.answered_on, "from": start, "to": day}
        with use_language_of(affiliate):
            for name, each in days.items():
                values[name] = write_day(each) if each else ""
            for name, amount in amounts.items():
                values[name] = write_amount(amount, payment.currency)
            subject, text = write_mail(settings, values)
        affiliate.account = account
        queue_mail(
            affiliate,
            kind=PAYMENT_MAIL,
            about=payment.public_id,
            subject=subject,
            text=text,
            at=at,
        )


def withdraw_payment_mail(payment: Payment) -> None:
    """Do not send the mail about a payment that is canceled, unless it was sent."""
    withdraw_mail(
        payment.account,
        kind=PAYMENT_MAIL,
        about=payment.public_id,
        reason="the payment was canceled before",
    )


def find_payment_mail(payment: Payment) -> Mail | None:
    """Return the mail about a payment, if there is one."""
    rows = payment.account.mails.filter(kind=PAYMENT_MAIL, about=payment.public_id)
    return rows.first()


SALES_MAIL = "new_sales"
Total = tuple[str, int, Decimal]  # currency, number and sum of commissions


def queue_sale_digests(account: Account, *, url: str, at: datetime) -> int:
    """Store a mail about the sales of yesterday for each affiliate who wants it.

    A second call on the same day stores none. `url` leads to the sales in the portal.
    Returns the number of mails.
    """
    if not (can_send_mail() and get_portal_settings(account).is_on):
        return 0
    day = account.get_day(at) - A_DAY
    wanted = {"email__gt": "", f"notices__{Notice.NEW_SALES.value}": True}
    readers = account.affiliates.not_deleted().filter(**wanted).order_by("pk")
    return sum(
        _queue_digests(account, batch, day=day, url=url, at=at)
        for batch in split_into_batches(list(readers.values_list("pk", flat=True)))
    )


def _queue_digests(
    account: Account, pks: Sequence[int], *, day: date, url: str, at: datetime
) -> int:
    rows = account.commissions.not_deleted().filter(
        get_interval(account, day, day).as_filter,
        affiliate__in=pks,
        conversion__isnull=False,
    )
    rows = rows.exclude(status=CommissionStatus.DISAPPROVED).order_by()
    totals: dict[int, list[Total]] = defaultdict(list)
    for pk, currency, number, amount in rows.values_list("affiliate", "currency").annotate(
        Count("pk"), ExactSum("amount")
    ):
        totals[pk].append((currency, number, amount))
    count = 0
    for affiliate in account.affiliates.filter(pk__in=totals).order_by("pk"):
        affiliate.account = account
        subject, text = _write(affiliate, sorted(totals[affiliate.pk]), day, url)
        count += queue_mail(
            affiliate,
            kind=SALES_MAIL,
            about=f"{affiliate.log_id}-{day}",
            subject=subject,
            text=text,
            at=at,
        )
    return count


def _write(affiliate: Affiliate, totals: Sequence[Total], day: date, url: str) -> tuple[str, str]:
    name = affiliate.account.name
    with use_language_of(affiliate):
        subject = _("Your new sales at {account}").format(account=name)
        lines = [
            ngettext(
                "{count} sale, your commission: {amount}",
                "{count} sales, your commission: {amount}",
                count,
            ).format(count=count, amount=write_amount(amount, currency))
            for currency, count, amount in totals
        ]
        text = _(
            "Hello {name},\n\nyou had new sales at {account} on {day}:\n\n{sales}\n\n"
            "See them here:\n{url}\n\nYou get this mail because you asked for it."
            " Switch it off under Profile, Mails.\n"
        ).format(
            name=affiliate.firstname,
            account=name,
            day=write_day(day),
            sales="\n".join(lines),
            url=url,
        )
    return subject, text
