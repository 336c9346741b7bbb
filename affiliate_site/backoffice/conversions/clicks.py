"""Clicks, and calls of pages that were not stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import lookup_field
from django.utils import timezone

from accounts.models.accounts import Account
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_key_values,
)
from affiliate_site.backoffice.lists.columns import AFFILIATE, PROGRAM_TITLE
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.columns import Column
from affiliate_site.user_agents import parse_user_agent
from tracking.models.clicks import Click, FailedPageCall
from tracking.services.failed_page_calls import count_bots

TRACKING_SCRIPT_TAG = f'<script src="{settings.PUBLIC_URL}/tap.js" async></script>'
BOT_PERIOD = timedelta(days=30)


def describe_left_out_clicks(account: Account | None) -> Iterator[str]:
    """Say which clicks the list of an account does not have."""
    if account is None:
        return
    bots = count_bots(account, since=account.get_day(timezone.now()) - BOT_PERIOD)
    if bots:
        yield (
            f"Left out in the last {BOT_PERIOD.days} days:"
            f" {bots:,} {'visit' if bots == 1 else 'visits'} by bots."
        )
    if account.clicks_pruned_until:
        until = format_datetime(account.clicks_pruned_until)
        yield (
            f"Clicks of pages before {until} were removed, unless a customer,"
            " conversion or claim names them. Statistics still count them."
        )


def get_browser(user_agent: str | None) -> str:
    """The name of the browser."""
    return parse_user_agent(user_agent or "")["browser"] or EMPTY_VALUE


@admin.register(Click)
class ClickAdmin(ReadOnlyBackOfficeAdmin):
    """Clicks on affiliate links, with referrer, landing page and browser."""

    menu = (MenuEntry("Tracking", 10, "ads_click"),)
    empty_state = (
        "No clicks yet. Add the tracking script to your shop's pages, then call"
        f' tap("create", "ACCOUNT") and tap("detect"): {TRACKING_SCRIPT_TAG} The'
        " dashboard has the code to copy."
    )
    columns = (
        "created_at",
        AFFILIATE,
        PROGRAM_TITLE,
        "referrer",
        "landing_page",
        Column(name="browser", export=(get_browser, "user_agent")),
    )
    list_filter = (ProgramFilter, AffiliateFilter, AffiliateGroupFilter, DateFilter)
    search_fields = ("public_id__exact",)
    search_help_text = "Search by click ID"
    extra_lookups = ("affiliate_id",)
    ordering = ("-created_at", "-id")
    exclude = ("dedup_key", "meta_data", "enrollment", "user_agent")
    readonly_fields = ("browser", "full_user_agent", "formatted_meta_data")

    def changelist_view(self, request, extra_context=None):
        """Say which clicks are missing: those of bots, and those that were removed."""
        note = " ".join(describe_left_out_clicks(request.user.account))
        if note:
            extra_context = {"list_note": note} | (extra_context or {})
        return super().changelist_view(request, extra_context)

    def get_fields(self, request, obj=None):
        """Those that this click has."""
        names: Any = super().get_fields(request, obj)  # no groups of fields
        return [name for name in names if obj is None or self.has_value(obj, name)]

    def has_value(self, click, name: str) -> bool:
        """Whether a field or a column of the page is not empty."""
        value = lookup_field(name, click, self)[2]
        return value not in (None, "", EMPTY_VALUE)

    @display(description="User agent")
    def full_user_agent(self, click):
        return click.user_agent

    def browser(self, click):
        return get_browser(click.user_agent)

    @display(description="Metadata")
    def formatted_meta_data(self, click):
        return format_key_values(click.meta_data)


NOTHING_TO_FIX = "Nothing to fix in the snippet."


@dataclass(frozen=True)
class ClickProblem:
    """A reason in words, and how to fix the snippet."""

    text: str
    hint: str = NOTHING_TO_FIX


UNKNOWN_CUSTOMER_STATUS = ClickProblem(
    "The customer status is unknown",
    'Call tap("customer", …), tap("trial", …) or tap("lead", …).',
)
AMOUNT_HINT = (
    "Print the amount with a point and without currency or thousands separators:"
    ' tap("conversion", "ORDER", 1249.90). Amounts with more than one meaning, like'
    " 1.249, are refused. Add the sale by hand, if it is missing."
)
PROBLEMS = {
    "account_locked": ClickProblem(
        "The account is locked", "Ask an operator to unlock the account."
    ),
    "affiliate_deleted": ClickProblem(
        "The affiliate was removed", "Remove its links and coupons from your pages."
    ),
    "affiliate_not_approved": ClickProblem(
        "The affiliate is not approved in the program",
        "Approve the affiliate under Program affiliates.",
    ),
    "amount_too_large": ClickProblem("The amount has too many digits", AMOUNT_HINT),
    "claimed_amount_too_large": ClickProblem(
        "The amount is above the limit for pages",
        "Ask an owner to raise the limit under Account settings, sign the call, or"
        " report the sale through the API.",
    ),
    "claimed_currency_not_allowed": ClickProblem(
        "The currency is not the program's",
        "Report the amount in the program's currency, sign the call, or report the"
        " sale through the API.",
    ),
    "bot": ClickProblem("A crawler or a preview followed an affiliate link, which is no click"),
    "cookie_expired": ClickProblem("The click is older than the program's cookie time"),
    "expired_handover": ClickProblem(
        "The visitor came from another host of the shop by a link older than 2 minutes"
    ),
    "invalid_amount": ClickProblem("The amount cannot be read", AMOUNT_HINT),
    "invalid_asset_or_source": ClickProblem(
        "The asset link is unknown",
        "Copy the link again from the page of the affiliate.",
    ),
    "invalid_commissions": ClickProblem(
        "The list of commissions is invalid",
        "Each item needs a sub_amount that is a number:"
        ' [{sub_amount: 49.90, commission_type: "standard"}], at most 100 items.',
    ),
    "invalid_currency": ClickProblem(
        "The currency is unknown",
        'Print the three letters of ISO 4217: {currency: "EUR"}, or leave it out.',
    ),
    "invalid_customer_id": ClickProblem(
        "The customer ID is invalid",
        "Print your shop's ID of the customer as text of at most 255 characters.",
    ),
    "invalid_external_id": ClickProblem(
        "The order ID is invalid",
        "Print your shop's ID of the order as text of at most 255 characters.",
    ),
    "invalid_initial_customer_status": UNKNOWN_CUSTOMER_STATUS,
    "invalid_signature": ClickProblem(
        "The signature is wrong",
        "Sign exactly the values that the page sends, the amount with the same digits,"
        " with a signing secret that is not revoked.",
    ),
    "invalid_status": UNKNOWN_CUSTOMER_STATUS,
    "invalid_tracking_id": ClickProblem(
        "The visitor's tracking ID is unknown, or of another program group",
        'Call tap("create", "ACCOUNT") with this account and the same program group on'
        " all pages, and print no tracking ID into a page.",
    ),
    "missing_amount": ClickProblem(
        "The call has no amount, and the commission is a percentage", AMOUNT_HINT
    ),
    "missing_customer_id": ClickProblem(
        "The call has no customer ID",
        'Print your shop\'s ID of the customer: tap("customer", "ID").',
    ),
    "missing_signature": ClickProblem(
        "The signature is missing",
        "This account accepts signed pages only: print the signature of your server,"
        ' {signature: "…"}.',
    ),
    "missing_tracking_parameter": ClickProblem(
        "The call names no visitor, link, coupon or customer",
        'Load the script on all pages and call tap("detect") there.',
    ),
    "negative_amount": ClickProblem(
        "The amount is below 0",
        "Report sales only; record refunds through the API or the back office.",
    ),
    "program_archived": ClickProblem(
        "The program is archived",
        "Remove the snippet and the affiliate links of this program.",
    ),
    "proxy_without_address": ClickProblem(
        "Your proxy does not say who the visitor is",
        "The call counts, but as one of the proxy. Let the proxy send the visitor's IP"
        " address in the header X-Visitor-Address.",
    ),
    "refused_handover": ClickProblem(
        "The visitor came from another host that no program names beside this one",
        "Enter both hosts in the settings of one program, under Further hosts of the shop.",
    ),
    "too_many_conversion_attempts": ClickProblem(
        "The page was loaded again within 10 seconds of a failed call",
        "See the other failures of this page.",
    ),
    "too_many_open_claims": ClickProblem(
        "The affiliate has too many sales or customers that wait for review",
        "Approve or disapprove its commissions. If you do not know the orders, someone"
        " reports false ones.",
    ),
    "too_much_from_pages": ClickProblem(
        "Pages have stored as much as they may today for the link, the affiliate or the account",
        "If you do not know the visitors or orders, someone makes them up: disapprove"
        " the affiliate. Orders that your server sends with a key have no such limit.",
    ),
    "unsigned_currency": ClickProblem(
        "A signed sale names no currency, and the programs have several",
        "The sale is stored and waits for approval. Print and sign the currency, too:"
        ' {currency: "EUR"}.',
    ),
    "unclear_currency": ClickProblem(
        "The mark beside the amount stands for no currency of your programs, or for several",
        'Print the currency, too: {currency: "EUR"}, and the amount without a mark.',
    ),
    "unknown_coupon": ClickProblem("None of the coupons belongs to an affiliate"),
    "unknown_customer": ClickProblem("The customer does not belong to an affiliate"),
    "wrong_proxy_key": ClickProblem(
        "Your proxy sends no valid key",
        "The call counts, but as one of the proxy. Create an API key of this account"
        " with the role page proxy, and send it in the header X-Affiliate-Proxy.",
    ),
    "unknown_referral_code": ClickProblem(
        "The referral code of the link is unknown",
        "Copy the link again from the page of the affiliate. Links of other services"
        " may use the parameter ref too: choose another one with referral_code_param.",
    ),
}


@admin.register(FailedPageCall)
class FailedPageCallAdmin(ReadOnlyBackOfficeAdmin):
    """Calls of the tracking script that were not stored, by day, reason and page."""

    menu = (MenuEntry("Tracking", 70, "report"),)
    empty_state = (
        "No failed page calls. Calls of the tracking script that cannot be stored are"
        " listed here for 90 days."
    )
    columns = ("day", "problem", "hint", "shown_page", "count", "last_at", "last_sale")
    extra_lookups = ("day__gte",)
    ordering = ("-day", "-last_at", "-id")
    ordering_of_long_list = ("-day", "-reason", "-page", "-id")  # its index
    fields = (
        *("day", "problem", "hint", "shown_page", "count", "first_at", "last_at"),
        "last_sale",
    )
    readonly_fields = ("problem", "shown_page", "hint", "last_sale")

    @display(description="Reason")
    def problem(self, failure):
        return get_problem(failure.reason).text

    @display(description="Page")
    def shown_page(self, failure):
        return failure.page or EMPTY_VALUE

    @display(description="How to fix")
    def hint(self, failure):
        return get_problem(failure.reason).hint

    @display(description="Last sale")
    def last_sale(self, failure):
        return format_last_sale(failure) or EMPTY_VALUE


def format_last_sale(failure: FailedPageCall) -> str:
    """The last sale whose amount was refused: `order-1: 1.249`."""
    return ": ".join(filter(None, (failure.last_order_id, failure.last_amount)))


def get_problem(reason: str) -> ClickProblem:
    """The texts of a reason; its code as text if it has none."""
    return PROBLEMS.get(reason) or ClickProblem(reason.replace("_", " ").capitalize(), "")
