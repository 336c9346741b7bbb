"""The public page of the portal, and the overview of an affiliate."""

from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import build_url, portal_page, show
from affiliate_site.portal.balances import describe_balances
from affiliate_site.portal.earnings import list_earnings, select_earnings
from affiliate_site.portal.program_pages import find_logo_url
from affiliate_site.portal.programs import list_open_offers
from tracking.services.portal_terms import find_unaccepted_terms, get_terms
from tracking.services.questions import count_new_answers

NEWEST = 10


@portal_page(is_public=True)
def home(request):
    """What the account offers to visitors; to affiliates, what they earn."""
    account = request.account
    if request.affiliate is None:
        offers = list_open_offers(account, None) if request.portal.is_open else []
        context = {
            "title": account.name,
            "offers": offers,
            "logo_url": find_logo_url(account),
            "terms_url": get_terms(account) and build_url(account, "terms"),
        }
        return show(request, "welcome", context)
    affiliate, at = request.affiliate, timezone.now()
    newest = select_earnings(affiliate)[:NEWEST]
    context = {
        "title": _("Overview"),
        "payments_url": build_url(account, "payments"),
        "has_new_terms": find_unaccepted_terms(affiliate) is not None,
        "new_answers": count_new_answers(affiliate),
        "waits_for": list(
            account.enrollments.filter(
                affiliate=affiliate, approved=None, program__archived_at=None
            ).values_list("program__title", flat=True)
        ),
        "earnings": list_earnings(affiliate, newest, request.portal.order_ids, at=at),
    } | describe_balances(affiliate, request.portal, at=at)
    return show(request, "home", context)
