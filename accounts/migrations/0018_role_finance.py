"""Add the role finance to staff and invitations; API keys do not have it."""

from django.db import migrations, models

ROLES = [
    ("viewer", "Viewer"),
    ("manager", "Manager"),
    ("finance", "Finance"),
    ("owner", "Owner"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0017_quarters_of_stale_days"),
    ]

    operations = [
        migrations.AlterField(
            model_name="invitation",
            name="role",
            field=models.CharField(choices=ROLES, max_length=16),
        ),
        migrations.AlterField(
            model_name="user",
            name="role",
            field=models.CharField(choices=ROLES, default="owner", max_length=16),
        ),
    ]
