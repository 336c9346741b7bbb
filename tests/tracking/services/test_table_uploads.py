"""Files between their upload and their import."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from tracking.services.table_uploads import (
    UPLOAD_RETENTION,
    TableUploadImported,
    create_table_upload,
    delete_expired_table_uploads,
    find_left_out,
    finish_table_upload,
    lock_table_upload,
    read_content,
)

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
DATA = b"email\nmina@x.example\n"


@pytest.fixture
def upload(account):
    return create_table_upload(
        account,
        kind="affiliates",
        system="",
        file_name="a.csv",
        data=DATA,
        settings={},
        at=NOW,
    )


def test_stores_files_encrypted(upload):
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM tracking_tableupload")
        ((stored,),) = cursor.fetchall()
    assert stored.startswith("gAAAA")
    assert read_content(upload.reload()) == DATA


def test_empties_what_was_imported(account, upload):
    table_import = account.table_imports.create(public_id="ti_1", kind="affiliates")
    assert lock_table_upload(account, upload) == upload
    finish_table_upload(upload, table_import, left_out=b"")
    assert upload.reload().content == ""
    assert find_left_out(table_import) is None
    with pytest.raises(TableUploadImported):
        lock_table_upload(account, upload)


def test_keeps_the_rows_that_were_left_out(account, upload):
    table_import = account.table_imports.create(public_id="ti_1", kind="affiliates")
    finish_table_upload(upload, table_import, left_out=b"email\nnobody\n")
    assert find_left_out(table_import) == b"email\nnobody\n"


def test_locks_no_file_of_another_account(other_account, upload):
    with pytest.raises(TableUploadImported):
        lock_table_upload(other_account, upload)


def test_deletes_files_after_a_day(account, upload):
    def delete(after, *, dry_run=False):
        return delete_expired_table_uploads(account, at=NOW + after, dry_run=dry_run)

    assert delete(UPLOAD_RETENTION - timedelta(seconds=1)) == 0
    assert delete(UPLOAD_RETENTION, dry_run=True) == 1
    assert delete(UPLOAD_RETENTION) == 1
    assert not account.table_uploads.exists()
