"""Write everything that belongs to one account into a file.

The file has personal and bank data in clear, and no secrets but hashes.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count, Max, Min

from accounts.db_compat import BATCH_SIZE, use_snapshot, without_statement_timeout
from accounts.models.accounts import Account
from affiliate_site.creative_images import read_image
from affiliate_site.moving.account_files import (
    FORMAT,
    IMAGES,
    VERSION,
    Digests,
    TableSize,
    create_file,
    list_columns,
    serialize,
)
from affiliate_site.moving.account_tables import AccountTable, list_tables


@dataclass
class ExportResult:
    """What a file has: rows by table, and images whose files were not found."""

    rows: dict[str, int]
    missing_images: int
    sha256: str


def export_account(
    account: Account, path: Path, *, on_rows: Callable[[int], object]
) -> ExportResult:
    """Write the file of an account; `on_rows` gets numbers of written rows.

    All rows are those of one moment. Raises `OSError`.
    """
    digests, missing_images = Digests(), 0
    with without_statement_timeout(), use_snapshot(), create_file(path) as file:
        tables = list_tables().values()
        sizes = {table.label: _get_size(table, account) for table in tables}
        names = _list_image_names(account)
        sizes[IMAGES] = TableSize(len(names), 0, 0)
        manifest = serialize(_build_manifest(account, sizes))
        digests.add(manifest)
        file.write(manifest)
        for table in tables:
            for number, values in enumerate(_list_values(table, account), 1):
                line = serialize({"table": table.label, "row": values})
                digests.add(line, table.label)
                file.write(line)
                if number % BATCH_SIZE == 0:
                    on_rows(BATCH_SIZE)
        for name in names:
            image = read_image(account, name)
            missing_images += image is None
            content = None if image is None else b64encode(image).decode()
            row = {"name": name, "content": content}
            line = serialize({"table": IMAGES, "row": row})
            digests.add(line, IMAGES)
            file.write(line)
        file.write(serialize(digests.serialize()))
    rows = {label: size.rows for label, size in sizes.items()}
    return ExportResult(rows, missing_images, digests.whole.hexdigest())


def count_rows(account: Account) -> int:
    """Return how many rows `export_account` will write, for its progress."""
    return sum(table.list_rows(account).count() for table in list_tables().values())


def _get_size(table: AccountTable, account: Account) -> TableSize:
    found = table.list_rows(account).aggregate(rows=Count("pk"), first=Min("pk"), last=Max("pk"))
    return TableSize(found["rows"], found["first"] or 0, found["last"] or 0)


def _list_image_names(account: Account) -> list[str]:
    named = account.creatives.exclude(file_name="").order_by("pk")
    return list(dict.fromkeys(named.values_list("file_name", flat=True)))


def _build_manifest(account: Account, sizes: dict[str, TableSize]) -> dict[str, Any]:
    columns = list_columns()
    return {
        "format": FORMAT,
        "version": VERSION,
        "account": {"slug": account.slug},
        "plan": account.plan.name,
        "tables": [
            {"table": label, "columns": columns[label], "ids": list(size)}
            for label, size in sizes.items()
        ],
    }


def _list_values(table: AccountTable, account: Account) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, without the operator who has reset a password."""
    columns = table.columns
    attributes = ["pk", *(column.field.attname for column in columns.values())]
    encoders = [
        (name, column.encode) for name, column in columns.items() if column.encode is not None
    ]
    staff: set[int] = set()
    if "password_reset_by" in columns:
        staff = set(account.staff.values_list("pk", flat=True))
    rows = table.list_rows(account).order_by("pk").values_list(*attributes)
    for row in rows.iterator(BATCH_SIZE):
        values = dict(zip(("id", *columns), row, strict=True))
        for name, encode in encoders:
            if values[name] is not None:
                values[name] = encode(values[name])
        if staff and values["password_reset_by"] not in staff:
            values["password_reset_by"] = None
        yield values
