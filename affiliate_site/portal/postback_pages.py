"""The postbacks of an affiliate: addresses of theirs that are called for sales."""

from typing import Any

from django import forms
from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.errors import DomainError, InvalidUrl, WebhookNotFound
from accounts.models.webhooks import POSTBACK_EVENTS
from accounts.services.outbox import POSTBACK_MACROS
from accounts.services.webhooks import MAX_WEBHOOK_URL_LENGTH
from affiliate_site import http_errors
from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    translate_error,
)
from affiliate_site.portal.confirmations import show_form
from tracking.services.postbacks import (
    create_own_postback,
    get_own_postback,
    list_last_deliveries,
    list_own_postbacks,
    remove_own_postback,
)

EVENTS = {
    "conversion.created": gettext_lazy("A new sale"),
    "conversion.updated": gettext_lazy("A sale changed"),
    "customer.created": gettext_lazy("A new customer"),
    "customer.updated": gettext_lazy("A customer changed"),
}
UNREACHABLE = gettext_lazy(
    "This address cannot be called. It must begin with https:// and be reachable from the internet."
)
SHOWN_DELIVERIES = 3


class PostbackForm(forms.Form):
    """An address with placeholders, and when it is called."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_WEBHOOK_URL_LENGTH,
        widget=forms.TextInput({"inputmode": "url", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "Such as https://track.example.net/?sub=${click_subid}&sum=${commission_amount}"
        ),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Call it for"),
        choices=[(name, EVENTS[name]) for name in POSTBACK_EVENTS],
        initial=["conversion.created"],
        widget=forms.CheckboxSelectMultiple,
    )


@portal_page("GET", "HEAD", "POST")
def postbacks(request):
    """List postbacks with their last calls; add one."""
    account, affiliate = request.account, request.affiliate
    if not account.uses_webhooks:
        raise Http404
    form = PostbackForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            create_own_postback(affiliate, **form.cleaned_data, at=timezone.now())
        except InvalidUrl:
            form.add_error("url", str(UNREACHABLE))
        except DomainError as error:
            field = error.path if error.path in form.fields else None
            form.add_error(field, translate_error(error))
        else:
            return redirect(f"{build_url(account, 'postbacks')}?saved=1")
    context = {
        "title": _("Postbacks"),
        "is_saved": "saved" in request.GET,
        "form": form,
        "macros": [f"${{{name}}}" for name in POSTBACK_MACROS],
        "postbacks": [describe_postback(account, row) for row in list_own_postbacks(affiliate)],
        "back_url": build_url(account, "profile"),
    }
    return show(request, "postbacks", context)


def describe_postback(account, postback) -> dict[str, Any]:
    """A postback and its last calls as texts."""
    public_id = postback.public_id
    postback.account = account
    return {
        "url": postback.url,
        "events": ", ".join(str(EVENTS[name]) for name in postback.events or POSTBACK_EVENTS),
        "is_off": postback.disabled_at is not None,
        "remove_url": build_url(account, "remove_postback", postback=public_id),
        "deliveries": [
            (row.created_at, EVENTS.get(row.event.kind, ""), describe_delivery(row))
            for row in list_last_deliveries(postback, limit=SHOWN_DELIVERIES)
        ],
    }


def describe_delivery(delivery) -> str:
    """How a call ended."""
    if delivery.delivered_at:
        return _("Arrived")
    status = f" ({delivery.status})" if delivery.status else ""
    if delivery.due_at is None:
        return _("Failed") + status
    return _("Is tried again") + status if delivery.attempts else _("Waits")


@portal_page("GET", "HEAD", "POST")
def remove_postback(request, postback: str):
    """Stop the calls of a postback."""
    affiliate = request.affiliate
    try:
        found = get_own_postback(affiliate, postback)
        if request.method == "POST":
            remove_own_postback(affiliate, postback, at=timezone.now())
            return redirect(f"{build_url(request.account, 'postbacks')}?saved=1")
    except WebhookNotFound:
        return http_errors.not_found(request)
    title, button = _("Remove postback"), _("Remove")
    return show_form(request, title, forms.Form(), button, text=found.url, back="postbacks")
