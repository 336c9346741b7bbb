"""Settings of the theme: title, colors, style sheets and scripts."""

from functools import cache
from typing import Any

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
    "TABS": "affiliate_site.backoffice.navigation.list_tabs",
    "SIDEBAR": {"show_search": True, "command_search": True},
}
