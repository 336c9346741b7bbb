"""Imports of tables, and what objects of other systems are called here."""

from django.db import models
from django.utils import timezone

from accounts.encryption import EncryptedTextField
from accounts.models.accounts import TenantModel

MAX_SOURCE_ID_LENGTH = 255
TABLE_SOURCE_PREFIX = "table "
UNDONE_SOURCE_PREFIX = "undone "


class ImportedObject(TenantModel):
    """An object that was read from a source; a second run changes it, if at all.

    `local_id` is the primary key here. `fingerprint` is the digest of what the source
    said, so that a run sees what has changed since.
    """

    source = models.CharField(max_length=255)  # the host, or the name of a file
    kind = models.CharField(max_length=32)
    source_id = models.CharField(max_length=MAX_SOURCE_ID_LENGTH)
    local_id = models.BigIntegerField()
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "imported_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "source", "kind", "source_id"],
                name="one_import_per_object",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}"


class TableImport(TenantModel):
    """A table that was stored; its objects have the source `source`.

    `settings` say how it was read: `columns` (headers by the names of our columns),
    `defaults`, and `answers` to questions by their names.
    """

    public_id = models.CharField("ID", max_length=32)
    kind = models.CharField(max_length=32)
    file_name = models.CharField(max_length=255)
    actor = models.CharField(max_length=255)
    created = models.PositiveIntegerField(default=0)  # numbers of rows
    known = models.PositiveIntegerField(default=0)
    not_stored = models.PositiveIntegerField(default=0)
    settings = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    created_at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        default_related_name = "table_imports"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_table_import_per_id")
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="table_imports_newest_first",
            )
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def source(self) -> str:
        """The source of its objects in `ImportedObject`."""
        return f"{TABLE_SOURCE_PREFIX}{self.public_id}"

    @property
    def undone_source(self) -> str:
        """The source of what the ledger keeps of it once it is undone."""
        return f"{UNDONE_SOURCE_PREFIX}{self.public_id}"


class TableUpload(TenantModel):
    """A file between its upload and its import; `prune` deletes it after a day.

    `content` has what `tracking.services.table_uploads.read_content` returns; once
    `table_import` is there, only the rows that were left out. `settings` has the keys
    `encoding`, `decimal`, `dates` (texts), `mapping` and `defaults` (texts by the names
    of columns), and `answers` (texts by the names of questions).
    """

    not_exported = "files that wait a day for their import"

    kind = models.CharField(max_length=32)
    system = models.CharField(max_length=32, blank=True)
    file_name = models.CharField(max_length=255)
    content = EncryptedTextField(blank=True)
    settings = models.JSONField(default=dict)
    table_import = models.ForeignKey(
        TableImport, models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "table_uploads"
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="table_uploads_newest_first",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
