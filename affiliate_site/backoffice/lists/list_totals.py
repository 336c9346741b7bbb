"""Number, sums and page numbers of the rows that a list shows.

Long lists are not counted: `COUNT(*)` reads all rows. The number is exact up to 10,000
rows, and above where the days of a list are counted (accounts/services/row_counts.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Count
from django.utils import timezone

from accounts.services.row_counts import find_counted_list
from affiliate_site.backoffice.formatters import format_totals, keep_amounts_together
from tracking.amounts import ExactSum

MAX_COUNTED_ROWS = 10_000


@dataclass(frozen=True)
class RowNumber:
    """The number of rows of a list; there are more of them unless `is_exact`."""

    number: int
    is_exact: bool = True

    @property
    def is_long(self) -> bool:
        """Whether the rows are too many to be summed or sorted for a page."""
        return not self.is_exact or self.number > MAX_COUNTED_ROWS

    def __str__(self) -> str:
        return f"{self.number:,}" if self.is_exact else f"more than {self.number:,}"


def count_rows(queryset, account) -> RowNumber:
    """Count the rows of a list, cheaply; operators have no account."""
    counted = find_counted_list(account, queryset) if account else None
    if counted is not None:
        count = counted.count(timezone.now())
        return RowNumber(count.stored + count.later)
    # In their order, by its index: else PostgreSQL reads the rows of all accounts.
    number = queryset[: MAX_COUNTED_ROWS + 1].count()
    return RowNumber(min(number, MAX_COUNTED_ROWS), number <= MAX_COUNTED_ROWS)


def sum_amounts(queryset, column: str) -> tuple[str, int]:
    """The sums of a column per currency, `249.90 EUR, 20.00 USD`, and of how many
    rows."""
    rows = queryset.order_by().values_list("currency")
    sums = list(rows.annotate(ExactSum(column), Count("pk")))
    totals = {currency: total for currency, total, _ in sums}
    number = sum(each for _, _, each in sums)
    return keep_amounts_together(format_totals(totals)), number


def list_page_numbers(row_number: RowNumber, page: int, per_page: int) -> Iterator:
    """The numbers of the pages of the counted rows, `…` between them."""
    paginator = Paginator(range(min(row_number.number, MAX_COUNTED_ROWS)), per_page)
    if page > paginator.num_pages:
        return paginator.get_elided_page_range(paginator.num_pages)
    return paginator.get_elided_page_range(page)
