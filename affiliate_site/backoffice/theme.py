"""Settings of the theme: title, colors, sidebar and tabs."""

from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from django.http import QueryDict
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy

NOT_REMOVED = "deleted_at__isnull=True"
TO_CHECK = f"to_check=yes&status__exact=pending&{NOT_REMOVED}"


@cache
def reverse_changelist(model_name: str) -> str:
    """The URL of a list: `reverse_changelist("payouts_commission")`."""
    return reverse(f"admin:{model_name}_changelist")


def get_object_url(row) -> str:
    """The page about an object."""
    opts = row._meta
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[row.pk])


def build_sidebar_item(title: str, icon: str, *model_names: str) -> dict:
    """An entry of the sidebar, shown to users who can view the list of the first model.

    It is marked on the pages of all of them.
    """
    model_name = model_names[0]
    app, _, model = model_name.partition("_")
    permission = f"{app}.view_{model}"
    return {
        "title": title,
        "icon": icon,
        "link": reverse_changelist(model_name),
        "paths": tuple(map(reverse_changelist, model_names)),
        "permission": lambda request: request.user.has_perm(permission),
    }


def is_review_list(request) -> bool:
    """Whether the page is the list of the commissions to check."""
    is_list = request.path == reverse_changelist("payouts_commission")
    return is_list and request.GET.get("to_check") == "yes"


def build_review_item(request) -> dict:
    """The entry that leads to the pending commissions to check, with their number."""
    item = build_sidebar_item("To check", "rule", "payouts_commission")
    return item | {
        "link": f"{item['link']}?{TO_CHECK}",
        "is_active": is_review_list(request),
        "badge": getattr(request.user, "to_check", 0),
        "badge_variant": "warning",
    }


def build_questions_item(request) -> dict:
    """The entry that leads to the questions of affiliates, with the number of open
    ones."""
    item = build_sidebar_item("Questions", "help", "tracking_question")
    return item | {
        "link": f"{item['link']}?state__exact=open",
        "badge": getattr(request.user, "open_questions", 0),
        "badge_variant": "warning",
    }


def build_settings_item(title: str, icon: str, name: str, permission: str, *others: str) -> dict:
    """The entry of a page of the account, which operators have not.

    It is marked on the `others`, too.
    """
    urls = tuple(reverse(f"admin:{each}") for each in (name, *others))
    return {
        "title": title,
        "icon": icon,
        "link": urls[0],
        "paths": urls,
        "permission": lambda request: (
            request.user.account_id is not None and request.user.has_perm(permission)
        ),
    }


def build_tabs(request, model_name: str, queries: dict[str, str]) -> dict:
    """Tabs above a list: their titles and the filters they link to, with the others
    that are set."""
    url = reverse_changelist(model_name)
    parameters = {name for query in queries.values() for name, _ in parse_qsl(query)}
    kept = request.GET.copy() if request.path == url else QueryDict(mutable=True)
    for name in (*parameters, "p", "e"):
        kept.pop(name, None)
    others = kept.urlencode()
    parameters.discard("deleted_at__isnull")
    return {
        "models": [model_name.replace("_", ".", 1)],
        "items": [
            {
                "title": title,
                "link": f"{url}?{'&'.join(filter(None, [query, others]))}",
                "active": build_active_check(parameters, query),
            }
            for title, query in queries.items()
        ],
    }


def build_active_check(parameters: set[str], query: str):
    """A check whether a request has, of these parameters, those of this query."""
    filters = dict.fromkeys(parameters) | dict(parse_qsl(query))

    def is_active(request) -> bool:
        return all(request.GET.get(name) == it for name, it in filters.items())

    return is_active


# The theme compares all these URLs on each page, so each is a text, not lazy.
def list_tabs(request) -> list[dict]:
    """The tabs above the lists of commissions, program affiliates and staff."""
    return [
        build_tabs(
            request,
            "payouts_commission",
            {
                "All": "",
                "Pending": f"status__exact=pending&{NOT_REMOVED}",
                "To check": TO_CHECK,
                "Approved": f"status__exact=approved&{NOT_REMOVED}",
                "Disapproved": f"status__exact=disapproved&{NOT_REMOVED}",
            },
        ),
        build_tabs(
            request,
            "tracking_conversion",
            {"All": "", "To check": f"to_check=yes&{NOT_REMOVED}"},
        ),
        build_tabs(
            request,
            "tracking_enrollment",
            {
                "All": "",
                "Pending": "approved=pending",
                "Approved": "approved=approved",
                "Disapproved": "approved=disapproved",
            },
        ),
        {
            "models": ["payouts.document", "payouts.taxrule"],
            "items": [
                {"title": "Documents", "link": reverse_changelist("payouts_document")},
                {"title": "Tax rules", "link": reverse_changelist("payouts_taxrule")},
            ],
        },
        {
            "models": ["tracking.tableimport", "tracking.tableupload"],
            "items": [
                {
                    "title": "Imports",
                    "link": reverse_changelist("tracking_tableimport"),
                },
                {
                    "title": "Files waiting",
                    "link": reverse_changelist("tracking_tableupload"),
                },
            ],
        },
        {
            "models": ["accounts.user", "accounts.invitation"],
            "items": [
                {"title": "Staff", "link": reverse_changelist("accounts_user")},
                {
                    "title": "Invitations",
                    "link": reverse_changelist("accounts_invitation"),
                },
            ],
        },
    ]


