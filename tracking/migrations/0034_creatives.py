"""Add creatives: banners and texts of programs."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0033_deletion_asked"),
    ]

    operations = [
        migrations.CreateModel(
            name="Creative",
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
                ("title", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(choices=[("image", "Image"), ("text", "Text")], max_length=16),
                ),
                ("text", models.TextField(blank=True)),
                ("file_name", models.CharField(blank=True, max_length=64)),
                ("media_type", models.CharField(blank=True, max_length=32)),
                ("width", models.PositiveIntegerField(null=True)),
                ("height", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="creatives",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "creatives",
                "indexes": [
                    models.Index(
                        fields=["account", "program", "-id"],
                        name="creatives_of_program",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("file_name", ""), ("kind", "text")),
                            models.Q(
                                ("height__gt", 0),
                                ("kind", "image"),
                                ("text", ""),
                                ("width__gt", 0),
                            ),
                            _connector="OR",
                        ),
                        name="creative_has_image_or_text",
                    )
                ],
            },
        ),
    ]
