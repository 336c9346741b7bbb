"""Process an event of a shop again, and try one without a change."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django import forms
from django.db import DatabaseError, transaction
from django.db import connection as database
from django.utils import timezone

from accounts.errors import DomainError
from affiliate_site.backoffice.bulk_pages import BulkPage
from affiliate_site.backoffice.connections.details import EVENT_STATES, get_state
from affiliate_site.backoffice.connections.steps import list_event_kinds
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_datetime, format_labels
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.shops.base import WrongSignature, describe, parse_body
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.other_signatures import parse_form
from affiliate_site.shops.processing import (
    preview_event,
    process_event,
    read_event,
)
from affiliate_site.shops.views import MAX_EVENT_SIZE
from payouts.services.shop_orders import OrderOutcome
from tracking.models.shops import Connection, ConnectionKind, ShopEvent, ShopEventState
from tracking.services.concurrency import UNAVAILABLE_ERRORS
from tracking.services.inbox import describe_effect, process_again

MAX_CHOICES = 25  # events, the newest
NO_SAMPLE = "Paste the JSON object that the shop sends."
FORM_PATTERN = re.compile(r"[^\s{}\[\]\"']+=")  # how the fields of a form begin
READ_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)


class ProcessAgainPage(BulkPage):
    """Process an event that did nothing."""

    model = ShopEvent
    name = "again"
    title = button = bulk_title = "Process again"
    bulk_relations = ("connection",)
    explanation = (
        "The event is processed as if it had just arrived, by the present settings and"
        " mode of its shop. What it did already, it does not do twice."
    )

    @classmethod
    def find_obstacle(cls, event):
        has_work = event.body and event.state != ShopEventState.DONE
        return "" if has_work else "already done"

    def call_service(self, form, at, **arguments):
        """Let the worker process it; on the embedded database, at once."""
        with transaction.atomic():
            process_again(self.row, at=at)
            if database.vendor == "sqlite":
                process_event(self.row, at=at)

    def get_done_message(self, result):
        if self.row.attempts == 0:
            return "The event is processed in a moment. Reload the page for the result."
        return f"The event was processed: {get_state(self.row)}."


class SampleForm(ServiceForm):
    """An event that the shop has sent, or the body of one."""

    def list_events(self) -> list[tuple[str, str]]:
        """The newest events as choices."""
        rows = self.account.shop_events.filter(connection=self.row).exclude(body="")
        return [
            (str(event.pk), f"{format_datetime(event.created_at)} {event.kind}")
            for event in rows.order_by("-created_at", "-id")[:MAX_CHOICES]
        ]

    def build_fields(self):
        return {
            "event": forms.ChoiceField(
                label="Received event",
                choices=[("", "None"), *self.list_events()],
                required=False,
            ),
            "body": forms.CharField(
                label="Or a body",
                required=False,
                max_length=MAX_EVENT_SIZE,
                widget=MULTI_LINE({"rows": 12, "spellcheck": "false"}),
                help_text="What the shop sends, as it is. Nothing of it is stored.",
            ),
        }

    def clean_body(self) -> str:
        """What was pasted, as JSON; other shops may also send the fields of a form."""
        text: str = self.cleaned_data["body"]
        is_form = self.row.kind == ConnectionKind.OTHER and FORM_PATTERN.match(text)
        if not is_form:
            return text
        try:
            return json.dumps(parse_form(text.encode()), ensure_ascii=False)
        except (DomainError, ValueError):
            raise forms.ValidationError(NO_SAMPLE) from None

    @property
    def sample_name(self) -> str:
        """The field that the sample comes from: what was pasted goes first."""
        values = self.cleaned_data
        return "event" if values.get("event") and not values.get("body") else "body"

    def get_event(self) -> ShopEvent:
        """The received event that was chosen."""
        return self.account.shop_events.get(pk=self.cleaned_data["event"])


class TryEventForm(SampleForm):
    """An event that the shop has sent, or the kind and body of one."""

    def build_fields(self):
        kinds = [(kind, kind) for kind in list_event_kinds(self.row.kind)]
        kind = forms.ChoiceField(
            label="Kind of the body",
            choices=[("", "As the body says"), *kinds],
            required=False,
            help_text="For shops that name it beside the body.",
        )
        return super().build_fields() | {"kind": kind}

    def clean(self):
        """Read the event: `kind` and `body` are those of the received one, if any."""
        values = super().clean()
        if self.errors:
            return values
        if self.sample_name == "event":
            event = self.get_event()
            return values | {"kind": event.kind, "body": event.body}
        try:
            body = parse_body(values["body"])
        except ValueError:
            self.add_error("body", NO_SAMPLE)
            return values
        if not values["kind"]:
            values["kind"] = self.find_kind(body)
        return values

    def find_kind(self, body) -> str:
        """The kind that a body names; an error beside the field if it names none."""
        raw = self.cleaned_data["body"].encode()
        try:
            shop = SHOPS[self.row.kind]
            envelope = shop.identify(self.row, {}, body, raw, at=timezone.now())
        except (DomainError, WrongSignature, *READ_ERRORS):
            self.add_error("kind", "Choose it: the body does not say it.")
            return ""
        return envelope.kind


def preview_body(connection: Connection, kind: str, body: str, *, at: datetime) -> OrderOutcome:
    """What an event would do; raises `DomainError` and `UNAVAILABLE_ERRORS`."""
    try:
        read = partial(read_event, kind=kind, body=body)
        return preview_event(connection, read(connection), reread=read, at=at)
    except UNAVAILABLE_ERRORS:
        raise
    except (DatabaseError, *READ_ERRORS) as error:
        text = f"The event could not be processed: {describe(error)}."
        return OrderOutcome(ShopEventState.FAILED, [text])


class PreviewPage(FormPage):
    """A page that shows what an event would do."""

    outcome: OrderOutcome | None = None
    facts: Sequence[tuple[str, object]] = ()

    def show(self, form, outcome):
        """Show the form again, with the outcome or why there is none."""
        if outcome.state == ShopEventState.FAILED:
            form.add_error(form.sample_name, " ".join(map(describe_effect, outcome.effects)))
            return self.form_invalid(form)
        self.outcome, self.facts = outcome, self.list_facts(form)
        return self.render_to_response(self.get_context_data(form=form))

    def list_facts(self, form) -> list[tuple[str, object]]:
        """What the event says."""
        return []

    def list_sections(self):
        if self.outcome is None:
            return []
        notes = list(map(describe_effect, self.outcome.effects)) or ["Nothing would change."]
        state = format_labels([EVENT_STATES[self.outcome.state]])
        facts = [("State", state), *self.facts]
        return [Section("What would happen", notes=notes, facts=facts)]


class TryEventPage(PreviewPage):
    """See what an event would do."""

    name = "try"
    title = "Try an event"
    button = "See what would happen"
    permission = "tracking.change_connection"
    explanation = "You see what an event would do. Nothing is changed."
    form_class = TryEventForm
    leave_button = "Back"

    @classmethod
    def is_offered(cls, connection):
        return connection.kind in SHOPS

    def perform(self, form, at):
        values = form.values
        try:
            return preview_body(self.row, values["kind"], values["body"], at=at)
        except DomainError as error:
            return OrderOutcome(ShopEventState.FAILED, [error.text])

    def respond(self, form, outcome):
        return self.show(form, outcome)
