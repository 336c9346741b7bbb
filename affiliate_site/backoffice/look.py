"""How the back office looks: title, colours, sidebar; plain settings."""

from urllib.parse import parse_qsl

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.text import format_lazy


def listed(name: str):
    """The address of a list: `listed("payouts_commission")`."""
    return reverse_lazy(f"admin:{name}_changelist")


def entry(title: str, icon: str, name: str) -> dict:
    """A line of the sidebar, for whoever may see that list."""
    app, _, model = name.partition("_")
    permission = f"{app}.view_{model}"
    return {
        "title": title,
        "icon": icon,
        "link": listed(name),
        "permission": lambda request: request.user.has_perm(permission),
    }


def tabs(name: str, column: str, queries: dict[str, str]) -> dict:
    """Tabs above a list: titles, and what each of them asks of the column."""
    return {
        "models": [name.replace("_", ".", 1)],
        "items": [
            {
                "title": title,
                "link": format_lazy("{}?{}", listed(name), query),
                "active": is_asked(column, query),
            }
            for title, query in queries.items()
        ],
    }


def is_asked(column: str, query: str):
    """Does a request ask just that of the column, whatever it asks besides?"""

    def compare(request) -> bool:
        asked = {
            key: value
            for key, value in request.GET.items()
            if key.startswith(f"{column}__")
        }
        return asked == dict(parse_qsl(query))

    return compare


# In the menu of who is signed in, where there is more than the password to see to.
ACCOUNT_LINKS = [
    {"title": "Change password", "link": reverse_lazy("admin:password_change")},
    {"title": "Second factor", "link": reverse_lazy("admin:second_factor")},
]

LOOK = {
    "SITE_TITLE": "Affiliate Site",
    "SITE_HEADER": "Affiliate Site",
    "SITE_SUBHEADER": "Who earned it, how much, and is it paid?",
    "SITE_SYMBOL": "handshake",
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("backoffice/favicon.svg"),
        }
    ],
    "STYLES": [lambda request: static("backoffice/office.css")],
    "SCRIPTS": [lambda request: static("backoffice/reach.js")],
    "DASHBOARD_CALLBACK": "affiliate_site.backoffice.dashboard.context",
    # Never "search_models": it reads all rows of a list.
    "COMMAND": {"search_callback": "affiliate_site.backoffice.palette.found"},
    "COLORS": {
        "primary": {
            "50": "oklch(98.2% .018 155.826)",
            "100": "oklch(96.2% .044 156.743)",
            "200": "oklch(92.5% .084 155.995)",
            "300": "oklch(87.1% .15 154.449)",
            "400": "oklch(79.2% .209 151.711)",
            "500": "oklch(62.7% .17 149.579)",
            "600": "oklch(52.7% .154 150.069)",
            "700": "oklch(44.8% .119 151.328)",
            "800": "oklch(39.3% .095 152.535)",
            "900": "oklch(33% .076 152.934)",
            "950": "oklch(26.6% .065 152.934)",
        }
    },
    "TABS": [
        tabs(
            "payouts_commission",
            "status",
            {
                "All": "",
                "Pending": "status__exact=pending",
                "Approved": "status__exact=approved",
                "Disapproved": "status__exact=disapproved",
            },
        ),
        tabs(
            "tracking_enrolment",
            "approved",
            {
                "All": "",
                "Waiting": "approved__isnull=True",
                "Approved": "approved__exact=1",
                "Disapproved": "approved__exact=0",
            },
        ),
    ],
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "navigation": [
            {
                "items": [
                    {
                        "title": "Dashboard",
                        "icon": "dashboard",
                        "link": reverse_lazy("admin:index"),
                    },
                ],
            },
            {
                "title": "Partners",
                "items": [
                    entry("Programs", "campaign", "tracking_program"),
                    entry("Affiliates", "group", "tracking_affiliate"),
                    entry("Memberships", "how_to_reg", "tracking_enrolment"),
                    entry("Groups", "workspaces", "tracking_affiliategroup"),
                    entry("Prospects", "person_add", "tracking_prospect"),
                    entry("Notes", "sticky_note_2", "tracking_note"),
                ],
            },
            {
                "title": "Traffic and sales",
                "items": [
                    entry("Clicks", "ads_click", "tracking_click"),
                    entry("Customers", "person", "tracking_customer"),
                    entry("Conversions", "shopping_cart", "tracking_conversion"),
                    entry("Commissions", "percent", "payouts_commission"),
                ],
            },
            {
                "title": "Money",
                "items": [
                    entry("Balances", "account_balance", "payouts_ledgeraccount"),
                    entry("Payments", "payments", "payouts_payment"),
                    entry("Ledger", "receipt_long", "payouts_transfer"),
                ],
            },
            {
                "title": "Integration",
                "items": [
                    entry("API keys", "key", "accounts_apikey"),
                    entry("Webhooks", "webhook", "accounts_webhookendpoint"),
                    entry("Deliveries", "outbox", "accounts_delivery"),
                    entry("Diary", "history", "accounts_event"),
                    entry("Staff", "badge", "accounts_user"),
                ],
            },
        ],
    },
}
