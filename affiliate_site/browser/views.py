"""The browser script and its tracking endpoints (docs/api-contract.md, section 5.5).

The endpoints need no key: everyone who opens the page can call them. So a response has
at most a new tracking id and is the same for known and unknown values, and nothing is
stored without an affiliate or a prospect.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import DatabaseError
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import conditional_page
from rest_framework.exceptions import ValidationError

from accounts.errors import AccountLocked, DomainError, get_error_code
from accounts.models.accounts import Account
from affiliate_site import http_errors, throttling
from affiliate_site.api.conversion_serializers import build_conversion_data
from affiliate_site.api.errors import PayloadTooLarge, serialize_error
from affiliate_site.api.fields import TrimmedTextField, is_blank
from affiliate_site.api.parsing import (
    InvalidBody,
    check_content_length,
    parse_json_body,
)
from affiliate_site.api.resources.clicks import build_visit
from affiliate_site.api.resources.customers import build_customer_data
from affiliate_site.api.tracking_fields import is_missing
from affiliate_site.browser.handovers import (
    InvalidHandover,
    is_tracking_id,
    read_handover,
    sign_handovers,
)
from affiliate_site.browser.pacing import Pacer
from affiliate_site.browser.serializers import (
    BrowserClickSerializer,
    BrowserConversionSerializer,
    BrowserCustomerSerializer,
    BrowserHandoverSerializer,
    add_printed_currency,
    read_sale,
)
from affiliate_site.browser.signatures import (
    determine_trust,
    do_items_match_amount,
    has_unsigned_rates,
    is_currency_signed,
)
from affiliate_site.browser.visitor_cookies import read_origin, set_visitor_cookie
from affiliate_site.env import BASE_DIR
from affiliate_site.page_proxies import (
    get_proxy,
    has_proxy_key,
    recognize_proxy,
)
from affiliate_site.user_agents import is_bot, is_prefetch
from payouts.services.conversion_creation import create_conversion
from tracking.attribution import BROWSER_CONVERSION_ORDER, BROWSER_CUSTOMER_ORDER
from tracking.claims import FORMER_CUSTOMER_ID, Trust
from tracking.errors import (
    DuplicateConversion,
    DuplicateCustomer,
    InvalidSignature,
    TooManyConversionAttempts,
)
from tracking.models.conversions import ConversionOrigin
from tracking.services.attempts import Attempt, was_external_id_used
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.customers import create_customer
from tracking.services.failed_page_calls import (
    AMOUNT_REASONS,
    BOT,
    record_failed_page_call,
)
from tracking.services.former_ids import FormerCustomerId
from tracking.services.page_storage import MAX_UNSIGNED_COMMENT_LENGTH
from tracking.services.visitors import (
    find_first_coupon,
    generate_tracking_id,
    has_program_group,
    record_visit,
)

NO_CONTENT = 204
MAX_USER_AGENT_LENGTH = 1000
MAX_SLUG_LENGTH = 64
RESPONSE_PACER = Pacer()
UNKNOWN_ACCOUNT = "unknown_account"
UNSIGNED_CURRENCY = "unsigned_currency"  # the call is stored, and waits for approval
SCRIPT = (BASE_DIR / "affiliate_site/browser/tap.min.js").read_bytes()
SCRIPT_ETAG = f'"{sha256(SCRIPT).hexdigest()[:32]}"'
SCRIPT_CACHE_CONTROL = "public, max-age=300"  # a fix reaches all pages in 5 minutes


@http_errors.allow_methods("GET", "HEAD")
@conditional_page
def serve_script(request) -> HttpResponse:
    """Serve the browser script, or 304 if the page has this version."""
    response = HttpResponse(SCRIPT, content_type="text/javascript; charset=utf-8")
    response["ETag"] = SCRIPT_ETAG
    response["Cache-Control"] = SCRIPT_CACHE_CONTROL
    return response


def record_failure(
    request: Any,
    account: Account,
    reason: str,
    *,
    page: str = "",
    at: datetime,
    **sale: str,
) -> None:
    """Count what is not stored for staff, and add it to the log line of the request.

    `sale` has `order_id` and `amount`, if the amount was refused. A database error
    while doing so is ignored.
    """
    request.failed_page_call = {"account": account.slug, "reason": reason}
    with suppress(DatabaseError):
        record_failed_page_call(account, reason=reason, page=page, at=at, **sale)


@dataclass(frozen=True)
class BrowserCall:
    """A call for an account that exists."""

    request: Any
    account: Account
    body: dict
    at: datetime

    def validate(self, name: str, serializer_class) -> "ValidBrowserCall":
        """Validate signature and fields; raise DomainError or ValidationError."""
        if self.account.locked_at is not None:
            raise AccountLocked
        trust = determine_trust(self.account, name, self.body)
        serializer = serializer_class(data=self.body)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        add_printed_currency(self.account, data, serializer.printed_currencies)
        if trust is Trust.FACT and not do_items_match_amount(data):
            if self.account.require_signatures:
                raise InvalidSignature
            trust = Trust.CLAIM
        if trust is Trust.FACT and not is_currency_signed(self.account, name, data):
            self.record_failure(UNSIGNED_CURRENCY)
            trust = Trust.CLAIM
        if trust is Trust.CLAIM:
            for item in data.get("commissions", ()):
                comment = item.get("comment")
                item["comment"] = comment and comment[:MAX_UNSIGNED_COMMENT_LENGTH]
        group = data.get("program_group")
        if group and not has_program_group(self.account, group):
            serializer.add_odd_option("program_group")
            del data["program_group"]
        user_agent = self.request.headers.get("User-Agent", "")
        data["user_agent"] = user_agent[:MAX_USER_AGENT_LENGTH] or None
        address = throttling.get_client_ip(self.request)
        data["ip"] = None if address == throttling.UNKNOWN_IP else address
        return ValidBrowserCall(
            self.request,
            self.account,
            self.body,
            self.at,
            data=data,
            trust=trust,
            warnings=tuple(f"odd_{name}" for name in serializer.odd_options),
        )

    def record_failure(self, reason: str) -> None:
        """Count the failure for staff and add it to the log line of the request."""
        # A click names its page; of other calls browsers send the origin only.
        page = self.body.get("landing_page") or self.request.headers.get("Referer")
        sale = read_sale(self.body) if reason in AMOUNT_REASONS else {}
        record_failure(
            self.request,
            self.account,
            reason,
            page=str(page or ""),
            at=self.at,
            **sale,
        )


@dataclass(frozen=True, kw_only=True)
class ValidBrowserCall(BrowserCall):
    """A call whose fields are valid, with the warnings about its odd options.

    `data` has the user agent and the IP address of the request, too.
    """

    data: dict
    trust: Trust
    warnings: tuple[str, ...]

    @property
    def is_signed(self) -> bool:
        """Whether the call is a fact by its signature."""
        return self.trust is Trust.FACT

    def store(self, store: Callable[["ValidBrowserCall"], None]) -> None:
        """Store the call, as a claim if the customer's ID was that of another one."""
        try:
            store(self)
        except FormerCustomerId:
            warnings = (*self.warnings, FORMER_CUSTOMER_ID)
            store(replace(self, trust=Trust.CLAIM, warnings=warnings))
        self.mark_stored()

    def mark_stored(self) -> None:
        """Note that the call took the time of one that stores something."""
        self.request.has_stored_page_call = True


