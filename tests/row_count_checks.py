"""Compares stored row counts, and the pages found by them, with the rows themselves."""

from accounts.models.row_counts import CountedRow
from accounts.services import row_counts
from accounts.services.row_counts import find_counted_list
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer

MODELS: tuple[type[CountedRow], ...] = (
    Click,
    Commission,
    Conversion,
    Customer,
    Payment,
)


def list_row_querysets(account, days=()):
    """Yield the queryset of every list of the account, also those of some days."""
    for model in MODELS:
        rows = row_counts.select_rows(model, account, "", 0)
        filters = [{}]
        for field in model.counted_by:
            if field.endswith("__isnull"):
                filters += [{field: True}, {field: False}]
                continue
            values = model.objects.of(account).exclude(**{field: None})
            filters += values.values(field).distinct().order_by()
        if model is Conversion:
            pending = Commission.objects.of(account).not_deleted()
            pending = pending.filter(status="pending").values("conversion")
            filters.append({"pk__in": pending})
        for condition in filters:
            selected = rows.filter(**condition)
            yield selected
            for day in days:
                yield selected.filter(created_at__gte=day)
                yield selected.filter(created_at__lt=day)


def assert_row_counts_exact(account, *, at, days=()):
    """Assert that each list has as many rows as its count says, on the same pages."""
    for rows in list_row_querysets(account, days):
        counted_list = find_counted_list(account, rows)
        count = counted_list.count(at)
        newest = [*rows.order_by("-created_at", "-id").values_list("created_at", "pk")]
        assert count.stored + count.later == len(newest), counted_list
        for offset in range(count.later, len(newest)):
            day_end, start = counted_list.find_day(count, offset)
            page = [row for row in newest if row[0] < day_end]
            assert page[start] == newest[offset]
