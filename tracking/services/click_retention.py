"""Remove old clicks of pages that nothing names, and keep their counts.

Statistics read clicks and `PrunedClickCount` in one statement, so a removal changes
none of them. Clicks that were reported with a key are never removed.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from accounts.models.accounts import Account
from accounts.models.row_counts import CountKey, record_count_changes
from accounts.services.retention import DELETE_BATCH_SIZE
from accounts.services.row_counts import EARLIEST
from accounts.url_safety import split_url
from tracking.models.clicks import OTHER_TEXTS, Click, PrunedClickCount
from tracking.services.clicks import normalize_url

# Texts of a link that are counted apart on a UTC day: 100, or fewer long ones. Twice
# as many if they differ in more than the sub-ID, three times if in the landing page.
MAX_CHARACTERS = 10_000
MIN_CHARACTERS = 100  # that each of them counts as

CLICK_COLUMNS = (
    *("account_id", "program_id", "affiliate_id", "prospect_id", "created_at"),
    *("landing_page", "referrer", "sub_id"),
)
COUNT_COLUMNS = (
    *("quarter", "program_id", "affiliate_id", "prospect_id"),
    *("landing_page", "referrer_host", "sub_id"),
)
Texts = tuple[str | None, str | None, str | None]  # landing page, host, sub-ID
LinkDay = tuple[date, int, int | None, int | None]  # day, program, affiliate, prospect
CountColumns = tuple[Any, ...]  # the values of `COUNT_COLUMNS`
Position = tuple[datetime, int]  # time and primary key of a click


class CountedTexts:
    """The texts that are counted apart, of each link and UTC day."""

    def __init__(self, account: Account, start: datetime) -> None:
        """Read those of the day of `start`: a run may have ended within it."""
        self.sizes: dict[LinkDay, dict[Texts, int]] = defaultdict(dict)
        day = start.astimezone(UTC).date()
        rows = account.pruned_click_counts.filter(
            quarter__gte=datetime(day.year, day.month, day.day, tzinfo=UTC),
            quarter__lte=start,
        )
        for _, *link, page, host, sub_id in rows.values_list(*COUNT_COLUMNS):
            self._add((day, *link), (page, host, sub_id))

    def choose(self, link_day: LinkDay, texts: Texts) -> Texts:
        """Return the texts under which a click is counted."""
        page, host, _ = texts
        fewer = [None if text is None else OTHER_TEXTS for text in texts]
        steps: list[Texts] = [texts, (page, host, fewer[2]), (page, fewer[1], fewer[2])]
        sizes = self.sizes[link_day]
        for number, step in enumerate(steps, 1):
            if step in sizes or sum(sizes.values()) < number * MAX_CHARACTERS:
                return self._add(link_day, step)
        return fewer[0], fewer[1], fewer[2]

    def forget_before(self, day: date) -> None:
        """Drop earlier days: clicks come in the order of time."""
        for link_day in [each for each in self.sizes if each[0] < day]:
            del self.sizes[link_day]

    def _add(self, link_day: LinkDay, texts: Texts) -> Texts:
        size = sum(len(text) for text in texts if text)
        self.sizes[link_day][texts] = max(size, MIN_CHARACTERS)
        return texts


def delete_expired_clicks(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Remove clicks of pages older than `click_days` that nothing names; count them.

    Each batch of clicks is a transaction that also stores how far the removal has come:
    the next run goes on there. Tracking ids of these clicks are deleted as well: no
    program's cookie time is as long as `click_days`. Returns the number of clicks.
    """
    before = at - timedelta(days=account.click_days)
    position: Position = (account.clicks_pruned_until or EARLIEST, 0)
    counted = CountedTexts(account, position[0])
    number = 0
    while True:
        with transaction.atomic():
            if not dry_run:
                account.lock_row()  # one removal at a time changes the counts
            batch = _list_batch(account, position, before)
            clicks = _list_removable(account, batch, lock=not dry_run)
            if batch and not dry_run:
                _count_clicks(account, clicks, counted)
                _delete_clicks(account, clicks)
                _store_position(account, batch[-1][0])
        number += len(clicks)
        if len(batch) < DELETE_BATCH_SIZE:
            return number
        position = batch[-1]
        counted.forget_before(position[0].astimezone(UTC).date())


