"""Who opens a page of the portal: its account, and the affiliate who is signed in.

A session of an affiliate is a cookie of its account's path, and no session of staff.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.errors import DomainError
from accounts.models.accounts import Account
from accounts.services.notifications import can_send_mail
from affiliate_site import http_errors
from affiliate_site.portal.theme import BLACK
from affiliate_site.portal.throttling import TOO_MANY_CHANGES, is_change_throttled
from affiliate_site.portal_sessions import COOKIE
from affiliate_site.throttling import get_client_ip
from tracking.models.affiliates import Affiliate
from tracking.services.portal_access import SESSION_LIFETIME, act_as, find_session
from tracking.services.portal_addresses import record_address
from tracking.services.portal_profiles import set_language
from tracking.services.portal_settings import find_portal

View = Callable[..., HttpResponse]


def portal_page(
    *methods: str, is_public: bool = False, is_for_staff: bool = False
) -> Callable[[View], View]:
    """Decorate a view: `request.account`, `request.portal`, `request.affiliate`.

    An account without portal has no such pages. Other visitors are redirected to the
    sign-in, unless the page `is_public`: then `request.affiliate` may be None.
    Staff who see the portal as an affiliate (`request.viewed_by`) send no forms but
    those `is_for_staff`. The forms of an affiliate are counted, except on public pages.
    """

    def wrap(view: View) -> View:
        @wraps(view)
        @http_errors.allow_methods(*(methods or ("GET", "HEAD")))
        def wrapped(request: Any, account: str, **kwargs: Any) -> HttpResponse:
            portal = find_portal(account)
            if portal is None:
                return http_errors.not_found(request)
            found = portal.account
            token = request.COOKIES.get(COOKIE, "")
            request.account, request.portal = found, portal
            session = find_session(found, token, at=timezone.now()) if token else None
            request.affiliate = session and session.affiliate
            request.viewed_by = session and session.viewed_by
            if request.affiliate is None and not is_public:
                return redirect(build_url(found, "sign_in"))
            if request.viewed_by and request.method == "POST" and not is_for_staff:
                title = {"title": "Nothing was changed"}
                return show(request, "read_only", title, status=403)
            language = choose_language(request)
            with ExitStack() as stack:
                stack.enter_context(timezone.override(found.zone))
                stack.enter_context(translation.override(language))
                if request.affiliate and not request.viewed_by:
                    stack.enter_context(act_as(request.affiliate))
                is_change = request.method == "POST" and not is_public
                if is_change and is_change_throttled(request.affiliate):
                    text = str(TOO_MANY_CHANGES)
                    return http_errors.error_response(request, 429, text)
                return open_page(view, request, **kwargs)

        return wrapped

    return wrap


def open_page(view: View, request: Any, **kwargs: Any) -> HttpResponse:
    """Call the view; say in the look of the portal that it finds nothing."""
    try:
        return view(request, **kwargs)
    except Http404:
        if not http_errors.accepts_page(request):
            raise
    text = gettext(http_errors.EXPLANATIONS[404])
    context = {"title": gettext(http_errors.MESSAGES[404]), "text": text}
    return show(request, "not_found", context, status=404)


def choose_language(request: Any) -> str:
    """The language that the affiliate chose, else that of the browser."""
    affiliate: Affiliate | None = request.affiliate
    chosen = affiliate.language if affiliate else None
    return chosen or translation.get_language_from_request(request)


def translate_error(error: DomainError) -> str:
    """The message of a business error in the language of the page."""
    return gettext(error.message).format(**error.params)


def build_url(account: Account, name: str, **kwargs: Any) -> str:
    """The path of a page of the portal."""
    return reverse(f"portal:{name}", kwargs={"account": account.slug, **kwargs})


def show(
    request: Any, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page with what all of them show."""
    affiliate: Affiliate | None = request.affiliate
    pages = PAGES if affiliate else {}
    page = request.resolver_match.url_name
    section = page if page in PAGES else SECTIONS.get(page, "home")
    everywhere = {
        "account": request.account,
        "portal": request.portal,
        "theme_url": request.account.link_color != BLACK and build_url(request.account, "theme"),
        "affiliate": affiliate,
        # Strangers confirm their address by a mail.
        "can_apply": affiliate is not None or can_send_mail(),
        "viewed_by": request.viewed_by,
        "home_url": build_url(request.account, "home"),
        "sign_in_url": build_url(request.account, "sign_in"),
        "sign_out_url": build_url(request.account, "sign_out"),
        "language": translation.get_language(),
        "languages": settings.LANGUAGES,
        "language_url": build_url(request.account, "set_language"),
        "pages": [
            (title, build_url(request.account, name), name == section)
            for name, title in pages.items()
            if name != "recruits" or request.account.plan.mlm
        ],
        "back": affiliate
        and section not in {page, "home"}
        and (PAGES[section], build_url(request.account, section)),
    }
    path = f"portal/{template}.html"
    return render(request, path, everywhere | context, status=status)


PAGES = {
    "home": _("Overview"),
    "links": _("Links"),
    "creatives": _("Banners"),
    "sales": _("Sales"),
    "figures": _("Figures"),
    "payments": _("Payments"),
    "questions": _("Questions"),
    "recruits": _("Tell others"),  # with the plan feature "mlm"
    "profile": _("Profile"),
}


# Pages below those of the navigation, which lead back there.
SECTIONS = dict.fromkeys(("sale", "missing", "ask"), "sales")
SECTIONS |= dict.fromkeys(("apply", "program", "choose_code"), "links")
SECTIONS |= dict.fromkeys(
    ("statement", "set_method", "primary_method", "remove_method"), "payments"
)
SECTIONS |= dict.fromkeys(
    (
        *("edit_profile", "change_email", "tax_data", "notices", "own_data"),
        *("delete", "postbacks", "remove_postback", "second_factor", "terms"),
    ),
    "profile",
)


def start_session(request: Any, token: str) -> HttpResponse:
    """Lead to the overview, signed in by the token of a new session.

    The address of the affiliate is recorded. Who has chosen no language gets mail in
    that of the browser from now on.
    """
    account, at = request.account, timezone.now()
    session = find_session(account, token, at=at)
    if session and not session.viewed_by:
        record_address(session.affiliate, get_client_ip(request), at=at)
        language = translation.get_language()
        if language and not session.affiliate.language:
            set_language(session.affiliate, language)
    response = redirect(build_url(account, "home"))
    response.set_cookie(
        COOKIE,
        token,
        max_age=SESSION_LIFETIME,
        path=build_url(account, "home"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def end_session(account: Account, url: str) -> HttpResponse:
    """Lead to an address without the cookie."""
    response = redirect(url)
    response.delete_cookie(COOKIE, path=build_url(account, "home"), samesite="Lax")
    return response
