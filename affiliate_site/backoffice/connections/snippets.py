"""The code for the pages of a shop: complete, for each kind of connection."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from affiliate_site.backoffice.programs.program_pages import render_snippet
from tracking.models.shops import Connection, ConnectionKind

CHECKOUT = """
  tap("checkout");"""
PADDLE = """
  // Instead of Paddle.Checkout.open(…)
  function openCheckout(options) {
    var visit = tap.vid ? { tap_vid: tap.vid } : {};
    options.customData = Object.assign(visit, options.customData);
    Paddle.Checkout.open(options);
  }"""
# What the code has beyond that for every page.
CALLS: dict[str, str] = {
    ConnectionKind.STRIPE: CHECKOUT,
    ConnectionKind.WOOCOMMERCE: "",
    ConnectionKind.SHOPIFY: CHECKOUT,
    ConnectionKind.PADDLE: PADDLE,
    ConnectionKind.OTHER: CHECKOUT,
}
# Where it goes, and what it does.
NOTES: dict[str, str] = {
    ConnectionKind.STRIPE: "Paste it on every page. It adds client_reference_id to"
    " payment links, buy buttons and pricing tables; one of your own stays, and such a"
    " sale names no visit.",
    ConnectionKind.WOOCOMMERCE: "The plugin prints it on every page: enter this"
    " service's address and the account's ID in its settings. Paste it yourself only if"
    " you leave that ID empty.",
    ConnectionKind.SHOPIFY: "Paste it into layout/theme.liquid, before </head>. It adds"
    " the visit to the attributes of the cart.",
    ConnectionKind.PADDLE: "Paste it on every page, and open checkouts with"
    " openCheckout(…): it adds the visit as custom data tap_vid.",
    ConnectionKind.OTHER: "Paste it on every page. It fills hidden fields with the name"
    " tap_vid or tracking_id: let your shop send that value with the order, and name it"
    " under “Mapping” as the referral.",
}
CONSENT = "If the cookie needs consent, see the guide “Consent”."
COPY_BUTTON = (
    '<pre class="event-body"><code id="connection-snippet">{}</code></pre>'
    '<p><button type="button" data-copy-target="connection-snippet"'
    ' aria-label="Copy the code"'
    ' class="text-primary-600 dark:text-primary-500 cursor-pointer">Copy</button></p>'
)


def render_connection_snippet(connection: Connection) -> str:
    """The code for the pages of a shop."""
    calls = CALLS.get(connection.kind, CHECKOUT)
    return render_snippet(connection.account, calls=calls)


def list_snippet_notes(connection: Connection) -> list[str]:
    """Where the code goes."""
    return [NOTES.get(connection.kind, NOTES[ConnectionKind.OTHER]), CONSENT]


def render_copied_snippet(connection: Connection) -> SafeString:
    return format_html(COPY_BUTTON, render_connection_snippet(connection))
