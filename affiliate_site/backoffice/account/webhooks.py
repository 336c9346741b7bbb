"""The pages of webhooks and of webhook deliveries."""

import re
from typing import Any

from django.contrib import admin, messages
from django.utils import timezone

from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.deliveries import resend_delivery
from accounts.services.outbox import build_url
from accounts.services.webhooks import disable_webhook, enable_webhook, rotate_secret
from affiliate_site.backoffice.account.webhook_pages import (
    WEBHOOK_PAGES,
    AddWebhookPage,
    describe_stopped_sender,
    explain_secret,
)
from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action, display
from affiliate_site.backoffice.formatters import EMPTY_VALUE, Label
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.lists.filters import FormFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.secret_page import show_secret_once
from affiliate_site.columns import Column


class WebhookStateFilter(FormFilter):
    """Filters the failing webhooks, which the dashboard counts."""

    title = "status"
    parameter_name = "status"
    input_type = "select"

    def list_options(self):
        return [("failing", "Failing")]

    @property
    def value_text(self):
        return str(self.value()).capitalize()

    def queryset(self, request, queryset):
        return queryset.needing_attention() if self.value() == "failing" else queryset


def mask_url(url: str) -> str:
    """A URL without user info, query and fragment, which may hold secrets."""
    scheme, separator, rest = url.partition("://")
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = address.partition("/")
    masked = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    return masked if address == rest else f"{masked}?…"


class SenderNoteMixin:
    """Says above lists, and rows that wait, that nothing is sent: no worker runs."""

    def changelist_view(self, request, extra_context=None):
        note = {"list_note": describe_stopped_sender(timezone.now())}
        return super().changelist_view(request, note | (extra_context or {}))  # type: ignore[misc]

    def render_change_form(self, request, context, *args, **kwargs):
        note = describe_stopped_sender(timezone.now())
        if note and context["original"].needs_sender:
            messages.warning(request, note)
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[misc]


class MaskedUrlMixin:
    """Show `masked_url` instead of `url` to users who may not manage webhooks."""

    @display(description="URL")
    def masked_url(self, row):
        return mask_url(row.url) or EMPTY_VALUE

    def get_columns(self, request):
        return mask_url_name(request, super().get_columns(request))  # type: ignore[misc]

    def get_fields(self, request, obj=None):
        return mask_url_name(request, super().get_fields(request, obj))  # type: ignore[misc]


def mask_url_name(request, names) -> list:
    """The names or columns, with `masked_url` if the user sees no secrets."""
    if request.user.has_perm("accounts.change_webhookendpoint"):
        return list(names)
    return ["masked_url" if name == "url" else name for name in names]


def get_webhook_status(webhook) -> Label:
    """Whether it works."""
    if webhook.disabled_at:
        return Label("disabled")
    return Label("failing", "danger") if webhook.failing_since else Label("active", "success")


