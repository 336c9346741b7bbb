"""What to do in a shop so that it reports to its connection: numbered steps."""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.ready_made import READY_MADE
from tracking.models.shops import Connection, ConnectionKind

EVENTS = "EVENTS"  # stands for the kinds of events to choose
ENTER_SECRET = "Enter it here, under “Set signing secret”."  # noqa: S105 - a sentence
CLICKS = (
    "Paste the code below, under “Code for the pages”, on every page of your shop, so"
    " that a sale names the visit that led to it."
)
LISTEN = "While this connection is set to “Listen only”, "
THEN_LIVE = (
    ": it appears below, with what it would do. When that is right, choose “Switch to live”."
)
TRY_IT = LISTEN + "make a purchase or send a test event from there" + THEN_LIVE
TRY_IGNORED = TRY_IT + " From then on test events do nothing."
TRY_COUNTED = TRY_IT + " Send no test event afterwards: it would count like others."
TRY_AN_ORDER = LISTEN + "open an order and choose “Update”" + THEN_LIVE
STEPS: dict[str, Sequence[str]] = {
    ConnectionKind.STRIPE: (
        "In Stripe, open Developers, Webhooks, and choose “Add destination”.",
        EVENTS,
        "Choose “Webhook endpoint”, and enter the address above as the endpoint URL.",
        "Stripe shows a signing secret, which begins with whsec_.",
        ENTER_SECRET,
        CLICKS + " Payment links and buy buttons get it as client_reference_id; your"
        " own server sends the cookie tap_vid so, or as metadata tap_vid.",
        TRY_IGNORED,
    ),
    ConnectionKind.WOOCOMMERCE: (
        "In WordPress, open WooCommerce, Settings, Advanced, Webhooks, and choose “Add"
        " webhook”: one for each of the events.",
        EVENTS,
        "Set the status to Active, and enter the address above as the delivery URL.",
        "Enter a secret of your own, the same in each webhook, and save.",
        ENTER_SECRET,
        "Install the plugin for WooCommerce: it prints the code below on every page,"
        " and adds the visit to orders.",
        TRY_AN_ORDER,
    ),
    ConnectionKind.SHOPIFY: (
        "In Shopify, open Settings, Notifications, Webhooks, and choose “Create"
        " webhook”: one for each of the events.",
        EVENTS,
        "Choose JSON as the format and enter the address above as the URL.",
        "Below the list, Shopify shows the key that webhooks are signed with.",
        ENTER_SECRET,
        CLICKS + " It adds the visit to the attributes of the cart.",
        TRY_IGNORED,
    ),
    ConnectionKind.PADDLE: (
        "In Paddle, open Developer tools, Notifications, and choose “New destination”.",
        "Choose the type URL, and enter the address above.",
        EVENTS,
        "Save it, then choose “Edit destination” to see its secret key.",
        ENTER_SECRET,
        CLICKS + " Open checkouts with its openCheckout(…): it adds the visit as custom"
        " data tap_vid.",
        TRY_COUNTED,
    ),
    ConnectionKind.OTHER: (
        "In your shop, add a webhook with the address above that sends JSON or a form."
        " Events need the order and its amount: of an ID alone nothing can be read.",
        "Let it sign what it sends, or send a secret in a header.",
        ENTER_SECRET,
        "Under “Mapping”, enter how it signs.",
        CLICKS + " It fills hidden fields tap_vid, which the shop sends with the order.",
        "Let the shop send a sale and a refund. They are stored, and do nothing yet.",
        "Under “Mapping”, enter where they have the order, the amount and the others.",
        TRY_COUNTED,
    ),
}
EVENTS_TEXT = "Choose these events, no others are needed:"


def list_event_kinds(kind: str) -> list[str]:
    """The kinds of events that do something."""
    return list(SHOPS[kind].readers) if kind in SHOPS else []


def list_steps(connection: Connection) -> list[str]:
    """The steps for the kind of a shop."""
    names = ((name,) for name in list_event_kinds(connection.kind))
    kinds = format_html_join(" ", "<code>{}</code>", names)
    events = format_html("{} {}", EVENTS_TEXT, kinds) if kinds else ""
    steps = STEPS.get(connection.kind, STEPS[ConnectionKind.OTHER])
    if ready_made := READY_MADE.get(connection.settings.get("ready_made", "")):
        steps = [*ready_made.steps, TRY_COUNTED]
    return [step for step in (events if it is EVENTS else it for it in steps) if step]


def render_steps(connection: Connection, *, is_folded: bool) -> SafeString:
    """The steps as HTML, folded once the shop reports."""
    steps = format_html_join("", "<li>{}</li>", ((step,) for step in list_steps(connection)))
    if not is_folded:
        return format_html('<ol class="connection-steps">{}</ol>', steps)
    return format_html(
        "<details><summary>How the shop is set up</summary>"
        '<ol class="connection-steps">{}</ol></details>',
        steps,
    )
