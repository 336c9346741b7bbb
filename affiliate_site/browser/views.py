"""The browser script and its tracking endpoints (docs/api-contract.md, section 5.5).

The endpoints need no key: everyone who opens the page can call them. So a response has
at most a new tracking id and is the same for known and unknown values, and nothing is
stored without an affiliate or a prospect.
"""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from django.db import DatabaseError
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import conditional_page
from rest_framework.exceptions import ValidationError

from accounts.errors import DomainError
from accounts.models.accounts import Account
from affiliate_site import http_errors, throttling
from affiliate_site.api.conversion_attempts import Attempt
from affiliate_site.api.conversion_serializers import build_line_items
from affiliate_site.api.errors import PayloadTooLarge, serialize_error
from affiliate_site.api.fields import is_blank
from affiliate_site.api.parsing import (
    InvalidBody,
    check_content_length,
    parse_json_body,
)
from affiliate_site.browser.serializers import (
    BrowserClickSerializer,
    BrowserConversionSerializer,
    BrowserCustomerSerializer,
    PreviousVisitSerializer,
    build_tracking_parameters,
    build_visit,
    get_client_ip_or_none,
    get_user_agent,
)
from affiliate_site.browser.signatures import determine_trust, has_unsigned_rates
from affiliate_site.env import BASE_DIR
from payouts.services.conversion_creation import ConversionData, create_conversion
from tracking.attribution import BROWSER_CONVERSION_ORDER, BROWSER_CUSTOMER_ORDER
from tracking.claims import Trust
from tracking.errors import DuplicateConversion, TooManyConversionAttempts
from tracking.models.conversions import ConversionOrigin
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.customers import CustomerData, create_customer
from tracking.services.visitors import generate_tracking_id, record_visit

NO_CONTENT = 204
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


@dataclass(frozen=True)
class BrowserCall:
    """A valid call for an account that exists and is not locked."""

    account: Account
    data: dict
    request: object
    body: dict


def tracking_view(name: str, *serializers):
    """Decorate the handler of a tracking endpoint: rate limit, body, account.

    The handler gets the call as read by the first of `serializers` that accepts the
    body, or None if all of them reject it.
    """

    def wrap(handler):
        @http_errors.allow_methods("POST", "OPTIONS")
        def view(request):
            if request.method == "OPTIONS":
                return preflight_response()
            if throttling.count_browser_call(request, name):
                return HttpResponse(
                    "Too many requests", status=429, content_type="text/plain"
                )
            try:
                check_content_length(request)
                body = parse_json_body(request)
            except PayloadTooLarge:
                return http_errors.error_response(request, 413)
            except InvalidBody as error:
                return JsonResponse({"errors": [serialize_error(error)]}, status=400)
            calls = (
                parse_call(request, serializer, body) for serializer in serializers
            )
            return handler(next(filter(None, calls), None))

        return view

    return wrap


def preflight_response() -> HttpResponse:
    """Return the response to `OPTIONS`; CorsMiddleware adds the CORS headers."""
    response = no_content_response()
    response["Allow"] = "POST, OPTIONS"
    return response


def parse_call(request, serializer_class, body: dict) -> BrowserCall | None:
    """Return the call, or None for an invalid field, an unknown or a locked account."""
    try:
        serializer = serializer_class(data=body)
        serializer.is_valid(raise_exception=True)
    except ValidationError:
        return None
    data = serializer.validated_data
    account = (
        Account.objects.select_related("plan")
        .filter(slug=data["account"], locked_at=None)
        .first()
    )
    return BrowserCall(account, data, request, body) if account else None


def no_content_response() -> HttpResponse:
    """Return 204, the response to conversions and customers, stored or not."""
    response = HttpResponse(status=NO_CONTENT)
    del response["Content-Type"]
    return response


@tracking_view("click", BrowserClickSerializer, PreviousVisitSerializer)
def track_click(call: BrowserCall | None) -> HttpResponse:
    """Record a click; return a new tracking id even if nothing is stored."""
    vid = generate_tracking_id()
    if call is not None:
        vid = record_visit(
            call.account,
            visit=build_visit(call.data, call.request),
            previous_tracking_id=call.data.get("vid"),
            at=timezone.now(),
        )
    return JsonResponse({"vid": vid})


@tracking_view("customer", BrowserCustomerSerializer)
def track_customer(call: BrowserCall | None) -> HttpResponse:
    """Create a customer, attributed by the first known coupon or the cookie."""
    trust = call and determine_trust(call.account, "customer", call.body)
    if call and trust:
        with suppress(DomainError):
            create_customer(
                call.account, data=build_customer_data(call, trust), at=timezone.now()
            )
    return no_content_response()


@tracking_view("conversion", BrowserConversionSerializer)
def track_conversion(call: BrowserCall | None) -> HttpResponse:
    """Record a conversion; ignore duplicates and early retries."""
    trust = call and determine_trust(call.account, "conversion", call.body)
    if call and trust:
        external_id = call.data.get("external_id")
        create_browser_conversion(
            call, trust, None if is_blank(external_id) else external_id
        )
    return no_content_response()


def create_browser_conversion(
    call: BrowserCall, trust: Trust, external_id: str | None
) -> None:
    """Record the conversion, or store the failed attempt after the rollback."""
    attempt = Attempt(
        call.account, origin=ConversionOrigin.BROWSER, external_id=external_id
    )
    try:
        attempt.start()
        create_conversion(
            call.account,
            data=build_conversion_data(call, trust, external_id),
            at=timezone.now(),
        )
        attempt.succeed()
    except (DuplicateConversion, TooManyConversionAttempts):
        return
    except (DomainError, DatabaseError, ConcurrentUpdate) as failure:
        attempt.fail(failure)
        if not isinstance(failure, DomainError):
            raise  # an unexpected failure is reported: the conversion is lost


def build_conversion_data(
    call: BrowserCall, trust: Trust, external_id: str | None
) -> ConversionData:
    """Build the input of the service."""
    data = call.data
    customer_id = data.get("customer_id")
    return ConversionData(
        parameters=build_tracking_parameters(
            call.account,
            data,
            customer_id=None if is_blank(customer_id) else customer_id,
        ),
        line_items=build_line_items(data),
        external_id=external_id,
        currency=data.get("currency"),
        meta_data=data.get("meta_data", {}),
        user_agent=get_user_agent(call.request),
        ip=get_client_ip_or_none(call.request),
        candidate_order=BROWSER_CONVERSION_ORDER,
        trust=trust,
        is_browser_sale=trust is Trust.CLAIM or has_unsigned_rates(call.body),
    )


def build_customer_data(call: BrowserCall, trust: Trust) -> CustomerData:
    """Build the input of the service."""
    data = call.data
    return CustomerData(
        customer_id=data["customer_id"],
        parameters=build_tracking_parameters(call.account, data, customer_id=None),
        status=data.get("status", "new"),
        meta_data=data.get("meta_data", {}),
        user_agent=get_user_agent(call.request),
        ip=get_client_ip_or_none(call.request),
        order=BROWSER_CUSTOMER_ORDER,
        trust=trust,
    )
