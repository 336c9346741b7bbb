"""Files with tables between their upload and their import.

They hold personal data: stored encrypted, deleted after a day. An import leaves only
the rows that it left out.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from accounts.errors import Conflict
from accounts.models.accounts import Account
from accounts.services.retention import delete_in_batches
from tracking.models.imports import TableImport, TableUpload

UPLOAD_RETENTION = timedelta(days=1)


class TableUploadImported(Conflict):
    """The file was imported meanwhile."""

    message = "This file was imported already; nothing was done a second time"


def create_table_upload(
    account: Account,
    *,
    kind: str,
    system: str,
    file_name: str,
    data: bytes,
    settings: Mapping[str, Any],
    at: datetime,
) -> TableUpload:
    """Store a file; `settings` as `TableUpload` describes them."""
    return account.table_uploads.create(
        kind=kind,
        system=system,
        file_name=file_name[-255:],
        content=pack_content(data),
        settings=settings,
        created_at=at,
    )


def pack_content(data: bytes) -> str:
    """Return the text that is stored of a file."""
    return b64encode(zlib.compress(data)).decode()


def read_content(upload: TableUpload) -> bytes:
    """Return the bytes of the file."""
    return zlib.decompress(b64decode(upload.content))


def lock_table_upload(account: Account, upload: TableUpload) -> TableUpload:
    """Lock a file that is not imported; raise `TableUploadImported`."""
    rows = account.table_uploads.select_for_update(no_key=True)
    found = rows.filter(pk=upload.pk, table_import=None).first()
    if found is None:
        raise TableUploadImported
    return found


def finish_table_upload(upload: TableUpload, table_import: TableImport, *, left_out: bytes) -> None:
    """Keep of a file that was imported only the rows left out; empty: none."""
    content = pack_content(left_out) if left_out else ""
    upload.update_row(table_import=table_import, content=content)


def find_left_out(table_import: TableImport) -> bytes | None:
    """Return the file with the rows that an import left out, None if it is gone."""
    uploads = table_import.account.table_uploads.filter(table_import=table_import)
    upload = uploads.exclude(content="").first()
    return read_content(upload) if upload else None


def delete_expired_table_uploads(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete the files that are older than `UPLOAD_RETENTION`."""
    expired = account.table_uploads.filter(created_at__lte=at - UPLOAD_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)
