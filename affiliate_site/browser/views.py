"""The browser script, and what it calls: answers alike for known and unknown
(contract 5.5).

No key: whoever opens the page can call. So nothing is told but a new tracking id, and
nothing is stored that points at nobody.
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
from affiliate_site import door, floods
from affiliate_site.api.errors import TooLarge, told
from affiliate_site.api.fields import is_blank
from affiliate_site.api.parsing import InvalidBody, read_json, refuse_large
from affiliate_site.api.sales import items_of
from affiliate_site.browser.reading import (
    FormerVisit,
    PageCustomer,
    PageSale,
    PageVisit,
    address_of,
    agent_of,
    clues_of,
    visit_of,
)
from affiliate_site.env import ROOT
from payouts.services.recording import Sale, record_conversion
from tracking.attribution import BROWSER, REGISTERING_BROWSER
from tracking.errors import DuplicateConversion, TooManyAttempts
from tracking.models.conversions import Origin
from tracking.services.attempts import admit, forget, remember_failure
from tracking.services.customers import Registration, register
from tracking.services.looking import LookAgain
from tracking.services.visitors import new_tracking_id, record_visit

DONE = 204
SCRIPT = (ROOT / "affiliate_site/browser/tap.min.js").read_bytes()
SCRIPT_TAG = f'"{sha256(SCRIPT).hexdigest()[:32]}"'
SCRIPT_LIFETIME = "public, max-age=300"  # a mended script is everywhere in 5 minutes


@door.only("GET", "HEAD")
@conditional_page
def script(request) -> HttpResponse:
    """The browser script; a page that has it is told so."""
    response = HttpResponse(SCRIPT, content_type="text/javascript; charset=utf-8")
    response["ETag"] = SCRIPT_TAG
    response["Cache-Control"] = SCRIPT_LIFETIME
    return response


@dataclass(frozen=True)
class Told:
    """A call that is whole, of an account that is there."""

    account: Account
    said: dict
    request: object


def tracking(name: str, *declarations):
    """A view of one call: the guard, the body, the account; then what it does.

    What the call does is told what the first declaration takes that the body fits;
    nothing of an odd body. It tells nothing itself.
    """

    def wrap(story):
        @door.only("POST", "OPTIONS")
        def view(request):
            if request.method == "OPTIONS":
                return allowed()
            if floods.too_many_calls(request, name):
                return HttpResponse(
                    "Too many requests", status=429, content_type="text/plain"
                )
            try:
                refuse_large(request)
                body = read_json(request)
            except TooLarge:
                return door.refuse(request, 413)
            except InvalidBody as refusal:
                return JsonResponse({"errors": [told(refusal)]}, status=400)
            calls = (whole(request, it, body) for it in declarations)
            return story(next(filter(None, calls), None))

        return view

    return wrap


def allowed() -> HttpResponse:
    """What a browser asks before it calls."""
    response = nothing()
    response["Allow"] = "POST, OPTIONS"
    return response


def whole(request, declaration, body: dict) -> Told | None:
    """What was told, if every field is fine and the account is open for sales."""
    try:
        reader = declaration(data=body)
        reader.is_valid(raise_exception=True)
    except ValidationError:
        return None
    said = reader.validated_data
    account = (
        Account.objects.select_related("plan")
        .filter(slug=said["account"], locked_at=None)
        .first()
    )
    return Told(account, said, request) if account else None


def nothing() -> HttpResponse:
    """The one answer to sales and customers, stored or not."""
    response = HttpResponse(status=DONE)
    del response["Content-Type"]
    return response


@tracking("click", PageVisit, FormerVisit)
def track_click(call: Told | None) -> HttpResponse:
    """A visit; the answer is a new tracking id, whatever is behind it."""
    vid = new_tracking_id()
    if call is not None:
        vid = record_visit(
            call.account,
            visit=visit_of(call.said, call.request),
            former=call.said.get("vid"),
            at=timezone.now(),
        )
    return JsonResponse({"vid": vid})


@tracking("customer", PageCustomer)
def track_customer(call: Told | None) -> HttpResponse:
    """A customer; it belongs to whom the first known coupon or the cookie names."""
    if call is not None:
        with suppress(DomainError):
            register(
                call.account, registration=registration_of(call), at=timezone.now()
            )
    return nothing()


@tracking("conversion", PageSale)
def track_conversion(call: Told | None) -> HttpResponse:
    """A sale; known ones and hasty ones are passed over in silence."""
    if call is not None:
        external_id = call.said.get("external_id")
        sell(call, None if is_blank(external_id) else external_id)
    return nothing()


def sell(call: Told, external_id: str | None) -> None:
    """Record the sale, or remember its failure once every transaction is gone."""
    known = {"source": Origin.BROWSER, "external_id": external_id or ""}
    try:
        failed_before = external_id is not None and admit(call.account, **known)
        record_conversion(
            call.account, sale=sale_of(call, external_id), at=timezone.now()
        )
        if failed_before:
            forget(call.account, **known)
    except (DuplicateConversion, TooManyAttempts):
        return
    except (DomainError, DatabaseError, LookAgain) as failure:
        if external_id is not None:
            with suppress(DatabaseError):
                remember_failure(call.account, **known, message=str(failure))
        if not isinstance(failure, DomainError):
            raise  # a fault of ours is told: nothing else would say that it is lost


def sale_of(call: Told, external_id: str | None) -> Sale:
    """What was told, as the service takes it."""
    said = call.said
    customer_id = said.get("customer_id")
    clues = clues_of(
        call.account, said, customer_id=None if is_blank(customer_id) else customer_id
    )
    return Sale(
        clues=clues,
        items=items_of(said),
        external_id=external_id,
        currency=said.get("currency"),
        meta_data=said.get("meta_data", {}),
        user_agent=agent_of(call.request),
        ip=address_of(call.request),
        order=BROWSER,
        by_page=True,
    )


def registration_of(call: Told) -> Registration:
    """What was told, as the service takes it."""
    said = call.said
    return Registration(
        customer_id=said["customer_id"],
        clues=clues_of(call.account, said, customer_id=None),
        status=said.get("status", "new"),
        meta_data=said.get("meta_data", {}),
        user_agent=agent_of(call.request),
        ip=address_of(call.request),
        order=REGISTERING_BROWSER,
    )
