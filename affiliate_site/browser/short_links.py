"""Short links `/r/<account>/<code>/`: they count the visit and lead to the shop.

For shops whose pages cannot carry the browser script. A page with the script reports
the same link from the same address and browser, which is the same click.
"""

from contextlib import suppress
from typing import Any

from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.errors import DomainError
from accounts.models.accounts import Account
from affiliate_site import http_errors, throttling
from affiliate_site.browser.views import (
    MAX_USER_AGENT_LENGTH,
    record_failure,
    refuse_excess,
    refuse_prefetch,
)
from affiliate_site.links import (
    find_shop_page,
)
from affiliate_site.page_proxies import recognize_proxy
from affiliate_site.user_agents import is_bot, is_prefetch
from tracking.attribution import TrackingParameters
from tracking.errors import TooMuchFromPages
from tracking.models.clicks import Click
from tracking.models.programs import Program
from tracking.referral_links import append_query_parameters, build_referral_link
from tracking.services.clicks import (
    SUB_ID_PATTERN,
    Visit,
    find_link,
    record_click,
)
from tracking.services.failed_page_calls import BOT
from tracking.services.page_storage import store_click, take_storage_of_click

PAGE = "document"  # the `Sec-Fetch-Dest` of a page that a browser opens


@http_errors.allow_methods("GET", "HEAD")
def follow_short_link(request, account: str, code: str) -> HttpResponse:
    """Record the click and redirect to the program's landing page, or to `to`.

    `ref` and `sub_id` go with it, and `click_id`, which the server of the shop can send
    with a sale. A prefetch is refused: the browser follows the link once it is wanted.
    """
    if is_prefetch(request):
        return refuse_prefetch()
    proxy_problem = recognize_proxy(request, account)
    if throttling.count_browser_call(request, "short-link"):
        return refuse_excess()
    found = Account.objects.filter(slug=account, locked_at=None).first()
    if found and proxy_problem:
        record_failure(request, found, proxy_problem, at=timezone.now())
    try:
        response = follow(request, found, code) if found else None
    except DomainError:
        response = None
    response = response or show_way_on(request, found)
    response["Cache-Control"] = "no-store"
    return response


def show_way_on(request, account: Account | None) -> HttpResponse:
    """Lead a shopper whose link is dead to the shop, in the browser's language."""
    if http_errors.wants_json(request):
        return http_errors.not_found(request)
    program = account and find_shop_program(account)
    wanted = request.GET.get("to", "")
    landing_page, hosts = (program.landing_page, program.shop_hosts) if program else ("", None)
    language = translation.get_language_from_request(request)
    with translation.override(language):
        context = {
            "code": 404,
            "message": gettext("This link does not work any more."),
            "language": language,
            "account": account,
            "url": find_shop_page(wanted, landing_page, hosts)
            or find_shop_page(landing_page, landing_page, hosts),
        }
        return render(request, "errors/short_link.html", context, status=404)


def find_shop_program(account: Account) -> Program | None:
    """Return the oldest program with a page, those that are not archived first."""
    rows = account.programs.exclude(landing_page="")
    order = (F("archived_at").asc(nulls_first=True), "id")
    found: Program | None = rows.order_by(*order).first()
    return found


def follow(request, account: Account, code: str) -> HttpResponse | None:
    """Return the redirect; None if the link leads to no page of the shop."""
    at = timezone.now()
    program, code = find_link(account, code, at=at)
    page = find_shop_page(
        request.GET.get("to") or program.landing_page,
        program.landing_page,
        program.shop_hosts,
    )
    if not page:
        return None
    sub_id = request.GET.get("sub_id", "")
    if not SUB_ID_PATTERN.fullmatch(sub_id):
        sub_id = ""
    target = build_referral_link(page, code, sub_id=sub_id)
    if is_page_load(request) and is_bot(get_user_agent(request)):
        record_failure(request, account, BOT, at=at)
    elif is_page_load(request):
        visit = build_visit(request, code, target)

        def store(keeps_texts: bool) -> Click:  # noqa: FBT001
            click: Click = record_click(
                account, visit=visit, at=at, deduplicate=True, keeps_texts=keeps_texts
            )
            take_storage_of_click(click, is_new=click.created_at == at)
            return click

        with suppress(TooMuchFromPages):
            click = store_click(store)
            page = append_query_parameters(page, click_id=str(click.public_id))
            target = build_referral_link(page, code, sub_id=sub_id)
    return redirect(target)


def is_page_load(request) -> bool:
    """Whether the link is followed, and no image, frame or script loads it.

    Browsers inside of apps and old ones do not send `Sec-Fetch-Dest`.
    """
    is_page = request.headers.get("Sec-Fetch-Dest", PAGE) == PAGE
    return request.method == "GET" and is_page


def build_visit(request: Any, code: str, landing_page: str) -> Visit:
    """The visit as a page with the browser script would report it."""
    address = throttling.get_client_ip(request)
    return Visit(
        parameters=TrackingParameters(referral_code=code),
        referrer=request.headers.get("Referer"),
        landing_page=landing_page,
        user_agent=get_user_agent(request),
        ip=None if address == throttling.UNKNOWN_IP else address,
    )


def get_user_agent(request) -> str:
    """The user agent as page calls store it."""
    return str(request.headers.get("User-Agent", ""))[:MAX_USER_AGENT_LENGTH]
