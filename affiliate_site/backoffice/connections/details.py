"""What the pages of a shop and of one of its events show."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.html import format_html

from affiliate_site.backoffice.connections.event_body import render_body
from affiliate_site.backoffice.connections.snippets import (
    list_snippet_notes,
    render_copied_snippet,
)
from affiliate_site.backoffice.connections.steps import render_steps
from affiliate_site.backoffice.formatters import Label, build_labels, format_datetime, format_labels
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.object_pages import (
    Details,
    Section,
    build_history,
    link_to,
)
from affiliate_site.columns import Column
from affiliate_site.links import build_connection_url
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.processing import ERASED, LISTENS_ONLY
from affiliate_site.shops.ready_made import READY_MADE
from payouts.services.shop_customers import add_prefix
from tracking.models.customers import Customer
from tracking.models.shops import (
    Connection,
    ConnectionKind,
    ConnectionMode,
    ShopEvent,
    ShopEventState,
)
from tracking.services.connections import (
    MAX_REFUSED_COUNT,
    REFERENCE_MAY_BE_CODE,
    list_refused_requests,
)
from tracking.services.inbox import describe_effect
from tracking.services.shop_mappings import reports_claims

MODES = build_labels(
    {ConnectionMode.LISTEN: "info", ConnectionMode.LIVE: "success", ConnectionMode.OFF: ""}
)
EVENT_STATES = build_labels(
    {
        ShopEventState.RECEIVED: "info",
        ShopEventState.DONE: "success",
        ShopEventState.NO_REFERRAL: "",
        ShopEventState.WAITING: "warning",
        ShopEventState.IGNORED: "",
        ShopEventState.FAILED: "danger",
    }
)
NUMBERS_AGE = timedelta(days=30)
LISTED_EVENTS = 10
COUNTED_STATES = (ShopEventState.NO_REFERRAL, ShopEventState.FAILED)
NOT_SIGNED = (
    "Enter the signing secret under “Set signing secret”: until then, what the shop"
    " sends is refused."
)
REFUSED = (
    "the signature did not match the secret, or was more than five minutes old. Compare"
    " the signing secret with the one that the shop shows."
)
NO_SIGNATURE = "Enter under “Mapping” how the shop signs what it sends: until then, it is refused."
NO_SALE = "Enter under “Mapping” where a sale is: until then, events are only stored."
NOT_AVAILABLE = "This kind of shop is not available here: what it sends is refused."
MODE_TEXTS = {
    ConnectionMode.LISTEN: "Events are stored with what they would do. They change nothing.",
    ConnectionMode.LIVE: "Events create sales, refunds and customers.",
    ConnectionMode.OFF: "What the shop sends is refused.",
}
SECRET_ENDING = "?secret=YOUR-SECRET"  # noqa: S105 - stands for a secret
CLAIMS = "are claims: approve or disapprove them, as the address has no signature"
NOT_PROCESSED = "It has not been processed yet."
NOTHING_CHANGED = "Nothing had to be changed."
ANY_PROGRAM = "The program of the affiliate"
COPY_BUTTON = (
    '<p><code id="connection-url" class="backoffice-secret">{}</code> <button'
    ' type="button" data-copy-target="connection-url" aria-label="Copy the address"'
    ' class="text-primary-600 dark:text-primary-500 cursor-pointer">Copy</button></p>'
)


def get_state(event: ShopEvent) -> Label:
    return EVENT_STATES[event.state]


def get_mode(connection: Connection) -> Label:
    return MODES[connection.mode]


def list_effects(event: ShopEvent) -> list[str]:
    """What an event did, in sentences."""
    effects = list(map(describe_effect, event.result))
    return effects or [NOTHING_CHANGED if event.attempts else NOT_PROCESSED]


def get_first_sentence(event: ShopEvent) -> str:
    """What an event did, in one sentence; what it would do, if the shop listens."""
    first, *others = list_effects(event)
    return f"If live: {others[0]}" if first == LISTENS_ONLY and others else first


def link_conversion(event: ShopEvent) -> str:
    """A link to the sale that an event is about; empty without one."""
    conversion = event.order.conversion if event.order else None
    return link_to(conversion, conversion.external_id) if conversion else ""


def list_missing(connection: Connection) -> list[str]:
    """What keeps the shop from reporting."""
    if connection.kind not in SHOPS:
        return [NOT_AVAILABLE]
    missing = list_refusals(connection) if connection.secrets else [NOT_SIGNED]
    if connection.kind == ConnectionKind.OTHER:
        mapping = connection.settings.get("other", {})
        if "sale" not in mapping:
            missing.append(NO_SALE if mapping else NO_SIGNATURE)
    return missing


def list_refusals(connection: Connection) -> list[str]:
    """How many requests were refused since the last event, and what to do then."""
    count, since = connection.refused_count, connection.refused_since
    if not count:
        return []
    requests = "1 request was" if count == 1 else f"{count} requests were"
    if count == MAX_REFUSED_COUNT:
        requests = f"{count} or more requests were"
    return [f"{requests} refused since {format_datetime(since)}: {REFUSED}"]


def get_connection_details(request, connection: Connection) -> Details:
    """State, address, steps, numbers, and the last events."""
    rows = connection.account.shop_events.filter(connection=connection)
    newest = rows.select_related("order__conversion").order_by("-created_at", "-id")
    events = list(newest[:LISTED_EVENTS])
    is_claiming = reports_claims(connection.settings)
    url = build_connection_url(connection) + (SECRET_ENDING if is_claiming else "")
    address = format_html(COPY_BUTTON, url)
    is_set_up = bool(events and connection.secrets)
    steps = render_steps(connection, is_folded=is_set_up)
    return Details(
        headline=connection.name,
        labels=[get_mode(connection)],
        alerts=list_missing(connection),
        sections=[
            Section("Address for the shop", lines=format_html("{}{}", address, steps)),
            Section(
                "Code for the pages",
                notes=list_snippet_notes(connection),
                lines=render_copied_snippet(connection),
            ),
            Section("State", facts=list_connection_facts(connection)),
            Section("Last 30 days", facts=list_numbers(connection)),
            *build_refusals_sections(connection),
            build_events_section(events),
            build_history(request, [connection]),
        ],
    )


def list_connection_facts(connection: Connection) -> list[tuple[str, object]]:
    """What the connection is, and its settings; empty ones are left out."""
    program, settings = connection.program, connection.settings
    mode = ConnectionMode(connection.mode)
    rules = settings.get("programs", [])
    tax, shipping = (
        "with" if settings.get(name) else "without"
        for name in ("includes_tax", "includes_shipping")
    )
    secret_texts = ("none yet", "set", "set; the earlier one is valid, too")
    return [
        ("Mode", f"{mode.label}. {MODE_TEXTS[mode]}"),
        ("Kind", connection.get_kind_display()),
        ("Mapping", describe_mapping(settings)),
        ("Program", link_to(program, program.title) if program else ANY_PROGRAM),
        ("Rules for the program", "\n".join(map(format_rule, rules))),
        ("Prefix of IDs", settings.get("id_prefix")),
        ("Signing secret", secret_texts[len(connection.secrets)]),
        ("What earns", f"The sale {tax} tax and {shipping} shipping, after discounts"),
        (
            "Gift cards",
            settings.get("includes_gift_cards") and "earn when they are bought",
        ),
        ("Sales", reports_claims(settings) and CLAIMS),
        ("E-mail addresses", settings.get("stores_email") and "kept with customers"),
        (
            "client_reference_id",
            connection.kind == ConnectionKind.STRIPE
            and settings.get(REFERENCE_MAY_BE_CODE, True)
            and "may be a referral code",
        ),
        ("Test events", settings.get("takes_tests") and "count like others"),
        ("Shop's address", settings.get("shop_url")),
        ("Key for catching up", connection.source_key and "set"),
        ("Caught up until", format_datetime(connection.caught_up_until)),
        ("Connected", format_datetime(connection.created_at)),
    ]


def describe_mapping(settings: Mapping[str, Any]) -> str:
    """Which ready-made mapping it began with, and how far that is proven."""
    found = READY_MADE.get(settings.get("ready_made", ""))
    return f"begun with that for {found.title}, {found.proof}" if found else ""


def format_rule(rule) -> str:
    """`currency = EUR: harbor-lamps`, as the form of the settings has it."""
    return f"{rule['field']} = {rule['value']}: {rule['program']}"


def list_numbers(connection: Connection) -> list[tuple[str, object]]:
    """How many events there were, and what became of them, with links to them."""
    since = timezone.now() - NUMBERS_AGE
    rows = connection.account.shop_events.filter(connection=connection, created_at__gte=since)
    is_sale = Q(order__conversion__isnull=False, order__created_at__gte=since)
    counts = rows.aggregate(
        events=Count("pk"),
        sales=Count("order", filter=is_sale, distinct=True),
        **{state: Count("pk", filter=Q(state=state)) for state in COUNTED_STATES},
    )
    list_url = build_changelist_url("tracking_shopevent", connection=connection.public_id)
    link = '<a class="details-link" href="{}">{}</a>'
    of_state = '<a class="details-link" href="{}&amp;state__exact={}">{}</a>'
    return [
        ("Events", format_html(link, list_url, f"{counts['events']:,}")),
        ("Sales", f"{counts['sales']:,}"),
        *(
            (state.label, format_html(of_state, list_url, state, f"{counts[state]:,}"))
            for state in COUNTED_STATES
        ),
    ]


def build_refusals_sections(connection: Connection) -> list[Section]:
    """The requests that were refused, by day and reason; no section without any."""
    rows = list_refused_requests(connection)
    if not rows:
        return []
    columns = (
        Column("Day", lambda it: f"{it.day}"),
        Column("Why", lambda it: it.get_reason_display()),
        Column(
            "Requests",
            lambda it: f"{it.count} or more" if it.count == MAX_REFUSED_COUNT else f"{it.count}",
        ),
        Column("The last", lambda it: format_datetime(it.last_at)),
    )
    return [Section("Refused requests", columns=columns, rows=rows[:LISTED_EVENTS])]


def build_events_section(events: list[ShopEvent]) -> Section:
    """The last events in a table."""
    return Section(
        "Last events",
        notes=[] if events else ["No event has arrived yet."],
        columns=(
            Column("Time", lambda it: link_to(it, format_datetime(it.created_at))),
            Column("Event", lambda it: it.kind),
            Column("State", lambda it: format_labels([get_state(it)])),
            Column("What it did", get_first_sentence),
            Column("Conversion", link_conversion),
        ),
        rows=events,
    )


def get_event_details(request, event: ShopEvent) -> Details:
    """What an event did, when, and its body."""
    body = render_body(event.body) if event.body else ""
    return Details(
        headline=event.kind,
        labels=[get_state(event)],
        sections=[
            Section(
                "What it did",
                notes=list_effects(event),
                facts=list_event_facts(event),
            ),
            Section("Body", notes=[] if body else [ERASED], lines=body),
        ],
    )


def list_event_facts(event: ShopEvent) -> list[tuple[str, object]]:
    """Links to what the event is about, and its attempts."""
    order = event.order
    conversion = order.conversion if order else None
    refunds = conversion and event.account.refunds.filter(conversion=conversion).count()
    customer = conversion.customer if conversion else find_customer(event)
    return [
        ("Shop", link_to(event.connection, event.connection.name)),
        ("Order", order.label if order else ""),
        ("Conversion", link_conversion(event)),
        ("Refunds", refunds and link_to(conversion, f"{refunds:,}")),
        ("Customer", link_to(customer)),
        ("ID", event.key),
        ("Occurred", format_datetime(event.occurred_at, timespec="seconds")),
        ("Received", format_datetime(event.created_at, timespec="seconds")),
        ("Attempts", f"{event.attempts:,}"),
        ("Next attempt", format_datetime(event.due_at)),
    ]


def find_customer(event: ShopEvent) -> Customer | None:
    """The customer that an event without a sale is about."""
    customer_id = add_prefix(event.connection, event.customer_key)
    if not customer_id:
        return None
    rows = event.account.customers.not_deleted()
    customer: Customer | None = rows.filter(customer_id=customer_id).first()
    return customer
