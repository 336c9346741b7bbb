"""Forms of webhooks: create one, change it, and send a test event."""

from datetime import datetime

from django import forms
from django.utils import timezone

from accounts.models.webhooks import WEBHOOK_EVENTS, WebhookEndpoint
from accounts.services.command_runs import (
    WORKER_NAME,
    get_command_runs,
    is_worker_alive,
)
from accounts.services.deliveries import has_enabled_endpoints, send_test_event
from accounts.services.webhooks import create_webhook, update_webhook
from affiliate_site.backoffice.form_pages import AddPage, EditPage, FormPage
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.secret_page import render_secret


class WebhookForm(ServiceForm):
    """The URL and the events of a webhook; no event selected means all events."""

    url = forms.CharField(
        label="URL",
        help_text="An https address of your server. It receives each event as a POST.",
    )
    events = forms.MultipleChoiceField(
        choices=[(name, name) for name in WEBHOOK_EVENTS],
        required=False,
        help_text="Select none for all events",
    )


class AddWebhookPage(AddPage):
    """Create a webhook, and show its secret once."""

    model = WebhookEndpoint
    title = button = "Create webhook"
    form_class = WebhookForm
    service = staticmethod(create_webhook)

    def respond(self, form, webhook):
        return render_secret(
            self.model_admin,
            self.request,
            title=f"Webhook secret for {webhook}",
            secret=webhook.secret,
            explanation=explain_secret(webhook),
        )


def explain_secret(webhook) -> str:
    return (
        f"This is the secret of the webhook to {webhook.url}. The server that"
        " receives the events checks with it the header webhook-signature."
    )


class WebhookPage(FormPage):
    model = WebhookEndpoint
    row_argument = ("webhook", "public_id")

    @classmethod
    def is_offered(cls, webhook):
        return not webhook.affiliate


class EditWebhookPage(WebhookPage, EditPage):
    explanation = "The webhook secret stays. Deliveries that wait go to the new URL."
    form_class = WebhookForm
    service = staticmethod(update_webhook)


class SendTestEventPage(WebhookPage):
    name = "test"
    title = button = "Send test event"
    explanation = (
        "The webhook receives the event webhook.test, signed like any other, with a"
        ' body that says "test": true. It is sent once; if it fails, it is not repeated'
        " and does not disable the webhook."
    )
    service = staticmethod(send_test_event)

    @classmethod
    def is_offered(cls, webhook):
        return super().is_offered(webhook) and webhook.disabled_at is None

    def get_done_message(self, delivery):
        if describe_stopped_sender(timezone.now()):
            return "The test event was stored. It was not sent yet."
        return "The test event is on its way. Reload this list for the answer."

    def get_done_url(self, delivery):
        return build_changelist_url("accounts_delivery", q=self.row.public_id)


def describe_stopped_sender(at: datetime) -> str:
    """Why nothing is sent to webhooks, and who can help; empty if a worker runs."""
    alive_at = get_command_runs().get(WORKER_NAME)
    if is_worker_alive(alive_at, at=at) or not has_enabled_endpoints():
        return ""
    since = f"since {format_datetime(alive_at)}" if alive_at else "yet"
    return (
        f"Nothing is sent to webhooks: the sender has not run {since}."
        " Your operator can start it; what waits is sent then."
    )


WEBHOOK_PAGES = (EditWebhookPage, SendTestEventPage)
