"""The public page of a program, the terms, the logo and the color of an account."""

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.services.accounts import find_logo
from affiliate_site.creative_images import send_image
from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    translate_error,
)
from affiliate_site.portal.programs import WITHOUT_INVITATION, list_offers
from affiliate_site.portal.theme import build_stylesheet
from tracking.errors import TermsChanged
from tracking.services.portal_terms import (
    accept_terms,
    find_unaccepted_terms,
    get_terms,
    list_acceptances,
)

CACHE = "public, max-age=300"


@portal_page(is_public=True)
def program(request, program: str) -> HttpResponse:
    """What a program offers."""
    account, affiliate = request.account, request.affiliate
    own = account.enrollments.filter(affiliate=affiliate, program__slug=program)
    takes_part = affiliate is not None and own.exists()
    conditions = {} if takes_part else {"visibility__in": WITHOUT_INVITATION}
    offers = []
    if request.portal.is_open:
        offers = list_offers(account, affiliate, slug=program, **conditions)
    if not offers:
        raise Http404
    context = {
        "title": offers[0]["title"],
        "offer": offers[0],
        "logo_url": find_logo_url(account),
        "terms_url": get_terms(account) and build_url(account, "terms"),
    }
    return show(request, "program", context)


@portal_page("GET", "HEAD", "POST", is_public=True)
def terms(request) -> HttpResponse:
    """The present terms, which an affiliate can accept, and what they have accepted."""
    account, affiliate = request.account, request.affiliate
    message = ""
    if request.method == "POST" and affiliate is not None:
        version = request.POST.get("version", "")
        try:
            is_number = version.isascii() and version.isdigit()
            number = int(version[:20]) if is_number else None
            accept_terms(
                affiliate,
                version=number,
                language=request.POST.get("language", ""),
                at=timezone.now(),
            )
        except TermsChanged as error:
            message = translate_error(error)
        else:
            return redirect(build_url(account, "home"))
    present = get_terms(account)
    accepted = list_acceptances(affiliate) if affiliate else []
    if present is None and not accepted:
        raise Http404
    language = present.choose_language(get_language() or "") if present else ""
    context = {
        "title": _("Terms of {account}").format(account=account.name),
        "terms": present,
        "text": present and present.get_text(language),
        "text_language": language,
        "day": present and account.get_day(present.created_at),
        "accepted": [(it, account.get_day(it.accepted_at)) for it in accepted],
        "is_open": affiliate is not None and find_unaccepted_terms(affiliate),
        "message": message,
    }
    return show(request, "terms", context)


@portal_page(is_public=True)
def theme(request) -> HttpResponse:
    text = build_stylesheet(request.account.link_color)
    headers = {"Cache-Control": CACHE}
    return HttpResponse(text, content_type="text/css", headers=headers)


@portal_page(is_public=True)
def logo(request) -> HttpResponse:
    found = find_logo(request.account)
    if found is None:
        raise Http404
    media_type, image = found
    return send_image(image, media_type, CACHE)


def find_logo_url(account) -> str:
    """Where the logo is; empty without one. Browsers keep it: a new one has another."""
    pk = account.logos.values_list("pk", flat=True).first()
    return f"{build_url(account, 'logo')}?{pk}" if pk else ""
