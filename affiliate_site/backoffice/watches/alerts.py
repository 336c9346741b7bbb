"""The pages of alerts: what watches found, with the figures, until it is over."""

from django import forms
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    build_labels,
    format_affiliate,
    format_datetime,
    format_person,
)
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import SelectFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    ObjectPageMixin,
    Section,
    link_to,
)
from affiliate_site.columns import Column
from payouts.models.alerts import Alert, AlertState
from payouts.models.refunds import MAX_REASON_LENGTH
from payouts.services.alerts import dismiss_alert, get_watch_title
from payouts.services.watches import WATCHES

ALERT_STATES = build_labels(
    {AlertState.OPEN: "warning", AlertState.DISMISSED: "", AlertState.OVER: "success"}
)
OPEN_ALERTS = "state__exact=open"


def link_shown(alert) -> str:
    """A link to the page that shows what was found."""
    watch = WATCHES.get(alert.watch)
    if watch is None:
        return ""
    if alert.object_id:
        url = reverse(f"admin:{watch.page}_change", args=[alert.object_id])
    else:
        url = build_changelist_url(watch.page) if watch.page else reverse("admin:index")
    return format_html(LINK_TEMPLATE, url, "Look at it")


def list_open_alerts(account) -> list[tuple[int, str, str, str]]:
    """The number, title, newest figures and list of what watches found, of those that
    the dashboard does not count itself."""
    counted = [name for name, watch in WATCHES.items() if watch.is_counted]
    rows = account.alerts.filter(state=AlertState.OPEN, closed_at=None).exclude(watch__in=counted)
    texts: dict[str, list[str]] = {}
    for watch, text in rows.order_by("-id").values_list("watch", "text"):
        texts.setdefault(watch, []).append(text)
    return [
        (
            len(found),
            get_watch_title(watch),
            found[0],
            build_changelist_url("payouts_alert", watch=watch, state__exact="open"),
        )
        for watch, found in texts.items()
    ]


class WatchFilter(SelectFilter):
    title = parameter_name = noun = "watch"

    def list_options(self):
        return [(name, watch.title) for name, watch in WATCHES.items()]

    def filter_rows(self, queryset):
        return queryset.filter(watch=self.value())


class DismissAlertPage(FormPage):
    model = Alert
    name = "dismiss"
    title = button = "Dismiss"
    service = staticmethod(dismiss_alert)
    explanation = (
        "It is not shown on the dashboard any more while it lasts. If it ends and comes back,"
        " there is a new alert."
    )
    done_message = "The alert was dismissed."

    class Form(ServiceForm):
        note = forms.CharField(
            max_length=MAX_REASON_LENGTH,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Why, for staff.",
        )

    @classmethod
    def is_offered(cls, alert):
        return alert.state == AlertState.OPEN


@admin.register(Alert)
class AlertAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Tracking", 90, "notifications", query=OPEN_ALERTS, synonyms="watch"),)
    tabs = {"Open": OPEN_ALERTS, "All": ""}
    empty_state = "No alerts. Choose under Watches what is looked for, every hour."
    columns = (
        Column("Watch", lambda row: get_watch_title(row.watch), name="title", export="watch"),
        Column("Found", lambda row: row.text, name="text", export="text"),
        Column(
            "Affiliate",
            lambda row: format_affiliate(row.affiliate) if row.affiliate else EMPTY_VALUE,
            name="person",
            select=("affiliate",),
            export="affiliate__slug",
        ),
        Column("Page", link_shown, is_exported=False),
        build_status_column(lambda row: ALERT_STATES[row.state], export="state"),
        "created_at",
        "closed_at",
        Column(name="note", is_listed=False),
    )
    list_filter = ("state", WatchFilter, DateFilter)
    ordering = ("-created_at", "-id")
    row_pages = (DismissAlertPage,)

    def get_object_title(self, row):
        return get_watch_title(row.watch)

    def get_details(self, request, alert):
        names = find_names(request.user, (), [alert.dismissed_by])
        watch = WATCHES.get(alert.watch)
        person = alert.affiliate and link_to(alert.affiliate, format_person(alert.affiliate))
        facts = [
            ("Found", alert.text),
            ("Affiliate", person),
            ("Page", link_shown(alert)),
            ("Looks for", watch.explanation if watch else ""),
            ("Opened", format_datetime(alert.created_at)),
            ("Over since", alert.closed_at and format_datetime(alert.closed_at)),
            ("Dismissed", alert.dismissed_at and format_datetime(alert.dismissed_at)),
            ("Dismissed by", describe_actor(alert.dismissed_by, names)),
            ("Note", alert.note),
        ]
        return Details(
            headline=get_watch_title(alert.watch),
            labels=[ALERT_STATES[alert.state]],
            sections=[Section("Alert", facts=facts)],
        )