def tracking_view(name: str, serializer_class):
    """Decorate the handler of a tracking endpoint: rate limit, body, account, fields.

    The handler gets the call, or None if it is invalid, the body as sent, and the
    request.
    """

    def wrap(handler):
        @http_errors.allow_methods("POST", "OPTIONS")
        def view(request):
            if request.method == "OPTIONS":
                return preflight_response()
            body = read_body(request, name)
            if isinstance(body, HttpResponse):
                return body
            started = time.perf_counter()
            call = parse_call(request, name, serializer_class, body)
            response = handler(call, body, request)
            duration = time.perf_counter() - started
            if getattr(request, "has_stored_page_call", False):
                RESPONSE_PACER.record(name, duration)
            RESPONSE_PACER.wait(name, duration)
            return response

        return view

    return wrap


def read_body(request, name: str) -> dict | HttpResponse:
    """Count the call of a visitor; return its body, or the response that refuses it.

    Whether the address counts that a proxy names, the account in the body decides.
    """
    if is_prefetch(request):
        return refuse_prefetch()
    is_proxied = has_proxy_key(request)
    if not is_proxied and throttling.count_browser_call(request, name):
        return refuse_excess()
    try:
        check_content_length(request)
        body: dict = parse_json_body(request)
    except PayloadTooLarge:
        return http_errors.error_response(request, 413)
    except InvalidBody as error:
        return JsonResponse({"errors": [serialize_error(error)]}, status=400)
    request.proxy_problem = recognize_proxy(request, body.get("account"))
    if is_proxied and throttling.count_browser_call(request, name):
        return refuse_excess()
    return body


