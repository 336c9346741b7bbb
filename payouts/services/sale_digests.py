"""A mail about the new sales of a day, for the affiliates who want it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.days import A_DAY
from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from accounts.services.notifications import can_send_mail
from accounts.written_days import write_day
from payouts.models.commissions import CommissionStatus
from payouts.services.statements import get_interval
from tracking.amounts import ExactSum
from tracking.models.affiliates import Affiliate
from tracking.models.portal import Notice
from tracking.services.mails import queue_mail, use_language_of, write_amount
from tracking.services.portal_settings import get_portal_settings

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
        _queue_mails(account, batch, day=day, url=url, at=at)
        for batch in split_into_batches(list(readers.values_list("pk", flat=True)))
    )


def _queue_mails(account: Account, pks: Sequence[int], *, day: date, url: str, at: datetime) -> int:
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
