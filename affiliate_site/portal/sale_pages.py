"""The sales of an affiliate, and why they earn from each."""

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import build_url, portal_page, show
from affiliate_site.portal.earnings import (
    explain_amount,
    explain_sale,
    list_earnings,
)

PAGE_SIZE = 50
MAX_ID = 2**63 - 1  # of a row


@portal_page()
def sales(request):
    """All commissions, newest first."""
    affiliate, at = request.affiliate, timezone.now()
    rows = affiliate.account.commissions.filter(affiliate=affiliate)
    rows = rows.select_related("conversion").order_by("-id")
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit():
        rows = rows.filter(pk__lt=min(int(before[:20]), MAX_ID))
    found = list(rows[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    context = {
        "title": _("Sales"),
        "earnings": list_earnings(affiliate, shown, request.portal.order_ids, at=at),
        "before": shown[-1].pk if len(found) > PAGE_SIZE else "",
    }
    return show(request, "sales", context)


@portal_page()
def sale(request, sale: int):
    """Why the affiliate earns from a sale, how much, and what happened since."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    rows = account.commissions.filter(affiliate=affiliate, conversion=min(sale, MAX_ID))
    commissions = list(
        rows.select_related("conversion__program", "payment").order_by("id")
    )
    if not commissions:
        raise Http404
    conversion = commissions[0].conversion
    earnings = list_earnings(affiliate, commissions, request.portal.order_ids, at=at)
    refunds = account.refunds.filter(conversion=conversion).order_by("id")
    if conversion.affiliate_id != affiliate.pk:
        refunds = refunds.none()
    context = {
        "title": _("Why this sale"),
        "order_id": earnings[0].order_id,
        "program": conversion.program.title,
        "day": account.get_day(conversion.created_at),
        "sentences": explain_sale(affiliate, conversion, commissions),
        "parts": [
            (earning, explain_amount(account, earning.commission))
            for earning in earnings
        ],
        "refunds": [account.get_day(refund.created_at) for refund in refunds],
        "sales_url": build_url(account, "sales"),
        "ask_url": f"{build_url(account, 'ask')}?sale={conversion.pk}",
    }
    return show(request, "sale", context)
