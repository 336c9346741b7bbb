"""The digests of what money depends on: E16.

What a digest covers never changes: see `audit_log_invariants.py`. E16 computes the chain
of stored digests (`LedgerDigest`) again. A digest covers, in the order of ids, the rows
before the first row that is younger than `SEALING_DELAY`: no open transaction can still
insert a row among them.

When an account is deleted, a link is added that counts all rows of the others again,
and names the account. From then on only this link and the later ones are compared with
the rows, and rows of an account that is being deleted are left out.

To a covered table, add only nullable columns that are NULL in old rows. A migration
that rewrites covered rows breaks the chain.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from django.db import IntegrityError, transaction

from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from payouts.models.ledger import LedgerDigest
from payouts.models.payments import Payment
from payouts.services.audit_log_invariants import (
    COVERED_TABLES,
    CoveredTable,
    compare_with_audit_log,
)
from payouts.services.ledger_invariant_queries import READ_BATCH_SIZE
from payouts.services.ledger_invariants import Discrepancy

SEALING_DELAY = timedelta(hours=1)  # longer than any transaction of a request
DELETED = "deleted"  # key of a link that counts again: the slug of the account
OnRows = Callable[[int], None]  # gets how many more rows are read
SHOWN_DIGITS = 16  # hex digits of a digest that a discrepancy shows


@dataclass
class Segment:
    """The rows of a table that one digest adds, up to the row with `last_id`."""

    last_id: int
    row_count: int = 0
    hasher: Any = field(default_factory=hashlib.sha256)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row, without the columns that have no value."""
        self.hasher.update(_serialize({k: v for k, v in row.items() if v is not None}))
        self.row_count += 1

    def serialize(self) -> dict[str, Any]:
        """Return what `LedgerDigest.segments` stores."""
        return {
            "last_id": self.last_id,
            "rows": self.row_count,
            "sha256": self.hasher.hexdigest(),
        }


@dataclass
class DigestReport:
    """The chain of digests as computed from the rows, and the digest of new rows.

    It begins with the last link that counts all rows again. `unsaved` covers the rows
    that no stored digest covers yet, if there are any.
    """

    digests: list[LedgerDigest] = field(default_factory=list)
    unsaved: LedgerDigest | None = None
    discrepancies: list[Discrepancy] = field(default_factory=list)

    @property
    def head(self) -> LedgerDigest | None:
        """The last digest, which an operator can keep to compare it later."""
        return self.digests[-1] if self.digests else None


def save_digest(report: DigestReport) -> None:
    """Store `report.unsaved`, unless the chain is broken (E16)."""
    is_broken = any(row.invariant == "E16" for row in report.discrepancies)
    if report.unsaved is None or is_broken:
        return
    with suppress(IntegrityError), transaction.atomic():  # stored by another process
        report.unsaved.save(force_insert=True)
        report.digests.append(report.unsaved)


def count_covered_rows() -> int:
    """Count the rows that the digests cover."""
    return sum(table.model._base_manager.count() for table in COVERED_TABLES)


def check_e15_e16_digests(
    accounts: Sequence[Account],
    *,
    at: datetime,
    expected: str | None = None,
    on_rows: OnRows = lambda _: None,
) -> DigestReport:
    """Check the audit log (E15) and the digests (E16) of all accounts in one pass.

    `expected` is a digest that was printed earlier: if the chain does not contain it,
    that is a discrepancy, too.
    """
    report = DigestReport()
    earlier, stored = _list_links()
    report.discrepancies += _check_earlier_links(earlier)
    sealed_until = at - SEALING_DELAY
    segments = {
        table.name: _read_segments(
            table,
            {account.pk: account for account in accounts},
            bounds=[row.segments[table.name]["last_id"] for row in stored],
            sealed_until=sealed_until,
            discrepancies=report.discrepancies,
            on_rows=on_rows,
        )
        for table in COVERED_TABLES
    }
    links = [
        {name: rows[index].serialize() for name, rows in segments.items()}
        for index in range(len(stored) + 1)
    ]
    for row, link in zip(stored, links, strict=False):
        previous = report.head or (earlier[-1] if earlier else None)
        if DELETED in row.segments:
            link[DELETED] = row.segments[DELETED]
        computed = _build_digest(previous, row.sealed_until, link, row.created_at)
        report.discrepancies += _compare_digests(row, computed)
        report.digests.append(computed)
    if any(segment["rows"] for segment in links[-1].values()):
        report.unsaved = _build_digest(report.head, sealed_until, links[-1], at)
    if expected is not None and expected not in [row.digest for row in report.digests]:
        head = str(report.head or "no digest")
        label = "expected digest"
        if expected in [row.digest for row in earlier]:
            label += f", from before the deletion of {stored[0].segments[DELETED]}"
        report.discrepancies.append(Discrepancy("E16", "-", label, head, expected))
    return report


def find_last_digest() -> LedgerDigest | None:
    """Return the last stored digest, which `check_ledger --expect` takes."""
    return LedgerDigest.objects.order_by("id").last()


def build_link_without(
    deleted: Account, accounts: Sequence[Account], *, at: datetime
) -> LedgerDigest | None:
    """Return the link that counts the rows of all other accounts again.

    None if no digest is stored. The chain must have been checked in this snapshot.
    """
    head = find_last_digest()
    if head is None:
        return None
    sealed_until = at - SEALING_DELAY
    by_id = {account.pk: account for account in accounts}
    segments: dict[str, Any] = {
        table.name: _read_segments(
            table, by_id, bounds=[], sealed_until=sealed_until, discrepancies=[]
        )[0].serialize()
        for table in COVERED_TABLES
    }
    segments[DELETED] = deleted.slug
    return _build_digest(head, sealed_until, segments, at)