def _list_batch(account: Account, position: Position, before: datetime) -> list[Position]:
    """List the next clicks in the order of time, removable or not."""
    at, pk = position
    later = account.clicks.filter(created_at__gte=at, created_at__lt=before)
    later = later.filter(Q(created_at__gt=at) | Q(pk__gt=pk))
    rows = later.order_by("created_at", "pk").values_list("created_at", "pk")
    return list(rows[:DELETE_BATCH_SIZE])


def _list_removable(account: Account, batch: Sequence[Position], *, lock: bool) -> list[Click]:
    """Lock the clicks of pages, then leave out those that something names by now.

    Only clicks that were deduplicated have a `dedup_key`: those of pages.
    """
    pks = [pk for _, pk in batch]
    clicks = account.clicks.filter(pk__in=pks, dedup_key__isnull=False)
    clicks = clicks.order_by("created_at", "pk").only(*CLICK_COLUMNS)
    found: list[Click] = list(clicks.select_for_update() if lock else clicks)
    first, *others = (
        rows.filter(click__in=pks).values_list("click", flat=True)
        for rows in (account.customers, account.conversions, account.conversion_claims)
    )
    named = set(first.union(*others, all=True)) if found else set()
    return [click for click in found if click.pk not in named]


def _count_clicks(account: Account, clicks: Sequence[Click], counted: CountedTexts) -> None:
    """Add clicks, in the order of time, to the counts."""
    numbers = Counter(_get_columns(click, counted) for click in clicks)
    if not numbers:
        return
    quarters = [quarter for quarter, *_ in numbers]
    stored = account.pruned_click_counts.filter(
        quarter__gte=min(quarters), quarter__lte=max(quarters)
    )
    present: list[PrunedClickCount] = []
    for row in stored:
        columns = tuple(getattr(row, name) for name in COUNT_COLUMNS)
        if columns in numbers:
            row.clicks += numbers.pop(columns)
            present.append(row)
    account.pruned_click_counts.bulk_update(present, ["clicks"])
    account.pruned_click_counts.bulk_create(
        [
            PrunedClickCount(
                account=account,
                clicks=number,
                **dict(zip(COUNT_COLUMNS, columns, strict=True)),
            )
            for columns, number in numbers.items()
        ]
    )


def _get_columns(click: Click, counted: CountedTexts) -> CountColumns:
    """Return the values of `COUNT_COLUMNS` for a click."""
    at = click.created_at.astimezone(UTC)
    quarter = at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0)
    link = (click.program_id, click.affiliate_id, click.prospect_id)
    page = click.landing_page
    if page is not None:  # as statistics do in SQL
        page = page.partition("?")[0].partition("#")[0]
    referrer = normalize_url(click.referrer)
    host = referrer and (split_url(referrer).hostname or "")[:255]
    texts = counted.choose((at.date(), *link), (page, host, click.sub_id))
    return (quarter, *link, *texts)


def _delete_clicks(account: Account, clicks: Sequence[Click]) -> None:
    """Delete clicks and their tracking ids, and change the counts of lists."""
    pks = [click.pk for click in clicks]
    account.visitors.filter(click__in=pks).delete()
    account.clicks.filter(pk__in=pks).delete()
    changes: Counter[CountKey] = Counter()
    changes.subtract(key for click in clicks for key in click.list_count_keys())
    record_count_changes(account.pk, changes)


def _store_position(account: Account, at: datetime) -> None:
    """Store until when clicks were removed; another run may be further."""
    rows = Account.objects.filter(pk=account.pk)
    behind = Q(clicks_pruned_until=None) | Q(clicks_pruned_until__lt=at)
    rows.filter(behind).update(clicks_pruned_until=at)