def get_delivery_status(delivery) -> Label:
    """Whether the receiver accepted it."""
    if delivery.delivered_at:
        return Label("delivered", "success")
    return Label("pending", "warning") if delivery.due_at else Label("failed", "danger")


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(
    SenderNoteMixin, MaskedUrlMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Webhooks of the account, and postbacks of its affiliates."""

    menu = (MenuEntry("Integration", 50, "webhook"),)
    empty_state = "No webhooks yet. An owner chooses “Add webhook” to receive events."
    columns = (
        "public_id",
        "url",
        build_status_column(get_webhook_status, is_exported=False),
        "subscribed_events",
        "affiliate",
        "failing_since",
        Column(name="disabled_at", is_listed=False),
        "disabled_because",
    )
    list_filter = (WebhookStateFilter,)
    search_fields = ("public_id__exact", "affiliate__exact")
    search_help_text = "Search by ID or affiliate ID"
    ordering = ("affiliate", "-id")  # those of the account first
    fields = (
        *("public_id", "url", "subscribed_events", "affiliate", "created_at"),
        *("failing_since", "disabled_at", "disabled_because"),
    )
    readonly_fields = ("subscribed_events",)
    add_page = AddWebhookPage
    row_pages = WEBHOOK_PAGES
    actions = ("rotate_selected", "disable_selected", "enable_selected")
    manage_permission = "accounts.change_webhookendpoint"

    @display(description="Events")
    def subscribed_events(self, webhook):
        return ", ".join(webhook.events) or "all events"

    @action(description="Rotate secret", permissions=["manage"])
    def rotate_selected(self, request, rows):
        admin_action = AdminAction(
            "Rotate secret (the old secret stays valid for 24 hours)",
            perform=lambda row, at: rotate_secret(row.account, webhook=row.public_id, at=at).secret,
            skip_reason=lambda row: "postbacks are not signed" if row.affiliate else "",
        )
        return show_secret_once(
            self,
            request,
            rows,
            admin_action,
            title="New webhook secret",
            explain=explain_secret,
        )

    @action(description="Disable", permissions=["manage"])
    def disable_selected(self, request, rows):
        admin_action = AdminAction(
            "Disable webhooks",
            is_dangerous=True,
            perform=lambda row, at: disable_webhook(row, at=at),
            skip_reason=lambda row: "already disabled" if row.disabled_at else "",
        )
        return run_admin_action(self, request, rows, admin_action)

    @action(description="Enable", permissions=["manage"])
    def enable_selected(self, request, rows):
        admin_action = AdminAction(
            "Enable webhooks",
            perform=lambda row, at: enable_webhook(row.account, webhook=row.public_id, at=at),
            skip_reason=lambda row: "" if row.disabled_at else "already enabled",
        )
        return run_admin_action(self, request, rows, admin_action)


@admin.register(Delivery)
class DeliveryAdmin(SenderNoteMixin, MaskedUrlMixin, ReadOnlyBackOfficeAdmin):
    """Deliveries of events, with the response of the receiver."""

    menu = (MenuEntry("Integration", 60, "outbox"),)
    empty_state = "No deliveries yet. Each event that a webhook subscribes to adds one."
    columns = (
        "message_id",
        Column(name="event_name", select=("event",), export="event__kind"),
        Column(name="endpoint", export="endpoint__public_id"),
        build_status_column(get_delivery_status, is_exported=False),
        "attempts",
        "attempted_at",
        Column(name="status", is_listed=False),
        "error",
        Column(name="delivered_at", is_listed=False),
        "due_at",
    )
    search_fields = ("message_id__exact", "endpoint__public_id__exact")
    search_help_text = "Search by message ID or webhook ID"
    ordering = ("-created_at", "-id")
    exclude = ("body", "event")
    readonly_fields = ("event_name", "formatted_body")
    actions = ("resend_selected",)
    manage_permission = "accounts.change_delivery"

    def get_queryset(self, request):
        """Only the page of one delivery loads what was sent."""
        rows: Any = super().get_queryset(request)
        match = request.resolver_match
        has_one = match is not None and match.kwargs.get("object_id")
        return rows if has_one else rows.without_content()

    def get_object(self, request, object_id, from_field=None):
        """One delivery, with the address that it calls."""
        delivery = super().get_object(request, object_id, from_field)
        if delivery is not None:
            delivery.url = build_url(delivery)
        return delivery

    @display(description="Event", ordering="event")
    def event_name(self, delivery):
        return delivery.event.kind

    @display(description="Body")
    def formatted_body(self, delivery):
        is_postback = delivery.endpoint.affiliate != ""
        return EMPTY_VALUE if is_postback else bytes(delivery.body).decode()

    @action(description="Resend", permissions=["manage"])
    def resend_selected(self, request, rows):
        admin_action = AdminAction(
            "Resend",
            perform=lambda row, at: resend_delivery(row.account, delivery_id=row.pk, at=at),
        )
        return run_admin_action(self, request, rows, admin_action)
