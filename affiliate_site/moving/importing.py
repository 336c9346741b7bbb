"""Import an account from another server of the API 1.6.

Objects are read in the order in which they refer to each other. The map of the import
says which are stored already, so that a run that was stopped is simply run again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import DataError, IntegrityError, transaction
from django.db.models import Max

from accounts.actor import ActorKind, build_actor, use_actor
from accounts.errors import DomainError
from accounts.models.accounts import Account, TenantModel
from accounts.services.outbox import publish_no_events
from affiliate_site.moving.balances import compare_balances
from affiliate_site.moving.billed_months import (
    describe_added,
    format_added,
    list_added,
)
from affiliate_site.moving.source import Row, SourceServer
from payouts.services import imported_people as people
from payouts.services import imported_programs as programs
from payouts.services import imported_sales as sales
from payouts.services.closed_months import find_closed_before
from payouts.services.conversion_updates import delete_conversion
from payouts.services.ledger import open_ledger_session
from payouts.services.mirroring import MIRRORS
from payouts.services.payments import cancel_payment
from tracking.services.imports import ImportMap, ImportProblem, ImportReport

PAGE_SIZE = 100  # objects of one transaction
STORE_ERRORS = (
    ImportProblem,
    DomainError,
    IntegrityError,
    DataError,
    ArithmeticError,
    AttributeError,  # an object where a text is expected, or the reverse
    TypeError,
    ValueError,
)
PARTS_OF_PROGRAMS: tuple[tuple[str, str, Any], ...] = (
    ("commission_type", "commission-types", programs.import_commission_type),
    ("level", "levels", programs.import_level),
    ("bonus", "bonuses", programs.import_bonus),
)
MONEY_ROWS = {
    "conversion": "conversions",
    "commission": "commissions",
    "payment": "payments",
}
LOADERS: dict[str, Callable[[ImportMap, Collection[Row]], None]] = {
    "customer": people.load_customers,
    "enrollment": people.lock_affiliates,
    "commission": sales.load_conversions,
}
Store = Callable[[ImportMap, Row, Any], Any]  # the last: an owner, else the ledger
ProgressCallback = Callable[[str, int, int | None], object]  # kind, count, total


@dataclass
class AccountImport:
    """One run. With `is_dry_run` all is undone at its end."""

    account: Account
    source: SourceServer
    at: datetime
    is_dry_run: bool = False
    is_mirror: bool = False  # also what has changed or ended since
    is_final: bool = False  # what is here at its end is ours, if all balances agree
    accepts_problems: bool = False  # a final one switches despite problems
    on_progress: ProgressCallback = lambda *_: None
    report: ImportReport = field(default_factory=ImportReport)

    def __post_init__(self) -> None:
        self.imports = ImportMap(
            self.account,
            self.source.host,
            self.at,
            keeps_fingerprints=self.is_mirror,
        )
        self.actor = build_actor(ActorKind.IMPORT, self.source.host)
        self.seen: set[tuple[str, str]] = set()
        self.kept_money: Counter[int] = Counter()  # objects by affiliate
        self.differences: list[dict[str, str]] = []  # of balances; none of a dry run
        self.has_switched = False  # in this run

    def run(self) -> ImportReport:
        """Read everything; raise `SourceError` where the source cannot be read on."""
        with use_actor(self.actor), publish_no_events(), self.undo_if_dry():
            self.imports.load()
            last = self.account.transfers.aggregate(last=Max("pk"))["last"] or 0
            if self.is_mirror:
                self.imports.mark_mirror()
            self.import_rules()
            self.import_people()
            self.import_sales()
            self.import_all_belongings()
            if self.is_mirror:
                self.end_what_is_gone()
            self.note_billed_months(last)
            if not self.is_dry_run:
                self.differences = compare_balances(self.account, self.source)
            if self.can_switch():
                self.switch()
        self.report.notes = self.imports.notes
        return self.report

    def note_billed_months(self, last: int) -> None:
        """Note who got entries after `last` in months that documents have billed."""
        entries = self.account.transfers.filter(pk__gt=last, actor=self.actor)
        names = ("debit__affiliate", "credit__affiliate", "created_at")
        rows = {  # a sale has several entries
            (debit or credit, at, *source)
            for debit, credit, at, *source in entries.values_list(
                *names, "commission", "payment"
            ).iterator()
        }
        for added in list_added(self.account, (row[:2] for row in rows)):
            slug, month, _ = added
            text = describe_added(format_added(added))
            self.imports.add_note("affiliate", slug, "already_billed", month, text)

    def can_switch(self) -> bool:
        """Whether the run is the final one, and nothing is missing or differs."""
        if not self.is_final or self.switched_at is not None:
            return False
        return self.accepts_problems or not (self.report.left_out or self.differences)

    def switch(self) -> None:
        """Make what is here ours; from now on its bonuses are granted here, too."""
        with transaction.atomic():
            self.imports.mark_switch()
            programs.switch_bonuses(self.imports)
        self.has_switched = not self.is_dry_run

    @contextmanager
    def undo_if_dry(self) -> Iterator[None]:
        """Undo the whole run if it is a dry one."""
        if not self.is_dry_run:
            yield
            return
        with transaction.atomic():
            yield
            transaction.set_rollback(True)

    def import_rules(self) -> None:
        """Groups, then programs with their rates; a program that is ours keeps its."""
        self.store_list("group", "affiliate-groups/", people.import_group)
        self.store_list("program", "programs/", programs.import_program)
        for program in self.list_programs():
            if self.switched_at and program.created_at <= self.switched_at:
                continue
            for kind, path, store in PARTS_OF_PROGRAMS:
                rows = self.source.get(f"programs/{program.slug}/{path}/") or []
                self.store_rows(kind, rows, store, owner=program, prefix=program.slug)

    def import_people(self) -> None:
        """Affiliates with their parents, enrollments, prospects, customers."""
        self.store_list("affiliate", "affiliates/", people.import_affiliate)
        for row in self.source.list_rows("affiliates/"):
            affiliate_id = str(row.get("id"))
            if not (self.switched_at and self.has_belongings(affiliate_id)):
                people.import_parent(self.imports, row)
        for program in self.list_programs():
            self.store_list(
                "enrollment",
                f"programs/{program.slug}/affiliates/",
                people.import_enrollment,
                owner=program,
                prefix=program.slug,
            )
        prospects = self.source.list_rows("affiliate-prospects/")
        # Who was promoted is an affiliate by now.
        waiting = (row for row in prospects if not row.get("promoted_at"))
        self.store_rows("prospect", waiting, people.import_prospect)
        self.store_list("customer", "customers/", people.import_customer)

    def import_all_belongings(self) -> None:
        """Notes and payout methods, at the end: two requests for each affiliate, which
        a source limits most."""
        ids = [key for kind, key in self.seen if kind == "affiliate"]
        for number, affiliate_id in enumerate(sorted(ids), 1):
            self.import_belongings(affiliate_id)
            self.on_progress("belongings", number, len(ids))

    def import_belongings(self, affiliate_id: str) -> None:
        """Notes and payout methods of an affiliate."""
        pk = self.imports.find("affiliate", affiliate_id)
        if pk is None or self.has_belongings(affiliate_id):
            return
        affiliate = self.account.affiliates.get(pk=pk)
        path = f"affiliates/{affiliate_id}"
        notes = self.source.get(f"{path}/notes/") or []
        own: dict[str, Any] = {"owner": affiliate, "prefix": affiliate_id}
        self.store_rows("note", notes, people.import_note, **own)
        methods = self.source.get(f"{path}/payout-methods/") or []
        # One without details is only on offer.
        filled = [row for row in methods if row.get("details")]
        self.store_rows(
            "payout_method",
            filled,
            people.import_payout_method,
            **own,
        )
        self.imports.remember("belongings", affiliate_id, affiliate, {})
        with transaction.atomic():
            self.imports.write_page()
        self.imports.clear_page()

    def has_belongings(self, affiliate_id: str) -> bool:
        """Whether an affiliate was taken over with all that belongs to it."""
        return self.imports.find("belongings", affiliate_id) is not None

    def import_sales(self) -> None:
        """Conversions, payments, then the commissions that payments pay."""
        self.store_list("conversion", "conversions/", sales.import_conversion)
        self.store_list("payment", "payments/", sales.import_payment)
        self.store_list("commission", "commissions/", sales.import_commission)

    @property
    def switched_at(self) -> datetime | None:
        """When an earlier run was the final one."""
        return self.imports.switched_at

    def list_programs(self) -> list[Any]:
        """Return the programs of the source, as they are here."""
        pks = [pk for (kind, _), pk in self.imports.known.items() if kind == "program"]
        return list(self.account.programs.filter(pk__in=pks).order_by("id"))

    def store_list(self, kind: str, path: str, store: Store, **owner: Any) -> None:
        """Store the rows of a list that are not known."""
        rows = self.source.list_rows(path)
        self.store_rows(kind, rows, store, path=path, **owner)

    def store_rows(
        self,
        kind: str,
        rows: Iterable[Row],
        store: Store,
        *,
        owner: TenantModel | None = None,
        prefix: str = "",
        path: str = "",
    ) -> None:
        """Store rows in transactions of some; if one fails, each alone.

        `owner` is the row that they belong to, and `prefix` its ID; `path` is the list
        that they come from.
        """
        remaining, earlier = iter(rows), self.report.read.get(kind, 0)
        while page := list(islice(remaining, PAGE_SIZE)):
            new: dict[str, Row] = {}
            for row in page:
                self.report.count(self.report.read, kind)
                key = f"{prefix}/{get_key(row)}" if prefix else get_key(row)
                self.seen.add((kind, key))
                if self.imports.find(kind, key) is None:
                    new[key] = row
                elif self.is_mirror and self.imports.has_changed(kind, key, row):
                    self.mirror(kind, key, row)
            self.store_page(Batch(kind, store, owner, new))
            total = self.source.totals.get(path)
            self.on_progress(kind, self.report.read[kind], total and earlier + total)

    def mirror(self, kind: str, key: str, row: Row) -> None:
        """Take over a change of a known object, or list why it cannot be."""
        apply = MIRRORS.get(kind)
        if apply is None:
            return
        if self.switched_at:
            self.keep(kind, self.imports.known[kind, key])
            return
        try:
            with transaction.atomic():
                self.lock_closed_months(kind)
                apply(self.imports, row, self.imports.known[kind, key])
                self.imports.remember_change(kind, key, row)
        except STORE_ERRORS as error:
            self.report.add_problem(kind, key, describe_problem(error))
        else:
            self.report.count(self.report.updated, kind)

    def keep(self, kind: str, pk: int) -> None:
        """Count an object that is ours, and has changed or ended at the source."""
        self.report.count(self.report.kept_ours, kind)
        if rows := MONEY_ROWS.get(kind):
            row = getattr(self.account, rows).get(pk=pk)
            self.kept_money[row.affiliate_id] += 1

    def end_what_is_gone(self) -> None:
        """Remove the conversions and cancel the payments that the source has no longer.

        If a list never stood still, or half of it is gone, nothing is ended: the source
        may be the one that is wrong.
        """
        for kind, path in (("conversion", "conversions/"), ("payment", "payments/")):
            known = [key for name, key in self.imports.known if name == kind]
            gone = [key for key in known if (kind, key) not in self.seen]
            if self.switched_at:
                for key in gone:
                    self.keep(kind, self.imports.known[kind, key])
                continue
            if path in self.source.unstable or len(gone) > max(len(known) // 2, 1):
                problem = ImportProblem("too_many_gone", "", f"{len(gone)} of {len(known)}")
                self.report.add_problem(kind, path, problem)
                continue
            for key in gone:
                self.end_one(kind, key)

    def end_one(self, kind: str, key: str) -> None:
        """End one object, or list why it cannot be."""
        try:
            with transaction.atomic():
                self.lock_closed_months(kind)
                pk = self.imports.known[kind, key]
                self.end(kind, pk)
                self.imports.forget(kind, key)
                if kind == "conversion":  # it may come back, with its commissions
                    rows = self.account.commissions.filter(conversion=pk)
                    pks = set(rows.values_list("pk", flat=True))
                    self.imports.forget_rows("commission", pks)
        except STORE_ERRORS as error:
            self.report.add_problem(kind, key, describe_problem(error))
        else:
            self.report.count(self.report.removed, kind)

    def lock_closed_months(self, kind: str) -> None:
        """Lock the account, if entries are posted: months are not closed meanwhile.

        If that of the run was closed since, what has ended and changed counts after it.
        """
        if kind in MONEY_ROWS:
            self.account.lock_row()
            before = self.imports.closed_before = find_closed_before(self.account)
            self.at = self.imports.at = max(self.at, before or self.at)

    def end(self, kind: str, pk: int) -> None:
        if kind == "conversion":
            delete_conversion(self.account, conversion_id=pk, at=self.at)
            return
        payment = self.account.payments.get(pk=pk)
        cancel_payment(self.account, payment_id=payment.public_id, at=self.at)

    def store_page(self, batch: "Batch") -> None:
        """Store the rows of a page in one transaction, else each in its own."""
        try:
            self.store_together(batch)
        except STORE_ERRORS:
            for key, row in batch.rows.items():
                self.store_alone(replace(batch, rows={key: row}))

    def store_together(self, batch: "Batch") -> None:
        """Store some rows in one transaction, or none of them."""
        load = LOADERS.get(batch.kind)
        try:
            with (
                transaction.atomic(),
                open_ledger_session(self.account, [], at=self.at) as ledger,
            ):
                self.lock_closed_months(batch.kind)
                if load is not None:
                    load(self.imports, batch.rows.values())
                for key, row in batch.rows.items():
                    context = batch.owner or ledger
                    stored = batch.store(self.imports, row, context)
                    self.imports.remember(batch.kind, key, stored, row)
                self.imports.write_page()
        except Exception:
            self.imports.drop_page()
            raise
        self.imports.clear_page()
        for _ in batch.rows:
            self.report.count(self.report.created, batch.kind)

    def store_alone(self, batch: "Batch") -> None:
        """Store one row, or list why it cannot be stored."""
        try:
            self.store_together(batch)
        except STORE_ERRORS as error:
            (key,) = batch.rows
            self.report.add_problem(batch.kind, key, describe_problem(error))


@dataclass(frozen=True)
class Batch:
    """Rows of one kind by their keys, and the function that stores one."""

    kind: str
    store: Store
    owner: TenantModel | None
    rows: dict[str, Row]


def describe_problem(error: Exception) -> ImportProblem:
    """Return why an object cannot be stored."""
    if isinstance(error, ImportProblem):
        return error
    if isinstance(error, DomainError):
        return ImportProblem("refused", error.path or "", error.text)
    return ImportProblem("not_storable", "", error)


def get_key(row: Row) -> str:
    """Return the ID of an object at the source."""
    for name in ("id", "identifier", "level"):
        if row.get(name) is not None:
            return str(row[name])
    affiliate = row.get("affiliate")
    return str(affiliate.get("id")) if isinstance(affiliate, dict) else ""