def list_navigation(request) -> list[dict]:
    """The groups of the sidebar."""
    reports = build_settings_item(
        "Reports",
        "summarize",
        "trial_balance",
        "payouts.view_transfer",
        *("closing", "double_entry"),
    )
    return [
        {
            "items": [
                {
                    "title": "Dashboard",
                    "icon": "dashboard",
                    "link": reverse("admin:index"),
                },
            ],
        },
        {
            "title": "Affiliates",
            "items": [
                build_sidebar_item(
                    "Programs",
                    "campaign",
                    "tracking_program",
                    "payouts_commissiontype",
                    "payouts_grouprate",
                    "payouts_level",
                    "payouts_bonus",
                ),
                build_sidebar_item("Creatives", "image", "tracking_creative"),
                build_sidebar_item("Affiliates", "group", "tracking_affiliate"),
                build_sidebar_item("Program affiliates", "how_to_reg", "tracking_enrollment"),
                build_sidebar_item("Affiliate groups", "workspaces", "tracking_affiliategroup"),
                build_sidebar_item("Prospects", "person_add", "tracking_prospect"),
                build_sidebar_item(
                    "Imports",
                    "upload_file",
                    "tracking_tableimport",
                    "tracking_tableupload",
                ),
                build_sidebar_item("Notes", "sticky_note_2", "tracking_note"),
                build_questions_item(request),
                build_sidebar_item("Custom fields", "dynamic_form", "tracking_customfield"),
                build_settings_item(
                    "Portal settings",
                    "door_open",
                    "portal_settings",
                    "tracking.change_portalsettings",
                ),
            ],
        },
        {
            "title": "Tracking",
            "items": [
                build_sidebar_item("Clicks", "ads_click", "tracking_click"),
                build_sidebar_item("Customers", "person", "tracking_customer"),
                build_sidebar_item("Conversions", "shopping_cart", "tracking_conversion"),
                build_sidebar_item("Contested claims", "gavel", "tracking_conversionclaim"),
                build_sidebar_item("Commissions", "percent", "payouts_commission")
                | {"is_active": not is_review_list(request)},
                build_review_item(request),
                build_sidebar_item("Failed page calls", "report", "tracking_failedpagecall"),
            ],
        },
        {
            "title": "Payouts",
            "items": [
                build_sidebar_item("Balances", "account_balance", "payouts_ledgeraccount"),
                build_sidebar_item(
                    "Payout runs",
                    "event_repeat",
                    "payouts_payoutrun",
                    "payouts_payoutline",
                ),
                build_sidebar_item("Payments", "payments", "payouts_payment"),
                build_sidebar_item("Minimums", "vertical_align_bottom", "payouts_payoutminimum"),
                build_sidebar_item(
                    "Documents", "description", "payouts_document", "payouts_taxrule"
                ),
                build_sidebar_item("Ledger", "receipt_long", "payouts_transfer")
                | {"is_active": not request.path.startswith(reports["paths"])},
                reports,
                build_settings_item(
                    "Payer settings",
                    "account_balance_wallet",
                    "payer_settings",
                    "payouts.change_payoutsettings",
                ),
                build_settings_item(
                    "Self-billing settings",
                    "request_quote",
                    "self_billing",
                    "payouts.change_payoutsettings",
                ),
                build_settings_item(
                    "Mail to paid affiliates",
                    "mail",
                    "payment_mails",
                    "payouts.change_payoutsettings",
                ),
            ],
        },
        {
            "title": "Integration",
            "items": [
                build_sidebar_item("API keys", "key", "accounts_apikey"),
                build_sidebar_item("Signing secrets", "signature", "accounts_signingsecret"),
                build_sidebar_item("Shops", "storefront", "tracking_connection"),
                build_sidebar_item("Shop events", "move_to_inbox", "tracking_shopevent"),
                build_sidebar_item("Webhooks", "webhook", "accounts_webhookendpoint"),
                build_sidebar_item("Webhook deliveries", "outbox", "accounts_delivery"),
                build_sidebar_item("Audit log", "history", "accounts_auditlogentry"),
            ],
        },
        {
            "title": "Account",
            "items": [
                build_settings_item(
                    "Account settings",
                    "settings",
                    "account_settings",
                    "accounts.change_account",
                ),
                build_sidebar_item("Staff", "badge", "accounts_user", "accounts_invitation"),
            ],
        },
    ]


# The user menu where two-factor authentication is available.
ACCOUNT_LINKS = [
    {"title": "Change password", "link": reverse_lazy("admin:password_change")},
    {"title": "Two-factor authentication", "link": reverse_lazy("admin:second_factor")},
]

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Affiliate Site",
    "SITE_HEADER": "Affiliate Site",
    "SITE_SUBHEADER": "Affiliate program management",
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
    "STYLES": [
        lambda request: static("backoffice/backoffice.css"),
        lambda request: static("backoffice/details.css"),
    ],
    "SCRIPTS": [
        lambda request: static("backoffice/a11y.js"),
        lambda request: static("backoffice/palette.js"),
        lambda request: static("backoffice/selection.js"),
        lambda request: static("backoffice/suggestions.js"),
    ],
    "DASHBOARD_CALLBACK": ("affiliate_site.backoffice.dashboard.context.add_dashboard_context"),
    # Not "search_models", which reads all rows of a list.
    "COMMAND": {"search_callback": "affiliate_site.backoffice.command_palette.search"},
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
    "TABS": list_tabs,
    "SIDEBAR": {"show_search": True, "command_search": True},
}
