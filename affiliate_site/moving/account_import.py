"""Read the file of an account into this installation: everything or nothing.

Rows keep their IDs in a table where all of these are above those of the installation;
in another table all are raised by one number, and so is each reference to them.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NoReturn

from django.apps import apps
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from accounts.compiled_writes import insert_rows
from accounts.db_compat import BATCH_SIZE, split_into_batches, without_statement_timeout
from accounts.email_addresses import fold_email, list_spellings
from accounts.errors import Conflict, DuplicateAccount, InvalidSetting, InvalidSlug
from accounts.ids import SLUG_PATTERN
from accounts.models.accounts import Account, Plan
from accounts.services.accounts import get_plan
from accounts.services.webhooks import generate_secret
from affiliate_site.creative_images import delete_image, restore_image
from affiliate_site.moving.account_cleaning import VALUE_ERRORS, clean_row, describe
from affiliate_site.moving.account_files import IMAGES, AccountFileReader
from affiliate_site.moving.account_references import shift_references
from affiliate_site.moving.account_tables import (
    AccountTable,
    list_tables,
    list_unique_columns,
)
from affiliate_site.moving.id_ranges import (
    ReservedIds,
    find_offset,
    release_ids,
    reserve_ids,
)
from payouts.services.audit_log_invariants import check_e15_audit_log
from payouts.services.ledger_invariants import LedgerInvariants
from payouts.services.payout_methods import calculate_method_index
from tracking.meta_data import find_email
from tracking.services.search import update_suffixes

ACCOUNT = Account._meta.label
MAIL_MOVED = "the account moved before it was sent"

Calculate = Callable[[dict[str, Any], Account], dict[str, Any]]


def _fold_address(row: dict[str, Any], account: Account) -> dict[str, Any]:
    """Calculate the spelling that is compared, unless it is one of the address.

    An older row may have another one, as another row has the present one.
    """
    email, folded = row["email"], row["email_folded"]
    if email and folded in list_spellings(email):
        return {}
    return {"email_folded": fold_email(email) if email else None}


def _find_address(row: dict[str, Any], account: Account) -> dict[str, Any]:
    return {"email_folded": find_email(row["meta_data"], account.customer_email_keys)}


def _keep_unsent(row: dict[str, Any], account: Account) -> dict[str, Any]:
    """Send no mail of a file: its recipient and text are foreign."""
    return {"due_at": None, "error": MAIL_MOVED} if row["due_at"] else {}


def _limit_times(*names: str) -> Calculate:
    """Replace times in the future by now: until then nothing would happen."""

    def calculate(row: dict[str, Any], account: Account) -> dict[str, Any]:
        now = timezone.now()
        return {name: now for name in names if row[name] and row[name] > now}

    return calculate


def _complete_webhook(row: dict[str, Any], account: Account) -> dict[str, Any]:
    """Make a secret, and deliver at once, whatever had failed elsewhere."""
    secret = "" if row["affiliate"] else generate_secret()
    return {"secret": secret, "backoff_until": None}


# Columns that a file does not have or must not say, calculated from those of the row.
CALCULATED: dict[str, Calculate] = {
    "accounts.Account": _limit_times("clicks_pruned_until"),
    "accounts.Delivery": _limit_times("due_at"),
    "accounts.WebhookEndpoint": _complete_webhook,
    "payouts.PayoutMethod": lambda row, account: {
        "blind_index": calculate_method_index(row["kind"], row["details"])
    },
    "tracking.Connection": _limit_times("caught_up_until"),
    "tracking.Customer": _find_address,
    "tracking.ShopEvent": _limit_times("due_at"),
    **dict.fromkeys(("tracking.Affiliate", "tracking.Prospect"), _fold_address),
    "tracking.Mail": _keep_unsent,
}


class TakenByAnotherAccount(Conflict):
    """A value of the file must differ among all accounts, and another one has it."""

    message = (
        "the {table} {value} belongs to account {account} of this installation:"
        " remove it there, or import into another installation"
    )


@dataclass
class ImportResult:
    """Rows by table; `offsets` says which tables got other IDs, and how much higher."""

    rows: dict[str, int]
    offsets: dict[str, int]
    missing_images: int = 0


@dataclass
class AccountFileImport:
    """One run of `import_account_file`."""

    slug: str
    reader: AccountFileReader
    on_rows: Callable[[int], object]
    account: Account = field(default_factory=Account)
    offsets: dict[str, int] = field(default_factory=dict)
    missing_images: int = 0

    def check(self) -> None:
        """Read the whole file, and compare it with what other accounts have."""
        unique = list_unique_columns()
        seen: dict[str, list[str]] = {label: [] for label in unique}
        for number, (label, values) in enumerate(self.reader.read_rows(), 1):
            if label != IMAGES:
                row = self._decode(list_tables()[label], values)
                try:
                    clean_row(label, row)
                except VALUE_ERRORS as error:
                    self._refuse(label, error)
                value = row.get(unique.get(label, ""))
                if value:
                    seen[label].append(value)
            if number % BATCH_SIZE == 0:
                self.on_rows(BATCH_SIZE)
        if self.reader.sizes[ACCOUNT].rows != 1:
            raise self.reader.build_error("a file has one account")
        for label, found in seen.items():
            _ensure_free(list_tables()[label], unique[label], found)

    def store(self, plan: Plan) -> None:
        """Insert all rows, and write the images."""
        images: list[str] = []
        try:
            with transaction.atomic():
                for label, batch in self._read_batches():
                    if label == IMAGES:
                        self._restore_images(batch, images)
                    else:
                        self._insert(list_tables()[label], batch, plan)
                self._check_ledger()
                for pk in self.account.affiliates.values_list("pk", flat=True):
                    update_suffixes(self.account, affiliate_id=pk)
        except BaseException:
            for name in images:
                delete_image(self.account, name)
            raise

    def _read_batches(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the rows of each table in batches, the last one of a table maybe empty.

        The foreign keys of a table are checked before the next one begins.
        """
        label = ACCOUNT
        batch: list[dict[str, Any]] = []
        for table, values in self.reader.read_rows():
            if table != label or len(batch) == BATCH_SIZE:
                yield label, batch
                if table != label:
                    self._check_constraints(label)
                label, batch = table, []
            batch.append(values)
        yield label, batch
        self._check_constraints(label)

    def _insert(self, table: AccountTable, batch: Sequence[dict[str, Any]], plan: Plan) -> None:
        rows: list[Any] = []
        for values in batch:
            row = self._decode(table, values)
            try:
                self._shift(table, row)
                if table.model is Account:
                    row |= {"slug": self.slug, "plan": plan}
                else:
                    row["account_id"] = self.account.pk
                if calculate := CALCULATED.get(table.label):
                    row |= calculate(row, self.account)
            except VALUE_ERRORS as error:
                self._refuse(table.label, error)
            rows.append(table.model(**row))
        if table.model is Account:
            self.account = rows[0]
        try:
            insert_rows(rows)
        except (IntegrityError, DataError, *VALUE_ERRORS) as error:
            self._refuse(table.label, error)
        self.on_rows(len(rows))

    def _decode(self, table: AccountTable, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values of a row by attributes of the model."""
        if values.keys() != {"id", *table.columns}:
            other = sorted(values.keys() ^ {"id", *table.columns})
            self._refuse(table.label, ValueError(f"columns differ: {', '.join(other)}"))
        row = {"id": values["id"]}
        for name, column in table.columns.items():
            value = values[name]
            try:
                if value is not None:
                    value = column.decode(value)
                elif not column.field.null:
                    raise ValueError("a value expected")
                if column.target and value is not None:
                    _, first_id, last_id = self.reader.sizes[column.target]
                    if not first_id <= value <= last_id:
                        raise ValueError(f"the file has no such {column.target}")
            except VALUE_ERRORS as error:
                self._refuse(f"{table.label}.{name}", error)
            row[column.field.attname] = value
        return row

    def _shift(self, table: AccountTable, row: dict[str, Any]) -> None:
        """Replace the IDs of the file by those of this installation."""
        row["id"] += self.offsets[table.label]
        for column in table.columns.values():
            if column.target and row[column.field.attname] is not None:
                row[column.field.attname] += self.offsets[column.target]
        if any(self.offsets.values()) or self.slug != self.reader.slug:
            slugs = {f"account:{self.reader.slug}": f"account:{self.slug}"}
            shift_references(table.label, row, lambda target, pk: pk + self.offsets[target], slugs)

    def _check_ledger(self) -> None:
        """Refuse amounts that nothing explains, as `check_ledger` finds them."""
        found = chain(
            LedgerInvariants(self.account).list_discrepancies(),
            check_e15_audit_log([self.account]),
        )
        for row in found:
            self._refuse(
                f"the ledger does not balance, {row.invariant} {row.row}",
                ValueError(f"stored {row.stored}, computed {row.computed}"),
            )

    def _check_constraints(self, label: str) -> None:
        if label == IMAGES:
            return
        try:
            connection.check_constraints([list_tables()[label].model._meta.db_table])
        except IntegrityError as error:
            self._refuse(label, error)

    def _restore_images(self, batch: Sequence[dict[str, Any]], images: list[str]) -> None:
        for values in batch:
            name, content = values.get("name"), values.get("content")
            self.missing_images += content is None
            if not self.account.creatives.filter(file_name=str(name)).exists():
                self._refuse(IMAGES, ValueError("no creative has this image"))
            if content is None:
                continue
            try:
                restore_image(self.account, str(name), b64decode(content))
            except (InvalidSetting, *VALUE_ERRORS) as error:
                self._refuse(IMAGES, error)
            images.append(str(name))

    def _refuse(self, what: str, error: Exception) -> NoReturn:
        raise self.reader.build_error(f"{what}: {describe(error)}") from error


def import_account_file(
    slug: str,
    reader: AccountFileReader,
    *,
    is_dry_run: bool,
    on_rows: Callable[[int], object],
) -> ImportResult:
    """Create the account `slug` from a file; `on_rows` gets numbers of read rows.

    The file is read twice: everything is checked before the first row is stored.
    Raises `InvalidAccountFile`, `DuplicateAccount`, `TakenByAnotherAccount`,
    `PlanNotFound` and `OSError`.
    """
    if not SLUG_PATTERN.fullmatch(slug):
        raise InvalidSlug(slug=slug)
    if Account.objects.filter(slug=slug).exists():
        raise DuplicateAccount(slug=slug)
    plan = get_plan(str(reader.plan))
    run = AccountFileImport(slug, reader, on_rows)
    with without_statement_timeout():
        run.check()
        if is_dry_run:
            run.offsets = {
                label: find_offset(table.model, reader.sizes[label])
                for label, table in list_tables().items()
            }
        else:
            _store(run, plan)
    return ImportResult(
        rows={label: size.rows for label, size in reader.sizes.items()},
        offsets={label: number for label, number in run.offsets.items() if number},
        missing_images=run.missing_images,
    )


def _store(run: AccountFileImport, plan: Plan) -> None:
    """Reserve IDs and store all rows; a failure gives the IDs back."""
    models = {label: table.model for label, table in list_tables().items()}
    reserved: dict[str, ReservedIds] = {}
    try:
        for label, model in models.items():
            reserved[label] = reserve_ids(model, run.reader.sizes[label])
            run.offsets[label] = reserved[label].offset
        run.store(plan)
    except BaseException:
        for label, ids in reserved.items():
            release_ids(models[label], ids)
        raise


def _ensure_free(table: AccountTable, column: str, values: Sequence[str]) -> None:
    """Raise `TakenByAnotherAccount` if an account of this installation has a value."""
    model = apps.get_model(table.label)
    for batch in split_into_batches(values):
        found = model._base_manager.filter(**{f"{column}__in": batch}).first()
        if found is not None:
            raise TakenByAnotherAccount(
                table=table.model._meta.verbose_name,
                value=found if column == "digest" else getattr(found, column),
                account=found.account,
            )