def refuse_prefetch() -> HttpResponse:
    """Return the response to a page that is not shown yet; browsers drop it, and ask
    again when the page is shown."""
    response = HttpResponse("Not before", status=400, content_type="text/plain")
    response["Cache-Control"] = "no-store"
    return response


def refuse_excess() -> HttpResponse:
    """Return the response to one request too many."""
    return HttpResponse("Too many requests", status=429, content_type="text/plain")


def preflight_response() -> HttpResponse:
    """Return the response to `OPTIONS`; CorsMiddleware adds the CORS headers."""
    response = no_content_response()
    response["Allow"] = "POST, OPTIONS"
    return response


def parse_call(request, name: str, serializer_class, body: dict) -> ValidBrowserCall | None:
    """Return the call, or None if account, signature or a field is invalid."""
    proxy = get_proxy(request)
    account = proxy.account if proxy else find_account(body.get("account"))
    if account is None:
        request.failed_page_call = {"reason": UNKNOWN_ACCOUNT}
        return None
    call = BrowserCall(request, account, body, timezone.now())
    if request.proxy_problem:
        call.record_failure(request.proxy_problem)
    try:
        return call.validate(name, serializer_class)
    except DomainError as error:
        call.record_failure(get_error_code(error))
    except ValidationError as error:
        field = next(iter(error.detail))
        kind = "missing" if is_missing(body.get(field)) else "invalid"
        call.record_failure(f"{kind}_{field}")
    return None


def find_account(slug) -> Account | None:
    """Find the account of a call; None if the slug is unknown or invalid."""
    try:
        slug = TrimmedTextField(max_length=MAX_SLUG_LENGTH).to_internal_value(slug)
    except ValidationError:
        return None
    return Account.objects.select_related("plan").filter(slug=slug).first()


def no_content_response() -> HttpResponse:
    """Return 204, the response to conversions and customers, stored or not."""
    response = HttpResponse(status=NO_CONTENT)
    del response["Content-Type"]
    return response


@tracking_view("click", BrowserClickSerializer)
def track_click(call: ValidBrowserCall | None, body: dict, request) -> HttpResponse:
    """Record a click; answer a new tracking id even if nothing is stored.

    On the shop's own host it is set as the cookie, too.
    """
    tracking_id = record_click_of_call(call, body)
    response = JsonResponse({"vid": tracking_id})
    if get_proxy(request):
        set_visitor_cookie(response, request, tracking_id, body.get("cookie_domain"))
    return response


def record_click_of_call(call: ValidBrowserCall | None, body: dict) -> str:
    """Record the click of a call and return its tracking id, also if it counts for
    nobody."""
    if call is None:
        slug = str(body.get("account", "")).strip()[:MAX_SLUG_LENGTH]
        return generate_tracking_id(slug)
    handover = call.data.get("handover")
    if handover and not call.data.get("referral_code"):
        return accept_handover(call, handover)
    user_agent = call.data["user_agent"]  # None: a proxy of the shop may drop it
    if user_agent and is_bot(user_agent):
        record_failure(call.request, call.account, BOT, at=call.at)
        return generate_tracking_id(call.account.slug)
    recorded = record_visit(
        call.account,
        visit=build_visit(call.data),
        previous_tracking_id=call.data.get("vid"),
        at=call.at,
    )
    if recorded.failure:
        call.record_failure(get_error_code(recorded.failure))
    else:
        call.mark_stored()
    return recorded.tracking_id


def accept_handover(call: ValidBrowserCall, handover: str) -> str:
    """Return the tracking ID that another host of the shop hands over, or else that of
    the visitor on this one, or a new one."""
    try:
        target = read_origin(call.request).netloc.lower()
        return read_handover(call.account, handover, target=target)
    except InvalidHandover as failure:
        call.record_failure(str(failure))
    own = call.data.get("vid")
    return own if is_tracking_id(own) else generate_tracking_id(call.account.slug)


