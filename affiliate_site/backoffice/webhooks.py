"""Webhooks: who is told of changes, and how each delivery went."""

from django import forms
from django.contrib.admin import SimpleListFilter
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from accounts.errors import DomainError
from accounts.models.webhooks import EVENTS, Delivery, WebhookEndpoint
from accounts.services.deliveries import send_again
from accounts.services.webhooks import (
    add_webhook,
    disable,
    enable,
    refuse_url,
    rotate_secret,
)
from affiliate_site.backoffice.actions import Deed, carry_out, hand_out, shown_once
from affiliate_site.backoffice.cells import NOTHING
from affiliate_site.backoffice.seam import (
    Page,
    ReadOnlyPage,
    action,
    display,
    register,
)


class WebhookForm(forms.ModelForm):
    """Where to, and of what; no event chosen means every event."""

    events = forms.MultipleChoiceField(
        choices=[(name, name) for name in EVENTS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: every event",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("url", "events")

    def clean_url(self):
        url = self.cleaned_data["url"]
        try:
            refuse_url(url)
        except DomainError as refusal:
            raise ValidationError(refusal.text) from None
        return url


class State(SimpleListFilter):
    """What the dashboard counts."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request, model_admin):
        return [("failing", "Failing")]

    def queryset(self, request, queryset):
        return queryset.failing() if self.value() == "failing" else queryset


@register(WebhookEndpoint)
class WebhookPage(Page):
    """The account's webhooks, and its affiliates' own postbacks."""

    form = WebhookForm
    list_display = (
        "public_id",
        "url",
        "told_of",
        "affiliate",
        "failing_since",
        "disabled_at",
        "disabled_because",
    )
    list_filter = (State,)
    search_fields = ("public_id__exact", "affiliate__exact")
    ordering = ("-id",)
    actions = ("rotate_chosen", "disable_chosen", "enable_chosen")

    @display(description="Events")
    def told_of(self, webhook):
        return ", ".join(webhook.events) or "all"

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False

    def has_add_permission(self, request):
        """Operators make them by command: they belong to no account."""
        return super().has_add_permission(request) and request.user.account is not None

    def has_manage_permission(self, request):
        return request.user.has_perm("accounts.change_webhookendpoint")

    def save_model(self, request, obj, form, change):
        told = form.cleaned_data
        made = add_webhook(
            request.user.account,
            url=told["url"],
            events=told["events"],
            at=timezone.now(),
        )
        obj.pk, obj.public_id, obj.secret = made.pk, made.public_id, made.secret

    def response_add(self, request, obj, post_url_continue=None):
        return shown_once(
            self,
            request,
            title=f"The secret of {obj}",
            secret=obj.secret,
            back=reverse("admin:accounts_webhookendpoint_changelist"),
        )

    @action(description="New secret", permissions=["manage"])
    def rotate_chosen(self, request, rows):
        """The receiver learns it within a day: so long the old one signs as well."""
        deed = Deed(
            "Give a new secret; the old one signs for a day more",
            does=lambda row, at: (
                rotate_secret(row.account, webhook=row.public_id, at=at).secret
            ),
            leaves=lambda row: "a postback is not signed" if row.affiliate else "",
        )
        return hand_out(
            self,
            request,
            rows,
            deed,
            title="The new secret",
            back=reverse("admin:accounts_webhookendpoint_changelist"),
        )

    @action(description="Disable", permissions=["manage"])
    def disable_chosen(self, request, rows):
        deed = Deed(
            "Disable webhooks",
            does=lambda row, at: disable(row, at=at),
            leaves=lambda row: "it is disabled already" if row.disabled_at else "",
        )
        return carry_out(self, request, rows, deed)

    @action(description="Enable again", permissions=["manage"])
    def enable_chosen(self, request, rows):
        deed = Deed(
            "Enable webhooks again",
            does=lambda row, at: enable(row.account, webhook=row.public_id, at=at),
            leaves=lambda row: "" if row.disabled_at else "it is enabled",
        )
        return carry_out(self, request, rows, deed)


@register(Delivery)
class DeliveryPage(ReadOnlyPage):
    """What was told, when, and what the receiver said."""

    list_display = (
        "webhook_id",
        "event",
        "endpoint",
        "attempts",
        "attempted_at",
        "status",
        "trouble",
        "delivered_at",
        "due_at",
    )
    list_select_related = ("event", "endpoint")
    search_fields = ("webhook_id__exact", "endpoint__public_id__exact")
    ordering = ("-id",)
    exclude = ("body",)
    readonly_fields = ("told",)
    actions = ("send_chosen_again",)

    @display(description="Body")
    def told(self, delivery):
        return bytes(delivery.body).decode() or NOTHING

    def has_manage_permission(self, request):
        return request.user.has_perm("accounts.change_delivery")

    @action(description="Send again", permissions=["manage"])
    def send_chosen_again(self, request, rows):
        deed = Deed(
            "Send again",
            does=lambda row, at: send_again(row.account, number=row.pk, at=at),
        )
        return carry_out(self, request, rows, deed)
