"""The pages of shops, and of the events that they sent."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone

from accounts.tenant_admin import filter_for_user, get_user
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.bulk_pages import build_actions
from affiliate_site.backoffice.connections.connection_pages import (
    CONNECTION_PAGES,
    AddConnectionPage,
)
from affiliate_site.backoffice.connections.details import (
    get_connection_details,
    get_event_details,
    get_first_sentence,
    get_mode,
    get_state,
    link_conversion,
)
from affiliate_site.backoffice.connections.event_pages import ProcessAgainPage
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_datetime
from affiliate_site.backoffice.lists.columns import PROGRAM_TITLE, build_status_column
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import MAX_CHOICES, FormFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.columns import Column
from tracking.models.shops import Connection, ShopEvent

A_DAY = timedelta(days=1)


class EventCounts(NamedTuple):
    """The events of a shop."""

    today: int  # in 24 hours
    failed: int
    last_at: datetime | None


def count_events(request, rows) -> dict[int, EventCounts]:
    events = ShopEvent.objects.filter(
        account__in={row.account_id for row in rows}, connection__in=rows
    ).order_by()
    since = timezone.now() - A_DAY
    today, failed = (
        dict(found.values_list("connection").annotate(Count("pk")))
        for found in (events.filter(created_at__gte=since), events.failed())
    )
    newest = ShopEvent.objects.filter(
        account=OuterRef("account"), connection=OuterRef("pk")
    ).order_by("-created_at", "-id")
    last = dict(
        Connection.objects.filter(pk__in=[row.pk for row in rows])
        .annotate(last=Subquery(newest.values("created_at")[:1]))
        .values_list("pk", "last")
    )
    return {
        pk: EventCounts(today.get(pk, 0), failed.get(pk, 0), last.get(pk))
        for pk in (row.pk for row in rows)
    }


@admin.register(Connection)
class ConnectionAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Shops that report sales by themselves."""

    menu = (MenuEntry("Integration", 30, "storefront"),)
    list_title = "Shops"
    empty_state = (
        "No shops yet. A connected shop reports its sales, renewals, refunds and"
        " disputes by itself, without code. An owner chooses “Connect a shop”; it takes"
        " five minutes."
    )
    columns = (
        "name",
        "kind",
        build_status_column(get_mode, "mode_label", export="mode"),
        PROGRAM_TITLE,
        Column(
            "Events in 24 hours", lambda row, it: it.today, name="events_today", load=count_events
        ),
        Column("Failed events", lambda row, it: it.failed, name="failed", load=count_events),
        Column(
            "Last event",
            lambda row, it: format_datetime(it.last_at) or EMPTY_VALUE,
            load=count_events,
        ),
    )
    ordering = ("-id",)
    add_page = AddConnectionPage
    add_title = AddConnectionPage.title
    exclude = ("secrets", "source_key")
    row_pages = CONNECTION_PAGES
    title_field = "name"
    name_row = ObjectPageMixin.get_object_title
    details = staticmethod(get_connection_details)

    class Media:
        js = ("backoffice/copy.js",)


class ConnectionFilter(FormFilter):
    """Events of one shop, by its ID."""

    title = "shop"
    parameter_name = "connection"
    input_type = "select"

    def list_options(self):
        rows = filter_for_user(Connection.objects.all(), get_user(self.request))
        found = rows.order_by("-id").values_list("public_id", "name")
        return list(found[:MAX_CHOICES])

    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        rows = filter_for_user(Connection.objects.all(), get_user(request))
        found = rows.filter(public_id=self.value()).values_list("pk", flat=True)
        return queryset.filter(connection=found.first())

    @property
    def value_text(self):
        return dict(self.list_options()).get(self.value(), f"{self.value()} (unknown)")


class EventKindFilter(FormFilter):
    title = "kind of event"
    parameter_name = "kind"
    placeholder = "invoice.paid"

    def queryset(self, request, queryset):
        kind = self.value()
        if kind and not kind.isprintable():
            raise BadRequest("This is no kind of event")
        return queryset.filter(kind=kind) if kind else queryset


@admin.register(ShopEvent)
class ShopEventAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """What shops sent, and what it did."""

    menu = (MenuEntry("Integration", 40, "move_to_inbox"),)
    empty_state = (
        "No events yet. What a connected shop sends is listed here for 30 days, with what it did."
    )
    columns = (
        "created_at",
        Column(
            "Shop",
            lambda event: event.connection.name,
            select=("connection",),
            export="connection__name",
        ),
        "kind",
        build_status_column(get_state, "state_label", export="state"),
        Column("What it did", get_first_sentence, name="effect"),
        Column(
            "Conversion",
            lambda event: link_conversion(event) or EMPTY_VALUE,
            select=("order__conversion",),
            export="order__conversion",
        ),
    )
    list_filter = (ConnectionFilter, "state", EventKindFilter, DateFilter)
    extra_lookups = ("order_id",)
    ordering = ("-created_at", "-id")
    row_pages = (ProcessAgainPage,)
    exclude = ("body",)
    actions = build_actions(ProcessAgainPage)
    title_field = "kind"
    details = staticmethod(get_event_details)