@tracking_view("handover", BrowserHandoverSerializer)
def answer_handover(_call, body: dict, request) -> HttpResponse:
    """Answer the parameters that hand the visitor over to other hosts of the shop."""
    handovers = sign_handovers(
        str(body.get("account", "")).strip()[:MAX_SLUG_LENGTH],
        body.get("vid"),
        source=read_origin(request).netloc.lower(),
        targets=body.get("hosts"),
    )
    return JsonResponse({"handovers": handovers})


@tracking_view("customer", BrowserCustomerSerializer)
def track_customer(call: ValidBrowserCall | None, *_) -> HttpResponse:
    """Create a customer, attributed by the first known coupon or the cookie."""
    if call is not None:
        try:
            call.store(create_browser_customer)
        except DuplicateCustomer:
            pass  # a page that names its customer again
        except DomainError as failure:
            call.record_failure(get_error_code(failure))
    return no_content_response()


def create_browser_customer(call: ValidBrowserCall) -> None:
    """Create the customer of a call."""
    data = build_customer_data(
        add_tracking_parameters(call, has_customer=False),
        order=BROWSER_CUSTOMER_ORDER,
        trust=call.trust,
        is_signed=call.is_signed,
        extra_warnings=call.warnings,
    )
    create_customer(call.account, data=data, at=call.at)


@tracking_view("conversion", BrowserConversionSerializer)
def track_conversion(call: ValidBrowserCall | None, *_) -> HttpResponse:
    """Record a conversion, unless a page is loaded again."""
    if call is not None:
        external_id = call.data.get("external_id")
        create_browser_conversion(call, None if is_blank(external_id) else external_id)
    return no_content_response()


def create_browser_conversion(call: ValidBrowserCall, external_id: str | None) -> None:
    """Record the conversion, or store the failed attempt after the rollback."""
    attempt = Attempt(call.account, origin=ConversionOrigin.BROWSER, external_id=external_id)
    try:
        attempt.ensure_allowed()
        call.store(partial(create_conversion_of_call, attempt=attempt))
        attempt.succeed()
    except DuplicateConversion:
        return
    except TooManyConversionAttempts as failure:
        call.record_failure(get_error_code(failure))
    except DomainError as failure:
        # A claim that is refused must not delay an honest page with the same id.
        if call.trust is Trust.FACT:
            attempt.fail(failure)
        call.record_failure(get_error_code(failure))
    except (DatabaseError, ConcurrentUpdate) as failure:
        attempt.fail(failure)
        raise  # an unexpected failure is reported: the conversion is lost


def create_conversion_of_call(call: ValidBrowserCall, *, attempt: Attempt) -> None:
    """Create the conversion of a call."""
    items = call.data.get("commissions")
    has_customer = not is_missing(call.data.get("customer_id"))
    data = build_conversion_data(
        add_tracking_parameters(call, has_customer=has_customer),
        attempt.external_id,
        order=BROWSER_CONVERSION_ORDER,
        trust=call.trust,
        is_signed=call.is_signed,
        is_browser_sale=call.trust is Trust.CLAIM
        or has_unsigned_rates(call.body)
        or can_be_repeated(call.account, attempt.external_id),
        extra_warnings=call.warnings,
        has_amount=not is_missing(call.data.get("amount")) or bool(items),
    )
    create_conversion(call.account, data=data, is_id_free=attempt.is_id_free, at=call.at)


def add_tracking_parameters(call: ValidBrowserCall, *, has_customer: bool) -> dict:
    """Return the fields with `coupon`, the first known one, and `tracking_id`.

    An unknown coupon is kept only if nothing else was sent: it is why the call fails.
    """
    coupons = call.data.get("coupons", [])
    tracking_id = call.data.get("vid") or None
    coupon = find_first_coupon(call.account, coupons)
    if coupons and coupon is None and tracking_id is None and not has_customer:
        coupon = coupons[0]
    return call.data | {"coupon": coupon, "tracking_id": tracking_id}


def can_be_repeated(account: Account, external_id: str | None) -> bool:
    """Can a signed call that was stored before be sent again, as by a reload?"""
    return external_id is None or was_external_id_used(account, external_id)
