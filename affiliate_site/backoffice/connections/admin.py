"""The pages of shops, and of the events that they sent."""

from datetime import timedelta

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
    get_mode_text,
    get_state_text,
    link_conversion,
)
from affiliate_site.backoffice.connections.event_pages import ProcessAgainPage
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_datetime
from affiliate_site.backoffice.lists.columns import (
    PROGRAM_TITLE,
    ListColumn,
    build_status_column,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import MAX_CHOICES, FormFilter
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from tracking.models.shops import Connection, ShopEvent

A_DAY = timedelta(days=1)


@admin.register(Connection)
class ConnectionAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Shops that report sales by themselves."""

    columns = (
        "name",
        "kind",
        build_status_column(get_mode_text, "mode_label", export="mode"),
        PROGRAM_TITLE,
        ListColumn("events_today", "Events in 24 hours", lambda row: row.events_today),
        ListColumn("failed", "Failed events", lambda row: row.failed),
        ListColumn("last_event", "Last event", lambda row: row.last_event),
    )
    list_select_related = ("program",)
    ordering = ("-id",)
    add_page = AddConnectionPage
    add_title = AddConnectionPage.title
    exclude = ("secrets", "source_key")
    row_pages = CONNECTION_PAGES

    class Media:
        js = ("backoffice/copy.js",)

    def prepare_rows(self, request, rows):
        """Count the events of all rows."""
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
        for row in rows:
            row.events_today = today.get(row.pk, 0)
            row.failed = failed.get(row.pk, 0)
            row.last_event = format_datetime(last.get(row.pk)) or EMPTY_VALUE

    def get_object_title(self, connection):
        return connection.name

    def name_row(self, connection):
        return connection.name

    def get_details(self, request, connection):
        return get_connection_details(request, connection)


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

    columns = (
        "created_at",
        ListColumn(
            "shop",
            "Shop",
            lambda event: event.connection.name,
            export="connection__name",
        ),
        "kind",
        build_status_column(get_state_text, "state_label", export="state"),
        ListColumn("effect", "What it did", get_first_sentence),
        ListColumn(
            "conversion",
            "Conversion",
            lambda event: link_conversion(event) or EMPTY_VALUE,
            export="order__conversion",
        ),
    )
    list_select_related = ("connection", "order__conversion")
    list_filter = (ConnectionFilter, "state", EventKindFilter, DateFilter)
    extra_lookups = ("order_id",)
    ordering = ("-created_at", "-id")
    row_pages = (ProcessAgainPage,)
    exclude = ("body",)
    actions = build_actions(ProcessAgainPage)

    def get_object_title(self, event):
        return event.kind

    def get_details(self, request, event):
        return get_event_details(request, event)