def _list_links() -> tuple[list[LedgerDigest], list[LedgerDigest]]:
    """List the stored links before the last one that counts all rows again, and the
    others."""
    links = list(LedgerDigest.objects.order_by("id"))
    starts = [n for n, link in enumerate(links) if DELETED in link.segments]
    start = starts[-1] if starts else 0
    return links[:start], links[start:]


def _check_earlier_links(links: Sequence[LedgerDigest]) -> Iterator[Discrepancy]:
    """Yield the links whose digest is not that of their columns, or out of line."""
    previous = ""
    for link in links:
        if link.previous != previous or link.digest != _calculate_digest(link):
            until = f"before {link.sealed_until:%Y-%m-%d %H:%M} UTC"
            label = f"digest {until}"
            yield Discrepancy("E16", "-", label, link.digest, "another one")
        previous = link.digest


def _read_segments(
    table: CoveredTable,
    accounts: dict[int, Account],
    *,
    bounds: Sequence[int],
    sealed_until: datetime,
    discrepancies: list[Discrepancy],
    on_rows: OnRows = lambda _: None,
) -> list[Segment]:
    """Read all rows of a table; return a segment per bound, and one of the new rows.

    A bound is the last id of a stored segment. New rows count if created before
    `sealed_until`. Differences from the audit log are appended to `discrepancies`.
    Rows of other accounts than `accounts` are being deleted.
    """
    segments = [Segment(bound) for bound in bounds]
    segments.append(Segment(bounds[-1] if bounds else 0))
    index, is_open = 0, False
    for batch in _read_in_batches(table):
        rows = [row for row in batch if row["account_id"] in accounts]
        on_rows(len(batch))
        for account_id, account_rows in _group_by_account(rows).items():
            account = accounts[account_id]
            discrepancies += compare_with_audit_log(table, account, account_rows)
            if table.model is Payment:
                _add_allocations(account, account_rows)
        for row in () if is_open else rows:
            while index < len(bounds) and row["id"] > bounds[index]:
                index += 1
            if index == len(bounds):
                is_open = row["created_at"] >= sealed_until
                if is_open:
                    break
                segments[index].last_id = row["id"]
            segments[index].add(row)
    return segments


def _read_in_batches(table: CoveredTable, **filters: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the covered columns of all rows in the order of their ids."""
    by_id = table.model._base_manager.filter(**filters).order_by("pk")
    rows = by_id.values(*table.columns_to_read)
    last_id = 0
    while batch := list(rows.filter(pk__gt=last_id)[:READ_BATCH_SIZE]):
        last_id = batch[-1]["id"]
        yield batch


def _add_allocations(account: Account, payments: Sequence[dict[str, Any]]) -> None:
    """Add the ids of the commissions that each payment paid when it was created."""
    ids = [payment["id"] for payment in payments]
    rows = account.payment_allocations.filter(payment__in=ids).order_by("commission")
    commission_ids: dict[int, list[int]] = defaultdict(list)
    for payment_id, commission_id in rows.values_list("payment", "commission"):
        commission_ids[payment_id].append(commission_id)
    for payment in payments:
        payment["allocations"] = commission_ids[payment["id"]]


def _group_by_account(
    rows: Iterable[dict[str, Any]],
) -> dict[int, list[dict[str, Any]]]:
    groups: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["account_id"]].append(row)
    return groups


def _build_digest(
    previous: LedgerDigest | None,
    sealed_until: datetime,
    segments: dict[str, dict[str, Any]],
    at: datetime,
) -> LedgerDigest:
    digest = LedgerDigest(
        previous=previous.digest if previous else "",
        sealed_until=sealed_until,
        segments=segments,
        created_at=at,
    )
    digest.digest = _calculate_digest(digest)
    return digest


def _calculate_digest(digest: LedgerDigest) -> str:
    values = [digest.previous, digest.sealed_until, digest.segments]
    return hashlib.sha256(_serialize(values)).hexdigest()


def _compare_digests(stored: LedgerDigest, computed: LedgerDigest) -> Iterator[Discrepancy]:
    """Compare a stored digest with the one computed from the rows, and with the digest
    of its own columns."""
    until = f"before {stored.sealed_until:%Y-%m-%d %H:%M} UTC"
    for name, segment in computed.segments.items():
        if segment != stored.segments[name]:
            yield Discrepancy(
                "E16",
                "-",
                f"{name} to {segment['last_id']}, {until}",
                _describe_segment(stored.segments[name]),
                _describe_segment(segment),
            )
    if stored.digest != _calculate_digest(stored):
        yield Discrepancy("E16", "-", f"digest {until}", stored.digest, "another one")


def _describe_segment(segment: dict[str, Any]) -> str:
    return f"{segment['rows']} rows, {segment['sha256'][:SHOWN_DIGITS]}"


def _serialize(values: Any) -> bytes:
    """Serialize to canonical JSON, the same on both databases."""
    return orjson.dumps(values, default=_serialize_decimal, option=orjson.OPT_SORT_KEYS)


def _serialize_decimal(value: Any) -> str:
    if isinstance(value, Decimal):
        return format_decimal(value)
    raise TypeError(f"{type(value).__name__} is not covered by a digest")
