"""The map of an import: which object of a source is which row here."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError
from django.db.models import Q, QuerySet

from accounts.db_compat import split_into_batches
from accounts.email_addresses import fold_email
from accounts.encryption import list_blind_indexes
from accounts.models.accounts import Account, TenantModel
from accounts.models.row_counts import DailyCountedRow, record_past_rows
from accounts.services.changes import log_events, mark_stale
from tracking.models.conversions import AttributionRecord
from tracking.models.imports import MAX_SOURCE_ID_LENGTH, ImportedObject
from tracking.models.late_changes import record_late_change

MAX_LISTED_PROBLEMS = 1000
SWITCH = "switch"  # the kind of the row that says when the source was left
MIRROR = "mirror"  # and of the one that says since when it is followed
MARKS = (SWITCH, MIRROR)
ERASED_PREFIX = "erased:"  # then a digest, instead of the ID at the source
ERASED_EMAIL = "erased_email"  # the kind of the digest of an address
UNIQUE_FIELDS = ("account", "source", "kind", "source_id")


class ImportProblem(Exception):
    """An object cannot be stored: `code`, and path and value of what is wrong."""

    def __init__(self, code: str, path: str = "", value: Any = "") -> None:
        super().__init__(code)
        self.code, self.path, self.value = code, path, str(value)[:200]


@dataclass
class ImportReport:
    """What a run has read: numbers by kind, and the problems."""

    read: dict[str, int] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=dict)
    updated: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    kept_ours: dict[str, int] = field(default_factory=dict)  # changed there, not here
    problems: list[dict[str, str]] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)  # stored, but changed

    def count(self, what: dict[str, int], kind: str) -> None:
        """Add one to a number of this kind."""
        what[kind] = what.get(kind, 0) + 1

    def add_problem(self, kind: str, source_id: str, problem: ImportProblem) -> None:
        """Count an object that could not be stored, and list why."""
        self.count(self.left_out, kind)
        if len(self.problems) < MAX_LISTED_PROBLEMS:
            self.problems.append(
                {
                    "kind": kind,
                    "id": source_id,
                    "code": problem.code,
                    "path": problem.path,
                    "value": problem.value,
                }
            )


@dataclass
class ImportMap:
    """Finds and remembers rows; `known` has those of the kinds that others refer to.

    Since `switched_at`, what is known is ours: the source changes it no more.
    """

    account: Account
    source: str
    at: datetime
    known: dict[tuple[str, str], int] = field(default_factory=dict)
    keeps_fingerprints: bool = True  # a mirror needs them
    is_partial: bool = False  # what is stored now lacks an object that it names
    fingerprints: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: list[dict[str, str]] = field(default_factory=list)
    rows: dict[tuple[str, int], Any] = field(default_factory=dict)
    # Of the page that is being stored: what is here already, None: it is not.
    conversions: dict[int, Any] = field(default_factory=dict)
    customers: dict[str, Any] = field(default_factory=dict)
    public_ids: set[str] = field(default_factory=set)  # of customers
    # Of that page, too: rows of days gone by, times of sales, events.
    past_rows: list[DailyCountedRow] = field(default_factory=list)
    late_sales: list[datetime] = field(default_factory=list)
    events: list[tuple[str, TenantModel]] = field(default_factory=list)
    event_details: list[dict[str, Any]] = field(default_factory=list)
    attributions: list[AttributionRecord] = field(default_factory=list)
    objects: list[ImportedObject] = field(default_factory=list)
    switched_at: datetime | None = None
    closed_before: datetime | None = None  # no entry can have an earlier date
    has_erased: bool = False  # somebody who was erased here

    def load(self) -> None:
        """Read what earlier runs have stored."""
        rows = self.account.imported_objects.filter(source=self.source)
        switches = rows.filter(kind=SWITCH).values_list("created_at", flat=True)
        self.switched_at = switches.first()
        columns = ("kind", "source_id", "local_id", "fingerprint")
        objects = rows.exclude(kind__in=MARKS).values_list(*columns)
        for kind, key, local_id, fingerprint in objects.iterator():
            self.has_erased |= key.startswith(ERASED_PREFIX)
            self.known[kind, key] = local_id
            if self.keeps_fingerprints:
                self.fingerprints[kind, key] = fingerprint

    def mark_switch(self) -> None:
        """Store that what was taken over is ours from now on; the first time counts."""
        self._mark(SWITCH)

    def mark_mirror(self) -> None:
        """Store that the source decides until the switch; the first time counts."""
        self._mark(MIRROR)

    def _mark(self, kind: str) -> None:
        row = ImportedObject(
            account=self.account,
            source=self.source,
            kind=kind,
            source_id="",
            local_id=0,
            fingerprint="",
            created_at=self.at,
        )
        rows = self.account.imported_objects
        rows.insert_or_ignore(row, unique_fields=UNIQUE_FIELDS)

    def has_changed(self, kind: str, key: str, body: Any) -> bool:
        """Return whether the source says something else of a known object by now."""
        known = self.fingerprints.get((kind, key))
        return known is not None and known != calculate_fingerprint(body)

    def remember_change(self, kind: str, key: str, body: Any) -> None:
        """Store what the source says of a known object now."""
        fingerprint = "" if self.is_partial else calculate_fingerprint(body)
        self.is_partial = False
        rows = self.account.imported_objects.filter(source=self.source, kind=kind)
        rows.filter(source_id=key).update(fingerprint=fingerprint)
        self.fingerprints[kind, key] = fingerprint

    def forget(self, kind: str, key: str) -> None:
        rows = self.account.imported_objects.filter(source=self.source, kind=kind)
        rows.filter(source_id=key).delete()
        self.known.pop((kind, key), None)

    def forget_rows(self, kind: str, pks: Collection[int]) -> None:
        """Forget the objects that have become these rows."""
        keys = [key for (name, key), pk in self.known.items() if name == kind and pk in pks]
        for key in keys:
            self.forget(kind, key)

    def add_note(self, kind: str, source_id: Any, code: str, path: str, value: Any) -> None:
        """List what was stored in another way than the source has it."""
        if len(self.notes) < MAX_LISTED_PROBLEMS:
            names = ("kind", "id", "code", "path", "value")
            values = (kind, str(source_id), code, path, str(value)[:200])
            self.notes.append(dict(zip(names, values, strict=True)))

    def read_entry_time(self, body: dict[str, Any], name: str = "created_at") -> datetime:
        """Return the date of an entry, by default that of the import.

        Raises `ImportProblem` if its month is closed.
        """
        at = read_time(body, name, self.at)
        if self.closed_before is not None and at < self.closed_before:
            raise ImportProblem("closed_month", name, f"{self.account.get_day(at):%B %Y}")
        return at

    def log(self, kind: str, subject: TenantModel, **details: Any) -> None:
        """Log an event about a row at the end of the page."""
        self.events.append((kind, subject))
        self.event_details.append(details)

    def write_page(self) -> None:
        """Write what the rows of a page have in common, in few statements.

        After the transaction, the caller clears the page, or drops it if that failed.
        Raises `ImportProblem` if another run has stored one of its objects meanwhile.
        """
        account, at = self.account, self.at
        record_past_rows(account.pk, self.past_rows, at)
        mark_stale(account, self.past_rows, at)
        record_late_change(account, self.late_sales, at=at)
        log_events(
            account,
            self.events,
            at=at,
            row_details=self.event_details,
            source=self.source,
        )
        account.attribution_records.bulk_create(self.attributions)
        try:
            account.imported_objects.bulk_create(self.objects)
        except IntegrityError:
            key = self.objects[0].source_id
            raise ImportProblem("stored_by_another_run", "", key) from None

    def drop_page(self) -> None:
        """Forget the rows of a page that could not be stored."""
        for row in self.objects:
            self.known.pop((row.kind, row.source_id), None)
        self.rows.clear()  # one of them may be gone
        self.clear_page()

    def clear_page(self) -> None:
        """Begin another page."""
        for rows in (
            self.past_rows,
            self.late_sales,
            self.events,
            self.event_details,
            self.attributions,
            self.objects,
            self.conversions,
            self.customers,
            self.public_ids,
        ):
            rows.clear()
        self.is_partial = False

    def get_row(self, kind: str, pk: int) -> Any:
        """Return a program or affiliate, which is read once for many sales."""
        if (kind, pk) not in self.rows:
            rows = {"program": self.account.programs}.get(kind, self.account.affiliates)
            self.rows[kind, pk] = rows.get(pk=pk)
        return self.rows[kind, pk]

    def find(self, kind: str, source_id: Any) -> int | None:
        """Return the primary key of an object that was imported, erased ones too."""
        key = str(source_id)
        names = [key, *(list_erased_ids(key) if self.has_erased else ())]
        return next((self.known[kind, it] for it in names if (kind, it) in self.known), None)

    def find_or_wait(self, kind: str, source_id: Any) -> int | None:
        """Return the primary key of an object that may be read later.

        Then the object that refers to it is only known in part, and a mirror looks at
        it again.
        """
        local_id = self.find(kind, source_id)
        if local_id is None and source_id is not None:
            self.is_partial = True
        return local_id

    def get(self, kind: str, source_id: Any, path: str) -> int:
        """Return the primary key of an object that another one refers to."""
        local_id = self.find(kind, source_id)
        if local_id is None:
            raise ImportProblem(f"unknown_{kind}", path, source_id)
        return local_id

    def remember(self, kind: str, source_id: Any, row: TenantModel, body: Any) -> None:
        """Store which row an object has become, at the end of the page."""
        key = str(source_id)[:MAX_SOURCE_ID_LENGTH]
        imported = ImportedObject(
            account=self.account,
            source=self.source,
            kind=kind,
            source_id=key,
            local_id=row.pk,
            fingerprint="" if self.is_partial else calculate_fingerprint(body),
            created_at=self.at,
        )
        self.is_partial = False
        self.objects.append(imported)
        self.known[kind, key] = row.pk


def list_erased_ids(text: str) -> list[str]:
    """Return the digests of an ID or address, one by each key of `ENCRYPTION_KEYS`."""
    return [f"{ERASED_PREFIX}{each}" for each in list_blind_indexes(text)]


def erase_source_ids(account: Account, kind: str, pk: int, email: str | None) -> int:
    """Replace what sources call a person by digests; return how many rows changed.

    Later imports know the person by them, and skip it.
    """
    objects, count = account.imported_objects, 0
    own = objects.filter(kind=kind, local_id=pk)
    for row in own.exclude(source_id__startswith=ERASED_PREFIX):
        name = row.source_id
        same = Q(kind__in=(kind, "belongings"), source_id=name)
        parts = Q(source_id__startswith=f"{name}/") | Q(source_id__endswith=f"/{name}")
        below = Q(kind__in=("note", "payout_method", "enrollment")) & parts
        for each in objects.filter(same | below, source=row.source):
            digest = list_erased_ids(each.source_id)[0]
            count += each.update_row(source_id=digest, fingerprint="")
        if email:
            objects.insert_or_ignore(
                ImportedObject(
                    account=account,
                    source=row.source,
                    kind=ERASED_EMAIL,
                    source_id=list_erased_ids(fold_email(email))[0],
                    local_id=pk,
                    fingerprint="",
                ),
                unique_fields=UNIQUE_FIELDS,
            )
    return count


def find_erased(account: Account, texts: Collection[str]) -> set[str]:
    """Return the IDs and folded addresses of people who were imported and erased."""
    names = {name: text for text in texts for name in list_erased_ids(text)}
    found: set[str] = set()
    for batch in split_into_batches(sorted(names)):
        rows = account.imported_objects.filter(
            kind__in=("affiliate", "customer", ERASED_EMAIL), source_id__in=batch
        )
        found.update(names[it] for it in rows.values_list("source_id", flat=True))
    return found


def filter_mirrored(account: Account, kind: str) -> QuerySet[ImportedObject, int]:
    """Return the primary keys of objects that a source decides on: a mirror follows it,
    and has not switched."""
    rows = account.imported_objects
    switched = rows.filter(kind=SWITCH).values("source")
    mirrored = rows.filter(kind=MIRROR).exclude(source__in=switched).values("source")
    return rows.filter(kind=kind, source__in=mirrored).values_list("local_id", flat=True)


def calculate_fingerprint(body: Any) -> str:
    """Return the digest of what a source says of an object."""
    text = json.dumps(body, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read_time(body: dict[str, Any], name: str, default: datetime) -> datetime:
    """Return the time of a key; without one, the default."""
    text = body.get(name)
    if not text:
        return default
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        raise ImportProblem("invalid_time", name, text) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


def read_text(body: dict[str, Any], name: str, limit: int = 255) -> str:
    """Return the text of a key, cut at the limit; numbers are texts, too."""
    value = body.get(name)
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).replace("\x00", "")[:limit]


def read_map(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object of a key; anything else is empty, as `[]` often stands for."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
