"""Mark accounts that are being deleted: the audit log gives up their entries."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from accounts.append_only import AllowDeletionWithAccount


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_key_role_proxy")]

    operations = [
        migrations.CreateModel(
            name="AccountDeletion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "started_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "deletions",
                "constraints": [
                    models.UniqueConstraint(fields=("account",), name="one_deletion_per_account")
                ],
            },
        ),
        AllowDeletionWithAccount("auditlogentry"),
    ]
