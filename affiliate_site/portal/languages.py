"""The choice of a language."""

from django.conf import settings
from django.shortcuts import redirect

from affiliate_site.portal.access import build_url, portal_page
from tracking.services.portal_profiles import set_language

COOKIE_AGE = 365 * 24 * 3600


@portal_page("POST", is_public=True)
def choose(request):
    """Remember a language, for this browser and for the affiliate."""
    home = build_url(request.account, "home")
    page = request.POST.get("page", "")
    is_page_of_portal = page.startswith(home) and page.isprintable() and "\\" not in page
    response = redirect(page if is_page_of_portal else home)
    language = request.POST.get("language")
    if language not in dict(settings.LANGUAGES):
        return response
    if request.affiliate is not None:
        set_language(request.affiliate, language)
    remember_language(response, request.account, language)
    return response


def remember_language(response, account, language) -> None:
    """Keep the language of a browser for the pages of one portal."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=COOKIE_AGE,
        path=build_url(account, "home"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
